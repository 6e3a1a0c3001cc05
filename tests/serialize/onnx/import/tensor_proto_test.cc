// Every way to store elements.
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "graph/tensor/tensor.h"
#include "gtest/gtest.h"
#include "onnx/onnx_pb.h"
#include "serialize/onnx/import/onnx.h"

namespace weft {
namespace {

using ::onnx::TensorProto;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TensorProto Proto(int type, std::initializer_list<int64_t> dims) {
  TensorProto proto;
  proto.set_data_type(type);
  for (int64_t d : dims) proto.add_dims(d);
  proto.set_name("t");
  return proto;
}

HostTensor Parse(const TensorProto& proto, std::optional<DType> expected = std::nullopt) {
  auto tensor = ParseTensorProto(proto.SerializeAsString(), expected);
  EXPECT_TRUE(tensor.ok()) << tensor.status();
  return tensor.ok() ? *tensor : HostTensor::Scalar(DType::kF32, -1);
}

TEST(TensorProtoTest, TypedFields) {
  TensorProto floats = Proto(TensorProto::FLOAT, {2});
  floats.add_float_data(1.5f);
  floats.add_float_data(-2);
  EXPECT_THAT(Parse(floats).ReadDoubles(), ElementsAre(1.5, -2));

  TensorProto u64 = Proto(TensorProto::UINT32, {1});
  u64.add_uint64_data(4000000000u);
  EXPECT_THAT(Parse(u64).ReadInts(), ElementsAre(4000000000));

  TensorProto i8 = Proto(TensorProto::INT8, {3});
  for (int v : {-1, 127, -128}) i8.add_int32_data(v);
  EXPECT_THAT(Parse(i8).ReadInts(), ElementsAre(-1, 127, -128));

  TensorProto bools = Proto(TensorProto::BOOL, {2});
  bools.add_int32_data(2);
  bools.add_int32_data(0);
  EXPECT_THAT(Parse(bools).ReadInts(), ElementsAre(1, 0));

  TensorProto half = Proto(TensorProto::FLOAT16, {1});
  half.add_int32_data(0x3e00);
  EXPECT_THAT(Parse(half).ReadDoubles(), ElementsAre(1.5));

  TensorProto complex = Proto(TensorProto::COMPLEX64, {1});
  complex.add_float_data(1);
  complex.add_float_data(2);
  EXPECT_EQ(Parse(complex).bytes(), 8);

  TensorProto scalar = Proto(TensorProto::DOUBLE, {});
  scalar.add_double_data(0.25);
  EXPECT_EQ(Parse(scalar).rank(), 0);
}

// Types that are newer than Debian's onnx.proto, by number.
TEST(TensorProtoTest, NewerTypes) {
  TensorProto i4 = Proto(22, {3});
  i4.add_int32_data(0x8f);  // -1, -8
  i4.add_int32_data(0x07);
  EXPECT_EQ(Parse(i4).dtype(), DType::kI4);
  EXPECT_THAT(Parse(i4).ReadInts(), ElementsAre(-1, -8, 7));

  TensorProto u4 = Proto(21, {3});
  u4.set_raw_data(std::string("\x21\x0f", 2));
  EXPECT_THAT(Parse(u4).ReadInts(), ElementsAre(1, 2, 15));

  TensorProto f8 = Proto(17, {2});
  f8.set_raw_data(std::string("\x38\xb8", 2));
  EXPECT_EQ(Parse(f8).dtype(), DType::kF8E4M3);
  EXPECT_THAT(Parse(f8).ReadDoubles(), ElementsAre(1, -1));
}

// Data files of bfloat16 tensors say uint16.
TEST(TensorProtoTest, Bfloat16InUint16) {
  TensorProto proto = Proto(TensorProto::UINT16, {1});
  proto.add_int32_data(0x3fc0);
  EXPECT_EQ(Parse(proto).dtype(), DType::kU16);
  EXPECT_EQ(Parse(proto, DType::kBF16).dtype(), DType::kBF16);
  EXPECT_THAT(Parse(proto, DType::kBF16).ReadDoubles(), ElementsAre(1.5));
  EXPECT_EQ(Parse(proto, DType::kF32).dtype(), DType::kU16);
}

TEST(TensorProtoTest, LargeRawDataIsKept) {
  TensorProto proto = Proto(TensorProto::INT32, {4096});
  std::vector<int32_t> values(4096);
  for (int i = 0; i < 4096; ++i) values[i] = i - 7;
  proto.set_raw_data(values.data(), values.size() * sizeof(int32_t));
  const HostTensor tensor = Parse(proto);
  EXPECT_EQ(tensor.IntAt(0), -7);
  EXPECT_EQ(tensor.IntAt(4095), 4088);
}

TEST(TensorProtoTest, CountsMustMatch) {
  TensorProto proto = Proto(TensorProto::FLOAT, {3});
  proto.add_float_data(1);
  const auto status = ParseTensorProto(proto.SerializeAsString()).status();
  EXPECT_EQ(status.ToString(),
            "INVALID_ARGUMENT: tensor 't': f32[3] needs 3 entries, but there "
            "are 1");
  EXPECT_THAT(ParseTensorProto("\xff\xff").status().ToString(), HasSubstr("not a TensorProto"));
  EXPECT_THAT(ParseTensorProto("").status().ToString(), HasSubstr("UNDEFINED"));
}

}  // namespace
}  // namespace weft
