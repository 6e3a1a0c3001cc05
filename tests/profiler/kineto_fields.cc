#include "tests/profiler/kineto_fields.h"

#include <zlib.h>

#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace weft::profiler {

namespace fs = std::filesystem;
using Json = nlohmann::json;

fs::path GoldenTrace() {
  const fs::path workspace =
      fs::path(std::getenv("TEST_SRCDIR")) / std::getenv("TEST_WORKSPACE") / "WORKSPACE";
  return fs::canonical(workspace).parent_path().parent_path() / "shared" / "traces" /
         "torch-cpu-trace.json.gz";
}

Json ParseFile(const fs::path& path) {
  std::string text;
  std::string block(1 << 16, '\0');
  gzFile file = gzopen(path.c_str(), "rb");
  int size;
  while ((size = gzread(file, block.data(), static_cast<unsigned>(block.size()))) > 0) {
    text.append(block, 0, size);
  }
  gzclose(file);
  return Json::parse(text);
}

std::string TypeOf(const Json& value) {
  if (value.is_number_float()) return "decimal";
  return value.is_number() ? "integer" : value.type_name();
}

namespace {

// The kind of an event. Track facts, marks, and tracks that are not threads are distinguished by
// their names.
std::string KindOf(const Json& event) {
  std::string kind = absl::StrCat(event["ph"].get<std::string>(), " ", event.value("cat", ""));
  if (event["ph"] == "M" || event["ph"] == "i") {
    kind += " " + event["name"].get<std::string>().substr(0, 15);
  }
  return event["pid"].is_string() ? kind + " of no process" : kind;
}

void AddFields(const Json& object, const std::string& prefix, Kind* kind) {
  for (const auto& [key, value] : object.items()) {
    if (key == "args") {
      AddFields(value, "args.", kind);
    } else {
      kind->fields[prefix + key].insert(TypeOf(value));
      ++kind->presence[prefix + key];
    }
  }
}

// Fields that Weft's events do not have, and why.
bool IsAbsent(const std::string& field) {
  // Autograd numbers ops; Weft's programs are functions.
  return field == "args.Sequence number" || field == "args.Fwd thread id";
}

}  // namespace

std::map<std::string, Kind> KindsOf(const Json& trace) {
  std::map<std::string, Kind> kinds;
  for (const Json& event : trace["traceEvents"]) {
    Kind& kind = kinds[KindOf(event)];
    ++kind.count;
    AddFields(event, "", &kind);
  }
  return kinds;
}

int ExpectSameFields(const std::string& name, const Kind& weft, const Kind& torch) {
  int compared = 0;
  for (const auto& [field, types] : torch.fields) {
    if (IsAbsent(field)) continue;
    const auto own = weft.fields.find(field);
    if (own == weft.fields.end()) {
      ADD_FAILURE() << name << " has no " << field;
      continue;
    }
    for (const std::string& type : own->second) {
      EXPECT_TRUE(types.count(type)) << name << ": " << field << " is " << type;
    }
    if (torch.presence.at(field) == torch.count) {
      EXPECT_EQ(weft.presence.at(field), weft.count) << name << ": " << field;
    }
    ++compared;
  }
  return compared;
}

}  // namespace weft::profiler
