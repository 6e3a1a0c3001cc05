// Tensors of GGUF files as parameters: names, shapes, and products with blocks.
#include "serialize/gguf/gguf_weights.h"

#include <memory>
#include <string>
#include <vector>

#include "backends/reference/executor.h"
#include "gmock/gmock.h"
#include "graph/ir/constant_store.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/value.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "tests/serialize/gguf/gguf_bytes.h"
#include "tests/support/parse.h"

namespace weft {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kModel[] = R"(
func @main(%x: f32[1, 32], %model.layers.3.proj.weight: f32[2, 32], %bias: f32[2]) {
  %0 = linear(%x, %model.layers.3.proj.weight, %bias)
  return %0
})";

constexpr char kNames[] = R"(
# llama.cpp's names and those of the model.
blk.*.proj.weight = model.layers.*.proj.weight
b = bias
)";

// Numbers from -16 on with scales of 1 and 2, and a bias.
GgufBytes Blocks() {
  std::string data;
  for (int row = 0; row < 2; ++row) {
    data += row == 0 ? std::string("\x00\x3c", 2) : std::string("\x00\x40", 2);
    for (int i = 0; i < 32; ++i) data += static_cast<char>(i - 16);
  }
  GgufBytes bytes;
  bytes.tensors = {{"blk.3.proj.weight", {2, 32}, 8, data},
                   {"b", {2}, 0, GgufBytes::Number(0.5f) + GgufBytes::Number(1.0f)},
                   {"other", {1}, 0, GgufBytes::Number(0.0f)}};
  return bytes;
}

absl::StatusOr<LoadedWeights> Load(const GgufBytes& bytes, const std::string& names,
                                   Module& module) {
  auto file = ParseGguf(GgufBytes::Buffer(bytes.Bytes()));
  EXPECT_TRUE(file.ok()) << file.status();
  auto rows = ParseWeightNames(names);
  EXPECT_TRUE(rows.ok()) << rows.status();
  return SetWeights(*file, *rows, module);
}

std::string Error(const GgufBytes& bytes, const std::string& names) {
  const auto module = Parse(kModel);
  const auto loaded = Load(bytes, names, *module);
  return loaded.ok() ? "loaded" : std::string(loaded.status().message());
}

TEST(GgufWeights, BecomeParametersAndBlocks) {
  const auto module = Parse(kModel);
  const auto loaded = Load(Blocks(), kNames, *module);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->parameters, 2);
  EXPECT_EQ(loaded->quantized, 1);
  EXPECT_THAT(loaded->unused, ElementsAre("other"));
  // The matrix is no input any more; the bias has a value.
  EXPECT_EQ(module->main()->num_inputs(), 2);
  EXPECT_THAT(PrintModule(*module), HasSubstr("dequantize_linear"));
  const auto again = Parse(PrintModule(*module));
  std::vector<double> ones(32, 1);
  ones[0] = 2;
  const HostTensor x = HostTensor::FromDoubles(DType::kF32, {1, 32}, ones);
  const HostTensor bias = HostTensor::FromDoubles(DType::kF32, {2}, {0.5, 1});
  const auto got = reference::Run(*again->main(), {x, bias});
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_THAT((*got)[0].ReadDoubles(), ElementsAre(-32 + 0.5, -64 + 1));
  const int initial = module->main()->input_info(1).initial;
  ASSERT_GE(initial, 0);
  EXPECT_THAT(module->constants().tensor(initial).ReadDoubles(), ElementsAre(0.5, 1));
}

// Q4_1: numbers times a scale, plus a minimum, in either dtype of the parameter.
TEST(GgufWeights, BlocksWithMinimums) {
  GgufBytes bytes;
  std::string data;
  for (int row = 0; row < 2; ++row) {
    // Scales 1 and 2, minimums -3 and 0.5.
    data += row == 0 ? std::string("\x00\x3c\x00\xc2", 4) : std::string("\x00\x40\x00\x38", 4);
    for (int i = 0; i < 16; ++i) data += static_cast<char>(i | (15 - i) << 4);
  }
  bytes.tensors = {{"w", {2, 32}, 3, data}};
  for (const std::string dtype : {"f32", "f16"}) {
    const auto module = Parse("func @main(%x: " + dtype + "[1, 32], %w: " + dtype +
                              "[2, 32]) {\n  %0 = linear(%x, %w, none)\n  return %0\n}");
    const auto loaded = Load(bytes, "", *module);
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    EXPECT_EQ(loaded->quantized, 1);
    const auto again = Parse(PrintModule(*module));
    std::vector<double> one(32, 0);
    one[17] = 1;  // The high half of byte 1: 14.
    const DType type = again->main()->input(0)->type().dtype();
    const auto got = reference::Run(*again->main(), {HostTensor::FromDoubles(type, {1, 32}, one)});
    ASSERT_TRUE(got.ok()) << got.status();
    EXPECT_THAT((*got)[0].ReadDoubles(), ElementsAre(14 - 3, 28 + 0.5));
  }
}

TEST(GgufWeights, RefusesWhatDoesNotFit) {
  EXPECT_EQ(Error(Blocks(), kNames), "loaded");
  EXPECT_THAT(Error(Blocks(), ""), HasSubstr("no tensor of the file has the name of a parameter"));
  EXPECT_THAT(Error(Blocks(), std::string(kNames) + "missing = bias\n"),
              HasSubstr("'missing' fits no tensor that is left"));
  EXPECT_THAT(Error(Blocks(), "other = nothing\n"), HasSubstr("'nothing', which is no input"));
  EXPECT_THAT(Error(Blocks(), std::string(kNames) + "other = bias\n"),
              HasSubstr("a second tensor"));
  EXPECT_THAT(Error(Blocks(), "blk.3.proj.weight = x\n"),
              HasSubstr("it is [2, 32], but the parameter 'x' is f32[1, 32]"));
  GgufBytes ints = Blocks();
  ints.tensors[1].type = 26;
  EXPECT_THAT(Error(ints, kNames), HasSubstr("it holds i32"));
  GgufBytes unread = Blocks();
  unread.tensors[0].type = 9;
  EXPECT_THAT(Error(unread, kNames), HasSubstr("is of Q8_1"));
}

TEST(GgufWeights, NamesAreChecked) {
  const auto error = [](const std::string& text) {
    return std::string(ParseWeightNames(text).status().message());
  };
  EXPECT_THAT(error("a = b\nc\n"), HasSubstr("line 2: a row is TENSOR = PARAMETER"));
  EXPECT_THAT(error("a = *\n"), HasSubstr("line 1: a name has one `*`"));
  EXPECT_THAT(error("*.* = a\n"), HasSubstr("line 1: a name has one `*`"));
}

}  // namespace
}  // namespace weft
