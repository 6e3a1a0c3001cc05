// Matmuls and convolutions of i32 that come from 8 bits: equal to the reference in every bit, for
// any range of the operands; computed with exact 8-bit instructions if the machine has them, else
// in f32.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backends/cpu/executable.h"
#include "backends/cpu/onednn/onednn.h"
#include "backends/cpu/target.h"
#include "backends/reference/executor.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/tensor/tensor.h"
#include "gtest/gtest.h"
#include "lowering/lower.h"
#include "tests/backends/cpu/byte_products.h"
#include "tests/support/parse.h"
#include "tests/support/tensor_compare.h"

namespace weft::cpu {
namespace {

struct Case {
  const char* name;
  const char* product;  // From %a and %b of i32 to %y.
  std::vector<int64_t> x, w, y;
  bool narrow_groups = false;  // For which oneDNN has nothing fast of 8 bits.
};

const Case kCases[] = {
    {"matmul", "matmul(%a, %b)", {3, 40}, {40, 24}, {3, 24}},
    {"batched", "matmul(%a, %b)", {2, 5, 33}, {2, 33, 17}, {2, 5, 17}},
    {"linear", "linear(%a, %b, none)", {70, 64}, {48, 64}, {70, 48}},
    // Sums beyond 24 bits.
    {"long", "matmul(%a, %b)", {4, 3000}, {3000, 20}, {4, 20}},
    {"convolution",
     "convolution(%a, %b, none, stride=[1, 1], padding=[1, 1], dilation=[1, 1])",
     {2, 16, 9, 8},
     {32, 16, 3, 3},
     {2, 32, 9, 8}},
    {"strided",
     "convolution(%a, %b, none, stride=[2, 1], padding=[0, 2, 1, 0], dilation=[1, 2])",
     {1, 3, 11, 12},
     {5, 3, 3, 3},
     {1, 5, 5, 10}},
    {"grouped",
     "convolution(%a, %b, none, stride=[1, 1], padding=[1, 1], dilation=[1, 1], groups=2)",
     {1, 8, 6, 6},
     {12, 4, 3, 3},
     {1, 12, 6, 6},
     true},
    {"depthwise",
     "convolution(%a, %b, none, stride=[1], padding=[1], dilation=[1], groups=16)",
     {1, 16, 20},
     {16, 1, 3},
     {1, 16, 20},
     true},
    {"deep",
     "convolution(%a, %b, none, stride=[1, 1], padding=[1, 1], dilation=[1, 1])",
     {1, 300, 5, 5},
     {8, 300, 3, 3},
     {1, 8, 5, 5}},
};

std::string DimsText(const std::vector<int64_t>& dims) {
  std::string text;
  for (int64_t d : dims) text += (text.empty() ? "" : ", ") + std::to_string(d);
  return text;
}

// Integer matmuls in ONNX's form: the operands minus their zero points.
std::string ProgramOf(const Case& c) {
  return "func @main(%x: u8[" + DimsText(c.x) + "], %zero: u8[], %w: i32[" + DimsText(c.w) +
         "]) -> (i32[" + DimsText(c.y) + "]) {\n" +
         "  %0 = convert(%x, dtype=i32)\n  %1 = convert(%zero, dtype=i32)\n" +
         "  %a = sub(%0, %1)\n  %8 = reshape(%w, size=[" + DimsText(c.w) + "])\n" +
         "  %b = reshape(%8, size=[" + DimsText(c.w) + "])\n  %y = " + c.product +
         "\n  return %y\n}";
}

class Integers8 : public testing::TestWithParam<Case> {};

TEST_P(Integers8, AreExact) {
  const Case& c = GetParam();
  struct Weights {
    int low, high;
  };
  for (const Weights range : {Weights{-127, 127}, {-128, 127}, {-155, 200}, {0, 255}}) {
    SCOPED_TRACE(range.low);
    const auto module = Parse(ProgramOf(c));
    const HostTensor w = Integers(DType::kI32, c.w, range.low, std::min(range.high, 254), 3);
    MakeConstant(*module->main(), 2, w);
    auto plan = Lower(*module->main(), CpuTarget());
    ASSERT_TRUE(plan.ok()) << plan.status();
    CpuOptions options;
    options.threads = 2;
    options.isa = WEFT_TEST_ISA;
    const auto executable = Executable::Create(*std::move(plan), options);
    ASSERT_TRUE(executable.ok()) << executable.status();
    // Zero points of unsigned operands, of signed bytes, and two others.
    for (const int zero : {0, 128, 100, 255}) {
      SCOPED_TRACE(zero);
      const std::vector<HostTensor> inputs = {
          Integers(DType::kU8, c.x, 0, 255, 7),
          HostTensor::FromDoubles(DType::kU8, {}, {static_cast<double>(zero)}), w};
      const auto want = reference::Run(*module->main(), inputs);
      const auto got = (*executable)->Run(inputs);
      ASSERT_TRUE(want.ok() && got.ok()) << got.status();
      EXPECT_EQ(ExactDifference((*got)[0], (*want)[0]), "");
    }
    const bool has_unit = FindInt8Unit() != DnnUnit::kNone && !c.narrow_groups;
    EXPECT_EQ((*executable)->stats().integer_products, has_unit ? 1 : 0);
    EXPECT_EQ((*executable)->stats().fallbacks, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Products, Integers8, testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

// Sums wrap. The image may have gaps between its elements, and the window may crop it.
TEST(Integers, ConvolutionsOfWideOnes) {
  struct Window {
    const char* attrs;
    std::vector<int64_t> x, w;
    const char* y;
    const char* order = nullptr;  // In which %x lies.
  };
  for (const Window& c : {
           Window{"stride=[1, 1], padding=[0, 0], dilation=[1, 1]",
                  {1, 3, 32, 90},
                  {2, 3, 5, 5},
                  "[1, 2, 28, 86]"},
           {"stride=[1, 1], padding=[0, 0], dilation=[1, 1], groups=40",
            {1, 40, 6, 1},
            {40, 1, 3, 1},
            "[1, 40, 4, 1]"},
           {"stride=[3, 2], padding=[2, 3, 1, 4], dilation=[2, 3], groups=2",
            {3, 4, 11, 70},
            {6, 2, 3, 2},
            "[3, 6, 4, 37]"},
           {"stride=[2], padding=[-1, -2], dilation=[1]", {2, 2, 150}, {3, 2, 2}, "[2, 3, 73]"},
           {"stride=[1, 2, 1], padding=[1, 0, 2], dilation=[1, 1, 1]",
            {1, 2, 5, 6, 7},
            {2, 2, 3, 2, 4},
            "[1, 2, 5, 3, 8]"},
           {"stride=[1, 2], padding=[1, 1], dilation=[1, 1]",
            {2, 7, 9, 3},
            {4, 3, 3, 2},
            "[2, 4, 7, 5]",
            "[0, 3, 1, 2]"},
       }) {
    SCOPED_TRACE(c.attrs);
    std::string text = "func @main(%x: i32[" + DimsText(c.x) + "], %w: i32[" + DimsText(c.w) +
                       "]) -> i32" + c.y + " {\n";
    text += c.order == nullptr ? "  %a = neg(%x)\n"
                               : std::string("  %a = permute(%x, dims=") + c.order + ")\n";
    text += std::string("  %y = convolution(%a, %w, none, ") + c.attrs + ")\n  return %y\n}";
    const auto module = Parse(text);
    for (const int most : {255, 1 << 29}) {
      const std::vector<HostTensor> inputs = {Integers(DType::kI32, c.x, -most, most, 5),
                                              Integers(DType::kI32, c.w, -most, most, 6)};
      const auto want = reference::Run(*module->main(), inputs);
      ASSERT_TRUE(want.ok()) << want.status();
      for (const int threads : {1, 3}) {
        auto plan = Lower(*module->main(), CpuTarget());
        ASSERT_TRUE(plan.ok()) << plan.status();
        CpuOptions options;
        options.threads = threads;
        options.isa = WEFT_TEST_ISA;
        const auto executable = Executable::Create(*std::move(plan), options);
        ASSERT_TRUE(executable.ok()) << executable.status();
        const auto got = (*executable)->Run(inputs);
        ASSERT_TRUE(got.ok()) << got.status();
        EXPECT_EQ(ExactDifference((*got)[0], (*want)[0]), "");
        EXPECT_EQ((*executable)->stats().fallbacks, 0);
      }
    }
  }
}

// Weights that are not constant may turn out to be wide on any call.
TEST(Integers, WideOnesGoThroughTheOp) {
  const auto module = Parse(R"(
    func @main(%x: i8[s0, 32], %w: i16[32, 8]) -> (i32[s0, 8]) {
      %0 = convert(%x, dtype=i32)
      %1 = convert(%w, dtype=i32)
      %2 = convert(%1, dtype=i8)
      %3 = convert(%2, dtype=i32)
      %4 = sub(%3, %1)
      %5 = sub(%3, %4)
      %6 = matmul(%0, %5)
      return %6
    })");
  auto plan = Lower(*module->main(), CpuTarget());
  ASSERT_TRUE(plan.ok()) << plan.status();
  CpuOptions options;
  options.isa = WEFT_TEST_ISA;
  const auto executable = Executable::Create(*std::move(plan), options);
  ASSERT_TRUE(executable.ok()) << executable.status();
  int64_t refused = 0;
  for (const int most : {100, 1000, 90}) {
    const std::vector<HostTensor> inputs = {Integers(DType::kI8, {6, 32}, -128, 127, 1),
                                            Integers(DType::kI16, {32, 8}, -most, most, 2)};
    const auto want = reference::Run(*module->main(), inputs);
    const auto got = (*executable)->Run(inputs);
    ASSERT_TRUE(want.ok() && got.ok()) << got.status();
    EXPECT_EQ(ExactDifference((*got)[0], (*want)[0]), "");
    if (FindInt8Unit() == DnnUnit::kNone) continue;
    refused += most > 127;
    EXPECT_EQ((*executable)->stats().fallbacks, refused);
  }
}

}  // namespace
}  // namespace weft::cpu
