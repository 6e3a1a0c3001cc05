// Weft's traces beside one that torch.profiler wrote, which lies beside the checkout
// (../shared/traces): for every kind of event that both have, the same fields of the same types.
#include <iostream>
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
#include "tests/profiler/kineto_fields.h"
#include "tests/profiler/recording_sink.h"
#include "tests/profiler/sample_trace.h"

namespace weft::profiler {
namespace {

using Json = nlohmann::json;

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
    compared += ExpectSameFields(name, found->second, kind);
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
