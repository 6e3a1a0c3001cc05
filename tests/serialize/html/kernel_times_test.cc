#include "serialize/html/kernel_times.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "profiler/read/read.h"

namespace weft {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

absl::StatusOr<std::vector<KernelTime>> Read(const std::string& text) {
  KernelTimes times;
  absl::Status status = profiler::ReadTraceBytes(text, "trace", times);
  if (!status.ok()) return status;
  return times.kernels();
}

TEST(KernelTimes, AddsUpCalls) {
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
  EXPECT_EQ((*kernels)[0].microseconds, 4.0);
  EXPECT_EQ((*kernels)[0].calls, 2);
  EXPECT_EQ((*kernels)[0].bytes, 120);
  EXPECT_THAT((*kernels)[0].sources, ElementsAre("a", "b"));
  EXPECT_EQ((*kernels)[1].name, "relu");
  EXPECT_THAT((*kernels)[1].sources, ElementsAre("c"));
}

TEST(KernelTimes, ReadsTheProfilersKeys) {
  auto kernels = Read(R"([{"ph": "X", "cat": "kernel", "name": "matmul", "ts": 1, "dur": 2,
      "args": {"Input Dims": [[2, 3], []], "Bytes moved": 48, "Bytes": 7,
               "kernel_backend": "onednn", "Provenance": ["a/MatMul"], "Rules": ["r"]}}])");
  ASSERT_TRUE(kernels.ok()) << kernels.status().ToString();
  ASSERT_EQ(kernels->size(), 1u);
  EXPECT_EQ((*kernels)[0].name, "matmul");
  EXPECT_EQ((*kernels)[0].bytes, 48);
  EXPECT_THAT((*kernels)[0].sources, ElementsAre("a/MatMul"));
}

TEST(KernelTimes, LeavesOutWhatIsNoKernel) {
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

TEST(KernelTimes, ReadsBareListsAndStrangeValues) {
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
  EXPECT_EQ((*kernels)[0].microseconds, 2);
  EXPECT_EQ((*kernels)[0].bytes, 0);
  EXPECT_THAT((*kernels)[1].sources, ElementsAre("t"));
  EXPECT_EQ((*kernels)[1].bytes, 0);
}

TEST(KernelTimes, ManyEventsTakeNoMemory) {
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
