// Sizes in exported models: what they are computed from.
#include <string>

#include "backends/reference/executor.h"
#include "gmock/gmock.h"
#include "graph/ir/module.h"
#include "graph/tensor/tensor.h"
#include "gtest/gtest.h"
#include "serialize/onnx/export/export.h"
#include "serialize/onnx/import/onnx.h"
#include "tests/serialize/onnx/export/export_cases.h"
#include "tests/serialize/onnx/export/export_text.h"
#include "tests/serialize/onnx/export/onnx_check.h"
#include "tests/support/parse.h"
#include "tests/support/tensor_compare.h"

namespace weft {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A reshape of constants, sizes of the input and one unknown needs no
// arithmetic.
TEST(OnnxExportTest, ReshapeUsesZeroAndMinusOne) {
  const auto model = Export(R"(
func @main(%x: f32[b, n, 64], %y: f32[b, 8, 2]) {
  %0 = reshape(%x, size=[b, n, 4, 16])
  %1 = reshape(%y, size=[8*b, 2])
  return %0, %1
})");
  EXPECT_EQ(Operators(model.graph()), "Reshape Reshape");
  EXPECT_THAT(Int64s(model, model.graph().node(0).input(1)), ElementsAre(0, 0, 4, 16));
  EXPECT_THAT(Int64s(model, model.graph().node(1).input(1)), ElementsAre(-1, 2));
}

// [0, -1] would not say what -1 is when the first size is 0.
TEST(OnnxExportTest, ReshapeComputesSizesThatMayBeEmpty) {
  const std::string text = R"(
func @main(%x: f32[b, n, 64])WHERE {
  %0 = reshape(%x, size=[b, 64*n])
  return %0
})";
  const auto with = [&](const std::string& where) {
    std::string t = text;
    return Export(t.replace(t.find("WHERE"), 5, where));
  };
  EXPECT_EQ(Operators(with("").graph()), "Shape Shape Mul Concat Reshape");
  EXPECT_EQ(Operators(with(" where 1 <= b").graph()), "Reshape");
}

TEST(OnnxExportTest, SizesAreComputedOnce) {
  const auto model = Export(R"(
func @main(%x: f32[s0, s1], %y: f32[1, 1]) {
  %0 = expand(%y, size=[s0 + 1, s1*2])
  %1 = expand(%y, size=[s1*2, s0 + 1])
  %2 = slice(%x, dim=0, end=s0 - 1)
  return %0, %1, %2
})");
  EXPECT_EQ(Operators(model.graph()), "Shape Add Shape Mul Concat Expand Concat Expand Sub Slice");
}

TEST(OnnxExportTest, SizesOfAllKinds) {
  const char* sizes[] = {"s0 // 2",     "(s0 - 9) // 2", "s0 % 3",         "min(s0, s1)",
                         "max(s0, s1)", "s0*s1",         "s0*s0 + 3*s1",   "(s0 - 2) % 5",
                         "7",           "s0 - s1 + 9",   "(s0 + s1) // s1"};
  for (const char* size : sizes) {
    SCOPED_TRACE(size);
    auto c = TextCase(size, absl::StrCat(R"(
func @main(%x: f32[s0, s1]) {
  %0 = sym_constant(values=[)",
                                         size, R"(], size=[1])
  return %0
})"));
    ASSERT_TRUE(c.ok()) << c.status();
    const auto bytes = ExportOnnx(*c->module);
    ASSERT_TRUE(bytes.ok()) << bytes.status();
    EXPECT_EQ(OnnxComplaint(*bytes), "");
    auto back = ImportOnnxBytes(*bytes, "");
    ASSERT_TRUE(back.ok()) << back.status();
    auto outputs = reference::Run(*(*back)->main(), c->inputs);
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    EXPECT_EQ(ExactDifference((*outputs)[0], c->outputs[0]), "");
  }
}

// The size of a dim that is an expression gives the symbol in it.
TEST(OnnxExportTest, SolvesForSymbols) {
  const auto model = Export(R"(
func @main(%x: f32[2*n + 1]) {
  %0 = arange(start=0, end=n)
  return %0
})");
  EXPECT_EQ(Operators(model.graph()), "Shape Sub Div Squeeze Range");
}

TEST(OnnxExportTest, UnbackedSizesComeFromData) {
  const auto model = Export(R"(
func @main(%n: i32[1], %x: f32[s0]) where unbacked u0 {
  %0 = item(%n) : symint[u0]
  %1 = arange(start=0, end=u0, step=2)
  %2 = nonzero(%x)
  %3 = cat(%2, %2)
  return %1, %3
})");
  EXPECT_EQ(Operators(model.graph()), "Reshape Cast Squeeze Range NonZero Transpose Concat");
}

TEST(OnnxExportTest, SizesWithoutASourceAreAnError) {
  EXPECT_THAT(Error(R"(
func @main(%x: f32[a*b]) {
  %0 = arange(start=0, end=a)
  return %0
})"),
              HasSubstr("no input and no node gives the size a"));
}

}  // namespace
}  // namespace weft
