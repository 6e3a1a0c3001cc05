// f32_precision: the precision in which f32 matmuls and convolutions read operands, the error of
// their results, and the steps that stay in f32.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "backends/cpu/executable.h"
#include "backends/cpu/kernels/split_row.h"
#include "backends/cpu/onednn/onednn.h"
#include "backends/cpu/target.h"
#include "backends/reference/executor.h"
#include "gmock/gmock.h"
#include "graph/ir/attr.h"
#include "graph/ir/constant_store.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ops/ops.h"
#include "graph/tensor/tensor.h"
#include "gtest/gtest.h"
#include "lowering/lower.h"
#include "tests/support/parse.h"
#include "tests/support/tensor_compare.h"

namespace weft::cpu {
namespace {

// Numbers from -1 to 1 with all bits of f32 in use.
HostTensor Numbers(std::vector<int64_t> dims, uint32_t seed) {
  HostTensor t(DType::kF32, dims);
  std::vector<double> values(t.numel());
  for (double& v : values) {
    seed = seed * 1664525 + 1013904223;
    v = static_cast<double>(static_cast<int32_t>(seed)) / 2147483648.0;
  }
  t.WriteDoubles(values);
  return t;
}

HostTensor Magnitudes(const HostTensor& t) {
  std::vector<double> values = t.ReadDoubles();
  for (double& v : values) v = std::abs(v);
  return HostTensor::FromDoubles(t.dtype(), t.dims(), values);
}

std::unique_ptr<Executable> Make(const Module& module, const std::string& precision,
                                 int threads = 2, bool deterministic = false) {
  CpuOptions options;
  options.threads = threads;
  options.deterministic = deterministic;
  options.f32_precision = precision;
  auto plan = Lower(*module.main(), CpuTarget());
  EXPECT_TRUE(plan.ok()) << plan.status();
  auto executable = Executable::Create(*std::move(plan), options);
  EXPECT_TRUE(executable.ok()) << executable.status();
  return *std::move(executable);
}

// How many matmuls of a program with one large matmul read bf16.
int64_t Rounded(const std::string& precision) {
  const DnnUnit unit = FindBf16Unit();
  if (precision == "medium") return unit != DnnUnit::kNone;
  return precision == "high" && unit == DnnUnit::kTiles;
}

// Bound of the error of a sum of products, relative to the sum of their magnitudes. An operand
// rounded to bf16 has a relative error of 2^-9, a sum of two bf16 one of 2^-18, and the product of
// two low parts is left out.
double BoundOf(const std::string& precision) {
  if (precision == "medium") return 1.01 / 256;
  return precision == "high" ? 3.0 / (1 << 18) + 1e-6 : 1e-6;
}

struct Case {
  const char* name;
  const char* program;  // One product, without an epilogue.
  std::vector<std::vector<int64_t>> inputs;
};

const Case kCases[] = {
    {"linear",
     "func @main(%x: f32[s0, 96], %w: f32[80, 96]) -> (f32[s0, 80]) {\n"
     "  %0 = linear(%x, %w, none)\n  return %0\n}",
     {{72, 96}, {80, 96}}},
    {"batched",
     "func @main(%x: f32[2, 3, 64, 64], %w: f32[2, 3, 64, 48]) -> (f32[2, 3, 64, 48]) {\n"
     "  %0 = matmul(%x, %w)\n  return %0\n}",
     {{2, 3, 64, 64}, {2, 3, 64, 48}}},
    {"transposed",
     "func @main(%x: f32[64, 72], %w: f32[48, 64]) -> (f32[72, 48]) {\n"
     "  %0 = permute(%x, dims=[1, 0])\n  %1 = permute(%w, dims=[1, 0])\n"
     "  %2 = matmul(%0, %1)\n  return %2\n}",
     {{64, 72}, {48, 64}}},
    {"convolution",
     "func @main(%x: f32[2, 32, 14, 13], %w: f32[48, 32, 3, 3]) -> (f32[2, 48, 7, 7]) {\n"
     "  %0 = convolution(%x, %w, none, stride=[2, 2], padding=[1, 1], dilation=[1, 1])\n"
     "  return %0\n}",
     {{2, 32, 14, 13}, {48, 32, 3, 3}}},
    {"one_dim",
     "func @main(%x: f32[2, 64, 50], %w: f32[64, 64, 5]) -> (f32[2, 64, 46]) {\n"
     "  %0 = convolution(%x, %w, none, stride=[1], padding=[0], dilation=[1])\n"
     "  return %0\n}",
     {{2, 64, 50}, {64, 64, 5}}},
};

class Precision : public testing::TestWithParam<Case> {};

std::vector<HostTensor> InputsOf(const Case& c) {
  std::vector<HostTensor> inputs;
  for (const auto& dims : c.inputs) {
    inputs.push_back(Numbers(dims, static_cast<uint32_t>(inputs.size() + 1)));
  }
  return inputs;
}

TEST_P(Precision, ErrorsAreInProportionToTheSum) {
  const auto module = Parse(GetParam().program);
  const std::vector<HostTensor> inputs = InputsOf(GetParam());
  std::vector<HostTensor> magnitudes;
  for (const HostTensor& t : inputs) magnitudes.push_back(Magnitudes(t));
  const auto want = reference::Run(*module->main(), inputs);
  const auto sums = reference::Run(*module->main(), magnitudes);
  ASSERT_TRUE(want.ok() && sums.ok());
  const std::vector<double> exact = (*want)[0].ReadDoubles();
  const std::vector<double> sum = (*sums)[0].ReadDoubles();
  for (const std::string precision : {"highest", "high", "medium"}) {
    SCOPED_TRACE(precision);
    const auto executable = Make(*module, precision);
    const auto got = executable->Run(inputs);
    ASSERT_TRUE(got.ok()) << got.status();
    EXPECT_EQ(executable->stats().rounded_products, Rounded(precision));
    EXPECT_EQ(executable->stats().fallbacks, 0);
    const std::vector<double> values = (*got)[0].ReadDoubles();
    double worst = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      worst = std::max(worst, std::abs(values[i] - exact[i]) / sum[i]);
    }
    EXPECT_LE(worst, BoundOf(precision));
    // If operands are read as bf16, the error is visible.
    if (Rounded("medium") != 0 && precision == "medium") {
      EXPECT_GT(worst, 1e-4);
    }
  }
}

TEST_P(Precision, DeterministicResultsDoNotDependOnThreads) {
  const auto module = Parse(GetParam().program);
  const std::vector<HostTensor> inputs = InputsOf(GetParam());
  for (const std::string precision : {"high", "medium"}) {
    SCOPED_TRACE(precision);
    const auto one = Make(*module, precision, 1, true)->Run(inputs);
    const auto two = Make(*module, precision, 2, true)->Run(inputs);
    ASSERT_TRUE(one.ok() && two.ok());
    EXPECT_TRUE((*one)[0].BitEqual((*two)[0]));
  }
}

INSTANTIATE_TEST_SUITE_P(Products, Precision, testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

// The uses of an input become those of a constant.
void FixInput(Graph& main, int input, const HostTensor& value) {
  const int64_t id = main.module().constants().Add(value);
  Node* constant = main.CreateNode(ops::constant, {}, AttrList::Get({AttrValue(id)}),
                                   {value.type()}, main.first_node());
  main.input(input)->ReplaceAllUsesWith(constant->result());
}

// Half the memory for weights at medium, and what follows a product is done as ever.
TEST(PrecisionOfPrograms, ConstantWeightsArePackedOnce) {
  const auto module = Parse(R"(
    func @main(%x: f32[s0, 128], %r: f32[s0, 64], %w: f32[64, 128]) -> (f32[s0, 64]) {
      %0 = linear(%x, %w, none)
      %1 = add(%0, %r)
      %2 = relu(%1)
      return %2
    })");
  FixInput(*module->main(), 2, Numbers({64, 128}, 3));
  int64_t packed = 0;
  for (const std::string precision : {"highest", "medium"}) {
    const auto executable = Make(*module, precision);
    for (int64_t rows : {40, 7, 40}) {
      const std::vector<HostTensor> inputs = {Numbers({rows, 128}, 1), Numbers({rows, 64}, 2),
                                              Numbers({64, 128}, 3)};
      const auto want = reference::Run(*module->main(), inputs);
      const auto got = executable->Run(inputs);
      ASSERT_TRUE(want.ok() && got.ok());
      const double bound = 64 * BoundOf(precision);
      EXPECT_EQ(Difference((*got)[0], (*want)[0], {0, bound}), "");
    }
    const int64_t bytes = executable->stats().packed_bytes;
    if (precision == "medium" && Rounded("medium") != 0) {
      EXPECT_EQ(2 * bytes, packed);
    }
    packed = bytes;
    EXPECT_GT(packed, 0);
  }
}

TEST(PrecisionOfPrograms, UnknownWordsAreErrors) {
  const auto module = Parse(kCases[0].program);
  auto plan = Lower(*module->main(), CpuTarget());
  ASSERT_TRUE(plan.ok());
  CpuOptions options;
  options.f32_precision = "low";
  const auto made = Executable::Create(*std::move(plan), options);
  EXPECT_EQ(made.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(made.status().message()),
              testing::HasSubstr("\"low\" of f32; they are highest, high and medium"));
}

TEST(PrecisionOfPrograms, SmallProductsStayInF32) {
  const auto module = Parse(R"(
    func @main(%x: f32[4, 3], %w: f32[5, 3]) -> (f32[4, 5]) {
      %0 = linear(%x, %w, none)
      return %0
    })");
  const std::vector<HostTensor> inputs = {Numbers({4, 3}, 1), Numbers({5, 3}, 2)};
  const auto medium = Make(*module, "medium");
  const auto got = medium->Run(inputs);
  const auto want = Make(*module, "highest")->Run(inputs);
  ASSERT_TRUE(got.ok() && want.ok());
  EXPECT_TRUE((*got)[0].BitEqual((*want)[0]));
  EXPECT_EQ(medium->stats().rounded_products, 0);
}

// The sum of the parts is the number, to 2^-17 of it; what is not finite has no low
// part, what is near the largest number a finite high one.
TEST(Split, PartsAddUp) {
  if (FindBf16Unit() == DnnUnit::kNone) GTEST_SKIP() << "no AVX-512 to run it";
  constexpr float kMax = std::numeric_limits<float>::max();
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const std::vector<float> row = {0.1f, -3.14159f, 1e-20f, kMax, -kMax, kInf, -kInf, NAN, 1.f};
  const int64_t n = static_cast<int64_t>(row.size());
  std::vector<uint16_t> highs(n), lows(n);
  SplitF32(row.data(), n, SplitPart::kHigh, highs.data());
  SplitF32(row.data(), n, SplitPart::kLow, lows.data());
  const auto value = [](uint16_t bits) { return DecodeFloat(DType::kBF16, bits); };
  for (int64_t i = 0; i < n; ++i) {
    SCOPED_TRACE(row[i]);
    const double high = value(highs[i]);
    const double low = value(lows[i]);
    if (std::isnan(row[i])) {
      EXPECT_TRUE(std::isnan(high));
    } else if (std::isinf(row[i])) {
      EXPECT_EQ(high, row[i]);
    } else {
      EXPECT_NEAR(high + low, row[i], std::abs(row[i]) / (1 << 16));
      EXPECT_TRUE(std::isfinite(high));
      continue;
    }
    EXPECT_EQ(low, 0);
  }
}

}  // namespace
}  // namespace weft::cpu
