// What exported models look like: names, constants, dtypes, files, errors.
#include "serialize/onnx/export/export.h"

#include <fstream>
#include <string>

#include "backends/reference/executor.h"
#include "gmock/gmock.h"
#include "graph/ir/builder.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ops/ops.h"
#include "graph/ops/registry.h"
#include "graph/tensor/tensor.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "serialize/onnx/import/onnx.h"
#include "tests/serialize/onnx/export/export_text.h"
#include "tests/support/parse.h"

namespace weft {
namespace {

using ::testing::HasSubstr;

// --- Names ---------------------------------------------------------------------

TEST(OnnxExportTest, KeepsNamesAndSizesOfTheSignature) {
  const auto model = Export(R"(
func @main(%image: f32[batch, 3, 8], %"a b": f32[3, 8])
    -> (%sum: f32[batch, 3, 8], %twice: f32[2*batch, 3, 8]) {
  %0 = add(%image, %"a b")
  %1 = cat(%0, %0)
  return %0, %1
})");
  const onnx::GraphProto& graph = model.graph();
  EXPECT_EQ(model.ir_version(), 8);
  EXPECT_EQ(model.opset_import(0).version(), 17);
  EXPECT_EQ(graph.name(), "main");
  EXPECT_EQ(graph.input(0).name(), "image");
  EXPECT_EQ(graph.input(1).name(), "a b");
  EXPECT_EQ(graph.output(0).name(), "sum");
  EXPECT_EQ(graph.output(1).name(), "twice");
  const auto& dims = graph.input(0).type().tensor_type().shape();
  EXPECT_EQ(dims.dim(0).dim_param(), "batch");
  EXPECT_EQ(dims.dim(1).dim_value(), 3);
  EXPECT_EQ(graph.output(1).type().tensor_type().shape().dim(0).dim_param(), "2*batch");
  EXPECT_EQ(Operators(graph), "Add Concat");
  EXPECT_EQ(graph.node(0).output(0), "sum");
  EXPECT_EQ(graph.node(1).input(0), "sum");
}

TEST(OnnxExportTest, InitialValuesAreInitializersOfInputs) {
  const auto model = Export(R"(
func @main(%w: f32[2] {param="fc.weight", initial=dense<[1.0, 2.0]>}, %x: f32[2]) {
  %0 = add(%w, %x)
  return %0
})");
  const onnx::GraphProto& graph = model.graph();
  ASSERT_EQ(graph.input_size(), 2);
  ASSERT_EQ(graph.initializer_size(), 1);
  EXPECT_EQ(graph.initializer(0).name(), graph.input(0).name());
  const float want[] = {1, 2};
  EXPECT_EQ(graph.initializer(0).raw_data(),
            std::string(reinterpret_cast<const char*>(want), sizeof(want)));
}

TEST(OnnxExportTest, NodesAreNamedAfterTheirSources) {
  const auto model = Export(R"(
func @main(%x: f32[2]) {
  %0 = relu(%x) loc("block/relu")
  %1 = relu(%x) loc("block/relu")
  %2 = add(%0, %1) loc("a", "b")
  %3 = sub(%2, %1)
  return %3
})");
  const auto& nodes = model.graph().node();
  EXPECT_EQ(nodes[0].name(), "block/relu");
  EXPECT_EQ(nodes[0].output(0), "block/relu_output_0");
  EXPECT_EQ(nodes[1].name(), "block/relu_1");
  EXPECT_EQ(nodes[2].name(), "a");
  EXPECT_EQ(nodes[2].doc_string(), "a\nb");
  EXPECT_EQ(nodes[0].doc_string(), "");
  EXPECT_EQ(nodes[3].name(), "sub");
}

TEST(OnnxExportTest, ConstantsAreInitializersUnderTheirNames) {
  Module module(ops::Registry());
  Graph* graph = module.AddFunction("main");
  Value* x = graph->AddInput(Type::Tensor(DType::kF32, {2}), "x");
  Builder b(graph);
  Value* weight = b.Constant(HostTensor::FromDoubles(DType::kF32, {2}, {0.5, -1}), "fc.weight");
  Value* unnamed = b.Constant(HostTensor::FromDoubles(DType::kF32, {2}, {3, 4}));
  b.Constant(HostTensor::FromDoubles(DType::kF32, {2}, {9, 9}), "unused");
  Value* y = b.Op(ops::add, {b.Op(ops::mul, {x, weight}), unnamed});
  graph->SetOutputs({y});
  const auto model = Export(module);
  ASSERT_EQ(model.graph().initializer_size(), 2);
  EXPECT_EQ(model.graph().initializer(0).name(), "fc.weight");
  EXPECT_EQ(model.graph().initializer(1).name(), "constant");
  const float expected[] = {0.5f, -1};
  EXPECT_EQ(model.graph().initializer(0).raw_data(),
            std::string(reinterpret_cast<const char*>(expected), 8));
}

TEST(OnnxExportTest, OutputsThatNoNodeGivesAreCopies) {
  const auto model = Export(R"(
func @main(%x: f32[2]) -> (%a: f32[2], %b: f32[2], %c: f32[2]) {
  %0 = relu(%x)
  return %x, %0, %0
})");
  EXPECT_EQ(Operators(model.graph()), "Relu Identity Identity");
  EXPECT_EQ(model.graph().node(0).output(0), "b");
  EXPECT_EQ(model.graph().node(1).input(0), "x");
  EXPECT_EQ(model.graph().node(1).output(0), "a");
  EXPECT_EQ(model.graph().node(2).output(0), "c");
}

// Names that a helper value has already go to the output.
TEST(OnnxExportTest, OutputsMayShareValues) {
  const auto model = Export(R"(
func @main(%x: f32[s0, 4]) -> (%n: i64[1], %y: f32[s0, 4], %m: i64[1]) {
  %0 = sym_constant(values=[s0], size=[1])
  %1 = expand(%x, size=[s0, 4])
  %2 = sym_constant(values=[s0], size=[1])
  return %0, %1, %2
})");
  EXPECT_EQ(model.graph().output(0).name(), "n");
  EXPECT_EQ(model.graph().output(2).name(), "m");
}

TEST(OnnxExportTest, SpecialisedInputsSayTheirValue) {
  const auto model = Export(R"(
func @main(%x: f32[2], %axis: i64[2] {value=dense<[0, 1]>}) {
  return %x
})");
  EXPECT_THAT(model.graph().input(1).doc_string(), HasSubstr("i64[2]: 0, 1"));
}

// --- Dtypes, decomposition -----------------------------------------------------

TEST(OnnxExportTest, CastsAroundOperatorsThatLackADtype) {
  const auto model = Export(R"(
func @main(%x: bf16[2], %y: u8[2], %z: bf16[2]) {
  %0 = sin(%x)
  %1 = relu(%x)
  %2 = neg(%y)
  return %0, %1, %2
})");
  EXPECT_EQ(Operators(model.graph()), "Cast Sin Cast Relu Cast Neg Cast");
}

TEST(OnnxExportTest, DecomposesWhatOnnxLacks) {
  const auto model = Export(R"(
func @main(%x: f32[2]) -> (%y: f32[2]) {
  %0 = silu(%x) loc("act")
  return %0
})");
  EXPECT_EQ(Operators(model.graph()), "Sigmoid Mul");
  EXPECT_EQ(model.graph().node(0).name(), "act");
  EXPECT_EQ(model.graph().node(1).output(0), "y");
}

// A form in a newer opset is preferred to a decomposition.
TEST(OnnxExportTest, OpsetsDiffer) {
  const std::string text = R"(
func @main(%x: f32[2, 3]) {
  %0 = gelu(%x)
  %1 = mean(%0, dim=[1])
  return %1
})";
  EXPECT_EQ(Operators(Export(text, 20).graph()), "Gelu ReduceMean");
  EXPECT_EQ(Export(text, 20).graph().node(1).input_size(), 2);
  const auto old = Export(text, 17);
  EXPECT_THAT(Operators(old.graph()), HasSubstr("Erf"));
  EXPECT_EQ(old.graph().node(old.graph().node_size() - 1).input_size(), 1);
}

TEST(OnnxExportTest, TheModuleStaysAsItIs) {
  const auto module = Parse(R"(
func @main(%x: f32[2]) {
  %0 = silu(%x)
  return %0
})");
  const std::string before = PrintModule(*module);
  Export(*module);
  EXPECT_EQ(PrintModule(*module), before);
}

// --- Errors --------------------------------------------------------------------

TEST(OnnxExportTest, ListsAllThatHasNoForm) {
  const std::string error = Error(R"(
func @main(%x: i32[2], %y: i32[2]) {
  %0 = bitwise_and(%x, %y) loc("mask")
  %1 = bitwise_and(%0, %x) loc("again")
  %2 = bitwise_xor(%1, %y) loc("flip")
  return %2
})");
  EXPECT_EQ(error,
            "no form in ONNX opset 17: bitwise_and 'mask' needs opset 18; "
            "bitwise_xor 'flip' needs opset 18");
}

TEST(OnnxExportTest, NewDtypesNeedNewOpsets) {
  const std::string text = R"(
func @main(%x: f8e4m3[2]) {
  %0 = reshape(%x, size=[2, 1])
  return %0
})";
  EXPECT_THAT(Error(text), HasSubstr("input 'x' has element type f8e4m3, which "
                                     "needs opset 19"));
  EXPECT_EQ(Export(text, 19).graph().input(0).type().tensor_type().elem_type(), 17);
  EXPECT_THAT(Error("func @main(%x: c32[2]) { return %x }"), HasSubstr("which ONNX lacks"));
}

TEST(OnnxExportTest, BadOptionsAndModules) {
  Module module(ops::Registry());
  EXPECT_THAT(std::string(ExportOnnx(module).status().message()), HasSubstr("no function main"));
  module.AddFunction("main");
  OnnxExportOptions options;
  for (int opset : {16, 25}) {
    options.opset = opset;
    EXPECT_TRUE(absl::IsInvalidArgument(ExportOnnx(module, options).status()));
  }
}

// --- Files ---------------------------------------------------------------------

TEST(OnnxExportTest, LargeConstantsMayLieInAnotherFile) {
  Module module(ops::Registry());
  Graph* graph = module.AddFunction("main");
  Value* x = graph->AddInput(Type::Tensor(DType::kF32, {1000}), "x");
  Builder b(graph);
  std::vector<double> values;
  for (int i = 0; i < 1000; ++i) values.push_back(i);
  Value* small = b.Scalar(DType::kF32, 2);
  Value* one = b.Constant(HostTensor::FromDoubles(DType::kF32, {1000}, values), "one");
  for (double& v : values) v = -v;
  Value* two = b.Constant(HostTensor::FromDoubles(DType::kF32, {1000}, values), "two");
  Value* y = b.Op(ops::add, {x, one});
  y = b.Op(ops::mul, {b.Op(ops::add, {y, two}), small});
  graph->SetOutputs({y});
  OnnxExportOptions options;
  options.external_data_bytes = 100;
  const std::string path = testing::TempDir() + "/external.onnx";
  ASSERT_TRUE(ExportOnnxFile(module, path, options).ok());
  std::ifstream file(path, std::ios::binary);
  onnx::ModelProto model;
  ASSERT_TRUE(model.ParseFromIstream(&file));
  const onnx::TensorProto* tensor = Initializer(model, "two");
  ASSERT_NE(tensor, nullptr);
  EXPECT_EQ(tensor->data_location(), onnx::TensorProto::EXTERNAL);
  EXPECT_EQ(tensor->external_data(0).value(), "external.onnx.data");
  EXPECT_EQ(tensor->external_data(1).value(), "4096");
  EXPECT_EQ(tensor->external_data(2).value(), "4000");
  auto back = ImportOnnx(path);
  ASSERT_TRUE(back.ok()) << back.status();
  const HostTensor input = HostTensor::FromDoubles(DType::kF32, {1000}, values);
  auto outputs = reference::Run(*(*back)->main(), {input});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_EQ((*outputs)[0].DoubleAt(3), -6);
}

TEST(OnnxExportTest, FilesThatCannotBeWrittenAreAnError) {
  const auto module = Parse("func @main(%x: f32[2]) { return %x }");
  EXPECT_THAT(std::string(ExportOnnxFile(*module, "/nowhere/m.onnx").message()),
              HasSubstr("cannot write /nowhere/m.onnx: No such file"));
}

TEST(OnnxExportTest, ModelsThatAreTooLarge) {
  Module module(ops::Registry());
  Graph* graph = module.AddFunction("main");
  Builder b(graph);
  graph->SetOutputs({b.Constant(HostTensor(DType::kF32, {1000}), "zeros")});
  OnnxExportOptions options;
  options.max_model_bytes = 3999;
  const absl::Status error = ExportOnnx(module, options).status();
  EXPECT_TRUE(absl::IsResourceExhausted(error)) << error;
  EXPECT_THAT(std::string(error.message()), HasSubstr("external data"));
  options.max_model_bytes = 4001;  // The constant, but not the rest.
  EXPECT_TRUE(absl::IsResourceExhausted(ExportOnnx(module, options).status()));
  // A file has room beside it.
  options.max_model_bytes = 3999;
  const std::string path = testing::TempDir() + "/large.onnx";
  ASSERT_TRUE(ExportOnnxFile(module, path, options).ok());
  const auto back = ImportOnnx(path);
  EXPECT_TRUE(back.ok()) << back.status();
}

}  // namespace
}  // namespace weft
