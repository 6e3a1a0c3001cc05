// Folding a scale moves a result by at most one step, and few of them; and which scales are folded.
#include "passes/fold_scales.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "backends/reference/executor.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/tensor/tensor.h"
#include "gtest/gtest.h"
#include "passes/fold_scales/decision.h"
#include "tests/support/parse.h"

namespace weft {
namespace {

constexpr int64_t kRows = 512;
constexpr int64_t kColumns = 16;

struct Chain {
  const char* name;
  const char* result;
  // From %0, the sums in f32, to %v; the steps are %t and %u, %c and %b are one for each column.
  const char* text;
  int folds = 1;
};

const Chain kChains[] = {
    {"factor", "u8", R"(
  %1 = mul(%c, %0)
  %v = quantize_linear(%1, %t, %zu, dtype=u8))"},
    {"bias", "i8", R"(
  %1 = mul(%c, %0)
  %2 = add(%1, %b)
  %v = quantize_linear(%2, %t, %zi, dtype=i8))"},
    {"relu", "u8", R"(
  %1 = mul(%c, %0)
  %2 = add(%1, %b)
  %3 = relu(%2)
  %v = quantize_linear(%3, %t, none, dtype=u8))"},
    {"clamp", "u8", R"(
  %1 = mul(%c, %0)
  %2 = add(%1, %b)
  %3 = clamp(%2, %low, %high)
  %v = quantize_linear(%3, %t, %zu, dtype=u8))"},
    {"residual", "u8", R"(
  %1 = mul(%c, %0)
  %2 = dequantize_linear(%q, %u, %zu)
  %3 = add(%1, %2)
  %4 = relu(%3)
  %v = quantize_linear(%4, %t, none, dtype=u8))"},
    {"middle", "u8", R"(
  %1 = mul(%c, %0)
  %2 = quantize_linear(%1, %u, %zi, dtype=i8)
  %3 = dequantize_linear(%2, %u, %zi)
  %4 = dequantize_linear(%q, %u, %zu)
  %5 = add(%3, %4)
  %v = quantize_linear(%5, %t, %zu, dtype=u8))",
     2},
    {"bytes", "i8", R"(
  %1 = dequantize_linear(%q, %u, %zu)
  %v = quantize_linear(%1, %t, %zi, dtype=i8))"},
};

// Steps between 0.01 and 1, sums that reach both ends of the range.
class Draw {
 public:
  explicit Draw(uint32_t seed) : random_(seed) {
    t_ = Uniform(0.01, 1);
    // The middle's step is no larger, so that it counts for one step of the result at most.
    u_ = t_ * Uniform(0.2, 1);
  }

  std::string Constants() {
    const auto vector = [&](double low, double high) {
      std::vector<std::string> numbers;
      for (int64_t j = 0; j < kColumns; ++j) numbers.push_back(Number(Uniform(low, high)));
      return absl::StrCat("dense<[", absl::StrJoin(numbers, ", "), "]>");
    };
    const auto scalar = [](double number) { return absl::StrCat("dense<", Number(number), ">"); };
    std::string text;
    const auto add = [&](const char* name, const std::string& value, const char* type) {
      absl::StrAppend(&text, "  %", name, " = constant(", value, ") : ", type, "\n");
    };
    add("c", vector(t_ * 1e-4, t_ * 1e-2), "f32[16]");
    add("b", vector(-200 * t_, 200 * t_), "f32[16]");
    add("t", scalar(t_), "f32[]");
    add("u", scalar(u_), "f32[]");
    add("low", scalar(-30 * t_), "f32[]");
    add("high", scalar(100 * t_), "f32[]");
    add("zu", "dense<101>", "u8[]");
    add("zi", "dense<-11>", "i8[]");
    return text;
  }

  std::vector<HostTensor> Inputs() {
    std::vector<int64_t> sums(kRows * kColumns), bytes(kRows * kColumns);
    for (int64_t& sum : sums) sum = static_cast<int64_t>(Uniform(-60000, 60000));
    sums[0] = INT32_MIN;
    sums[1] = INT32_MAX;
    for (int64_t& byte : bytes) byte = static_cast<int64_t>(Uniform(0, 255.99));
    const int64_t dims[] = {kRows, kColumns};
    return {HostTensor::FromInts(DType::kI32, dims, sums),
            HostTensor::FromInts(DType::kU8, dims, bytes)};
  }

 private:
  static std::string Number(double number) { return absl::StrCat(static_cast<float>(number)); }
  double Uniform(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random_);
  }

  std::mt19937 random_;
  double t_ = 1;
  double u_ = 1;
};

int64_t Fold(Module& module) {
  PassContext::Options options;
  options.admitted = NumericContract::kReassociating;
  PassContext context(options);
  EXPECT_TRUE(CreateFoldScalesPass()->Run(module, context).ok());
  const auto found = context.counters().find("folded");
  return found == context.counters().end() ? 0 : found->second;
}

class FoldScales : public testing::TestWithParam<Chain> {};

TEST_P(FoldScales, MovesFewResultsByOneStep) {
  const Chain& chain = GetParam();
  int64_t elements = 0;
  int64_t moved = 0;
  for (uint32_t seed = 1; seed <= 12; ++seed) {
    Draw draw(seed);
    const std::string program =
        absl::StrCat("func @main(%s: i32[512, 16], %q: u8[512, 16]) {\n", draw.Constants(),
                     "  %0 = convert(%s, dtype=f32)", chain.text, "\n  return %v\n}");
    const auto module = Parse(program);
    ASSERT_NE(module, nullptr) << program;
    const std::vector<HostTensor> inputs = draw.Inputs();
    const auto want = reference::Run(*module->main(), inputs);
    ASSERT_TRUE(want.ok()) << want.status();
    ASSERT_EQ(Fold(*module), chain.folds) << program;
    EXPECT_EQ(Fold(*module), 0) << "again";
    const auto got = reference::Run(*module->main(), inputs);
    ASSERT_TRUE(got.ok()) << got.status();
    const std::vector<int64_t> exact = (*want)[0].ReadInts();
    const std::vector<int64_t> folded = (*got)[0].ReadInts();
    for (size_t i = 0; i < exact.size(); ++i) {
      ASSERT_LE(std::abs(exact[i] - folded[i]), 1) << program << "\nelement " << i;
      moved += exact[i] != folded[i];
    }
    elements += static_cast<int64_t>(exact.size());
    const auto [least, most] = std::minmax_element(exact.begin(), exact.end());
    EXPECT_LT(*least, *most);
  }
  EXPECT_LT(moved, elements / 100);
  RecordProperty("moved", static_cast<int>(moved));
}

INSTANTIATE_TEST_SUITE_P(All, FoldScales, testing::ValuesIn(kChains),
                         [](const auto& info) { return std::string(info.param.name); });

// Multiples of a half lie in the middle of two integers, where both sides round alike.
TEST(FoldScalesTies, StayWhereQuotientsAreExact) {
  const auto module = Parse(R"(
    func @main(%s: i32[1024]) {
      %c = constant(dense<0.25>) : f32[]
      %b = constant(dense<0.75>) : f32[]
      %t = constant(dense<0.5>) : f32[]
      %z = constant(dense<101>) : u8[]
      %0 = convert(%s, dtype=f32)
      %1 = mul(%c, %0)
      %2 = add(%1, %b)
      %3 = quantize_linear(%2, %t, %z, dtype=u8)
      return %3
    })");
  std::vector<int64_t> sums(1024);
  for (int64_t i = 0; i < 1024; ++i) sums[i] = i - 512;
  const std::vector<HostTensor> inputs = {HostTensor::FromInts(DType::kI32, {1024}, sums)};
  const auto want = reference::Run(*module->main(), inputs);
  ASSERT_EQ(Fold(*module), 1);
  const auto got = reference::Run(*module->main(), inputs);
  ASSERT_TRUE(want.ok() && got.ok());
  EXPECT_TRUE((*got)[0].BitEqual((*want)[0]));
}

TEST(ScaleDecision, NamesWhyAScaleStays) {
  const auto module = Parse(R"(
    func @main(%r: i32[4], %s: i32[4], %x: f32[4]) {
      %c = constant(dense<0.125>) : f32[]
      %d = constant(dense<1.0e6>) : f32[]
      %tiny = constant(dense<1.0e-36>) : f32[]
      %t = constant(dense<0.5>) : f32[]
      %huge = constant(dense<1.0e10>) : f32[]
      %0 = convert(%r, dtype=f32)
      %1 = mul(%c, %0)
      %2 = convert(%s, dtype=f32)
      %3 = mul(%c, %2)
      %4 = add(%1, %3)
      %5 = quantize_linear(%4, %t, none, dtype=i8)
      %6 = mul(%tiny, %0)
      %7 = quantize_linear(%6, %huge, none, dtype=i8)
      %8 = mul(%c, %2)
      %9 = add(%8, %d)
      %10 = quantize_linear(%9, %t, none, dtype=i8)
      %11 = mul(%c, %2)
      %12 = add(%11, %x)
      %13 = quantize_linear(%12, %t, none, dtype=i8)
      %14 = mul(%c, %2)
      %15 = tanh(%14)
      %16 = quantize_linear(%15, %t, none, dtype=i8)
      %17 = mul(%tiny, %2)
      %18 = quantize_linear(%17, %t, none, dtype=i8)
      return %5, %7, %10, %13, %16, %18
    })");
  const uint64_t epoch = module->main()->epoch();
  const std::string text = ToString(DecideScales(CollectScaled(*module->main())));
  EXPECT_EQ(module->main()->epoch(), epoch);
  EXPECT_EQ(text,
            "%24 = quantize_linear: its scale goes into 1 node\n"
            "%11 = quantize_linear: its terms may be large and cancel\n"
            "%13 = quantize_linear: a quotient of its constants is no number of f32\n"
            "%16 = quantize_linear: its terms may be large and cancel\n"
            "%19 = quantize_linear: its operand is no sum of integers\n");
}

}  // namespace
}  // namespace weft
