// Weft's traces beside one that torch.profiler wrote, which lies beside the checkout
// (../shared/traces): for every kind of event that both have, the same fields of the same types.
#include <zlib.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>
#include <set>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "profiler/read/read.h"
#include "profiler/sinks/chrome_json.h"
#include "profiler/sinks/file_sink.h"
#include "profiler/sinks/key_averages.h"
#include "tests/profiler/recording_sink.h"
#include "tests/profiler/sample_trace.h"

namespace weft::profiler {
namespace {

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

// Path of a field and its types: "args.Input Dims" -> {array}.
using Fields = std::map<std::string, std::set<std::string>>;

// The kind of an event. Track facts and marks are told apart by their names, as are the tracks
// that are no threads.
std::string KindOf(const Json& event) {
  std::string kind = absl::StrCat(event["ph"].get<std::string>(), " ", event.value("cat", ""));
  if (event["ph"] == "M" || event["ph"] == "i") {
    kind += " " + event["name"].get<std::string>().substr(0, 15);
  }
  return event["pid"].is_string() ? kind + " of no process" : kind;
}

struct Kind {
  int count = 0;
  Fields fields;
  std::map<std::string, int> presence;
};

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

std::map<std::string, Kind> KindsOf(const Json& trace) {
  std::map<std::string, Kind> kinds;
  for (const Json& event : trace["traceEvents"]) {
    Kind& kind = kinds[KindOf(event)];
    ++kind.count;
    AddFields(event, "", &kind);
  }
  return kinds;
}

// Fields that Weft's events do not have, and why.
bool IsAbsent(const std::string& field) {
  // Autograd numbers ops; Weft's programs are functions.
  return field == "args.Sequence number" || field == "args.Fwd thread id";
}

Trace TraceToCompare() {
  Trace trace = SampleTrace();
  // Its flow has the name of torch's, which has no launches on a CPU.
  for (std::string& name : trace.names) {
    if (name == "ac2g") name = "fwdbwd";
  }
  return trace;
}

Json WeftTrace() {
  const std::string path = testing::TempDir() + "/kineto_test.json";
  auto sink = MakeFileSink(path);
  EXPECT_TRUE(ExportTrace(TraceToCompare(), **sink).ok());
  return ParseFile(path);
}

#define SKIP_WITHOUT_GOLDEN_TRACE()                                                          \
  if (!fs::exists(GoldenTrace())) {                                                          \
    std::cerr << "skipped: torch.profiler's trace is expected at " << GoldenTrace() << "\n"; \
    GTEST_SKIP() << "no " << GoldenTrace();                                                  \
  }

TEST(KinetoTest, HeadersHaveTheSameFields) {
  SKIP_WITHOUT_GOLDEN_TRACE();
  const Json torch = ParseFile(GoldenTrace());
  const Json weft = WeftTrace();
  int compared = 0;
  for (const auto& [key, value] : torch.items()) {
    // Switches of Python's stacks and modules, which stand there when they are on.
    if (key == "with_stack" || key == "with_modules") continue;
    ASSERT_TRUE(weft.contains(key)) << key;
    EXPECT_EQ(TypeOf(weft[key]), TypeOf(value)) << key;
    ++compared;
  }
  EXPECT_EQ(compared, 11);
  EXPECT_EQ(weft["schemaVersion"], torch["schemaVersion"]);
  EXPECT_EQ(weft["displayTimeUnit"], torch["displayTimeUnit"]);
  EXPECT_EQ(weft["deviceProperties"], torch["deviceProperties"]);
  EXPECT_EQ(weft["trace_id"].get<std::string>().size(), 32u);
}

TEST(KinetoTest, EventsHaveTheSameFields) {
  SKIP_WITHOUT_GOLDEN_TRACE();
  const auto torch = KindsOf(ParseFile(GoldenTrace()));
  const auto weft = KindsOf(WeftTrace());
  int compared = 0;
  for (const auto& [name, kind] : torch) {
    if (absl::StrContains(name, "python_function")) continue;  // Weft runs no Python.
    const auto found = weft.find(name);
    ASSERT_NE(found, weft.end()) << "no events " << name;
    for (const auto& [field, types] : kind.fields) {
      if (IsAbsent(field)) continue;
      const auto own = found->second.fields.find(field);
      ASSERT_NE(own, found->second.fields.end()) << name << " has no " << field;
      for (const std::string& type : own->second) {
        EXPECT_TRUE(types.count(type)) << name << ": " << field << " is " << type;
      }
      // What every event of torch has, every event of Weft has.
      if (kind.presence.at(field) == kind.count) {
        EXPECT_EQ(found->second.presence.at(field), found->second.count) << name << ": " << field;
      }
      ++compared;
    }
  }
  EXPECT_GE(compared, 60);
}

// The four lists of an op's inputs have its arguments' number of elements.
TEST(KinetoTest, InputListsAreParallel) {
  SKIP_WITHOUT_GOLDEN_TRACE();
  for (const Json& trace : {ParseFile(GoldenTrace()), WeftTrace()}) {
    int checked = 0;
    for (const Json& event : trace["traceEvents"]) {
      if (!event.contains("args") || !event["args"].contains("Input Dims")) continue;
      const Json& args = event["args"];
      for (const char* key : {"Concrete Inputs", "Input type", "Input Strides"}) {
        EXPECT_EQ(args[key].size(), args["Input Dims"].size());
      }
      ++checked;
    }
    EXPECT_GE(checked, 1);
  }
}

// Read and written again, torch's own trace is what it was.
TEST(KinetoTest, CopyIsEqual) {
  SKIP_WITHOUT_GOLDEN_TRACE();
  const std::string path = testing::TempDir() + "/copy.json.gz";
  ChromeJsonSink sink({path});
  const absl::Status status = ReadTrace(GoldenTrace().string(), sink);
  ASSERT_TRUE(status.ok()) << status;
  Json torch = ParseFile(GoldenTrace());
  torch["traceName"] = "copy.json.gz";
  const Json copy = ParseFile(path);
  ASSERT_EQ(copy["traceEvents"].size(), 3609u);
  for (size_t i = 0; i < copy["traceEvents"].size(); ++i) {
    ASSERT_EQ(copy["traceEvents"][i], torch["traceEvents"][i]);
  }
  EXPECT_EQ(copy, torch);
}

TEST(KinetoTest, PerfettosFormHoldsTorchsSpans) {
  SKIP_WITHOUT_GOLDEN_TRACE();
  const std::string path = testing::TempDir() + "/torch.pftrace";
  auto sink = MakeFileSink(path);
  absl::Status status = ReadTrace(GoldenTrace().string(), **sink);
  ASSERT_TRUE(status.ok()) << status;
  RecordingSink torch, back;
  ASSERT_TRUE(ReadTrace(GoldenTrace().string(), torch).ok());
  status = ReadTrace(path, back);
  ASSERT_TRUE(status.ok()) << status;
  const auto without_facts = [](const std::vector<std::string>& events) {
    std::vector<std::string> rest;
    for (const std::string& event : events) {
      if (event[0] != 'M') rest.push_back(event);
    }
    return rest;
  };
  EXPECT_EQ(without_facts(back.events), without_facts(torch.events));
}

TEST(KinetoTest, AveragesOfTorchsTrace) {
  SKIP_WITHOUT_GOLDEN_TRACE();
  KeyAverages averages;
  ASSERT_TRUE(ReadTrace(GoldenTrace().string(), averages).ok());
  int conv = 0, steps = 0;
  for (const KeyAveragesRow& row : averages.rows()) {
    if (row.name == "aten::conv2d") conv += static_cast<int>(row.calls);
    if (row.name == "ProfilerStep*") steps += static_cast<int>(row.calls);
    EXPECT_GE(row.self_ns, 0) << row.name;
  }
  EXPECT_EQ(conv, 2);
  EXPECT_EQ(steps, 2);
}

}  // namespace
}  // namespace weft::profiler
