// The model files are those that their builder writes, and valid.

#include <fstream>
#include <iterator>
#include <string>

#include "examples/exported/model_writer.h"
#include "examples/exported/models.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "onnx/checker.h"
#include "onnx/onnx_pb.h"
#include "onnx/shape_inference/implementation.h"

namespace weft::examples {
namespace {

std::string Read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

onnx::ModelProto Parse(const std::string& bytes) {
  onnx::ModelProto model;
  EXPECT_TRUE(model.ParseFromString(bytes));
  return model;
}

int Count(const onnx::ModelProto& model, const std::string& op_type) {
  int count = 0;
  for (const auto& node : model.graph().node()) count += node.op_type() == op_type;
  return count;
}

// The checker, and ONNX's own shape inference: errors are exceptions.
void CheckModel(onnx::ModelProto model) {
  onnx::checker::check_model(model);
  const onnx::ShapeInferenceOptions options(/*check_type_val=*/true, /*strict_mode_val=*/1,
                                            /*data_prop_val=*/true);
  onnx::shape_inference::InferShapes(model, onnx::OpSchemaRegistry::Instance(), options);
}

// A message, not the bytes, when they differ.
void ExpectCommitted(const std::string& path, const std::string& built) {
  EXPECT_TRUE(Read(path) == built)
      << path << " is not what its builder writes: run //examples/exported:make_models";
}

TEST(ExampleModelsTest, CommittedFilesAreWhatTheBuilderWrites) {
  ExpectCommitted("examples/resnet.onnx", ResNetModel());
  ExpectCommitted("examples/transformer.onnx", TransformerModel());
}

TEST(ExampleModelsTest, ResNetIsValid) {
  const onnx::ModelProto model = Parse(ResNetModel());
  EXPECT_NO_THROW(CheckModel(model));
  EXPECT_EQ(Count(model, "Conv"), 16);
  EXPECT_EQ(Count(model, "BatchNormalization"), 16);
  EXPECT_EQ(Count(model, "Add"), 6);
  EXPECT_EQ(Count(model, "Shape"), 1);
  EXPECT_EQ(model.graph().input(0).type().tensor_type().shape().dim(0).dim_param(), "batch");
  EXPECT_EQ(model.graph().initializer(0).name(), "conv1.weight");
}

TEST(ExampleModelsTest, TransformerIsValid) {
  const onnx::ModelProto model = Parse(TransformerModel());
  EXPECT_NO_THROW(CheckModel(model));
  EXPECT_EQ(Count(model, "Softmax"), 2);
  EXPECT_EQ(Count(model, "Erf"), 2);
  EXPECT_EQ(Count(model, "ReduceMean"), 10);
  EXPECT_GE(Count(model, "Identity"), 4);
  EXPECT_EQ(model.graph().output_size(), 2);
}

TEST(ExampleModelsTest, SplitMix64GivesThePublishedNumbers) {
  SplitMix64 random(1234567);
  EXPECT_EQ(random.Next(), 6457827717110365317u);
  EXPECT_EQ(random.Next(), 3203168211198807973u);
}

TEST(ExampleModelsTest, UniformStaysInItsInterval) {
  SplitMix64 random(7);
  for (int i = 0; i < 1000; ++i) {
    const float value = random.Uniform(-0.25f, 0.5f);
    EXPECT_GE(value, -0.25f);
    EXPECT_LE(value, 0.5f);
  }
}

}  // namespace
}  // namespace weft::examples
