// Predictions of slow steps, by programs with one each.
#include "api/inspect/cliffs.h"

#include <algorithm>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "api/backends.h"
#include "gmock/gmock.h"
#include "graph/ir/module.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/support/generic_target.h"
#include "tests/support/parse.h"

namespace weft {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

// The CPU without a routine for cummax, which no kernel computes.
const Target& Cpu() {
  static const Target& target = *[] {
    auto* target = new Target((*BuiltinBackends().Find("cpu"))->target());
    auto& routines = target->routines;
    routines.erase(std::remove_if(routines.begin(), routines.end(),
                                  [](const Routine& r) { return r.name == "running_extrema"; }),
                   routines.end());
    return target;
  }();
  return target;
}

CliffReport Predict(const std::string& text, const Target& target = GenericTarget(),
                    const CliffOptions& options = {}) {
  const auto report = PredictCliffs(*Parse(text), target, options);
  EXPECT_TRUE(report.ok()) << report.status();
  return report.ok() ? *report : CliffReport();
}

TEST(Cliffs, ReferenceStepsWithTheirReasons) {
  const CliffReport report = Predict(R"(
func @main(%x: f32[batch, 8]) -> (f32[batch, 8], i64[batch, 8], f32[batch, 8])
    where hint(batch) = 100 {
  %0, %1 = cummax(%x, dim=1) loc("order")
  %2 = exp(%x) loc("quick")
  return %0, %1, %2
}
)",
                                     Cpu());
  ASSERT_EQ(report.cliffs.size(), 1u) << report.ToString();
  const Cliff& cliff = report.cliffs[0];
  EXPECT_EQ(cliff.kind, CliffKind::kReference);
  EXPECT_EQ(cliff.what, "reference cummax");
  EXPECT_EQ(cliff.reason, "cpu has no routine for cummax; no kernel has cummax");
  EXPECT_THAT(cliff.sources, ElementsAre("order"));
  EXPECT_EQ(cliff.bytes, 100 * 8 * (4 + 4 + 8));
  EXPECT_LT(cliff.share(), 0.5);
  EXPECT_EQ(report.steps, 2);
  EXPECT_GT(report.us, cliff.us);
  EXPECT_THAT(report.ToString(),
              AllOf(StartsWith("cliffs on cpu: 1 of 2 steps, "), HasSubstr(", batch=100\n"),
                    HasSubstr("@main 0: reference cummax: cpu has no routine for cummax"),
                    HasSubstr("(from \"order\")")));
}

TEST(Cliffs, ARoutineThatDoesNotTakeTheNode) {
  const CliffReport report = Predict(R"(
func @main(%x: f64[1, 2, 6, 6], %w: f64[2, 2, 3, 3]) -> f64[1, 2, 4, 4] {
  %0 = convolution(%x, %w, none, stride=[1, 1], padding=[0, 0], dilation=[1, 1])
  return %0
}
)",
                                     Cpu());
  ASSERT_EQ(report.cliffs.size(), 1u) << report.ToString();
  EXPECT_THAT(report.cliffs[0].reason,
              AllOf(HasSubstr("the routine "), HasSubstr(" of cpu does not take these types")));
}

TEST(Cliffs, CopiesOfLargeBuffers) {
  const std::string text = R"(
func @main(%x: f32[n, 1024]) -> f32[1024, n] where 1 <= n {
  %0 = permute(%x, dims=[1, 0]) loc("turn")
  return %0
}
)";
  CliffOptions options;
  options.sizes = {{"n", 2000}};
  CliffReport report = Predict(text, Cpu(), options);
  ASSERT_EQ(report.cliffs.size(), 1u) << report.ToString();
  EXPECT_EQ(report.cliffs[0].kind, CliffKind::kCopy);
  EXPECT_EQ(report.cliffs[0].what, "copy");
  EXPECT_EQ(report.cliffs[0].reason, "16.4 MB read and written: an output is in row-major order");
  EXPECT_EQ(report.cliffs[0].bytes, 2 * 2000 * 1024 * 4);
  // 8 KB.
  options.sizes = {{"n", 1}};
  EXPECT_TRUE(Predict(text, Cpu(), options).cliffs.empty());
}

TEST(Cliffs, KernelsThatOnlyMoveElements) {
  const CliffReport report = Predict(R"(
func @main(%x: f32[1000, 1000], %y: f16[1000, 1000]) -> (f32[1000, 1000], f32[1000, 1000]) {
  %0 = flip(%x, dims=[1]) loc("turn")
  %1 = convert(%y, dtype=f32) loc("widen")
  return %0, %1
}
)",
                                     Cpu());
  ASSERT_EQ(report.cliffs.size(), 2u) << report.ToString();
  EXPECT_EQ(report.cliffs[0].kind, CliffKind::kCopy);
  EXPECT_THAT(report.cliffs[0].what, StartsWith("kernel @"));
  EXPECT_EQ(report.cliffs[0].reason, "8 MB read and written by a kernel that only moves elements");
  EXPECT_EQ(report.cliffs[1].reason,
            "6 MB read and written by a kernel that only converts elements");
}

// One operand is read along its rows, the other across them, over more lines than a cache has.
TEST(Cliffs, KernelsThatReadLinesOfMemoryForSingleElements) {
  const auto program = [](int64_t rows, int64_t columns) {
    return absl::StrCat("func @main(%x: f32[", rows, ", ", columns, "], %y: f32[", columns, ", ",
                        rows, "]) -> f32[", rows, ", ", columns, R"(] {
  %0 = permute(%y, dims=[1, 0])
  %1 = add(%x, %0) loc("sum")
  return %1
}
)");
  };
  const CliffReport report = Predict(program(64, 100000), Cpu());
  ASSERT_EQ(report.cliffs.size(), 1u) << report.ToString();
  EXPECT_EQ(report.cliffs[0].kind, CliffKind::kSlow);
  EXPECT_THAT(report.cliffs[0].reason, HasSubstr("elements of %y lie apart in memory"));
  EXPECT_LT(report.cliffs[0].share(), 0.5);
  EXPECT_TRUE(Predict(program(64, 100), Cpu()).cliffs.empty());
}

TEST(Cliffs, KernelsWithManyFunctions) {
  std::string text = "func @main(%v0: f32[1000, 16]) -> f32[1000, 16] {\n";
  for (int i = 0; i < 20; ++i) absl::StrAppend(&text, "  %v", i + 1, " = sin(%v", i, ")\n");
  absl::StrAppend(&text, "  return %v20\n}\n");
  // Node by node each function is a kernel, and none is slow.
  EXPECT_TRUE(Predict(text, Cpu()).cliffs.empty());
  std::string fused =
      "func @main(%x: f32[1000, 16]) -> f32[1000, 16] {\n"
      "  %0 = fused(%x, kind=\"pointwise\") {\n    body(%v0: f32[1000, 16]) {\n";
  for (int i = 0; i < 20; ++i) absl::StrAppend(&fused, "  %v", i + 1, " = sin(%v", i, ")\n");
  absl::StrAppend(&fused, "  return %v20\n}\n}\nreturn %0\n}\n");
  const CliffReport report = Predict(fused, Cpu());
  ASSERT_EQ(report.cliffs.size(), 1u) << report.ToString();
  EXPECT_EQ(report.cliffs[0].reason, "20 functions and 0 divisions for each point");
}

constexpr char kScan[] = R"(
func @main(%h: f32[4], %x: f32[t, 4]) -> (f32[4], f32[t, 4]) where 1 <= t {
  %0, %1 = scan(%h, %x, num_carried=1, num_scanned=1) {
    body(%a: f32[4], %b: f32[4]) -> (f32[4], f32[4]) {
      %s, %i = cummax(%b, dim=0)
      %n = add(%a, %s)
      return %n, %n
    }
  }
  return %0, %1
}
)";

TEST(Cliffs, StepsOfScansCountOncePerTurn) {
  CliffOptions options;
  options.sizes = {{"t", 1}};
  const CliffReport once = Predict(kScan, Cpu(), options);
  options.sizes = {{"t", 50}};
  const CliffReport often = Predict(kScan, Cpu(), options);
  ASSERT_EQ(once.cliffs.size(), 1u) << once.ToString();
  ASSERT_EQ(often.cliffs.size(), 1u) << often.ToString();
  EXPECT_EQ(often.cliffs[0].turns, 50);
  EXPECT_EQ(often.cliffs[0].bytes, 50 * once.cliffs[0].bytes);
  EXPECT_DOUBLE_EQ(often.cliffs[0].us, 50 * once.cliffs[0].us);
  EXPECT_THAT(often.ToString(), HasSubstr("; 50 turns"));
}

TEST(Cliffs, TheMostExpensiveComeFirst) {
  const CliffReport report = Predict(R"(
func @main(%x: f32[10], %y: f32[1000], %z: f32[100]) -> (f32[10], f32[1000], f32[100]) {
  %0, %1 = cummax(%x, dim=0) loc("x")
  %2, %3 = cummax(%y, dim=0) loc("y")
  %4, %5 = cummax(%z, dim=0) loc("z")
  return %0, %2, %4
}
)",
                                     Cpu());
  ASSERT_EQ(report.cliffs.size(), 3u);
  EXPECT_THAT(report.cliffs[0].sources, ElementsAre("y"));
  EXPECT_THAT(report.cliffs[1].sources, ElementsAre("z"));
  EXPECT_THAT(report.cliffs[2].sources, ElementsAre("x"));
}

TEST(Cliffs, AsJson) {
  const CliffReport report = Predict(kScan, Cpu());
  const nlohmann::json json = nlohmann::json::parse(report.ToJson());
  EXPECT_EQ(json["target"], "cpu");
  EXPECT_EQ(json["sizes"]["t"], 64);
  EXPECT_EQ(json["cliffs"][0]["kind"], "reference");
  EXPECT_EQ(json["cliffs"][0]["turns"], 64);
  EXPECT_EQ(json["cliffs"][0]["step"], 0);
}

TEST(Cliffs, Errors) {
  CliffOptions options;
  options.sizes = {{"s", 1}};
  EXPECT_EQ(PredictCliffs(*Parse(kScan), Cpu(), options).status().message(),
            "the plan has no size \"s\"");
  EXPECT_EQ(PredictCliffs(*Parse("func @f(%x: f32[2]) -> f32[2] {\n  return %x\n}\n"), Cpu())
                .status()
                .code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace weft
