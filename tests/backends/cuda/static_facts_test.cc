// What plans say about their kernels without a GPU. Facts of the compiler are tested where NVRTC is
// installed, or at the path in WEFT_TEST_NVRTC.
#include "backends/cuda/static_facts.h"

#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "backends/cuda/target.h"
#include "backends/cuda/trace/gpu_models.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lowering/lower.h"
#include "tests/backends/cuda/emulated_program.h"
#include "tests/support/parse.h"

namespace weft::cuda {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

// A kernel of one launch, a matmul, and a reduction that is split into two launches.
constexpr char kProgram[] = R"(
  func @main(%x: f32[s0, 4096], %w: f32[4096, 64], %y: f32[1000, 4096]) -> (f32[s0, 64], f32[])
      where 1 <= s0 {
    %0 = softmax(%x, dim=-1)
    %1 = matmul(%0, %w)
    %2 = sum(%y, dim=[0, 1])
    return %1, %2
  })";

Plan MakePlan(const Module& module) {
  auto plan = Lower(*module.main(), CudaTarget());
  EXPECT_TRUE(plan.ok()) << plan.status();
  return *std::move(plan);
}

std::vector<std::string> LinesOf(const Plan& plan, const NvrtcApi& nvrtc, const char* model) {
  const auto text = DescribeCode(plan, nvrtc, *FindGpuModel(model));
  EXPECT_TRUE(text.ok()) << text.status();
  std::vector<std::string> lines = absl::StrSplit(*text, '\n', absl::SkipEmpty());
  for (const std::string& line : lines) EXPECT_EQ(line.substr(0, 3), "// ") << line;
  return lines;
}

TEST(StaticFacts, HasALineForEachLaunch) {
  const auto module = Parse(kProgram);
  const Plan plan = MakePlan(*module);
  // The emulated compiler tells nothing about the code.
  const auto lines = LinesOf(plan, Emulated().nvrtc, "H200");
  ASSERT_EQ(lines.size(), 2 + plan.steps.size() + 1);
  EXPECT_THAT(lines[0], HasSubstr("code for H200 (sm_90) for s0=2"));
  EXPECT_THAT(lines[2], HasSubstr("unknown code"));
  EXPECT_THAT(testing::PrintToString(lines), HasSubstr("matmul"));
}

// Two functions, one of which three nests share.
TEST(StaticFacts, TellsTheNestsOfALaunch) {
  const auto module = Parse(R"(
    func @main(%x: f32[64], %y: f32[1024], %z: f32[40], %i: i64[8])
        -> (f32[64], f32[1024], f32[40], i64[8]) {
      %0, %1, %2, %3 = fused(%x, %y, %z, %i, kind="horizontal") {
        body(%x: f32[64], %y: f32[1024], %z: f32[40], %i: i64[8]) {
          %0 = exp(%x)
          %1 = exp(%y)
          %2 = exp(%z)
          %3 = neg(%i)
          return %0, %1, %2, %3
        }
      }
      return %0, %1, %2, %3
    })");
  const auto lines = LinesOf(MakePlan(*module), Emulated().nvrtc, "H200");
  ASSERT_EQ(lines.size(), 4u);
  const std::string first = lines[2].substr(0, lines[2].find("unknown"));
  EXPECT_THAT(std::vector<std::string>(absl::StrSplit(first, ' ', absl::SkipEmpty())),
              ElementsAre("//", "0", MatchesRegex("weft_nest[0-9]\\[3\\]"), "3", "256"));
  EXPECT_THAT(lines[3], Not(HasSubstr("[")));
}

TEST(StaticFacts, KnowsItsModels) {
  for (const char* name : {"H200", "L4", "RTX4090"}) {
    const GpuModel* model = FindGpuModel(name);
    ASSERT_NE(model, nullptr) << name;
    EXPECT_THAT(std::string(kGpuModelNames), HasSubstr(name));
    // A kernel of 256 threads with 32 registers fills each of them.
    const int64_t blocks = OccupancyOf(model->limits, {256, 32, 0}).Blocks();
    EXPECT_EQ(ShareOfThreads(model->limits, static_cast<double>(blocks), 256), 1.0) << name;
  }
  EXPECT_EQ(FindGpuModel("none"), nullptr);
}

TEST(StaticFacts, HasTheCompilersFacts) {
  const char* path = std::getenv("WEFT_TEST_NVRTC");
  const auto nvrtc = OpenNvrtc(path == nullptr ? "" : path);
  if (!nvrtc.ok()) GTEST_SKIP() << nvrtc.status().message();
  const auto module = Parse(kProgram);
  const Plan plan = MakePlan(*module);
  for (const char* model : {"H200", "L4"}) {
    int launches = 0;
    for (const std::string& line : LinesOf(plan, **nvrtc, model)) {
      const std::vector<std::string> words =
          absl::StrSplit(line, absl::ByAnyChar(" "), absl::SkipEmpty());
      if (words.size() < 9 || words[2].find("weft") != 0) continue;
      ++launches;
      EXPECT_GE(std::stoi(words[3]), 1) << line;       // Blocks.
      EXPECT_EQ(std::stoi(words[4]) % 32, 0) << line;  // Threads.
      EXPECT_GE(std::stoi(words[5]), 8) << line;       // Registers.
      EXPECT_EQ(words[6], "0") << line;                // Spills.
      EXPECT_GE(std::stoi(words[8]), 1) << line;       // Blocks on a multiprocessor.
    }
    EXPECT_EQ(launches, 3);
  }
}

}  // namespace
}  // namespace weft::cuda
