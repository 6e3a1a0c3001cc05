#include "api/dynamic/explain.h"

#include "absl/strings/str_cat.h"

namespace weft {
namespace {

std::string Count(int64_t n, absl::string_view what) {
  return absl::StrCat(n, " ", what, n == 1 ? "" : "s");
}

std::string WithOrigin(const ExplainedGuard& guard) {
  return absl::StrCat(guard.text,
                      guard.origin.empty() ? "" : absl::StrCat(" (", guard.origin, ")"));
}

void AppendVariant(const ExplainedVariant& v, std::string* text) {
  absl::StrAppend(text, "variant ", v.id, ": ", Count(v.calls, "call"), ", ",
                  Count(v.nodes, "node"), "\n  made for ", v.made_for, "\n");
  if (v.misses.empty()) absl::StrAppend(text, "  because it is the first\n");
  for (const MissedVariant& miss : v.misses) absl::StrAppend(text, "  because ", miss.text, "\n");
  for (const ExplainedSize& size : v.sizes) {
    absl::StrAppend(text, "  size ", size.symbol, ", ", size.source, ": ", size.text, " (",
                    size.why, ")\n");
  }
  for (const ExplainedGuard& guard : v.guards) {
    absl::StrAppend(text, "  guard ", WithOrigin(guard), "\n");
  }
}

}  // namespace

std::string ProgramExplanation::ToString() const {
  std::string text = absl::StrCat(Count(static_cast<int64_t>(variants.size()), "variant"),
                                  " of at most ", cache_limit, ", dynamic=", DynamicName(dynamic),
                                  "; ", Count(calls, "call"), ": ", hits, " taken by a ",
                                  "variant that was there, ", Count(compiles, "compile"), ", ",
                                  as_imported, " as imported, ", refused, " refused\n");
  for (const ExplainedGuard& constraint : constraints) {
    absl::StrAppend(&text, "constraint ", WithOrigin(constraint), "\n");
  }
  for (const ExplainedVariant& variant : variants) AppendVariant(variant, &text);
  if (last_miss.empty()) return text;
  absl::StrAppend(&text, "the last call as imported:\n");
  for (const MissedVariant& miss : last_miss) absl::StrAppend(&text, "  ", miss.text, "\n");
  return text;
}

}  // namespace weft
