// The judge of random programs: differences that it accepts as rounding, and others.
#include "tests/trust/judge.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_replace.h"
#include "backends/reference/executor.h"
#include "graph/ir/module.h"
#include "gtest/gtest.h"
#include "tests/support/parse.h"

namespace weft::trust {
namespace {

// A program of one output, with inputs.
class Judged {
 public:
  Judged(const std::string& text, std::vector<HostTensor> inputs)
      : module_(Parse(text)), inputs_(std::move(inputs)) {
    const auto results = reference::Run(*module_->main(), inputs_);
    EXPECT_TRUE(results.ok()) << results.status();
    if (results.ok()) want_ = (*results)[0];
  }

  const HostTensor& want() const { return want_; }
  // The result of the reference with another element `i`.
  HostTensor With(int64_t i, double value) const {
    std::vector<double> values = want_.ReadDoubles();
    values[i] = value;
    return HostTensor::FromDoubles(want_.dtype(), want_.dims(), values);
  }
  // The same times `factor`.
  HostTensor Times(int64_t i, double factor) const { return With(i, want_.DoubleAt(i) * factor); }

  std::string Difference(const HostTensor& got, const JudgeLimits& limits = {}) const {
    return Difference(got, want_, limits);
  }
  std::string Difference(const HostTensor& got, const HostTensor& want,
                         const JudgeLimits& limits) const {
    int64_t trials = 0;
    return DifferenceBeyondRounding(*module_, inputs_, {got}, {want}, limits, &trials);
  }

 private:
  std::unique_ptr<Module> module_;
  std::vector<HostTensor> inputs_;
  HostTensor want_;
};

HostTensor Floats(DType dtype, const std::vector<int64_t>& dims,
                  const std::vector<double>& values) {
  return HostTensor::FromDoubles(dtype, dims, values);
}

// The numbers i * step, from -count / 2 on.
std::vector<double> Ramp(int64_t count, double step) {
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(static_cast<double>(i - count / 2) * step);
  return values;
}

const char kSum[] = R"(
func @main(%x: f32[8], %y: f32[8]) -> f32[8] {
  %0 = add(%x, %y) : f32[8]
  %1 = tanh(%0) : f32[8]
  return %1
})";

TEST(JudgeTest, FewUnitsInTheLastPlaceAreRounding) {
  for (const char* dtype : {"f32", "f16", "bf16", "f64"}) {
    const std::string text = absl::StrReplaceAll(kSum, {{"f32", dtype}});
    const DType type = *ParseDType(dtype);
    const Judged judged(text, {Floats(type, {8}, Ramp(8, 0.25)), Floats(type, {8}, Ramp(8, 0.5))});
    const double epsilon = dtype == std::string("f64")   ? 0x1p-52
                           : dtype == std::string("f32") ? 0x1p-23
                           : dtype == std::string("f16") ? 0x1p-10
                                                         : 0x1p-7;
    EXPECT_EQ(judged.Difference(judged.Times(6, 1 + 2 * epsilon)), "") << dtype;
    EXPECT_NE(judged.Difference(judged.Times(6, 1 - 40 * epsilon)), "") << dtype;
  }
}

TEST(JudgeTest, SmallElementsBesideLargeOnesAreJudged) {
  const Judged judged(R"(
func @main(%x: f32[4]) -> f32[4] {
  %0 = exp(%x) : f32[4]
  return %0
})",
                      {Floats(DType::kF32, {4}, {80, 0.5, 1, 2})});
  EXPECT_EQ(judged.Difference(judged.Times(1, 1 + 2e-7)), "");
  EXPECT_NE(judged.Difference(judged.Times(1, 1.00001)), "");
}

TEST(JudgeTest, ProgramsThatMoveDataAreExact) {
  const Judged judged(R"(
func @main(%x: f32[2, 3]) -> f32[3, 2] {
  %0 = relu(%x) : f32[2, 3]
  %1 = permute(%0, dims=[1, 0]) : f32[3, 2]
  return %1
})",
                      {Floats(DType::kF32, {2, 3}, {1, 2, 3, 4, 5, -6})});
  EXPECT_EQ(judged.Difference(judged.With(5, -0.0)), "");
  EXPECT_NE(judged.Difference(judged.With(0, std::nextafterf(1, 2))), "");
}

const char kMatmul[] = R"(
func @main(%x: f32[1, 64], %w: f32[64, 2]) -> f32[1, 2] {
  %0 = matmul(%x, %w) : f32[1, 2]
  return %0
})";

// Terms of 8 whose sum is nearly 0.
TEST(JudgeTest, CancellationIsMeasuredByTheTerms) {
  const Judged judged(kMatmul, {Floats(DType::kF32, {1, 64}, Ramp(64, 0.25)),
                                Floats(DType::kF32, {64, 2}, std::vector<double>(128, 1))});
  EXPECT_EQ(judged.want().DoubleAt(0), -8);
  EXPECT_EQ(judged.Difference(judged.With(0, -8 + 1e-5)), "");
  EXPECT_NE(judged.Difference(judged.With(0, -8 + 1e-3)), "");
}

TEST(JudgeTest, OperandsOfFewerBitsAreAllowedByThePrecision) {
  const Judged judged(kMatmul, {Floats(DType::kF32, {1, 64}, Ramp(64, 0.251)),
                                Floats(DType::kF32, {64, 2}, Ramp(128, 0.013))});
  const HostTensor narrow = judged.Times(0, 1 + 1e-3);
  JudgeLimits limits;
  EXPECT_NE(judged.Difference(narrow, limits), "");
  limits.operand_error = 0x1p-16;
  EXPECT_NE(judged.Difference(narrow, limits), "");
  limits.operand_error = 0x1p-8;
  EXPECT_EQ(judged.Difference(narrow, limits), "");
  EXPECT_NE(judged.Difference(judged.Times(0, 1.2), limits), "");
}

// If both results are an executor's, either may be wrong.
TEST(JudgeTest, WrongExpectationsExplainNothing) {
  const Judged judged(
      kSum, {Floats(DType::kF32, {8}, Ramp(8, 0.25)), Floats(DType::kF32, {8}, Ramp(8, 0.5))});
  JudgeLimits limits;
  limits.both_round = true;
  const HostTensor& right = judged.want();
  const HostTensor near = judged.Times(5, 1 + 2e-7);
  const HostTensor wrong = judged.Times(5, 1.01);
  EXPECT_EQ(judged.Difference(near, right, limits), "");
  EXPECT_EQ(judged.Difference(right, near, limits), "");
  EXPECT_NE(judged.Difference(wrong, right, limits), "");
  EXPECT_NE(judged.Difference(right, wrong, limits), "");
}

TEST(JudgeTest, WideIntegersAreComparedInAllBits) {
  const int64_t big = (int64_t{1} << 60) + 1;
  const Judged judged(R"(
func @main(%x: i64[1]) -> i64[1] {
  %0 = add(%x, %x) : i64[1]
  return %0
})",
                      {HostTensor::FromInts(DType::kI64, {1}, {big})});
  EXPECT_NE(judged.Difference(HostTensor::FromInts(DType::kI64, {1}, {2 * big - 1})), "");
}

// The zeros that relu makes of -1 may be negative: the angle of one with -2 lies on either side of
// the cut of atan2. That of one with 2, and all others, are where they are.
const char kAngle[] = R"(
func @main(%x: f32[4], %y: f32[4]) -> f32[4] {
  %0 = relu(%x) : f32[4]
  %1 = atan2(%0, %y) : f32[4]
  return %1
})";

TEST(JudgeTest, ZerosMayLieOnEitherSideOfABranchCut) {
  const Judged judged(
      kAngle, {Floats(DType::kF32, {4}, {-1, 1, -1, 1}), Floats(DType::kF32, {4}, {-2, -2, 2, 2})});
  const double pi = judged.want().DoubleAt(0);
  EXPECT_NEAR(std::abs(pi), 3.14159, 1e-5);
  EXPECT_EQ(judged.Difference(judged.With(0, -pi)), "");
  EXPECT_EQ(judged.Difference(judged.With(0, -pi * (1 + 2e-7))), "");
  for (const double wrong : {-pi * (1 + 1e-5), pi * (1 - 1e-5), 0.0, 1.0, 2 * pi}) {
    EXPECT_NE(judged.Difference(judged.With(0, wrong)), "") << wrong;
  }
  EXPECT_NE(judged.Difference(judged.Times(1, -1)), "");
  EXPECT_NE(judged.Difference(judged.With(2, pi)), "");
}

TEST(JudgeTest, TwoResultsMayLieOnTwoSidesOfABranchCut) {
  const Judged judged(
      kAngle, {Floats(DType::kF32, {4}, {-1, 1, -1, 1}), Floats(DType::kF32, {4}, {-2, -2, 2, 2})});
  JudgeLimits limits;
  limits.both_round = true;
  const double pi = judged.want().DoubleAt(0);
  EXPECT_EQ(judged.Difference(judged.With(0, -pi), judged.want(), limits), "");
  EXPECT_EQ(judged.Difference(judged.want(), judged.With(0, -pi), limits), "");
  EXPECT_NE(judged.Difference(judged.With(0, -pi * 1.0001), judged.want(), limits), "");
  EXPECT_NE(judged.Difference(judged.With(0, -pi), judged.With(0, 1), limits), "");
}

TEST(JudgeTest, InfinitiesOfEitherSignAndNothingElse) {
  const double infinity = std::numeric_limits<double>::infinity();
  const Judged judged(R"(
func @main(%x: f32[2]) -> f32[2] {
  %0 = relu(%x) : f32[2]
  %1 = reciprocal(%0) : f32[2]
  return %1
})",
                      {Floats(DType::kF32, {2}, {-1, 4})});
  EXPECT_EQ(judged.Difference(judged.With(0, infinity)), "");
  EXPECT_EQ(judged.Difference(judged.With(0, -infinity)), "");
  EXPECT_NE(judged.Difference(judged.With(0, 1)), "");
  EXPECT_NE(judged.Difference(judged.With(0, std::nan(""))), "");
  EXPECT_NE(judged.Difference(judged.With(1, -0.25)), "");
}

TEST(JudgeTest, ZerosThatAreGivenKeepTheirSigns) {
  const Judged judged(R"(
func @main(%x: f32[2], %y: f32[2]) -> f32[2] {
  %0 = flip(%x, dims=[0]) : f32[2]
  %1 = atan2(%0, %y) : f32[2]
  return %1
})",
                      {Floats(DType::kF32, {2}, {-0.0, 0.0}), Floats(DType::kF32, {2}, {-1, -1})});
  EXPECT_GT(judged.want().DoubleAt(0), 3);
  EXPECT_LT(judged.want().DoubleAt(1), -3);
  EXPECT_NE(judged.Difference(judged.Times(0, -1)), "");
  EXPECT_NE(judged.Difference(judged.Times(1, -1)), "");
}

// The cell of the first element is 1 after a step, by saturated gates, and loses all but 1e-4 of
// that in the next; that of the second element grows to 2. No error of an operand moves them.
TEST(JudgeTest, CompositesAreJudgedByTheirParts) {
  const Judged judged(
      R"(
func @main(%x: f32[2, 2, 1], %w: f32[1, 4, 1], %r: f32[1, 4, 1], %b: f32[1, 8]) -> f32[1, 2, 1] {
  %0, %1, %2 = lstm(%x, %w, %r, %b, none, none, none, none, hidden_size=1)
  return %1
})",
      {Floats(DType::kF32, {2, 2, 1}, {1, 1, -0.2475, 1}),
       Floats(DType::kF32, {1, 4, 1}, {0, 0, 0, 20}), Floats(DType::kF32, {1, 4, 1}, {0, 0, 0, 0}),
       Floats(DType::kF32, {1, 8}, {30, 30, 30, 0, 0, 0, 0, 0})});
  const double cell = judged.want().DoubleAt(0);
  EXPECT_NEAR(cell, 1e-4, 1e-5);
  EXPECT_EQ(judged.Difference(judged.With(0, cell + 0x1p-23)), "");
  EXPECT_EQ(judged.Difference(judged.With(0, cell - 0x1p-23)), "");
  EXPECT_NE(judged.Difference(judged.Times(0, 1.2)), "");
  EXPECT_NE(judged.Difference(judged.With(0, 0)), "");
  EXPECT_NE(judged.Difference(judged.Times(1, 1 + 1e-5)), "");
}

// In f32, %0 is -0 at -6, which times an infinity is NaN.
TEST(JudgeTest, WhatRoundsToZeroExplainsNan) {
  const double infinity = std::numeric_limits<double>::infinity();
  const Judged judged(R"(
func @main(%x: f32[2], %y: f32[2]) -> f32[2] {
  %0 = gelu(%x) : f32[2]
  %1 = mul(%0, %y) : f32[2]
  return %1
})",
                      {Floats(DType::kF32, {2}, {-6, 1}), Floats(DType::kF32, {2}, {infinity, 1})});
  const auto differs = [&](double first, double second) {
    return judged.Difference(Floats(DType::kF32, {2}, {first, second}));
  };
  EXPECT_EQ(differs(-infinity, 0.841345), "");
  EXPECT_EQ(differs(std::nan(""), 0.841345), "");
  EXPECT_NE(differs(-infinity, 0.85), "");
  EXPECT_NE(differs(-infinity, std::nan("")), "");
}

}  // namespace
}  // namespace weft::trust
