#include "serialize/html/trace_reader.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "profiler/read/read.h"

namespace weft {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

absl::StatusOr<TraceView> ReadAll(const std::string& text) {
  TraceReader reader;
  absl::Status status = profiler::ReadTraceBytes(text, "trace", reader);
  if (!status.ok()) return status;
  return reader.view();
}

absl::StatusOr<std::vector<KernelTime>> Read(const std::string& text) {
  auto view = ReadAll(text);
  if (!view.ok()) return view.status();
  return view->kernels;
}

TEST(TraceReader, OneKernelForEqualCalls) {
  auto kernels = Read(R"({"schemaVersion": 1, "deviceProperties": [{"name": "x"}],
    "traceEvents": [
      {"ph": "M", "name": "process_name", "args": {"name": "weft"}},
      {"ph": "X", "name": "k", "dur": 2.5, "ts": 1,
       "args": {"kernel": "matmul_1", "bytes": 100, "provenance": ["a", "b"]}},
      {"ph": "X", "args": {"provenance": ["c"], "shape": [[1, 2], ["c"]]}, "name": "relu",
       "dur": 1},
      {"ph": "X", "name": "k", "dur": 1.5, "ts": 9,
       "args": {"provenance": ["a", "b"], "kernel": "matmul_1", "bytes": 20}}]})");
  ASSERT_TRUE(kernels.ok()) << kernels.status().ToString();
  ASSERT_EQ(kernels->size(), 2u);
  EXPECT_EQ((*kernels)[0].name, "matmul_1");
  EXPECT_EQ((*kernels)[0].calls, 2);
  EXPECT_EQ((*kernels)[0].bytes, 20);
  EXPECT_THAT((*kernels)[0].sources, ElementsAre("a", "b"));
  EXPECT_EQ((*kernels)[1].name, "relu");
  EXPECT_THAT((*kernels)[1].sources, ElementsAre("c"));
}

TEST(TraceReader, ReadsTheProfilersKeys) {
  auto kernels = Read(R"([{"ph": "X", "cat": "kernel", "name": "matmul", "ts": 1, "dur": 2,
      "args": {"Input Dims": [[2, 3], []], "Bytes moved": 48, "Bytes": 7,
               "kernel_backend": "onednn", "Flops": 24, "Provenance": ["a/MatMul"],
               "Rules": ["r"]}}])");
  ASSERT_TRUE(kernels.ok()) << kernels.status().ToString();
  ASSERT_EQ(kernels->size(), 1u);
  EXPECT_EQ((*kernels)[0].name, "matmul");
  EXPECT_EQ((*kernels)[0].bytes, 48);
  EXPECT_EQ((*kernels)[0].flops, 24);
  EXPECT_EQ((*kernels)[0].routine, "onednn");
  EXPECT_THAT((*kernels)[0].sources, ElementsAre("a/MatMul"));
}

TEST(TraceReader, StepsWithoutSourcesAreKernels) {
  auto kernels = Read(R"([{"ph": "X", "name": "copy", "dur": 2,
                           "args": {"kernel_backend": "copy"}}])");
  ASSERT_TRUE(kernels.ok()) << kernels.status().ToString();
  ASSERT_EQ(kernels->size(), 1u);
  EXPECT_THAT((*kernels)[0].sources, IsEmpty());
}

// One slow call, such as the first, does not make a kernel slow.
TEST(TraceReader, TimesAreMedians) {
  std::string text = "[";
  for (int us : {80, 48, 46, 45, 3221}) {
    absl::StrAppend(&text, text.size() > 1 ? "," : "", R"({"ph":"X","name":"k","dur":)", us,
                    R"(,"args":{"provenance":["s"]}})");
  }
  auto kernels = Read(text + "]");
  ASSERT_TRUE(kernels.ok()) << kernels.status().ToString();
  EXPECT_EQ((*kernels)[0].median_us, 48);
}

TEST(TraceReader, RunsAreStepsOfTheProfiler) {
  const auto kernel = [](const char* name, int at) {
    return absl::StrCat(R"({"ph":"X","name":")", name, R"(","dur":1,"ts":)", at,
                        R"(,"args":{"provenance":["s"]}})");
  };
  const auto step = [](int at) {
    return absl::StrCat(R"({"ph":"X","name":"ProfilerStep#1","dur":10,"ts":)", at, "}");
  };
  const auto join = [](std::vector<std::string> events) {
    return absl::StrCat("[", absl::StrJoin(events, ","), "]");
  };
  // The last step is empty.
  auto view = ReadAll(join({step(0), kernel("k", 1), kernel("k", 3), kernel("k", 5), step(10),
                            kernel("k", 11), kernel("k", 13), kernel("k", 15), step(20)}));
  ASSERT_TRUE(view.ok()) << view.status().ToString();
  EXPECT_EQ(view->runs, 2);
  // Without steps, the fewest calls of a kernel.
  view = ReadAll(join({kernel("k", 1), kernel("l", 2), kernel("k", 3), kernel("k", 4),
                       kernel("l", 5), kernel("k", 6)}));
  ASSERT_TRUE(view.ok()) << view.status().ToString();
  EXPECT_EQ(view->runs, 2);
}

TEST(TraceReader, HasTheTimesOfPasses) {
  auto view =
      ReadAll(R"([{"ph": "X", "cat": "compiler_pass", "name": "fixpoint.1.cse", "dur": 7}])");
  ASSERT_TRUE(view.ok()) << view.status().ToString();
  EXPECT_EQ(view->pass_us.at("fixpoint.1.cse"), 7);
}

TEST(TraceReader, TimelineBeginsAtZeroInOrder) {
  auto view = ReadAll(R"([
      {"ph": "M", "name": "thread_name", "pid": 1, "tid": 5, "args": {"name": "main"}},
      {"ph": "X", "name": "inner", "pid": 1, "tid": 5, "ts": 12, "dur": 1},
      {"ph": "X", "name": "k", "pid": 1, "tid": 5, "ts": 11, "dur": 1,
       "args": {"provenance": ["s"]}},
      {"ph": "X", "name": "outer", "pid": 1, "tid": 5, "ts": 11, "dur": 4},
      {"ph": "X", "name": "whole", "cat": "Trace", "pid": "Spans", "tid": "x", "ts": 0, "dur": 9},
      {"ph": "X", "name": "other", "pid": 1, "tid": 6, "ts": 10, "dur": 2},
      {"ph": "i", "name": "[memory]", "pid": 1, "tid": 5, "ts": 13,
       "args": {"Total Allocated": 64, "Bytes": 4, "Category": "activation"}},
      {"ph": "i", "name": "[memory]", "pid": 1, "tid": 5, "ts": 14,
       "args": {"Total Allocated": 60, "Bytes": -4}}])");
  ASSERT_TRUE(view.ok()) << view.status().ToString();
  const Timeline& timeline = view->timeline;
  EXPECT_THAT(timeline.tracks, ElementsAre("main", "thread 6"));
  std::vector<std::string> slices;
  for (const Timeline::Slice& s : timeline.slices) {
    slices.push_back(absl::StrCat(s.track, " ", timeline.names[s.name], " ", s.begin_ns, " ",
                                  s.duration_ns, " ", s.kernel));
  }
  EXPECT_THAT(slices, ElementsAre("0 outer 1000 4000 -1", "0 k 1000 1000 0", "0 inner 2000 1000 -1",
                                  "1 other 0 2000 -1"));
  EXPECT_THAT(timeline.categories, ElementsAre("activation", "memory"));
  ASSERT_EQ(timeline.memory.size(), 2u);
  EXPECT_EQ(timeline.memory[0].time_ns, 3000);
  EXPECT_EQ(timeline.memory[0].bytes, 64);
  EXPECT_EQ(timeline.memory[1].category, 1);
}

// Times of a file may be any numbers.
TEST(TraceReader, LeavesOutTimesAtTheEdgeOfNumbers) {
  auto view = ReadAll(R"([{"ph": "X", "name": "a", "ts": 4.7e15, "dur": 1},
                          {"ph": "X", "name": "b", "ts": -4.7e15, "dur": 1},
                          {"ph": "X", "name": "c", "ts": 1, "dur": 1}])");
  ASSERT_TRUE(view.ok()) << view.status().ToString();
  EXPECT_EQ(view->timeline.slices.size(), 1u);
  EXPECT_EQ(view->timeline.left_out, 2);
}

TEST(TraceReader, LeavesOutWhatIsNoKernel) {
  auto kernels = Read(R"({"other": [{"ph": "X", "dur": 1, "args": {"provenance": ["a"]}}],
    "traceEvents": [
      {"ph": "i", "name": "mark", "args": {"provenance": ["a"]}},
      {"ph": "X", "name": "none", "dur": 1, "args": {"kernel": "k"}},
      {"ph": "X", "name": "deep", "dur": 1, "args": {"x": {"provenance": ["a"]}}},
      {"ph": "X", "name": "top", "dur": 1, "provenance": ["a"]}],
    "traceEvents2": [{"ph": "X", "dur": 1, "args": {"provenance": ["a"]}}]})");
  ASSERT_TRUE(kernels.ok()) << kernels.status().ToString();
  EXPECT_THAT(*kernels, IsEmpty());
}

TEST(TraceReader, ReadsBareListsAndStrangeValues) {
  auto kernels = Read(R"([
      {"ph": "X", "name": "a", "args": {"provenance": ["s"], "bytes": 1e300}},
      {"ph": "X", "name": "a", "dur": 2, "args": {"provenance": ["s"], "bytes": -4}},
      {"ph": "X", "name": "b", "dur": 1, "args": {"provenance": ["t", 3], "bytes": "4"}},
      {"ph": "X", "name": "c", "dur": 1, "args": {"provenance": {"s": "s"}}},
      {"ph": "X", "name": "d", "dur": 1, "args": {"provenance": "s"}},
      {"ph": "X", "name": "e", "dur": 1, "args": {"provenance": [[["s"]]], "kernel": 3}}])");
  ASSERT_TRUE(kernels.ok()) << kernels.status().ToString();
  ASSERT_EQ(kernels->size(), 2u);
  EXPECT_EQ((*kernels)[0].calls, 2);
  EXPECT_EQ((*kernels)[0].median_us, 2);
  EXPECT_EQ((*kernels)[0].bytes, 0);
  EXPECT_THAT((*kernels)[1].sources, ElementsAre("t"));
  EXPECT_EQ((*kernels)[1].bytes, 0);
}

TEST(TraceReader, ManyEventsTakeNoMemory) {
  std::string text = "[";
  for (int i = 0; i < 50'000; ++i) {
    absl::StrAppend(&text, i == 0 ? "" : ",", R"({"ph":"X","name":"k)", i % 7,
                    R"(","dur":1,"args":{"provenance":["s"]}})");
  }
  auto kernels = Read(text + "]");
  ASSERT_TRUE(kernels.ok()) << kernels.status().ToString();
  EXPECT_EQ(kernels->size(), 7u);
}

}  // namespace
}  // namespace weft
