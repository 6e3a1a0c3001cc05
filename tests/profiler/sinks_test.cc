// Each sink, and reading back what files hold.
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "profiler/read/read.h"
#include "profiler/session.h"
#include "profiler/sinks/chrome_json.h"
#include "profiler/sinks/file_sink.h"
#include "profiler/sinks/file_writer.h"
#include "profiler/sinks/folded_stacks.h"
#include "profiler/sinks/key_averages.h"
#include "profiler/sinks/memory_timeline.h"
#include "profiler/sinks/perfetto.h"
#include "tests/profiler/recording_sink.h"
#include "tests/profiler/sample_trace.h"

namespace weft::profiler {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using Json = nlohmann::json;

class SinksTest : public testing::Test {
 protected:
  SinksTest() {
    folder_ = fs::path(testing::TempDir()) /
              testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }

  std::string Path(const std::string& name) const { return (folder_ / name).string(); }

  std::string Slurp(const std::string& name) const {
    std::string text;
    char block[4096];
    gzFile file = gzopen(Path(name).c_str(), "rb");
    int size;
    while ((size = gzread(file, block, sizeof(block))) > 0) text.append(block, size);
    gzclose(file);
    return text;
  }

  void Export(const Trace& trace, const std::string& name, int64_t max_file_bytes = 0) {
    auto sink = MakeFileSink(Path(name), max_file_bytes);
    ASSERT_TRUE(sink.ok()) << sink.status();
    const absl::Status status = ExportTrace(trace, **sink);
    ASSERT_TRUE(status.ok()) << status;
  }

  RecordingSink ReadBack(const std::string& name) {
    RecordingSink sink;
    const absl::Status status = ReadTrace(Path(name), sink);
    EXPECT_TRUE(status.ok()) << status;
    return sink;
  }

  std::vector<std::string> Files() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_)) {
      names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  fs::path folder_;
};

std::vector<std::string> ExportedEvents(const Trace& trace) {
  RecordingSink sink;
  EXPECT_TRUE(ExportTrace(trace, sink).ok());
  return sink.events;
}

TEST_F(SinksTest, ChromeJsonIsKinetos) {
  Export(SampleTrace(), "trace.json");
  const Json trace = Json::parse(Slurp("trace.json"));
  EXPECT_EQ(trace["schemaVersion"], 1);
  EXPECT_EQ(trace["displayTimeUnit"], "ms");
  EXPECT_EQ(trace["baseTimeNanoseconds"], 1'700'000'000'000'000'000);
  EXPECT_EQ(trace["model"], "resnet");
  EXPECT_EQ(trace["traceName"], "trace.json");
  EXPECT_THAT(Slurp("trace.json"), HasSubstr("\"ts\": 2.000, \"dur\": 4.000"));
  for (const Json& event : trace["traceEvents"]) {
    if (event["name"] != "convolution") continue;
    const Json& args = event["args"];
    EXPECT_EQ(args["Input Dims"].dump(), "[[1,3,8,8],[4,3,3,3],[]]");
    EXPECT_EQ(args["Input type"].dump(), "[\"float\",\"float\",\"ScalarList\"]");
    EXPECT_EQ(args["Concrete Inputs"].dump(), "[\"\",\"\",\"[1, 1]\"]");
    EXPECT_EQ(args["Provenance"].dump(), "[\"layer1/conv\",\"layer1/bn\"]");
    EXPECT_EQ(args["Symbols"].dump(), "{\"s0\":1}");
    EXPECT_EQ(args["Flops"], 8000);
    EXPECT_EQ(args["External id"], 2);
    return;
  }
  FAIL() << "no convolution";
}

TEST_F(SinksTest, WithoutShapesAndFlops) {
  Trace trace = SampleTrace();
  trace.record_shapes = trace.with_flops = false;
  Export(trace, "trace.json");
  EXPECT_THAT(Slurp("trace.json"), Not(HasSubstr("Input Dims")));
  EXPECT_THAT(Slurp("trace.json"), Not(HasSubstr("Flops")));
}

TEST_F(SinksTest, ChromeJsonReadsBack) {
  for (const char* name : {"trace.json", "trace.json.gz"}) {
    Export(SampleTrace(), name);
    const RecordingSink back = ReadBack(name);
    EXPECT_EQ(back.events, ExportedEvents(SampleTrace()));
    EXPECT_EQ(back.header.base_time_ns, SampleTrace().base_time_ns);
    EXPECT_THAT(back.trailer.fields,
                ElementsAre(testing::Pair("traceName", absl::StrCat("\"", name, "\""))));
  }
  EXPECT_THAT(Files(), ElementsAre("trace.json", "trace.json.gz"));
}

TEST_F(SinksTest, PerfettoReadsBack) {
  Export(SampleTrace(), "trace.pftrace");
  const RecordingSink back = ReadBack("trace.pftrace");
  EXPECT_EQ(back.header.base_time_ns, SampleTrace().base_time_ns);
  RecordingSink exported;
  ASSERT_TRUE(ExportTrace(SampleTrace(), exported).ok());
  EXPECT_EQ(back.header.fields, exported.header.fields);
  // Facts of tracks come with their descriptions, counters belong to processes.
  std::vector<std::string> want, got;
  for (const std::string& event : exported.events) {
    if (event[0] != 'M' && event[0] != 'C') want.push_back(event);
  }
  for (const std::string& event : back.events) {
    if (event[0] != 'M' && event[0] != 'C') got.push_back(event);
  }
  EXPECT_EQ(got, want);
  EXPECT_THAT(back.events, testing::Contains("C counter|queue 77/0 3000 queue=2.5"));
  EXPECT_THAT(back.events, testing::Contains("M |thread_name 77/78 0 name=\"thread 78 (worker)\""));
}

TEST_F(SinksTest, HostileNamesSurvive) {
  Export(HostileTrace(), "trace.json");
  const Json trace = Json::parse(Slurp("trace.json"));  // Throws on bytes that are no UTF-8.
  std::set<std::string> names;
  for (const Json& event : trace["traceEvents"]) names.insert(event["name"].get<std::string>());
  for (const char* name : {"say \"hi\"", "two\nlines\r\n", "bad \xEF\xBF\xBD( \xEF\xBF\xBD utf-8",
                           "gr\xC3\xBC\xC3\x9F"}) {
    EXPECT_EQ(names.count(name), 1u) << name;
  }
  EXPECT_EQ(names.count(std::string("nul\0byte", 8)), 1u);
  EXPECT_EQ(trace["key \"\n"], "not json");
  Export(HostileTrace(), "trace.pftrace");
  // Both files hold the same, replacements and all.
  std::vector<std::string> spans[2];
  int i = 0;
  for (const char* file : {"trace.json", "trace.pftrace"}) {
    for (const std::string& event : ReadBack(file).events) {
      if (event[0] == 'X') spans[i].push_back(event);
    }
    ++i;
  }
  EXPECT_EQ(spans[0], spans[1]);
  EXPECT_EQ(spans[0].size(), 8u);
}

TEST_F(SinksTest, EmptyTraces) {
  auto session = Session::Start({});
  auto trace = (*session)->Stop();
  for (const char* name : {"trace.json", "trace.json.gz", "trace.pftrace"}) {
    Export(*trace, name);
    const RecordingSink back = ReadBack(name);
    EXPECT_TRUE(back.finished);
    EXPECT_THAT(back.events, Not(IsEmpty()));  // The span of the session.
  }
  Export(*trace, "trace.folded");
  Export(*trace, "trace.csv");
  EXPECT_EQ(Slurp("trace.folded"), "");
  KeyAverages averages;
  ASSERT_TRUE(ExportTrace(*trace, averages).ok());
  EXPECT_THAT(averages.rows(), IsEmpty());
  EXPECT_THAT(*averages.Table(), HasSubstr("Self CPU time total: 0.000us"));
}

TEST_F(SinksTest, SplitsBySize) {
  Trace trace = SampleTrace();
  const std::vector<Event> events = trace.events;
  for (int i = 0; i < 50; ++i)
    trace.events.insert(trace.events.end(), events.begin(), events.end());
  Export(trace, "whole.json");
  Export(trace, "parts.json.gz", 20'000);
  std::vector<std::string> spans;
  int part = 1;
  for (; fs::exists(PathOfPart(Path("parts.json.gz"), part)); ++part) {
    const std::string name = fs::path(PathOfPart("parts.json.gz", part)).string();
    EXPECT_LE(Slurp(name).size(), 20'000u + 100);
    const RecordingSink back = ReadBack(name);
    EXPECT_EQ(back.header.base_time_ns, trace.base_time_ns);
    int facts = 0;
    for (const std::string& event : back.events) {
      if (event[0] == 'M') {
        ++facts;
      } else {
        spans.push_back(event);
      }
    }
    EXPECT_GE(facts, 7);
  }
  EXPECT_GT(part, 5);
  std::vector<std::string> want;
  for (const std::string& event : ReadBack("whole.json").events) {
    if (event[0] != 'M') want.push_back(event);
  }
  EXPECT_EQ(spans, want);
}

TEST(PathOfPartTest, NumbersStandBeforeTheEndings) {
  EXPECT_EQ(PathOfPart("a.b/trace.json.gz", 1), "a.b/trace.json.gz");
  EXPECT_EQ(PathOfPart("a.b/trace.json.gz", 2), "a.b/trace.2.json.gz");
  EXPECT_EQ(PathOfPart("trace.json", 3), "trace.3.json");
  EXPECT_EQ(PathOfPart("a.b/trace", 3), "a.b/trace.3");
  EXPECT_EQ(PathOfPart("a.b/.gz", 3), "a.b/.gz.3");
  EXPECT_EQ(PathOfPart("trace.gz", 3), "trace.3.gz");
}

TEST_F(SinksTest, AnUnfinishedFileLeavesTheOldOne) {
  std::ofstream(Path("trace.json")) << "old";
  {
    auto sink = MakeFileSink(Path("trace.json"));
    ASSERT_TRUE((*sink)->Begin({}).ok());
    EXPECT_EQ(Slurp("trace.json"), "old");
  }
  EXPECT_THAT(Files(), ElementsAre("trace.json"));
  EXPECT_EQ(Slurp("trace.json"), "old");
}

TEST_F(SinksTest, WhatCannotBeWritten) {
  auto sink = MakeFileSink(Path("none/trace.json"));
  EXPECT_THAT((*sink)->Begin({}).message(), HasSubstr("none/trace.json"));
  EXPECT_THAT(MakeFileSink("trace.txt").status().message(), HasSubstr("trace.txt"));
  if (fs::exists("/dev/full")) {
    // A device without room.
    for (const char* name : {"full.json", "full.json.gz"}) {
      fs::create_symlink("/dev/full", Path(name));
      auto full = MakeFileSink(Path(name));
      absl::Status status = (*full)->Begin({});
      status.Update((*full)->Finish({}));
      EXPECT_THAT(status.message(), HasSubstr("No space left")) << name;
    }
  }
}

TEST_F(SinksTest, KeyAverages) {
  KeyAverages averages;
  ASSERT_TRUE(ExportTrace(SampleTrace(), averages).ok());
  ASSERT_EQ(averages.rows().size(), 4u);
  const KeyAveragesRow& step = averages.rows()[0];
  EXPECT_EQ(step.name, "ProfilerStep*");
  EXPECT_EQ(step.total_ns, 10000);
  EXPECT_EQ(step.self_ns, 10000 - 4000 - 500);
  EXPECT_EQ(step.total_memory, 0);
  EXPECT_EQ(step.self_memory, -1024);
  const KeyAveragesRow& conv = averages.rows()[1];
  EXPECT_EQ(conv.self_ns, 3000);
  EXPECT_EQ(conv.self_memory, 1024);
  EXPECT_EQ(conv.flops, 8000);
  EXPECT_EQ(averages.rows()[2].name, "reshape");
  EXPECT_EQ(averages.rows()[2].calls, 2);
  EXPECT_EQ(averages.rows()[2].total_ns, 1500);
  // One thread's self times are the wall time of its outermost spans.
  EXPECT_EQ(averages.SelfTotal(), 10000 + 2000);
}

TEST_F(SinksTest, KeyAveragesTable) {
  KeyAverages averages;
  ASSERT_TRUE(ExportTrace(SampleTrace(), averages).ok());
  TableOptions options;
  options.sort_by = "self_cpu_time_total";
  options.row_limit = 2;
  options.roofline = {/*gbytes_per_second=*/10, /*gflops_per_second=*/20};
  auto table = averages.Table(options);
  ASSERT_TRUE(table.ok());
  const std::vector<std::string> lines = absl::StrSplit(*table, '\n');
  EXPECT_THAT(lines[1], HasSubstr("Roofline %"));
  EXPECT_THAT(lines[3], testing::StartsWith("ProfilerStep*"));
  // 4 us for 8,000 operations and 4,000 bytes, of which the ceilings allow 0.4 us each.
  EXPECT_THAT(lines[4], testing::AllOf(testing::StartsWith("convolution"), HasSubstr(" 2.00 "),
                                       HasSubstr(" 1.00 "), HasSubstr("10.00%")));
  EXPECT_THAT(*table, HasSubstr("(2 more rows)"));
  options.sort_by = "speed";
  EXPECT_THAT(averages.Table(options).status().message(), HasSubstr("cpu_time_total"));
  for (const char* key : {"cpu_time", "median", "count", "self_cpu_memory_usage",
                          "cpu_memory_usage", "flops", "bytes", "name", ""}) {
    options.sort_by = key;
    EXPECT_TRUE(averages.Table(options).ok()) << key;
  }
}

TEST_F(SinksTest, RowsOfStepsSayWhatRanThem) {
  KeyAveragesOptions options;
  options.group = KeyAveragesOptions::Group::kStep;
  KeyAverages steps(options);
  ASSERT_TRUE(ExportTrace(SampleTrace(), steps).ok());
  ASSERT_EQ(steps.rows().size(), 1u);
  EXPECT_EQ(steps.rows()[0].ran_by, "onednn");
  EXPECT_EQ(steps.rows()[0].source, "layer1/conv, layer1/bn");
  auto table = steps.Table({});
  ASSERT_TRUE(table.ok());
  EXPECT_THAT(*table, testing::AllOf(HasSubstr("Ran by"), HasSubstr("layer1/conv, layer1/bn")));
  options.group = KeyAveragesOptions::Group::kName;
  options.without_steps = true;
  KeyAverages others(options);
  ASSERT_TRUE(ExportTrace(SampleTrace(), others).ok());
  for (const KeyAveragesRow& row : others.rows()) EXPECT_NE(row.name, "convolution");
  EXPECT_EQ(others.rows().size(), 3u);
}

// The first runs are slow; the median is that of the others. Of many calls a bounded number of
// times is kept, from the whole trace.
TEST_F(SinksTest, TheMedianLeavesWarmUpOut) {
  KeyAverages averages;
  const auto add = [&](int64_t call, int64_t duration) {
    TraceEvent event;
    event.name = "relu";
    event.category = "cpu_op";
    event.time_ns = 100'000 * call;
    event.duration_ns = duration;
    ASSERT_TRUE(averages.Add(event).ok());
  };
  add(0, 90'000);
  for (int64_t call = 1; call < 4; ++call) add(call, 10 + call);
  EXPECT_EQ(averages.rows()[0].MedianNs(), 13);
  for (int64_t call = 4; call < 10'000; ++call) add(call, call < 9'000 ? 50 : 70);
  EXPECT_EQ(averages.rows()[0].MedianNs(), 50);
  EXPECT_LE(averages.rows()[0].samples.size(), 1024u);
  EXPECT_GT(averages.rows()[0].samples.size(), 500u);
  EXPECT_EQ(averages.rows()[0].samples.back(), 70);
}

// A trace of `num_steps` steps of one kernel, of which the first is slow.
Trace TraceOfSteps(int num_steps) {
  Trace trace = SampleTrace();
  trace.names.resize(4);
  trace.events.clear();
  int64_t time = 1000;
  for (int step = 0; step < num_steps; ++step) {
    Event around, kernel;
    around.activity = Activity::kUserAnnotation;
    around.name = static_cast<NameId>(trace.names.size());
    trace.names.push_back(absl::StrCat("ProfilerStep#", step));
    around.time = time;
    around.value = step == 0 ? 100'000 : 1'000;
    kernel.activity = Activity::kCpuOp;
    kernel.name = 2;
    kernel.description = 1;
    kernel.time = time + 100;
    kernel.value = step == 0 ? 90'000 : 500;
    kernel.track = step % 2;  // A thread of its own in every second step.
    trace.events.push_back(around);
    trace.events.push_back(kernel);
    time += around.value;
  }
  return trace;
}

TEST_F(SinksTest, SumsOfStepsLeaveWarmUpOut) {
  KeyAveragesOptions by_step;
  by_step.group = KeyAveragesOptions::Group::kStep;
  KeyAverages steps(by_step);
  ASSERT_TRUE(ExportTrace(TraceOfSteps(4), steps).ok());
  ASSERT_EQ(steps.rows().size(), 1u);
  EXPECT_EQ(steps.rows()[0].calls, 3);
  EXPECT_EQ(steps.rows()[0].self_ns, 3 * 500);
  EXPECT_EQ(steps.rows()[0].flops, 3 * 8000);
  EXPECT_EQ(steps.num_warm_up_calls(), 1);
  EXPECT_THAT(*steps.Table(), HasSubstr("Calls of the first run, left out: 1\n"));
  // One step is all that there is.
  KeyAverages one(by_step);
  ASSERT_TRUE(ExportTrace(TraceOfSteps(1), one).ok());
  ASSERT_EQ(one.rows().size(), 1u);
  EXPECT_EQ(one.rows()[0].self_ns, 90'000);
  EXPECT_EQ(one.num_warm_up_calls(), 0);
  EXPECT_THAT(*one.Table(), testing::Not(HasSubstr("left out")));
  // Other groups count everything.
  KeyAverages all;
  ASSERT_TRUE(ExportTrace(TraceOfSteps(4), all).ok());
  EXPECT_EQ(all.rows()[1].calls, 4);
}

TEST_F(SinksTest, KeyAveragesByShapeAndProvenance) {
  KeyAveragesOptions options;
  options.group = KeyAveragesOptions::Group::kNameAndShapes;
  KeyAverages by_shape(options);
  ASSERT_TRUE(ExportTrace(SampleTrace(), by_shape).ok());
  EXPECT_EQ(by_shape.rows()[1].shapes, "[[1, 3, 8, 8], [4, 3, 3, 3], []]");
  options.group = KeyAveragesOptions::Group::kProvenance;
  KeyAverages by_provenance(options);
  ASSERT_TRUE(ExportTrace(SampleTrace(), by_provenance).ok());
  ASSERT_EQ(by_provenance.rows().size(), 1u);
  EXPECT_EQ(by_provenance.rows()[0].name, "layer1/conv, layer1/bn");
  options.max_rows = 2;
  options.group = KeyAveragesOptions::Group::kName;
  KeyAverages few(options);
  ASSERT_TRUE(ExportTrace(SampleTrace(), few).ok());
  ASSERT_EQ(few.rows().size(), 3u);
  EXPECT_EQ(few.rows()[2].name, "(other)");
  EXPECT_EQ(few.SelfTotal(), 12000);
}

TEST_F(SinksTest, TablesHoldHostileNames) {
  KeyAverages averages;
  ASSERT_TRUE(ExportTrace(HostileTrace(), averages).ok());
  const std::string table = *averages.Table();
  EXPECT_THAT(table, HasSubstr("say \"hi\""));
  EXPECT_THAT(table, HasSubstr("two\\nlines"));
  // A line a row: 7 rows, 3 rules, titles, footer.
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 12);
}

// A deep recursion: a row within itself.
TEST_F(SinksTest, RecursiveSpans) {
  Trace trace = SampleTrace();
  trace.events.clear();
  for (int depth = 0; depth < 1000; ++depth) {
    Event event;
    event.activity = Activity::kCpuOp;
    event.time = 1000 + depth;
    event.value = 10'000 - 2 * depth;
    event.name = 2;
    trace.events.push_back(event);
  }
  KeyAverages averages;
  ASSERT_TRUE(ExportTrace(trace, averages).ok());
  EXPECT_EQ(averages.SelfTotal(), 10'000);
  FoldedStacks stacks;
  ASSERT_TRUE(ExportTrace(trace, stacks).ok());
  const std::string text = stacks.Text();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1000);
}

// Each line holds a whole stack: without a bound, the text grows with the square of the depth.
TEST_F(SinksTest, FoldedStacksAreCutWhereTheyAreDeep) {
  constexpr int kSpans = 20'000;
  Trace trace = SampleTrace();
  trace.events.clear();
  for (int depth = 0; depth < kSpans; ++depth) {
    Event event;
    event.activity = Activity::kCpuOp;
    event.time = 1000 + depth;
    event.value = 2 * kSpans - 2 * depth;
    event.name = 2;
    trace.events.push_back(event);
  }
  FoldedStacks stacks;
  ASSERT_TRUE(ExportTrace(trace, stacks).ok());
  const std::string text = stacks.Text();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), FoldedStacks::kMaxDepth + 1);
  // Two nanoseconds of each span are its own.
  EXPECT_THAT(text, HasSubstr(absl::StrCat(";[deeper] ", 2 * (kSpans - FoldedStacks::kMaxDepth))));
}

TEST_F(SinksTest, FoldedStacks) {
  Export(SampleTrace(), "trace.folded");
  EXPECT_EQ(Slurp("trace.folded"),
            "ProfilerStep#0 5500\n"
            "ProfilerStep#0;convolution 3000\n"
            "ProfilerStep#0;convolution;reshape 1000\n"
            "ProfilerStep#0;reshape 500\n"
            "work 2000\n");
  Export(HostileTrace(), "hostile.folded");
  EXPECT_THAT(Slurp("hostile.folded"), HasSubstr("semi:colon 100\n"));
  EXPECT_THAT(Slurp("hostile.folded"), HasSubstr("two lines   100\n"));
}

TEST_F(SinksTest, MemoryTimeline) {
  Export(SampleTrace(), "trace.csv");
  EXPECT_EQ(Slurp("trace.csv"),
            "time_us,unknown,parameter,constant,input,output,activation,temporary,total\n"
            "2.100,0,0,0,0,0,1024,0,1024\n"
            // The release does not say its category; its address does.
            "7.000,0,0,0,0,0,0,0,0\n");
  MemoryTimeline timeline(Path("memory.json.gz"));
  ASSERT_TRUE(ExportTrace(SampleTrace(), timeline).ok());
  EXPECT_EQ(timeline.peak(), 1024);
  EXPECT_EQ(timeline.peak_time_ns(), 2100);
  EXPECT_EQ(timeline.total(), 0);
  const Json json = Json::parse(Slurp("memory.json.gz"));
  EXPECT_EQ(json["columns"].size(), json["rows"][1].size());
  EXPECT_EQ(json["rows"][0][8], 1024);
}

}  // namespace
}  // namespace weft::profiler
