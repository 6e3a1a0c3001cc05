// Tensors of narrow types. UINT2 and INT2 are read into wider dtypes, cast and quantized to their
// own values, and refused where ONNX does not define an operator for them. FLOAT4E2M1 and
// FLOAT8E8M0 have dtypes.
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "backends/reference/executor.h"
#include "gmock/gmock.h"
#include "graph/ir/module.h"
#include "graph/tensor/tensor.h"
#include "gtest/gtest.h"
#include "onnx/onnx_pb.h"
#include "serialize/onnx/import/onnx.h"
#include "tests/serialize/onnx/import/onnx_run.h"
#include "tests/serialize/onnx/import/onnx_text.h"

namespace weft {
namespace {

using ::onnx::TensorProto;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int kFloat4 = 23;
constexpr int kFloat8E8M0 = 24;
constexpr int kUInt2 = 25;
constexpr int kInt2 = 26;

TensorProto Packed(int type, std::vector<int64_t> dims, const std::string& bytes) {
  TensorProto proto;
  proto.set_name("t");
  proto.set_data_type(type);
  for (int64_t d : dims) proto.add_dims(d);
  proto.set_raw_data(bytes);
  return proto;
}

HostTensor Parse(const TensorProto& proto) {
  auto tensor = ParseTensorProto(proto.SerializeAsString());
  EXPECT_TRUE(tensor.ok()) << tensor.status();
  return tensor.ok() ? *tensor : HostTensor::Scalar(DType::kF32, -1);
}

TEST(NarrowTypesTest, ElementsAreUnpackedFromTheLowBits) {
  const HostTensor ints = Parse(Packed(kInt2, {5}, std::string("\xe4\x02", 2)));
  EXPECT_EQ(ints.dtype(), DType::kI4);
  EXPECT_THAT(ints.ReadInts(), ElementsAre(0, 1, -2, -1, -2));
  const HostTensor unsigned_ints = Parse(Packed(kUInt2, {5}, std::string("\xe4\x02", 2)));
  EXPECT_EQ(unsigned_ints.dtype(), DType::kU4);
  EXPECT_THAT(unsigned_ints.ReadInts(), ElementsAre(0, 1, 2, 3, 2));
  const HostTensor floats =
      Parse(Packed(kFloat4, {16}, std::string("\x10\x32\x54\x76\x98\xba\xdc\xfe", 8)));
  EXPECT_EQ(floats.dtype(), DType::kF4E2M1);
  EXPECT_THAT(floats.ReadDoubles(),
              ElementsAre(0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6));
  const HostTensor scales = Parse(Packed(kFloat8E8M0, {3}, std::string("\x00\x7f\xfe", 3)));
  EXPECT_EQ(scales.dtype(), DType::kF8E8M0);
  EXPECT_THAT(scales.ReadDoubles(), ElementsAre(0x1p-127, 1, 0x1p127));
}

TEST(NarrowTypesTest, TypedFieldHoldsPackedBytes) {
  TensorProto proto = Packed(kInt2, {2, 3}, "");
  proto.clear_raw_data();
  proto.add_int32_data(0xe4);
  proto.add_int32_data(0x09);
  EXPECT_THAT(Parse(proto).ReadInts(), ElementsAre(0, 1, -2, -1, 1, -2));
  proto.add_int32_data(0);
  EXPECT_THAT(ParseTensorProto(proto.SerializeAsString()).status().ToString(),
              HasSubstr("u8[2] needs 2 entries, but there are 3"));
}

// A model with one input X and output Y of these element types.
::onnx::ModelProto Model(const std::string& body, int x_type, int y_type) {
  auto model = ParseOnnxText("g (float[N] X) => (float[N] Y) " + body, 25);
  auto* graph = model.mutable_graph();
  graph->mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(x_type);
  graph->mutable_output(0)->mutable_type()->mutable_tensor_type()->set_elem_type(y_type);
  return model;
}

std::vector<double> RunOn(const ::onnx::ModelProto& model, const HostTensor& x) {
  auto module = ImportOnnxBytes(model.SerializeAsString(), "");
  EXPECT_TRUE(module.ok()) << module.status();
  if (!module.ok()) return {};
  auto outputs = reference::Run(*(*module)->main(), {x});
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  return outputs.ok() ? (*outputs)[0].ReadDoubles() : std::vector<double>();
}

constexpr int kFloat = TensorProto::FLOAT;

TEST(NarrowTypesTest, CastsToIntegersKeepTheLowBits) {
  const HostTensor x = F32({8}, {-3, -2, -1, 0, 1, 2, 3, 1.7});
  EXPECT_THAT(RunOn(Model("{ Y = Cast <to = 26> (X) }", kFloat, kInt2), x),
              ElementsAre(1, -2, -1, 0, 1, -2, -1, 1));
  EXPECT_THAT(RunOn(Model("{ Y = Cast <to = 25> (X) }", kFloat, kUInt2), x),
              ElementsAre(1, 2, 3, 0, 1, 2, 3, 1));
}

TEST(NarrowTypesTest, CastToFloat4RoundsToEvenAndSaturates) {
  const double infinity = std::numeric_limits<double>::infinity();
  const HostTensor x = F32({14}, {0.25, 0.26, 0.75, 1.25, 1.75, 2.5, 3.5, 5, 5.1, -0.8, 7, -1e9,
                                  infinity, std::nan("")});
  EXPECT_THAT(RunOn(Model("{ Y = Cast <to = 23> (X) }", kFloat, kFloat4), x),
              ElementsAre(0, 0.5, 1, 1, 2, 2, 4, 4, 6, -1, 6, -6, 6, 0));
}

// From FLOAT to FLOAT8E8M0 and back.
std::vector<double> ScalesOf(const std::string& mode, const HostTensor& x) {
  return RunOn(
      Model("{ y = Cast <to = 24, " + mode + "> (X)\n Y = Cast <to = 1> (y) }", kFloat, kFloat), x);
}

TEST(NarrowTypesTest, CastToFloat8E8M0RoundsAsTheModeSays) {
  const double inf = std::numeric_limits<double>::infinity();
  const HostTensor x =
      F32({11}, {0, 1, 1.4, 1.5, 2.1, 3, -3, 0x1p-127, 0x1.8p-127, 0x1.1p127, inf});
  EXPECT_THAT(ScalesOf("round_mode = \"up\"", x),
              ElementsAre(0x1p-127, 1, 2, 2, 4, 4, 4, 0x1p-127, 0x1p-126, 0x1p127, 0x1p127));
  EXPECT_EQ(ScalesOf("saturate = 1", x), ScalesOf("round_mode = \"up\"", x));
  EXPECT_THAT(ScalesOf("round_mode = \"down\"", x),
              ElementsAre(0x1p-127, 1, 1, 1, 2, 2, 2, 0x1p-127, 0x1p-127, 0x1p127, 0x1p127));
  EXPECT_THAT(ScalesOf("round_mode = \"nearest\"", x),
              ElementsAre(0x1p-127, 1, 1, 2, 2, 4, 4, 0x1p-127, 0x1p-126, 0x1p127, 0x1p127));
  const auto is_nan = testing::ResultOf([](double v) { return std::isnan(v); }, true);
  const HostTensor large = F32({3}, {0x1.1p127, inf, std::nan("")});
  EXPECT_THAT(ScalesOf("round_mode = \"up\", saturate = 0", large), Each(is_nan));
  EXPECT_THAT(ScalesOf("round_mode = \"up\"", large), ElementsAre(0x1p127, 0x1p127, is_nan));
  EXPECT_THAT(
      ImportToText(Model("{ Y = Cast <to = 24, round_mode = \"odd\"> (X) }", kFloat, kFloat8E8M0)),
      HasSubstr("round_mode is none of up, down and nearest"));
}

// The type goes with the values: through operators that move them, a function's name and back.
TEST(NarrowTypesTest, CastLikeFollowsTheTypeOfItsInput) {
  const auto model = Model(R"({
  a = Cast <to = 26> (X)
  axis = Constant <value = int64[1] {0}> ()
  b = Unsqueeze(a, axis)
  like = Squeeze(b, axis)
  two = Constant <value = float[1] {2}> ()
  y = CastLike(two, like)
  Y = Cast <to = 1> (y)
})",
                           kFloat, kFloat);
  EXPECT_THAT(RunOn(model, F32({1}, {1})), ElementsAre(-2));
}

TEST(NarrowTypesTest, QuantizeLinearClampsToTheType) {
  const HostTensor x = F32({6}, {-30, -5, -1, 0.9, 2.6, 40});
  EXPECT_THAT(RunOn(Model("{ s = Constant <value = float {2}> ()\n"
                          "  Y = QuantizeLinear <output_dtype = 26> (X, s) }",
                          kFloat, kInt2),
                    x),
              ElementsAre(-2, -2, 0, 0, 1, 1));
  EXPECT_THAT(RunOn(Model("{ s = Constant <value = float {2}> ()\n"
                          "  Y = QuantizeLinear <output_dtype = 23> (X, s) }",
                          kFloat, kFloat4),
                    x),
              ElementsAre(-6, -2, -0.5, 0.5, 1.5, 6));
}

TEST(NarrowTypesTest, DequantizeLinearReadsThem) {
  const auto model =
      Model("{ s = Constant <value = float {2}> ()\n Y = DequantizeLinear(X, s) }", kInt2, kFloat);
  EXPECT_THAT(RunOn(model, HostTensor::FromInts(DType::kI4, {4}, {-2, -1, 0, 1})),
              ElementsAre(-4, -2, 0, 2));
}

// Two blocks of four, with a scale that is a power of two each.
TEST(NarrowTypesTest, BlocksWithFloat8E8M0Scales) {
  const auto model = Model(R"({
  s = Constant <value = float[1, 2] {0.5, 8}> ()
  scale = Cast <to = 24> (s)
  q = QuantizeLinear <output_dtype = 23, axis = 1, block_size = 4, precision = 1> (X, scale)
  Y = DequantizeLinear <output_dtype = 1, axis = 1, block_size = 4> (q, scale)
})",
                           kFloat, kFloat);
  auto matrix = model;
  for (auto* info :
       {matrix.mutable_graph()->mutable_input(0), matrix.mutable_graph()->mutable_output(0)}) {
    info->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(0)->set_dim_value(1);
    info->mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_value(8);
  }
  EXPECT_THAT(RunOn(matrix, F32({1, 8}, {0.3, -0.6, 2.4, 90, 1, 3, -50, 7})),
              ElementsAre(0.25, -0.5, 2, 3, 0, 4, -48, 8));
  EXPECT_THAT(ImportToText(Model("{ s = Constant <value = float {2}> ()\n"
                                 "  t = Cast <to = 24> (s)\n Y = DequantizeLinear(X, t) }",
                                 TensorProto::INT8, kFloat)),
              HasSubstr("output_dtype is needed where x_scale is FLOAT8E8M0"));
}

TEST(NarrowTypesTest, OtherOperatorsAreRefused) {
  EXPECT_THAT(ImportToText(Model("{ Y = Add(X, X) }", kFloat4, kFloat4)),
              HasSubstr("dtype, got f4e2m1"));
  EXPECT_EQ(ImportToText(Model("{ Y = Add(X, X) }", kInt2, kInt2)),
            "UNIMPLEMENTED: Add node 'Y': input 0 ('X') is of INT2, which the operator does not "
            "take");
  EXPECT_EQ(ImportToText(Model("{ Y = Identity(X) }", kInt2, TensorProto::INT32)),
            "INVALID_ARGUMENT: output 'Y' is declared as INT32, but the graph computes i4[N] of "
            "INT2");
}

}  // namespace
}  // namespace weft
