// Quantized graphs in ONNX: which opset writes what, the same values when read back, and packed
// weights.
#include <string>
#include <vector>

#include "backends/reference/executor.h"
#include "gmock/gmock.h"
#include "graph/ir/builder.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ir/value.h"
#include "graph/ops/ops.h"
#include "graph/ops/quant.h"
#include "graph/ops/registry.h"
#include "graph/tensor/tensor.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "serialize/onnx/export/export.h"
#include "serialize/onnx/import/onnx.h"
#include "tests/serialize/onnx/export/export_cases.h"
#include "tests/serialize/onnx/export/export_text.h"
#include "tests/support/nbits.h"
#include "tests/support/parse.h"
#include "tests/support/tensor_compare.h"

namespace weft {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

onnx::ModelProto Lowest(const Module& module, bool matmul_nbits = false) {
  OnnxExportOptions options;
  options.opset = kLowestOnnxOpset;
  options.matmul_nbits = matmul_nbits;
  const auto bytes = ExportOnnx(module, options);
  EXPECT_TRUE(bytes.ok()) << bytes.status();
  onnx::ModelProto model;
  EXPECT_TRUE(bytes.ok() && model.ParseFromString(*bytes));
  return model;
}

int64_t Opset(const onnx::ModelProto& model) { return model.opset_import(0).version(); }

// The attribute as text; "" without it.
std::string Attribute(const onnx::NodeProto& node, const std::string& name) {
  for (const auto& attr : node.attribute()) {
    if (attr.name() == name) return std::to_string(attr.i());
  }
  return "";
}

// The outputs of the model that was read back equal `want`.
void ExpectSameValues(const onnx::ModelProto& model, const std::vector<HostTensor>& inputs,
                      const std::vector<HostTensor>& want) {
  auto module = ImportOnnxBytes(model.SerializeAsString(), "");
  ASSERT_TRUE(module.ok()) << module.status();
  auto got = reference::Run(*(*module)->main(), inputs);
  ASSERT_TRUE(got.ok()) << got.status();
  ASSERT_EQ(got->size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) {
    EXPECT_EQ(ExactDifference((*got)[i], want[i]), "") << "output " << i;
  }
}

// --- QuantizeLinear, DequantizeLinear ----------------------------------------------

struct Form {
  const char* text;
  int opset;
  const char* operators;
};

TEST(OnnxExportQuantTest, LowestOpsetOfEachForm) {
  const Form forms[] = {
      {"%x: f32[2, 4], %s: f32[], %z: u8[]) {\n"
       "  %0 = quantize_linear(%x, %s, %z, dtype=u8)\n"
       "  %1 = dequantize_linear(%0, %s, %z)",
       17, "QuantizeLinear DequantizeLinear"},
      {"%x: f32[2, 4], %s: f32[4]) {\n"
       "  %0 = quantize_linear(%x, %s, none, dtype=i8, axis=-1)\n"
       "  %1 = dequantize_linear(%0, %s, none, axis=-1)",
       17, "QuantizeLinear DequantizeLinear"},
      {"%x: i32[2, 4], %s: f32[2]) {\n  %1 = dequantize_linear(%x, %s, none, axis=0)", 17,
       "DequantizeLinear"},
      {"%x: f16[2, 4], %s: f16[]) {\n"
       "  %0 = quantize_linear(%x, %s, none, dtype=i8)\n"
       "  %1 = dequantize_linear(%0, %s, none, dtype=f16)",
       19, "QuantizeLinear DequantizeLinear"},
      {"%x: bf16[2, 4], %s: bf16[]) {\n"
       "  %0 = quantize_linear(%x, %s, none, dtype=u8)\n"
       "  %1 = dequantize_linear(%0, %s, none, dtype=bf16)",
       19, "QuantizeLinear DequantizeLinear"},
      {"%x: f32[2, 4], %s: f32[]) {\n"
       "  %0 = quantize_linear(%x, %s, none, dtype=f8e4m3)\n"
       "  %1 = dequantize_linear(%0, %s, none)",
       19, "QuantizeLinear DequantizeLinear"},
      {"%x: f32[2, 4], %s: f32[]) {\n"
       "  %0 = quantize_linear(%x, %s, none, dtype=f8e5m2, saturate=false)\n"
       "  %1 = dequantize_linear(%0, %s, none)",
       19, "QuantizeLinear DequantizeLinear"},
      {"%x: f32[2, 4], %s: f32[2], %z: i16[2]) {\n"
       "  %0 = quantize_linear(%x, %s, %z, dtype=i16, axis=0)\n"
       "  %1 = dequantize_linear(%0, %s, %z, axis=0)",
       21, "QuantizeLinear DequantizeLinear"},
      {"%x: f32[2, 4], %s: f32[], %z: u16[]) {\n"
       "  %0 = quantize_linear(%x, %s, %z, dtype=u16)\n"
       "  %1 = dequantize_linear(%0, %s, %z)",
       21, "QuantizeLinear DequantizeLinear"},
      {"%x: f32[2, 4], %s: f32[4]) {\n"
       "  %0 = quantize_linear(%x, %s, none, dtype=i4)\n"
       "  %1 = dequantize_linear(%0, %s, none)",
       21, "QuantizeLinear DequantizeLinear"},
      {"%x: f32[2, 7], %s: f32[2, 2]) {\n"
       "  %0 = quantize_linear(%x, %s, none, dtype=u4, block_size=4)\n"
       "  %1 = dequantize_linear(%0, %s, none, block_size=4)",
       21, "QuantizeLinear DequantizeLinear"},
      {"%x: f32[2, 8], %s: f32[2, 2], %z: i8[2, 2]) {\n"
       "  %0 = quantize_linear(%x, %s, %z, dtype=i8, block_size=4)\n"
       "  %1 = dequantize_linear(%0, %s, %z, block_size=4)",
       21, "QuantizeLinear DequantizeLinear"},
      {"%x: f32[2, 8], %s: f32[2, 2]) {\n"
       "  %0 = quantize_linear(%x, %s, none, dtype=f4e2m1, block_size=4)\n"
       "  %1 = dequantize_linear(%0, %s, none, block_size=4)",
       23, "QuantizeLinear DequantizeLinear"},
      {"%x: bf16[2, 8], %s: f8e8m0[2, 2]) {\n"
       "  %0 = quantize_linear(%x, %s, none, dtype=f4e2m1, block_size=4)\n"
       "  %1 = dequantize_linear(%0, %s, none, dtype=bf16, block_size=4)",
       24, "QuantizeLinear DequantizeLinear"},
      {"%x: f32[2, 8], %s: f8e8m0[2, 2]) {\n"
       "  %0 = quantize_linear(%x, %s, none, dtype=f8e4m3, block_size=4, saturate=false)\n"
       "  %1 = dequantize_linear(%0, %s, none, block_size=4)",
       24, "QuantizeLinear DequantizeLinear"},
      {"%x: f32[2, 8]) {\n"
       "  %0 = convert(%x, dtype=f8e8m0)\n"
       "  %1 = convert(%0, dtype=f32)",
       24, "Cast Cast"},
      {"%x: f32[2, 8]) {\n"
       "  %0 = convert(%x, dtype=f8e8m0, saturate=false)\n"
       "  %1 = convert(%0, dtype=f32)",
       24, "Cast Cast"},
  };
  for (const Form& form : forms) {
    const std::string text = std::string("func @main(") + form.text + "\n  return %1\n}";
    SCOPED_TRACE(text);
    const auto c = TextCase("form", text);
    ASSERT_TRUE(c.ok()) << c.status();
    const auto model = Lowest(*c->module);
    EXPECT_EQ(Opset(model), form.opset);
    EXPECT_EQ(Operators(model.graph()), form.operators);
    ExpectSameValues(model, c->inputs, c->outputs);
    // Newer opsets have the same form.
    const auto newest = Export(*c->module, 24);
    EXPECT_EQ(Operators(newest.graph()), form.operators);
    ExpectSameValues(newest, c->inputs, c->outputs);
  }
}

TEST(OnnxExportQuantTest, AttributesSayTheLayout) {
  const auto model = Export(R"(
func @main(%x: f32[2, 8], %s: f32[2, 2], %t: f32[], %u: f32[2]) {
  %0 = quantize_linear(%x, %s, none, dtype=i4, axis=-1, block_size=4)
  %1 = dequantize_linear(%0, %s, none, axis=-1, block_size=4)
  %2 = quantize_linear(%x, %t, none, dtype=f8e5m2, axis=5, saturate=false)
  %3 = quantize_linear(%x, %u, none, dtype=i8, axis=0)
  return %1, %2, %3
})",
                            21);
  const auto& nodes = model.graph().node();
  ASSERT_EQ(nodes.size(), 4);
  EXPECT_EQ(Attribute(nodes[0], "axis"), "1");
  EXPECT_EQ(Attribute(nodes[0], "block_size"), "4");
  // Blocks have as many zero points as scales: the dtype is an attribute instead.
  EXPECT_EQ(Attribute(nodes[0], "output_dtype"), "22");
  EXPECT_EQ(nodes[0].input_size(), 2);
  EXPECT_EQ(Attribute(nodes[1], "block_size"), "4");
  EXPECT_EQ(Attribute(nodes[2], "axis"), "");
  EXPECT_EQ(Attribute(nodes[2], "saturate"), "0");
  EXPECT_EQ(Attribute(nodes[3], "axis"), "0");
  ASSERT_EQ(nodes[3].input_size(), 3);
  EXPECT_EQ(Initializer(model, nodes[3].input(2))->data_type(), 3);
}

// ONNX Runtime makes integer kernels only where it is written.
TEST(OnnxExportQuantTest, ZeroPointsOfBytesAreWritten) {
  const auto model = Export(R"(
func @main(%x: i8[2, 4], %s: f32[2], %t: f32[], %u: f32[2, 2]) {
  %0 = dequantize_linear(%x, %s, none, axis=0)
  %1 = dequantize_linear(%x, %t, none)
  %2 = dequantize_linear(%x, %u, none, axis=1, block_size=2)
  return %0, %1, %2
})",
                            21);
  const auto& nodes = model.graph().node();
  ASSERT_EQ(nodes.size(), 3);
  ASSERT_EQ(nodes[0].input_size(), 3);
  const onnx::TensorProto* channels = Initializer(model, nodes[0].input(2));
  ASSERT_NE(channels, nullptr);
  EXPECT_EQ(channels->data_type(), onnx::TensorProto::INT8);
  EXPECT_EQ(channels->raw_data(), std::string(2, '\0'));
  ASSERT_EQ(channels->dims_size(), 1);
  EXPECT_EQ(channels->dims(0), 2);
  ASSERT_EQ(nodes[1].input_size(), 3);
  EXPECT_EQ(Initializer(model, nodes[1].input(2))->dims_size(), 0);
  EXPECT_EQ(nodes[2].input_size(), 2);
}

TEST(OnnxExportQuantTest, WeightsShareNoZeroPoint) {
  const auto model = Export(R"(
func @main(%s: f32[2], %t: f32[2]) {
  %0 = constant(dense<[1, -2]>) : i8[2]
  %1 = constant(dense<[3, 4]>) : i8[2]
  %2 = dequantize_linear(%0, %s, none, axis=0)
  %3 = dequantize_linear(%1, %t, none, axis=0)
  return %2, %3
})",
                            17);
  const auto& nodes = model.graph().node();
  ASSERT_EQ(nodes.size(), 2);
  ASSERT_EQ(nodes[0].input_size(), 3);
  ASSERT_EQ(nodes[1].input_size(), 3);
  EXPECT_NE(nodes[0].input(2), nodes[1].input(2));
}

TEST(OnnxExportQuantTest, FourBitConstantsArePackedLowNibbleFirst) {
  const auto module = Parse(R"(
func @main(%s: f32[]) {
  %0 = constant(dense<[1, -2, 7]>) : i4[3]
  %1 = dequantize_linear(%0, %s, none, axis=0)
  return %1
})");
  const auto model = Lowest(*module);
  ASSERT_EQ(model.graph().initializer_size(), 1);
  EXPECT_EQ(model.graph().initializer(0).data_type(), 22);
  EXPECT_EQ(model.graph().initializer(0).raw_data(), std::string("\xe1\x07"));
}

TEST(OnnxExportQuantTest, BiasLosesAZeroPointOfZeros) {
  const std::string head = "func @main(%x: i32[2], %s: f32[2]) {\n  %z = constant(dense<[0, ";
  const std::string tail = R"(]>) : i32[2]
  %1 = dequantize_linear(%x, %s, %z, axis=0)
  return %1
})";
  const auto zeros = Lowest(*Parse(head + "0" + tail));
  EXPECT_EQ(Operators(zeros.graph()), "DequantizeLinear");
  EXPECT_EQ(zeros.graph().node(0).input_size(), 2);
  // ONNX has no zero points of i32.
  const auto other = Lowest(*Parse(head + "3" + tail));
  EXPECT_THAT(Operators(other.graph()), Not(HasSubstr("DequantizeLinear")));
}

// Comparisons by name find the node that computes.
TEST(OnnxExportQuantTest, QuantizationLeavesNamesToOthers) {
  const auto model = Export(R"(
func @main(%x: f32[2], %s: f32[]) {
  %0 = quantize_linear(%x, %s, none, dtype=i8) loc("act")
  %1 = dequantize_linear(%0, %s, none) loc("act")
  %2 = relu(%1) loc("act")
  return %2
})");
  EXPECT_EQ(model.graph().node(0).name(), "act_QuantizeLinear");
  EXPECT_EQ(model.graph().node(1).name(), "act_DequantizeLinear");
  EXPECT_EQ(model.graph().node(2).name(), "act");
}

// A quotient in f64 has no operator, and one in f16 none that is old.
TEST(OnnxExportQuantTest, OtherScalesAreDecomposed) {
  const std::string text = R"(
func @main(%x: f64[2], %s: f64[]) {
  %0 = quantize_linear(%x, %s, none, dtype=i8)
  return %0
})";
  EXPECT_THAT(Operators(Export(text, 21).graph()), HasSubstr("Div"));
  const std::string half = R"(
func @main(%x: f16[2], %s: f16[]) {
  %0 = quantize_linear(%x, %s, none, dtype=i8)
  return %0
})";
  EXPECT_THAT(Operators(Export(half, 17).graph()), HasSubstr("Div"));
  EXPECT_EQ(Operators(Export(half, 19).graph()), "QuantizeLinear");
}

TEST(OnnxExportQuantTest, OldOpsetsSayWhatTheyLack) {
  EXPECT_THAT(Error("func @main(%x: i4[2], %s: f32[]) {\n"
                    "  %0 = dequantize_linear(%x, %s, none)\n  return %0\n}",
                    19),
              HasSubstr("element type i4, which needs opset 21"));
}

// Ops without a form in the first opset that is tried take a later one.
TEST(OnnxExportQuantTest, LowestOpsetOfOtherOps) {
  EXPECT_EQ(Opset(Lowest(*Parse("func @main(%x: f32[2]) {\n  %0 = relu(%x)\n  return %0\n}"))), 17);
  EXPECT_EQ(Opset(Lowest(*Parse("func @main(%x: i32[2]) {\n  %0 = bitwise_and(%x, %x)\n"
                                "  %1 = bitwise_xor(%0, %x)\n  return %1\n}"))),
            18);
  OnnxExportOptions options;
  options.opset = kLowestOnnxOpset;
  const auto none = Parse("func @main(%x: f32[2]) {\n  %0 = lgamma(%x)\n  return %0\n}");
  EXPECT_THAT(std::string(ExportOnnx(*none, options).status().message()),
              HasSubstr("no form in ONNX opset 24: lgamma"));
}

// --- MatMulNBits -------------------------------------------------------------------

struct Weights {
  DType dtype = DType::kI4;
  int64_t k = 32;
  int64_t n = 3;
  int64_t block = 16;
  bool rows = false;  // [N, K], turned round before the product.
  bool zero_points = false;
  bool linear = false;
  bool float_zero_points = false;
};

// f32[2, k] times weights whose values, scales and zero points all differ along both dims.
std::unique_ptr<Module> Product(const Weights& w) {
  auto module = std::make_unique<Module>(ops::Registry());
  Graph* graph = module->AddFunction("main");
  Value* x = graph->AddInput(Type::Tensor(DType::kF32, {2, w.k}), "x");
  Value* bias = w.linear ? graph->AddInput(Type::Tensor(DType::kF32, {w.n}), "bias") : nullptr;
  Builder b(graph);
  const int64_t blocks = (w.k + w.block - 1) / w.block;
  const bool rows = w.rows || w.linear;
  const auto dims = [&](int64_t along) {
    return rows ? std::vector<int64_t>{w.n, along} : std::vector<int64_t>{along, w.n};
  };
  const int64_t low = IsSignedInt(w.dtype) ? -(int64_t{1} << (DTypeBits(w.dtype) - 1)) : 0;
  const auto ints = [&](int64_t along, int64_t step) {
    std::vector<int64_t> values;
    for (int64_t i = 0; i < along * w.n; ++i) {
      values.push_back(low + i * step % (int64_t{1} << DTypeBits(w.dtype)));
    }
    return HostTensor::FromInts(w.dtype, dims(along), values);
  };
  std::vector<double> scales;
  for (int64_t i = 0; i < blocks * w.n; ++i) scales.push_back(0.25 * static_cast<double>(i + 1));
  Value* q = b.Constant(ints(w.k, 7), "fc.weight_quantized");
  Value* scale = b.Constant(HostTensor::FromDoubles(DType::kF32, dims(blocks), scales));
  Value* zero = w.zero_points ? b.Constant(ints(blocks, 3)) : nullptr;
  if (w.float_zero_points) {
    for (double& v : scales) v += 3.5;
    zero = b.Constant(HostTensor::FromDoubles(DType::kF32, dims(blocks), scales));
  }
  Value* real = ops::BuildDequantizeLinear(b, q, scale, zero, DType::kF32, rows ? 1 : 0, w.block);
  if (w.linear) {
    graph->SetOutputs({b.Op(ops::linear, {x, real, bias})});
  } else {
    if (w.rows) real = b.Op(ops::permute, {real}, {{"dims", std::vector<int64_t>{1, 0}}});
    graph->SetOutputs({b.Op(ops::matmul, {x, real})});
  }
  EXPECT_TRUE(b.status().ok()) << b.status();
  return module;
}

std::vector<HostTensor> InputsOf(const Module& module) {
  std::vector<HostTensor> inputs;
  for (const Value* input : module.main()->inputs()) {
    std::vector<int64_t> dims = *AllConstant(input->type().dims());
    int64_t numel = 1;
    for (int64_t dim : dims) numel *= dim;
    std::vector<double> values;
    // Small integers: sums are exact in every order.
    for (int64_t i = 0; i < numel; ++i) values.push_back(static_cast<double>(i % 5 - 2));
    inputs.push_back(HostTensor::FromDoubles(DType::kF32, dims, values));
  }
  return inputs;
}

void ExpectPacked(const Weights& w, const std::string& operators) {
  const auto module = Product(w);
  const auto model = Lowest(*module, /*matmul_nbits=*/true);
  EXPECT_EQ(Operators(model.graph()), operators);
  ASSERT_EQ(model.opset_import_size(), 2);
  EXPECT_EQ(model.opset_import(1).domain(), "com.microsoft");
  EXPECT_EQ(model.graph().node(0).domain(), "com.microsoft");
  // Packed weights and scales alone.
  const bool zeros = w.zero_points || w.float_zero_points || w.dtype == DType::kU4;
  EXPECT_EQ(model.graph().initializer_size(), zeros ? 3 : 2);
  EXPECT_EQ(Initializer(model, "fc.weight_quantized"), nullptr);
  const std::vector<HostTensor> inputs = InputsOf(*module);
  const auto want = reference::Run(*module->main(), inputs);
  ASSERT_TRUE(want.ok()) << want.status();
  ExpectSameValues(model, inputs, *want);
}

TEST(OnnxExportNBitsTest, PacksWeightsInBlocks) {
  for (DType dtype : {DType::kI4, DType::kU4, DType::kI8}) {
    for (bool rows : {false, true}) {
      for (bool zero_points : {false, true}) {
        Weights w;
        w.dtype = dtype;
        w.rows = rows;
        w.zero_points = zero_points;
        SCOPED_TRACE(testing::Message()
                     << DTypeName(dtype) << " rows " << rows << " zero points " << zero_points);
        ExpectPacked(w, "MatMulNBits");
      }
    }
  }
}

TEST(OnnxExportNBitsTest, TheLastBlockMayBeCut) {
  Weights w;
  w.k = 41;
  w.zero_points = true;
  ExpectPacked(w, "MatMulNBits");
}

// Numbers with signs would move, and the zero points round; ONNX Runtime has none for 8 bits.
TEST(OnnxExportNBitsTest, FloatZeroPointsOfUnsignedNumbers) {
  for (const DType dtype : {DType::kU4, DType::kU8, DType::kI4}) {
    for (const bool rows : {false, true}) {
      Weights w;
      w.dtype = dtype;
      w.rows = rows;
      w.float_zero_points = true;
      if (dtype == DType::kU4) {
        ExpectPacked(w, "MatMulNBits");
        continue;
      }
      const std::string operators = Operators(Lowest(*Product(w), true).graph());
      EXPECT_THAT(operators, Not(HasSubstr("MatMulNBits")));
    }
  }
}

TEST(OnnxExportNBitsTest, LinearKeepsItsBias) {
  Weights w;
  w.linear = true;
  ExpectPacked(w, "MatMulNBits Add");
}

TEST(OnnxExportNBitsTest, OnlyOnRequestAndOnlyWhatFits) {
  Weights w;
  EXPECT_EQ(Operators(Lowest(*Product(w)).graph()), "DequantizeLinear MatMul");
  w.block = 8;  // MatMulNBits starts at 16.
  EXPECT_EQ(Operators(Lowest(*Product(w), true).graph()), "DequantizeLinear MatMul");
}

// f32[2, 41] or f32[41] times packed weights.
std::unique_ptr<Module> NbitsProduct(const NbitsMatrix& m, bool vector, bool bias) {
  auto module = std::make_unique<Module>(ops::Registry());
  Graph* graph = module->AddFunction("main");
  Value* x = graph->AddInput(
      vector ? Type::Tensor(DType::kF32, {41}) : Type::Tensor(DType::kF32, {2, 41}), "x");
  Builder b(graph);
  Value* weight = b.Constant(m.Weight());
  Value* scale = b.Constant(m.Scale());
  Value* zero = b.Constant(m.ZeroPoint());
  Value* more = bias ? b.Constant(HostTensor::FromDoubles(DType::kF32, {3}, {1, 2, 3})) : nullptr;
  graph->SetOutputs(
      {ops::BuildMatmulNbits(b, x, weight, scale, zero, more, m.group, m.bits, m.offset)});
  return module;
}

// The op itself needs no request. What MatMulNBits lacks is written as standard operators.
TEST(OnnxExportNBitsTest, WritesTheOp) {
  for (const bool bias : {false, true}) {
    for (const NbitsMatrix& m : {MakeNbits(4, 3, 41, 16, true), MakeNbits(4, 3, 41, 10, true),
                                 MakeFloatNbits(4, 3, 41, 16, /*offset=*/false),
                                 MakeFloatNbits(8, 3, 41, 16, /*offset=*/false),
                                 MakeFloatNbits(4, 3, 41, 16, /*offset=*/true)}) {
      for (const bool vector : {false, true}) {
        const auto module = NbitsProduct(m, vector, bias);
        const auto model = Lowest(*module);
        const std::string operators = Operators(model.graph());
        SCOPED_TRACE(operators);
        const bool has_form = !m.offset && (m.bits == 4 || m.floats.empty());
        if (m.group == 16 && !vector && has_form) {
          EXPECT_EQ(operators, bias ? "MatMulNBits Add" : "MatMulNBits");
        } else {
          EXPECT_THAT(operators, Not(HasSubstr("MatMulNBits")));
        }
        const std::vector<HostTensor> inputs = InputsOf(*module);
        const auto want = reference::Run(*module->main(), inputs);
        ASSERT_TRUE(want.ok()) << want.status();
        ExpectSameValues(model, inputs, *want);
      }
    }
  }
}

// A weight that something else reads stays beside the packed one.
TEST(OnnxExportNBitsTest, WeightsWithOtherUsersStay) {
  const auto module = Product(Weights());
  Graph* graph = module->main();
  graph->SetOutputs({graph->output(0), graph->output(0)->node()->operand(1)});
  const auto model = Lowest(*module, true);
  EXPECT_EQ(Operators(model.graph()), "DequantizeLinear MatMulNBits");
}

}  // namespace
}  // namespace weft
