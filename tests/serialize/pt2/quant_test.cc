// Which nodes quantization operators of PyTorch become; aten_cases_test has their values.
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "graph/ir/module.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "serialize/pt2/pt2.h"
#include "tests/serialize/pt2/program_text.h"

namespace weft::pt2 {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using Inputs = std::vector<std::pair<std::string, std::string>>;

constexpr char kNone[] = R"({"as_none": true})";
constexpr char kI8[] = R"({"as_scalar_type": 2})";

std::string Int(int64_t v) { return absl::StrCat("{\"as_int\": ", v, "}"); }

// The text of a program of one operator, or the message of the error.
std::string Imported(const std::string& target, const std::vector<TestProgram::Tensor>& tensors,
                     const Inputs& more, const TestProgram& base = {}) {
  TestProgram p = base;
  p.inputs = tensors;
  Inputs inputs;
  for (const auto& t : tensors) inputs.emplace_back(t.name, TestProgram::T(t.name));
  inputs.insert(inputs.end(), more.begin(), more.end());
  p.outputs = {"y"};
  p.nodes = {TestProgram::Node("torch.ops." + target, inputs, {TestProgram::T("y")})};
  const auto module = ImportPt2Bytes(p.Archive());
  return module.ok() ? PrintModule(**module) : std::string(module.status().message());
}

Inputs Limits(int64_t low, int64_t high) {
  return {{"quant_min", Int(low)}, {"quant_max", Int(high)}, {"dtype", kI8}};
}

Inputs With(Inputs inputs, const Inputs& more) {
  inputs.insert(inputs.end(), more.begin(), more.end());
  return inputs;
}

TEST(Quant, ANarrowRangeLeavesDequantizeAlone) {
  const Inputs scale = {{"scale", R"({"as_float": 0.5})"}, {"zero_point", Int(0)}};
  for (int64_t low : {-128, -127}) {
    EXPECT_THAT(Imported("quantized_decomposed.dequantize_per_tensor.default",
                         {{"input", 2, {"3"}}}, With(scale, Limits(low, 127))),
                AllOf(HasSubstr("dequantize_linear("), Not(HasSubstr(" mul("))));
    EXPECT_THAT(Imported("quantized_decomposed.dequantize_per_channel.default",
                         {{"input", 2, {"3", "4"}}, {"scales", 7, {"4"}}},
                         With({{"zero_points", kNone}, {"axis", Int(1)}}, Limits(low, 127))),
                AllOf(HasSubstr("dequantize_linear("), Not(HasSubstr(" mul("))));
  }
}

TEST(Quant, ANarrowRangeLimitsWhatIsQuantized) {
  const Inputs scale = {{"scale", R"({"as_float": 0.5})"}, {"zero_point", Int(0)}};
  const auto imported = [&](int64_t low, int64_t high) {
    return Imported("quantized_decomposed.quantize_per_tensor.default", {{"input", 7, {"3"}}},
                    With(scale, Limits(low, high)));
  };
  EXPECT_THAT(imported(-128, 127), AllOf(HasSubstr("quantize_linear("), Not(HasSubstr("clamp("))));
  EXPECT_THAT(imported(-127, 127), AllOf(HasSubstr("quantize_linear("), HasSubstr("clamp(")));
  EXPECT_THAT(imported(-129, 127), HasSubstr("the range from -129 to 127"));
}

// PyTorch multiplies by 1 / scale. Passes look for constant scales in quantize_linear, so those
// stay.
TEST(Quant, ScalesThatAreComputedAreMultipliedBy) {
  EXPECT_THAT(Imported("quantized_decomposed.quantize_per_tensor.default", {{"input", 7, {"3"}}},
                       With({{"scale", R"({"as_float": 0.5})"}, {"zero_point", Int(0)}},
                            Limits(-128, 127))),
              AllOf(HasSubstr("quantize_linear("), Not(HasSubstr("reciprocal("))));
  for (const char* block : {"4, 6", "1, 6", "4, 1"}) {
    const char* scales = block[0] == '1' ? "4" : block[3] == '1' ? "6" : "1";
    EXPECT_THAT(Imported("torchao.quantize_affine.default",
                         {{"input", 7, {"4", "6"}}, {"scale", 7, {scales}}},
                         {{"zero_point", kNone},
                          {"block_size", absl::StrCat("{\"as_ints\": [", block, "]}")},
                          {"output_dtype", kI8}}),
                AllOf(HasSubstr("reciprocal("), HasSubstr("mul("), HasSubstr("quantize_linear(")));
  }
}

// Passes look for one scale and for one axis.
TEST(Quant, BlocksHaveTheirPlainestForm) {
  const auto imported = [&](const std::string& block, const std::string& scales) {
    return Imported("torchao.dequantize_affine.default",
                    {{"input", 2, {"4", "6"}}, {"scale", 7, {scales}}},
                    {{"zero_point", kNone},
                     {"block_size", absl::StrCat("{\"as_ints\": [", block, "]}")},
                     {"input_dtype", kI8}});
  };
  EXPECT_THAT(imported("4, 6", "1"), AllOf(HasSubstr("dequantize_linear("), Not(HasSubstr("block")),
                                           Not(HasSubstr("axis"))));
  EXPECT_THAT(imported("1, 6", "4"), AllOf(HasSubstr("axis=0"), Not(HasSubstr("block"))));
  EXPECT_THAT(imported("1, 2", "12"),
              AllOf(HasSubstr("block_size=2"), Not(HasSubstr("block_shape"))));
  EXPECT_THAT(imported("2, 3", "4"), HasSubstr("block_shape=[2, 3]"));
}

TEST(Quant, ATokenHasAScaleWhateverItsLength) {
  TestProgram base;
  base.ranges = R"({"s0": {"min_val": 2, "max_val": 64}, "s1": {"min_val": 2, "max_val": 64}})";
  EXPECT_THAT(
      Imported("quantized_decomposed.dequantize_per_token.default",
               {{"input", 2, {"2", "s0", "s1"}},
                {"scales", 7, {"2", "s0", "1"}},
                {"zero_points", 5, {"2", "s0", "1"}}},
               With(Limits(-128, 127), {{"output_dtype", R"({"as_scalar_type": 7})"}}), base),
      HasSubstr("block_shape=[1, 1, -1]"));
}

TEST(Quant, WhatIsLeftOutSaysWhatToDo) {
  EXPECT_THAT(Imported("export.access_subclass_inner_tensor.default", {{"w", 7, {"3"}}}, {}),
              HasSubstr("call torchao.utils.unwrap_tensor_subclass before export"));
  EXPECT_THAT(Imported("aten._weight_int4pack_mm_for_cpu.default", {{"self", 7, {"3"}}}, {}),
              HasSubstr("packed for one machine"));
}

}  // namespace
}  // namespace weft::pt2
