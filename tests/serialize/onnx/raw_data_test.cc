// Weights that stay in the file.
#include "serialize/onnx/raw_data.h"

#include <fstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "graph/ir/constant_store.h"
#include "graph/ir/module.h"
#include "graph/tensor/tensor.h"
#include "gtest/gtest.h"
#include "onnx/onnx_pb.h"
#include "serialize/onnx/export/export.h"
#include "serialize/onnx/import/onnx.h"

namespace weft {
namespace {

using onnx_import::RemoveRawData;
using testing::HasSubstr;

constexpr int kLarge = 2000;  // Elements of f32: 8000 bytes.

void AddWeight(const std::string& name, int elements, float value, onnx::GraphProto* graph) {
  onnx::TensorProto* tensor = graph->add_initializer();
  tensor->set_name(name);
  tensor->set_data_type(onnx::TensorProto::FLOAT);
  tensor->add_dims(elements);
  std::vector<float> data(elements, value);
  data.back() = value + 1;
  tensor->set_raw_data(data.data(), data.size() * sizeof(float));
}

// y = x + a + b + c; b is small. `shift` moves the data.
onnx::ModelProto MakeModel(int shift) {
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(17);
  onnx::GraphProto* graph = model.mutable_graph();
  graph->set_name(std::string(shift + 1, 'g'));
  const auto add_io = [&](onnx::ValueInfoProto* info, const char* name) {
    info->set_name(name);
    info->mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
    info->mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_value(kLarge);
  };
  add_io(graph->add_input(), "x");
  add_io(graph->add_output(), "y");
  AddWeight("a", kLarge, 3, graph);
  AddWeight("b", 1, 4, graph);
  AddWeight("c", kLarge, 5, graph);
  const char* names[][3] = {{"x", "a", "s"}, {"s", "b", "t"}, {"t", "c", "y"}};
  for (const auto& [left, right, result] : names) {
    onnx::NodeProto* node = graph->add_node();
    node->set_op_type("Add");
    node->add_input(left);
    node->add_input(right);
    node->add_output(result);
  }
  return model;
}

TEST(RawDataTest, LargeDataIsTakenOut) {
  const std::string bytes = MakeModel(0).SerializeAsString();
  const auto small = RemoveRawData(bytes);
  ASSERT_TRUE(small.has_value());
  EXPECT_LT(small->model.size(), 1000u);
  ASSERT_EQ(small->removed.size(), 2u);
  EXPECT_EQ(small->removed[0].initializer, 0);
  EXPECT_EQ(small->removed[1].initializer, 2);
  EXPECT_EQ(small->removed[1].data.size(), kLarge * sizeof(float));
  EXPECT_GE(small->removed[1].data.data(), bytes.data());
  onnx::ModelProto rest, whole = MakeModel(0);
  ASSERT_TRUE(rest.ParseFromString(small->model));
  for (int i : {0, 2}) whole.mutable_graph()->mutable_initializer(i)->clear_raw_data();
  EXPECT_EQ(rest.SerializeAsString(), whole.SerializeAsString());
}

TEST(RawDataTest, OtherBytesAreLeftToTheParser) {
  EXPECT_FALSE(RemoveRawData("").has_value());
  onnx::ModelProto model = MakeModel(0);
  const std::string bytes = model.SerializeAsString();
  // Two graphs are merged, and two values of a field are the last one.
  EXPECT_FALSE(RemoveRawData(bytes + bytes).has_value());
  // A model cut at the end of a field is a smaller model; cut elsewhere it is malformed.
  for (size_t n = 0; n < bytes.size(); n += 7) {
    const auto small = RemoveRawData(absl::string_view(bytes).substr(0, n));
    if (!small.has_value()) continue;
    EXPECT_TRUE(onnx::ModelProto().ParseFromString(small->model)) << n;
  }
  for (auto& tensor : *model.mutable_graph()->mutable_initializer()) tensor.clear_raw_data();
  EXPECT_FALSE(RemoveRawData(model.SerializeAsString()).has_value());
}

class MappedModelTest : public testing::Test {
 protected:
  std::string Write(const std::string& bytes) {
    std::ofstream(path_, std::ios::binary) << bytes;
    return path_;
  }
  // The values of the weights by name.
  static std::vector<double> Ends(const Module& module) {
    std::vector<double> ends;
    for (int i = 0; i < module.constants().size(); ++i) {
      const std::vector<double> values = module.constants().tensor(i).ReadDoubles();
      ends.push_back(values.front());
      ends.push_back(values.back());
    }
    return ends;
  }
  const std::string path_ = testing::TempDir() + "/mapped.onnx";
};

// Wherever the data lies in the file, elements lie where their dtype may.
TEST_F(MappedModelTest, WeightsAreThoseOfTheFile) {
  for (int shift = 0; shift < 4; ++shift) {
    const auto module = ImportOnnx(Write(MakeModel(shift).SerializeAsString()));
    ASSERT_TRUE(module.ok()) << module.status();
    EXPECT_THAT(Ends(**module), testing::ElementsAre(3, 4, 5, 5, 5, 6)) << shift;
    for (int i = 0; i < (*module)->constants().size(); ++i) {
      const auto address = reinterpret_cast<uintptr_t>((*module)->constants().tensor(i).raw());
      EXPECT_EQ(address % sizeof(float), 0u) << shift;
    }
  }
}

TEST_F(MappedModelTest, AFileMayTakeThePlaceOfItsOwnSource) {
  const auto module = ImportOnnx(Write(MakeModel(1).SerializeAsString()));
  ASSERT_TRUE(module.ok()) << module.status();
  ASSERT_TRUE(ExportOnnxFile(**module, path_).ok());
  EXPECT_THAT(Ends(**module), testing::ElementsAre(3, 4, 5, 5, 5, 6));
  const auto again = ImportOnnx(path_);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(Ends(**again).size(), 6u);
}

TEST_F(MappedModelTest, WrittenModelsHaveTheirDataWhereItCanBeMapped) {
  for (int shift = 0; shift < 4; ++shift) {
    const auto module = ImportOnnx(Write(MakeModel(shift).SerializeAsString()));
    ASSERT_TRUE(module.ok()) << module.status();
    const auto bytes = ExportOnnx(**module);
    ASSERT_TRUE(bytes.ok()) << bytes.status();
    const auto small = RemoveRawData(*bytes);
    ASSERT_TRUE(small.has_value());
    ASSERT_EQ(small->removed.size(), 2u);
    for (const auto& raw : small->removed) {
      EXPECT_EQ((raw.data.data() - bytes->data()) % 64, 0) << shift;
    }
  }
}

TEST_F(MappedModelTest, AWrongSizeIsAnError) {
  onnx::ModelProto model = MakeModel(0);
  model.mutable_graph()->mutable_initializer(0)->set_dims(0, kLarge + 1);
  const auto module = ImportOnnx(Write(model.SerializeAsString()));
  EXPECT_EQ(module.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(module.status().message(),
              HasSubstr("initializer 'a': f32[2001] needs 8004 bytes, but there are 8000"));
}

}  // namespace
}  // namespace weft
