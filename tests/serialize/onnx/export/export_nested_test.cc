// Nested graphs of exported models.
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/serialize/onnx/export/export_text.h"
#include "tests/support/parse.h"

namespace weft {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kLoop[] = R"(
func @main(%n: i64[], %c: bool[], %x: i64[2], %l: i64[s0]) {
  %y, %ys = loop(%n, %c, %x, %l, num_carried=1) {
    body(%i: i64[], %b: bool[], %a: i64[2], %m: i64[s0]) {
      %d = add(%a, %a)
      %r = sum(%m)
      %s = sub(%d, %r)
      return %b, %s, %d
    }
  }
  %z = arange(start=0, end=s0)
  return %y, %ys, %z
})";

TEST(OnnxExportTest, LoopsCaptureByName) {
  const auto model = Export(kLoop);
  const onnx::NodeProto& loop = model.graph().node(0);
  ASSERT_EQ(loop.op_type(), "Loop");
  EXPECT_THAT(loop.input(), ElementsAre("n", "c", "x"));
  EXPECT_EQ(loop.output_size(), 2);
  const onnx::GraphProto& body = loop.attribute(0).g();
  EXPECT_EQ(body.input_size(), 3);
  EXPECT_EQ(body.output_size(), 3);
  EXPECT_EQ(Operators(body), "Add ReduceSum Sub Identity");
  EXPECT_EQ(body.node(1).input(0), "l");
}

// The same value twice, an input as an output, a captured value as an output.
TEST(OnnxExportTest, BranchesGiveTheirOwnOutputs) {
  const auto model = Export(R"(
func @main(%p: bool[], %x: f32[s0]) {
  %a, %b = cond(%p, %x) {
    then_graph(%v: f32[s0]) { %0 = neg(%v) return %0, %0 }
    else_graph(%v: f32[s0]) { return %v, %v }
  }
  %c = add(%a, %b)
  return %c
})");
  const onnx::NodeProto& node = model.graph().node(0);
  ASSERT_EQ(node.op_type(), "If");
  EXPECT_EQ(Operators(node.attribute(0).g()), "Neg Identity");
  EXPECT_EQ(Operators(node.attribute(1).g()), "Identity Identity");
  EXPECT_EQ(node.attribute(0).g().input_size(), 0);
}

TEST(OnnxExportTest, ScansPassStatesAndSlices) {
  const auto model = Export(R"(
func @main(%s: f32[3], %x: f32[n, 3], %w: f32[3]) {
  %y, %ys = scan(%s, %x, %w, num_carried=1, num_scanned=1) {
    body(%a: f32[3], %b: f32[3], %k: f32[3]) {
      %0 = mul(%b, %k)
      %1 = add(%a, %0)
      return %1, %1
    }
  }
  return %y, %ys
})");
  const onnx::NodeProto& node = model.graph().node(0);
  ASSERT_EQ(node.op_type(), "Scan");
  EXPECT_THAT(node.input(), ElementsAre("s", "x"));
  EXPECT_EQ(Operators(node.attribute(1).g()), "Mul Add Identity");
}

// Sizes of values outside may be computed inside, and those inside are their own.
TEST(OnnxExportTest, NestedGraphsComputeSizes) {
  const auto model = Export(R"(
func @main(%p: bool[], %x: f32[s0], %y: f32[1]) {
  %a = cond(%p, %x, %y) {
    then_graph(%v: f32[s0], %w: f32[1]) {
      %0 = expand(%w, size=[s0 + 1])
      return %0
    }
    else_graph(%v: f32[s0], %w: f32[1]) {
      %0 = expand(%w, size=[s0 + 1])
      return %0
    }
  }
  return %a
})");
  for (int branch : {0, 1}) {
    const auto& graph = model.graph().node(0).attribute(branch).g();
    EXPECT_EQ(Operators(graph), "Shape Add Expand");
    EXPECT_EQ(graph.node(0).input(0), "x");
  }
}

TEST(OnnxExportTest, DeepNestingIsAnError) {
  std::string body = "return %x";
  for (int i = 0; i < 31; ++i) {
    body = absl::StrCat(
        "%y = cond(%p, %p, %x) { then_graph(%p: bool[], %x: "
        "f32[2]) {",
        body,
        "} else_graph(%p: bool[], %x: "
        "f32[2]) { return %x } } return %y");
  }
  EXPECT_THAT(Error(absl::StrCat("func @main(%p: bool[], %x: f32[2]) {", body, "}")),
              HasSubstr("nested more than 30 deep"));
}

}  // namespace
}  // namespace weft
