// Which biases become integers, and which values they have.
#include "api/quantize/integer_biases.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_replace.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ops/nn.h"
#include "graph/ops/quant.h"
#include "graph/tensor/tensor.h"
#include "gtest/gtest.h"
#include "tests/support/parse.h"

namespace weft {
namespace {

// A linear of two channels with scales 0.5 and (0.25, 0.125).
constexpr char kLinear[] = R"(
func @main(%x: u8[3, 2]) {
  %s = constant(dense<0.5>) : f32[]
  %z = constant(dense<7>) : u8[]
  %q = constant(dense<[[1, 2], [3, 4]]>) : i8[2, 2]
  %t = constant(dense<[0.25, 0.125]>) : f32[2]
  %b = constant(dense<[1.3, -0.1]>) : f32[2]
  %0 = dequantize_linear(%x, %s, %z)
  %1 = dequantize_linear(%q, %t, none, axis=0)
  %2 = linear(%0, %1, %b)
  return %2
})";

const Node* Product(const Module& module) {
  for (const Node* node : module.main()->nodes()) {
    if (node->Is(ops::linear) || node->Is(ops::convolution)) return node;
  }
  return nullptr;
}

// How many biases of kLinear, with replacements, become integers.
int64_t CountWith(const std::vector<std::pair<std::string, std::string>>& changes) {
  std::string text = kLinear;
  for (const auto& [from, to] : changes) {
    EXPECT_NE(text.find(from), std::string::npos) << from;
    text = absl::StrReplaceAll(text, {{from, to}});
  }
  const auto module = Parse(text);
  const auto count = MakeBiasesInteger(*module);
  EXPECT_TRUE(count.ok()) << count.status();
  return count.ok() ? *count : -1;
}

TEST(IntegerBiases, LieOnTheGridOfTheProducts) {
  const auto module = Parse(kLinear);
  const auto count = MakeBiasesInteger(*module);
  ASSERT_TRUE(count.ok()) << count.status();
  EXPECT_EQ(*count, 1);
  const Value* bias = Product(*module)->operand(2);
  ASSERT_TRUE(bias->IsResultOf(ops::dequantize_linear));
  const ops::DequantizeLinearView view(*bias->node());
  EXPECT_EQ(view.self()->type().dtype(), DType::kI32);
  EXPECT_EQ(view.axis(), 0);
  EXPECT_EQ(view.zero_point(), nullptr);
  // 1.3 / 0.125 = 10.4 and -0.1 / 0.0625 = -1.6.
  EXPECT_EQ(LiteralOf(view.self())->ReadInts(), (std::vector<int64_t>{10, -2}));
  EXPECT_EQ(LiteralOf(view.scale())->ReadDoubles(), (std::vector<double>{0.125, 0.0625}));
  // Once is enough.
  const auto again = MakeBiasesInteger(*module);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(*again, 0);
}

TEST(IntegerBiases, TakeOneScaleOfTheWeight) {
  const auto module = Parse(R"(
func @main(%x: u8[1, 1, 2, 2]) {
  %s = constant(dense<0.5>) : f32[]
  %q = constant(dense<[[[[1]]], [[[3]]]]>) : i8[2, 1, 1, 1]
  %b = constant(dense<[1.0, -2.0]>) : f32[2]
  %0 = dequantize_linear(%x, %s, none)
  %1 = dequantize_linear(%q, %s, none)
  %2 = convolution(%0, %1, %b, stride=[1, 1], padding=[0, 0], dilation=[1, 1])
  return %2
})");
  const auto count = MakeBiasesInteger(*module);
  ASSERT_TRUE(count.ok()) << count.status();
  ASSERT_EQ(*count, 1);
  const ops::DequantizeLinearView view(*Product(*module)->operand(2)->node());
  EXPECT_EQ(LiteralOf(view.self())->ReadInts(), (std::vector<int64_t>{4, -8}));
  EXPECT_EQ(LiteralOf(view.scale())->rank(), 0);
}

TEST(IntegerBiases, OthersStayFloat) {
  EXPECT_EQ(CountWith({}), 1);
  // Too large for i32.
  EXPECT_EQ(CountWith({{"[1.3, -0.1]", "[1.3e9, -0.1]"}}), 0);
  // The weight's scales are those of its other axis.
  EXPECT_EQ(CountWith({{"none, axis=0", "none, axis=1"}}), 0);
  EXPECT_EQ(CountWith({{"none, axis=0", "none, axis=-2"}}), 1);
  // Scales that are not known, and operands that are float.
  EXPECT_EQ(CountWith({{"%x: u8[3, 2]", "%x: u8[3, 2], %u: f32[]"},
                       {"dequantize_linear(%x, %s", "dequantize_linear(%x, %u"}}),
            0);
  EXPECT_EQ(
      CountWith({{"linear(%0", "linear(%f"}, {"%x: u8[3, 2]", "%x: u8[3, 2], %f: f32[3, 2]"}}), 0);
  // No bias, and a product that is no Gemm.
  EXPECT_EQ(CountWith({{"linear(%0, %1, %b)", "linear(%0, %1, none)"}}), 0);
  EXPECT_EQ(CountWith({{"u8[3, 2]", "u8[4, 3, 2]"}}), 0);
}

}  // namespace
}  // namespace weft
