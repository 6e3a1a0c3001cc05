// Differences that the judge accepts as rounding, and others that it does not.
#include "api/check/target/node_judge.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "api/check/target/element_bounds.h"
#include "api/check/target/rounding_trial.h"
#include "backends/runtime/symbol_env.h"
#include "gmock/gmock.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/tensor/tensor.h"
#include "gtest/gtest.h"
#include "tests/support/parse.h"

namespace weft {
namespace {

using testing::HasSubstr;

HostTensor Floats(const std::vector<int64_t>& dims, const std::vector<double>& values) {
  return HostTensor::FromDoubles(DType::kF32, dims, values);
}

// The judgement on the first node of the graph in `text`.
NodeJudgement Judged(const std::string& text, const std::vector<HostTensor>& operands,
                     const HostTensor& got) {
  const auto module = Parse(text);
  const SymbolEnv env(module->symbols());
  auto judged = JudgeNode(*module->main()->first_node(), operands, env, {got});
  EXPECT_TRUE(judged.ok()) << judged.status();
  return judged.ok() ? *std::move(judged) : NodeJudgement();
}

const char kSum[] = R"(
func @main(%x: f32[4096]) -> f32[] {
  %0 = sum(%x, dim=[0]) : f32[]
  return %0
}
)";

TEST(NodeJudgeTest, SumsInOtherOrdersAreWithin) {
  std::vector<double> values;
  float forwards = 0;
  for (int i = 0; i < 4096; ++i) {
    values.push_back(static_cast<float>(std::sin(i * 0.7) * (i % 7 == 0 ? 1000 : 1)));
    forwards += static_cast<float>(values.back());
  }
  EXPECT_TRUE(
      Judged(kSum, {Floats({4096}, values)}, HostTensor::Scalar(DType::kF32, forwards)).same);
}

TEST(NodeJudgeTest, SumWithoutOneTermIsNot) {
  std::vector<double> values(4096, 0.5);
  const NodeJudgement judged =
      Judged(kSum, {Floats({4096}, values)}, HostTensor::Scalar(DType::kF32, 2047.5));
  EXPECT_FALSE(judged.same);
  EXPECT_GT(judged.excess, 1);
  EXPECT_THAT(judged.difference, HasSubstr("got 2047.5, want 2048"));
}

// The product of two n x n matrices, with one element off by `units` in the last place of a typical
// one.
NodeJudgement JudgedProduct(int64_t n, double units) {
  std::vector<double> a, b;
  for (int64_t i = 0; i < n * n; ++i) {
    a.push_back(static_cast<float>(std::sin(i * 0.7)));
    b.push_back(static_cast<float>(std::cos(i * 1.3)));
  }
  const std::string type = absl::StrCat("f32[", n, ", ", n, "]");
  const std::string text = absl::StrCat("func @main(%a: ", type, ", %b: ", type, ") -> ", type,
                                        " {\n%0 = matmul(%a, %b) : ", type, "\nreturn %0\n}\n");
  const std::vector<HostTensor> operands = {Floats({n, n}, a), Floats({n, n}, b)};
  const HostTensor want = Judged(text, operands, Floats({n, n}, a)).want[0];
  std::vector<double> got = want.ReadDoubles();
  double& smallest = *std::min_element(
      got.begin(), got.end(), [](double x, double y) { return std::abs(x) < std::abs(y); });
  smallest += units * EpsilonOf(DType::kF32) * TypicalMagnitude(absl::MakeConstSpan(got));
  return Judged(text, operands, Floats({n, n}, got));
}

TEST(NodeJudgeTest, LargestErrorOfManySumsNeedsNoTrial) {
  // 4 units, and 3 times the root of 256; more for the largest of 65536 errors.
  EXPECT_EQ(JudgedProduct(256, 50).trials, 0);
  EXPECT_EQ(JudgedProduct(256, 60).trials, 0);
  EXPECT_GT(JudgedProduct(256, 70).trials, 0);
  // 3 times the root of 32, without more.
  EXPECT_EQ(JudgedProduct(32, 20).trials, 0);
  EXPECT_GT(JudgedProduct(32, 22).trials, 0);
}

TEST(NodeJudgeTest, ExactOpsAreEqualInEveryBit) {
  const char text[] = R"(
func @main(%x: f32[2]) -> f32[2] {
  %0 = relu(%x) : f32[2]
  return %0
}
)";
  const HostTensor x = Floats({2}, {1, -1});
  EXPECT_TRUE(Judged(text, {x}, Floats({2}, {1, 0})).same);
  EXPECT_TRUE(Judged(text, {x}, Floats({2}, {1, -0.0})).same);
  EXPECT_FALSE(Judged(text, {x}, Floats({2}, {1.0000001, 0})).same);
}

TEST(NodeJudgeTest, NanIsNoNumber) {
  const char text[] = R"(
func @main(%x: f32[2]) -> f32[2] {
  %0 = sigmoid(%x) : f32[2]
  return %0
}
)";
  const double nan = std::nan("");
  const HostTensor x = Floats({2}, {0, nan});
  EXPECT_TRUE(Judged(text, {x}, Floats({2}, {0.5, nan})).same);
  EXPECT_FALSE(Judged(text, {x}, Floats({2}, {0.5, 1})).same);
  EXPECT_FALSE(Judged(text, {x}, Floats({2}, {nan, nan})).same);
}

TEST(NodeJudgeTest, CancellationInAGroupIsWithinItsIntermediates) {
  const char text[] = R"(
func @main(%x: f32[2]) -> f32[2] {
  %0 = fused(%x, kind="pointwise") : f32[2] {
    body(%a: f32[2]) -> f32[2] {
      %1 = exp(%a) : f32[2]
      %2 = exp(%a) : f32[2]
      %3 = mul(%1, %a) : f32[2]
      %4 = sub(%3, %2) : f32[2]
      return %4
    }
  }
  return %0
}
)";
  // exp(1) * 1 - exp(1) is 0, and of numbers of 2.7 off by a unit of 2.7 or two.
  const HostTensor x = Floats({2}, {1, 2});
  const double other = std::exp(2.0);
  EXPECT_TRUE(Judged(text, {x}, Floats({2}, {2.4e-7, other})).same);
  EXPECT_FALSE(Judged(text, {x}, Floats({2}, {1e-4, other})).same);
}

TEST(NodeJudgeTest, WideIntegersAreComparedExactly) {
  const char text[] = R"(
func @main(%x: i64[1]) -> i64[1] {
  %0 = abs(%x) : i64[1]
  return %0
}
)";
  const int64_t big = (int64_t{1} << 60) + 1;
  const HostTensor x = HostTensor::FromInts(DType::kI64, {1}, {big});
  EXPECT_TRUE(Judged(text, {x}, x).same);
  EXPECT_FALSE(Judged(text, {x}, HostTensor::FromInts(DType::kI64, {1}, {big - 1})).same);
}

TEST(NodeJudgeTest, SmallElementsBesideMaskedOnesAreJudged) {
  const char text[] = R"(
func @main(%x: f32[8], %m: f32[8]) -> f32[8] {
  %0 = mul(%x, %m) : f32[8]
  return %0
}
)";
  const double mask = -3e38;
  const HostTensor x = Floats({8}, {1, 2, 3, 4, 1, 1, 1, 1});
  const HostTensor m = Floats({8}, {1, 1, 1, 1, mask, mask, mask, mask});
  EXPECT_FALSE(Judged(text, {x, m}, Floats({8}, {1, 2, 3, 3, mask, mask, mask, mask})).same);
}

// Scores of f32 near 20000 are off by a thousandth, the same one for all rows of a mask; most
// masks are 0.
TEST(NodeJudgeTest, RowsOfOneMaskAreOffTogether) {
  const char text[] = R"(
func @main(%q: f32[32, 1, 64, 1], %k: f32[32, 1, 2, 1], %m: f32[32, 1, 1, 2]) -> f32[32, 1, 64, 1] {
  %0 = scaled_dot_product_attention(%q, %k, %k, %m, scale=1.0) : f32[32, 1, 64, 1]
  return %0
}
)";
  const auto mask = [](int batch) { return batch % 4 == 0 ? 20000.0F : 0.0F; };
  std::vector<double> q, k, m, got;
  for (int i = 0; i < 32 * 64; ++i) q.push_back(static_cast<float>(std::sin(i * 0.7)));
  for (int i = 0; i < 64; ++i) k.push_back(static_cast<float>(std::cos(i * 1.3)));
  for (int i = 0; i < 64; ++i) m.push_back(mask(i / 2));
  for (int i = 0; i < 32 * 64; ++i) {
    const int batch = i / 64;
    const double* keys = &k[batch * 2];
    const auto score = [&](double key) {
      return static_cast<float>(static_cast<float>(q[i] * key) + mask(batch));
    };
    const double second = std::exp(score(keys[1]) - score(keys[0]));
    got.push_back((keys[0] + second * keys[1]) / (1 + second));
  }
  const HostTensor keys = Floats({32, 1, 2, 1}, k);
  const std::vector<HostTensor> operands = {Floats({32, 1, 64, 1}, q), keys, keys,
                                            Floats({32, 1, 1, 2}, m)};
  const NodeJudgement judged = Judged(text, operands, Floats({32, 1, 64, 1}, got));
  EXPECT_TRUE(judged.same) << judged.difference;
  got[17] += 0.05;
  EXPECT_FALSE(Judged(text, operands, Floats({32, 1, 64, 1}, got)).same);
}

}  // namespace
}  // namespace weft
