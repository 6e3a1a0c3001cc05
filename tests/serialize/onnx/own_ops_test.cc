// Operators of a program's own domains, read as its ops and written back.
#include <memory>
#include <string>

#include "gmock/gmock.h"
#include "graph/ir/module.h"
#include "graph/ir/op_registry.h"
#include "graph/ops/registry.h"
#include "graph/ops/support/op.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "onnx/onnx_pb.h"
#include "serialize/onnx/export/export.h"
#include "tests/serialize/onnx/import/onnx_text.h"

namespace weft {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// The types matter here, not the numbers.
absl::StatusOr<Types> InferTwice(const OpArgs& args) {
  return Types{args.type(0), args.type(0).WithDType(DType::kI64)};
}
absl::Status EvalNothing(EvalContext& c) { return absl::OkStatus(); }

const OpDef blend("blend", OpSpec("blend(Tensor x, Tensor? y, Tensor[] more, float ratio, int "
                                  "steps=3, bool fast=False, str mode=\"soft\", int[] axes=[], "
                                  "float[]? weights=None, str[]? tags=None, ScalarType? to=None) "
                                  "-> Tensor",
                                  "")
                               .Infer(ops::InferSame)
                               .Eval(EvalNothing));
const OpDef split_of(
    "split_of",
    OpSpec("split_of(Tensor x) -> (Tensor, Tensor)", "").Infer(InferTwice).Eval(EvalNothing));
const OpDef stretch(
    "stretch",
    OpSpec("stretch(Tensor x, SymInt n) -> Tensor", "").Infer(ops::InferSame).Eval(EvalNothing));

class OwnOnnxOps : public testing::Test {
 protected:
  OwnOnnxOps() : registry_(ops::Registry()) {
    for (const OpDef* op : {&blend, &split_of, &stretch}) registry_.Register(op);
    registry_.NameInOnnx(&blend, {"com.acme", "Blend"});
    registry_.NameInOnnx(&split_of, {"com.acme", "SplitOf"});
    registry_.NameInOnnx(&stretch, {"org.other", "Stretch"});
    options_.registry = &registry_;
  }

  std::string Import(const std::string& text) { return ImportToText(text, 17, options_); }
  // With com.acme imported, and one node.
  std::string ImportNode(const std::string& node) {
    return Import(R"(<ir_version: 8, opset_import: ["" : 17, "com.acme" : 3]>
g (float[N, 2] X, float[2] Z) => (float[N, 2] Y) { )" +
                  node + " }");
  }

  onnx::ModelProto Export(const std::string& text) {
    onnx::ModelProto model;
    auto module = ParseModule(text, registry_);
    EXPECT_TRUE(module.ok()) << module.status();
    if (!module.ok()) return model;
    const auto bytes = ExportOnnx(**module);
    EXPECT_TRUE(bytes.ok()) << bytes.status();
    EXPECT_TRUE(!bytes.ok() || model.ParseFromString(*bytes));
    return model;
  }

  OpRegistry registry_;
  OnnxImportOptions options_;
};

TEST_F(OwnOnnxOps, AttributesHaveTheTypesOfTheSchema) {
  EXPECT_THAT(
      ImportNode("Y = com.acme.Blend <ratio = 0.5, steps = 7, fast = 1, mode = \"hard\", "
                 "axes = [0, -1], weights = [0.25, 2.0], tags = [\"a\", \"b\"], to = 10> (X, Z)"),
      HasSubstr("%0 = blend(%X, %Z, ratio=0.5, steps=7, fast=true, mode=\"hard\", axes=[0, -1], "
                "weights=[0.25, 2.0], tags=[\"a\", \"b\"], to=f16) : f32[N, 2]"));
  EXPECT_THAT(ImportNode("Y = com.acme.Blend <ratio = 1.0> (X)"),
              HasSubstr("%0 = blend(%X, none, ratio=1.0) : f32[N, 2]"));
  EXPECT_THAT(ImportNode("Y = com.acme.Blend <ratio = 1.0> (X, , Z, X)"),
              HasSubstr("%0 = blend(%X, none, %Z, %X, ratio=1.0) : f32[N, 2]"));
  EXPECT_THAT(ImportNode("Y, Q = com.acme.SplitOf (X)"), HasSubstr("%0, %1 = split_of(%X)"));
  EXPECT_THAT(ImportNode("Y = com.acme.SplitOf (X)"), HasSubstr("split_of(%X)"));
}

TEST_F(OwnOnnxOps, NodesThatDoNotFitAreNamed) {
  EXPECT_EQ(ImportNode("Y = com.acme.Blend (X)"),
            "INVALID_ARGUMENT: com.acme::Blend node 'Y': attribute \"ratio\" is missing");
  EXPECT_EQ(ImportNode("Y = com.acme.Blend <ratio = 1> (X)"),
            "INVALID_ARGUMENT: com.acme::Blend node 'Y': attribute \"ratio\" is INT, not FLOAT");
  EXPECT_THAT(ImportNode("Y = com.acme.Blend <ratio = 1.0, rate = 2.0> (X)"),
              HasSubstr("attribute \"rate\" is not one of Blend"));
  EXPECT_THAT(ImportNode("Y = com.acme.Blend <ratio = 1.0, to = 77> (X)"),
              HasSubstr("attribute \"to\": "));
  EXPECT_THAT(ImportNode("Y = com.acme.Blend <ratio = 1.0> ()"), HasSubstr("input 0 is missing"));
  EXPECT_THAT(ImportNode("Y = com.acme.SplitOf (X, Z)"),
              HasSubstr("input 1 ('Z') is one too many for op split_of(Tensor x)"));
  EXPECT_THAT(ImportNode("Y, A, B = com.acme.SplitOf (X)"), HasSubstr("has no output 2"));
}

TEST_F(OwnOnnxOps, UnknownOperatorsSayWhatWasLookedFor) {
  EXPECT_THAT(ImportNode("Y = com.acme.Blendd (X)"),
              HasSubstr("com.acme::Blendd (no registered op has this name; those of com.acme are "
                        "Blend, SplitOf): node 'Y'"));
  EXPECT_THAT(ImportNode("Y = org.none.Blend (X)"),
              HasSubstr("org.none::Blend (no opset of its domain is imported): node 'Y'"));
}

// An op of the program's own goes before a function of the model that has its name.
TEST_F(OwnOnnxOps, ComesBeforeAFunctionOfTheModel) {
  EXPECT_THAT(Import(R"(<ir_version: 8, opset_import: ["" : 17, "com.acme" : 1]>
g (float[2] X) => (float[2] Y) { Y = com.acme.SplitOf (X) }
<domain: "com.acme", opset_import: ["" : 17]>
SplitOf (x) => (y) { y = Relu (x) })"),
              AllOf(HasSubstr("split_of"), Not(HasSubstr("relu"))));
}

constexpr char kEverything[] = R"(
func @main(%x: f32[n, 2], %z: f32[2]) -> (%a: f32[n, 2], %b: i64[n, 2]) {
  %0 = blend(%x, none, %z, ratio=0.5, fast=true, axes=[0, -1], weights=[0.25], tags=["t"], to=f16)
  %1, %2 = split_of(%0)
  %3 = relu(%1)
  return %3, %2
})";

TEST_F(OwnOnnxOps, AreWrittenUnderTheirDomain) {
  const onnx::ModelProto model = Export(kEverything);
  ASSERT_EQ(model.opset_import_size(), 2);
  EXPECT_EQ(model.opset_import(1).domain(), "com.acme");
  EXPECT_EQ(model.opset_import(1).version(), 1);
  const auto& nodes = model.graph().node();
  ASSERT_EQ(nodes.size(), 3);
  EXPECT_EQ(nodes[0].domain(), "com.acme");
  EXPECT_EQ(nodes[0].op_type(), "Blend");
  EXPECT_EQ(nodes[0].input_size(), 3);
  EXPECT_EQ(nodes[0].input(1), "");
  EXPECT_EQ(nodes[1].output_size(), 2);
  // All that have a value, defaults too.
  EXPECT_EQ(nodes[0].attribute_size(), 8);
}

TEST_F(OwnOnnxOps, AreReadBackAsTheyWere) {
  const std::string text = ImportToText(Export(kEverything), options_);
  EXPECT_THAT(text, HasSubstr("blend(%x, none, %z, ratio=0.5, fast=true, axes=[0, -1], "
                              "weights=[0.25], tags=[\"t\"], to=f16) : f32[n, 2]"));
  EXPECT_THAT(text, HasSubstr("split_of(%0)"));
  EXPECT_THAT(text, HasSubstr("relu(%1)"));
  EXPECT_EQ(ImportToText(Export(text), options_), text);
}

TEST_F(OwnOnnxOps, AResultThatNothingUsesIsLeftOut) {
  const onnx::ModelProto model = Export(R"(
func @main(%x: f32[2]) {
  %0, %1 = split_of(%x)
  return %1
})");
  ASSERT_EQ(model.graph().node_size(), 1);
  ASSERT_EQ(model.graph().node(0).output_size(), 2);
  EXPECT_EQ(model.graph().node(0).output(0), "");
}

TEST_F(OwnOnnxOps, AttributesThatDependOnSizesAreRefused) {
  const auto module =
      ParseModule("func @main(%x: f32[n]) {\n  %0 = stretch(%x, n=n)\n  return %0\n}", registry_);
  ASSERT_TRUE(module.ok()) << module.status();
  const auto bytes = ExportOnnx(**module);
  EXPECT_EQ(bytes.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(bytes.status().message()),
              HasSubstr("has an attribute n that depends on sizes"));
}

TEST(OnnxNames, ThatAreRefused) {
  EXPECT_TRUE(CheckOnnxName({"com.acme-2_x", "Blend_2"}).ok());
  for (const OnnxName& name : {OnnxName{"", "A"}, OnnxName{"ai.onnx", "A"}, OnnxName{"a b", "A"},
                               OnnxName{"a", ""}, OnnxName{"a", "A::B"}}) {
    EXPECT_FALSE(CheckOnnxName(name).ok()) << name.domain << "::" << name.type;
  }
}

}  // namespace
}  // namespace weft
