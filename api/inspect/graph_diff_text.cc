// Differences as text and as JSON.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "api/inspect/graph_diff.h"
#include "nlohmann/json.hpp"

namespace weft {
namespace {

const char* NameOf(DiffEntry::Kind kind) {
  switch (kind) {
    case DiffEntry::Kind::kWent:
      return "went";
    case DiffEntry::Kind::kAppeared:
      return "appeared";
    case DiffEntry::Kind::kChanged:
      return "changed";
  }
  return "";
}

}  // namespace

int64_t GraphDiff::Count(DiffEntry::Kind kind) const {
  return std::count_if(entries.begin(), entries.end(),
                       [&](const DiffEntry& entry) { return entry.kind == kind; });
}

std::string GraphDiff::ToString() const {
  std::string text;
  std::string function;
  for (const DiffEntry& entry : entries) {
    if (entry.function != function) {
      function = entry.function;
      absl::StrAppend(&text, "@", function, ":\n");
    }
    switch (entry.kind) {
      case DiffEntry::Kind::kWent:
        absl::StrAppend(&text, "- ", entry.before, "\n");
        break;
      case DiffEntry::Kind::kAppeared:
        absl::StrAppend(&text, "+ ", entry.after, "\n");
        break;
      case DiffEntry::Kind::kChanged:
        absl::StrAppend(&text, "~ ", entry.before, "\n  ", entry.after, "  (",
                        absl::StrJoin(entry.what, ", "), ")\n");
    }
  }
  absl::StrAppend(&text, Count(DiffEntry::Kind::kWent), " went, ",
                  Count(DiffEntry::Kind::kAppeared), " appeared, ",
                  Count(DiffEntry::Kind::kChanged), " changed, ", aligned, " aligned\n");
  return text;
}

std::string GraphDiff::ToJson() const {
  nlohmann::ordered_json json;
  json["equal"] = equal();
  json["aligned"] = aligned;
  json["entries"] = nlohmann::ordered_json::array();
  for (const DiffEntry& entry : entries) {
    nlohmann::ordered_json one;
    one["kind"] = NameOf(entry.kind);
    one["function"] = entry.function;
    if (!entry.before.empty()) one["before"] = entry.before;
    if (!entry.after.empty()) one["after"] = entry.after;
    if (!entry.what.empty()) one["what"] = entry.what;
    if (!entry.provenance.empty()) one["provenance"] = entry.provenance;
    json["entries"].push_back(std::move(one));
  }
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace weft
