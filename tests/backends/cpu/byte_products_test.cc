// Matmuls and convolutions of 8-bit integers with constant weights: equal to the reference in every
// bit, for weights whose products saturate 16 bits too.
#include "tests/backends/cpu/byte_products.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "backends/cpu/executable.h"
#include "backends/cpu/kernels/isa.h"
#include "backends/cpu/target.h"
#include "backends/reference/executor.h"
#include "gtest/gtest.h"
#include "lowering/lower.h"
#include "tests/support/parse.h"
#include "tests/support/tensor_compare.h"

namespace weft::cpu {
namespace {

struct Case {
  const char* name;
  const char* op;  // Of %x, %w, %z and %p, the zero point of %w.
  std::vector<int64_t> x, w, y;
};

const Case kCases[] = {
    {"matmul", "matmul_integer(%x, %w, %z, none)", {3, 40}, {40, 24}, {3, 24}},
    // Depths that are no whole groups, columns that are no whole vectors.
    {"odd", "matmul_integer(%x, %w, %z, none)", {7, 33}, {33, 19}, {7, 19}},
    {"one_column", "matmul_integer(%x, %w, %z, none)", {5, 9}, {9, 1}, {5, 1}},
    {"one_row", "matmul_integer(%x, %w, %z, none)", {1, 64}, {64, 100}, {1, 100}},
    {"row", "matmul_integer(%x, %w, %z, none)", {12}, {12, 5}, {5}},
    {"batch", "matmul_integer(%x, %w, %z, none)", {4, 31, 16}, {16, 40}, {4, 31, 40}},
    {"long", "matmul_integer(%x, %w, %z, none)", {2, 5000}, {5000, 17}, {2, 17}},
    {"convolution",
     "convolution_integer(%x, %w, %z, none, stride=[1, 1], padding=[1, 1], dilation=[1, 1])",
     {2, 16, 9, 8},
     {32, 16, 3, 3},
     {2, 32, 9, 8}},
    {"strided",
     "convolution_integer(%x, %w, %z, none, stride=[2, 1], padding=[0, 2, 1, 0], dilation=[1, 2])",
     {1, 3, 11, 12},
     {5, 3, 3, 3},
     {1, 5, 5, 10}},
    // Taps side by side are one.
    {"few_channels",
     "convolution_integer(%x, %w, %z, none, stride=[2, 3], padding=[1, 2, 1, 3], dilation=[1, 1])",
     {2, 3, 11, 12},
     {21, 3, 3, 4},
     {2, 21, 6, 5}},
    {"one_channel",
     "convolution_integer(%x, %w, %z, none, stride=[2], padding=[0], dilation=[1])",
     {1, 1, 40},
     {7, 1, 5},
     {1, 7, 18}},
    {"cropped",
     "convolution_integer(%x, %w, %z, none, stride=[1], padding=[-1, 0], dilation=[1])",
     {2, 4, 9},
     {6, 4, 3},
     {2, 6, 6}},
    {"points",
     "convolution_integer(%x, %w, %z, none, stride=[1, 1], padding=[0, 0], dilation=[1, 1])",
     {1, 64, 14, 14},
     {48, 64, 1, 1},
     {1, 48, 14, 14}},
    {"volume",
     "convolution_integer(%x, %w, %z, none, stride=[1, 2, 1], padding=[1, 1, 0], dilation=[1, 1, "
     "2])",
     {1, 5, 4, 5, 6},
     {9, 5, 2, 3, 2},
     {1, 9, 5, 3, 4}},
};

std::string TypeText(const char* dtype, const std::vector<int64_t>& dims) {
  return absl::StrCat(dtype, "[", absl::StrJoin(dims, ", "), "]");
}

std::string ProgramOf(const Case& c, const char* dtype, const char* body) {
  return absl::StrCat("func @main(%x: ", TypeText(dtype, c.x), ", %z: ", dtype,
                      "[], %w: ", TypeText("i8", c.w), ") -> (", TypeText("i32", c.y), ") {\n",
                      body, "  %y = ", c.op, "\n  return %y\n}");
}

class ByteProducts : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (!ChooseIsa(WEFT_TEST_ISA).ok()) GTEST_SKIP() << "not on this machine";
  }

  void ExpectExact(const std::string& program, DType dtype, const HostTensor& w, int zero) {
    const auto module = Parse(program);
    MakeConstant(*module->main(), 2, w);
    auto plan = Lower(*module->main(), CpuTarget());
    ASSERT_TRUE(plan.ok()) << plan.status();
    for (const int threads : {1, 2}) {
      CpuOptions options;
      options.threads = threads;
      options.isa = WEFT_TEST_ISA;
      auto again = Lower(*module->main(), CpuTarget());
      const auto executable = Executable::Create(*std::move(again), options);
      ASSERT_TRUE(executable.ok()) << executable.status();
      const bool is_signed = dtype == DType::kI8;
      const std::vector<HostTensor> inputs = {
          Integers(dtype, GetParam().x, is_signed ? -128 : 0, is_signed ? 127 : 255, 7),
          HostTensor::FromInts(dtype, {}, {zero}), w};
      const auto want = reference::Run(*module->main(), inputs);
      const auto got = (*executable)->Run(inputs);
      ASSERT_TRUE(want.ok() && got.ok()) << got.status();
      EXPECT_EQ(ExactDifference((*got)[0], (*want)[0]), "");
      EXPECT_EQ((*executable)->stats().fallbacks, 0);
      const bool crops = std::string(GetParam().name) == "cropped";
      EXPECT_EQ((*executable)->stats().integer_products, crops ? 0 : 1);
    }
  }
};

TEST_P(ByteProducts, AreExactForAllWeights) {
  const std::string program = ProgramOf(GetParam(), "u8", "");
  for (const int zero : {0, 128, 255}) {
    SCOPED_TRACE(zero);
    ExpectExact(program, DType::kU8, Integers(DType::kI8, GetParam().w, -128, 127, 3), zero);
  }
  // Each pair of products is beyond 16 bits, on one side or the other.
  ExpectExact(program, DType::kU8, Integers(DType::kI8, GetParam().w, 126, 127, 3), 3);
  ExpectExact(program, DType::kU8, Integers(DType::kI8, GetParam().w, -128, -127, 3), 200);
}

TEST_P(ByteProducts, AreExactForSignedInputs) {
  const std::string program = ProgramOf(GetParam(), "i8", "");
  for (const int zero : {-128, 0, 127}) {
    SCOPED_TRACE(zero);
    ExpectExact(program, DType::kI8, Integers(DType::kI8, GetParam().w, -128, 127, 5), zero);
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, ByteProducts, testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

class ByteProductsOf : public testing::Test {
 protected:
  void SetUp() override {
    if (!ChooseIsa(WEFT_TEST_ISA).ok()) GTEST_SKIP() << "not on this machine";
  }
};

// Constant weights that need 9 bits without their zero points, of either sign, in a convolution
// with padding and in a matmul.
TEST_F(ByteProductsOf, WideWeightsAreExact) {
  const auto module = Parse(R"(
    func @main(%x: u8[2, 18, 7, 5], %w: u8[21, 18, 3, 3], %p: u8[21], %y: u8[9, 40], %v: i8[40, 70],
               %q: i8[]) {
      %z = constant(dense<200>) : u8[]
      %0 = convolution_integer(%x, %w, %z, %p, stride=[1, 1], padding=[1, 1], dilation=[1, 1])
      %1 = matmul_integer(%y, %v, %z, %q)
      return %0, %1
    })");
  const std::vector<HostTensor> inputs = {Integers(DType::kU8, {2, 18, 7, 5}, 0, 255, 8),
                                          Integers(DType::kU8, {21, 18, 3, 3}, 0, 255, 3),
                                          Integers(DType::kU8, {21}, 0, 255, 4),
                                          Integers(DType::kU8, {9, 40}, 200, 255, 5),
                                          Integers(DType::kI8, {40, 70}, 126, 127, 6),
                                          HostTensor::FromInts(DType::kI8, {}, {-128})};
  for (const int i : {1, 2, 4, 5}) MakeConstant(*module->main(), i, inputs[i]);
  auto plan = Lower(*module->main(), CpuTarget());
  ASSERT_TRUE(plan.ok()) << plan.status();
  CpuOptions options;
  options.threads = 2;
  options.isa = WEFT_TEST_ISA;
  const auto executable = Executable::Create(*std::move(plan), options);
  ASSERT_TRUE(executable.ok()) << executable.status();
  const auto want = reference::Run(*module->main(), inputs);
  const auto got = (*executable)->Run(inputs);
  ASSERT_TRUE(want.ok() && got.ok()) << got.status();
  EXPECT_EQ(ExactDifference((*got)[0], (*want)[0]), "");
  EXPECT_EQ(ExactDifference((*got)[1], (*want)[1]), "");
  EXPECT_EQ((*executable)->stats().fallbacks, 0);
  EXPECT_EQ((*executable)->stats().integer_products, 2);
}

// Operands in any order in memory, and both results of one weight with two zero points.
TEST_F(ByteProductsOf, ViewsAreExact) {
  const auto module = Parse(R"(
    func @main(%x: u8[s0, 8, 5, 6], %w: u8[7, 8, 3, 3], %p: u8[7], %q: u8[]) {
      %z = constant(dense<9>) : u8[]
      %0 = flip(%x, dims=[2])
      %1 = permute(%0, dims=[0, 1, 3, 2])
      %2 = convolution_integer(%1, %w, %z, %p, stride=[1, 1], padding=[1, 1], dilation=[1, 1])
      %3 = convolution_integer(%x, %w, %z, %q, stride=[1, 1], padding=[1, 1], dilation=[1, 1])
      return %2, %3
    })");
  const HostTensor w = Integers(DType::kU8, {7, 8, 3, 3}, 100, 200, 3);
  const HostTensor p = Integers(DType::kU8, {7}, 120, 180, 4);
  const HostTensor q = HostTensor::FromInts(DType::kU8, {}, {140});
  MakeConstant(*module->main(), 1, w);
  MakeConstant(*module->main(), 2, p);
  MakeConstant(*module->main(), 3, q);
  auto plan = Lower(*module->main(), CpuTarget());
  ASSERT_TRUE(plan.ok()) << plan.status();
  CpuOptions options;
  options.threads = 2;
  options.isa = WEFT_TEST_ISA;
  const auto executable = Executable::Create(*std::move(plan), options);
  ASSERT_TRUE(executable.ok()) << executable.status();
  for (const int64_t batch : {1, 3}) {
    const std::vector<HostTensor> inputs = {Integers(DType::kU8, {batch, 8, 5, 6}, 0, 255, 8), w, p,
                                            q};
    const auto want = reference::Run(*module->main(), inputs);
    const auto got = (*executable)->Run(inputs);
    ASSERT_TRUE(want.ok() && got.ok()) << got.status();
    EXPECT_EQ(ExactDifference((*got)[0], (*want)[0]), "");
    EXPECT_EQ(ExactDifference((*got)[1], (*want)[1]), "");
  }
  EXPECT_EQ((*executable)->stats().fallbacks, 0);
}

// Both operands change from run to run, in batches that repeat and in any order in memory.
TEST_F(ByteProductsOf, BatchesAreExact) {
  const auto module = Parse(R"(
    func @main(%q: u8[s0, 7, 3, 33], %k: u8[s0, 19, 3, 33], %v: u8[3, 19, 37], %r: i8[2, 5, 8],
               %s: i8[8, 70], %t: u8[40], %u: u8[4, 40, 5], %a: u8[], %b: u8[], %c: i8[],
               %d: i8[]) {
      %0 = permute(%q, dims=[0, 2, 1, 3])
      %1 = permute(%k, dims=[0, 2, 3, 1])
      %2 = matmul_integer(%0, %1, %a, %b)
      %3 = convert(%2, dtype=f32)
      %scale = constant(dense<0.001>) : f32[]
      %4 = mul(%3, %scale)
      %5 = quantize_linear(%4, %scale, %a, dtype=u8)
      %6 = matmul_integer(%5, %v, %a, %b)
      %7 = matmul_integer(%r, %s, %c, %d)
      %8 = flip(%r, dims=[1])
      %9 = matmul_integer(%8, %s, none, %d)
      %10 = matmul_integer(%t, %u, %a, %b)
      return %2, %5, %6, %7, %9, %10
    })");
  ASSERT_NE(module, nullptr);
  for (const int threads : {1, 2}) {
    auto plan = Lower(*module->main(), CpuTarget());
    ASSERT_TRUE(plan.ok()) << plan.status();
    CpuOptions options;
    options.threads = threads;
    options.isa = WEFT_TEST_ISA;
    const auto executable = Executable::Create(*std::move(plan), options);
    ASSERT_TRUE(executable.ok()) << executable.status();
    for (const int zero : {0, 128, 255}) {
      const int64_t batch = zero == 128 ? 1 : 2;
      SCOPED_TRACE(zero);
      const std::vector<HostTensor> inputs = {Integers(DType::kU8, {batch, 7, 3, 33}, 0, 255, 8),
                                              Integers(DType::kU8, {batch, 19, 3, 33}, 0, 255, 9),
                                              Integers(DType::kU8, {3, 19, 37}, 0, 255, 10),
                                              Integers(DType::kI8, {2, 5, 8}, -128, 127, 11),
                                              Integers(DType::kI8, {8, 70}, -128, 127, 12),
                                              Integers(DType::kU8, {40}, 0, 255, 13),
                                              Integers(DType::kU8, {4, 40, 5}, 0, 255, 14),
                                              HostTensor::FromInts(DType::kU8, {}, {zero}),
                                              HostTensor::FromInts(DType::kU8, {}, {255 - zero}),
                                              HostTensor::FromInts(DType::kI8, {}, {zero - 128}),
                                              HostTensor::FromInts(DType::kI8, {}, {127 - zero})};
      const auto want = reference::Run(*module->main(), inputs);
      const auto got = (*executable)->Run(inputs);
      ASSERT_TRUE(want.ok() && got.ok()) << got.status();
      for (size_t i = 0; i < want->size(); ++i) {
        EXPECT_EQ(ExactDifference((*got)[i], (*want)[i]), "") << "result " << i;
      }
    }
    EXPECT_EQ((*executable)->stats().fallbacks, 0);
    EXPECT_EQ((*executable)->stats().integer_products, 2 * 5);
  }
}

// Weights that the caller gives, with a zero point for each column. Their number may be a symbol,
// of size 1 here; the columns are more than those of a panel.
TEST_F(ByteProductsOf, InputsAreExact) {
  const auto module = Parse(R"(
    func @main(%x: u8[s0, 20], %w: u8[20, 9], %z: u8[], %p: u8[9], %v: i8[20, 150], %q: i8[s1]) {
      %0 = matmul_integer(%x, %w, %z, %p)
      %1 = expand(%q, size=[150])
      %2 = matmul_integer(%x, %v, %z, %1)
      %3 = convert(%2, dtype=f32)
      return %0, %2, %3
    })");
  auto plan = Lower(*module->main(), CpuTarget());
  ASSERT_TRUE(plan.ok()) << plan.status();
  CpuOptions options;
  options.threads = 2;
  options.isa = WEFT_TEST_ISA;
  const auto executable = Executable::Create(*std::move(plan), options);
  ASSERT_TRUE(executable.ok()) << executable.status();
  for (const int low : {130, 100, 0}) {
    SCOPED_TRACE(low);
    const std::vector<HostTensor> inputs = {
        Integers(DType::kU8, {6, 20}, 0, 255, 8),
        Integers(DType::kU8, {20, 9}, low, 255, 3),
        HostTensor::FromInts(DType::kU8, {}, {7}),
        Integers(DType::kU8, {9}, low, 150, 4),
        Integers(DType::kI8, {20, 150}, -128, 127, 5),
        Integers(DType::kI8, {low == 0 ? 1 : 150}, low - 128, 127, 6)};
    const auto want = reference::Run(*module->main(), inputs);
    const auto got = (*executable)->Run(inputs);
    ASSERT_TRUE(want.ok() && got.ok()) << got.status();
    for (size_t i = 0; i < want->size(); ++i) {
      EXPECT_EQ(ExactDifference((*got)[i], (*want)[i]), "") << "result " << i;
    }
  }
  EXPECT_EQ((*executable)->stats().fallbacks, 0);
}

}  // namespace
}  // namespace weft::cpu
