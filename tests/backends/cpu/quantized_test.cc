// Quantized programs after the executor's pipeline: matmuls of dequantized tensors run on integers,
// equal to the reference's run of the same graph in every bit, and at most one step of the result's
// scale from the reference's run of the source graph.
#include <memory>
#include <string>
#include <vector>

#include "api/compiler.h"
#include "backends/cpu/executable.h"
#include "backends/cpu/onednn/onednn.h"
#include "backends/cpu/target.h"
#include "backends/reference/executor.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/value.h"
#include "graph/tensor/tensor.h"
#include "gtest/gtest.h"
#include "lowering/lower.h"
#include "tests/support/parse.h"
#include "tests/support/tensor_compare.h"

namespace weft::cpu {
namespace {

struct Case {
  const char* name;
  const char* program;
};

const Case kCases[] = {
    {"linear", R"(
  func @main(%x: u8[s0, 64], %w: i8[40, 64], %z: u8[]) -> (u8[s0, 40]) {
    %s = constant(dense<0.02>) : f32[]
    %t = constant(dense<0.01>) : f32[]
    %u = constant(dense<0.5>) : f32[]
    %0 = dequantize_linear(%x, %s, %z)
    %1 = dequantize_linear(%w, %t, none)
    %2 = linear(%0, %1, none)
    %3 = quantize_linear(%2, %u, %z, dtype=u8)
    return %3
  })"},
    {"convolution", R"(
  func @main(%x: i8[2, 16, 9, 9], %w: u8[4, 16, 3, 3], %b: f32[4]) -> (i8[2, 4, 9, 9]) {
    %s = constant(dense<0.02>) : f32[]
    %z = constant(dense<-3>) : i8[]
    %t = constant(dense<[0.01, 0.02, 0.03, 0.04]>) : f32[4]
    %p = constant(dense<[128, 127, 129, 128]>) : u8[4]
    %u = constant(dense<1.5>) : f32[]
    %0 = dequantize_linear(%x, %s, %z)
    %1 = dequantize_linear(%w, %t, %p, axis=0)
    %2 = convolution(%0, %1, %b, stride=[1, 1], padding=[1, 1], dilation=[1, 1])
    %3 = relu(%2)
    %4 = quantize_linear(%3, %u, %z, dtype=i8)
    return %4
  })"},
    // As ONNX's QLinearConv comes.
    {"integers", R"(
  func @main(%x: u8[1, 16, 8], %w: i8[12, 16, 3], %b: i32[12]) -> (u8[1, 12, 8]) {
    %z = constant(dense<110>) : u8[]
    %s = constant(dense<0.004>) : f32[]
    %u = constant(dense<1.0>) : f32[]
    %0 = convert(%x, dtype=i32)
    %1 = convert(%z, dtype=i32)
    %2 = sub(%0, %1)
    %3 = convert(%w, dtype=i32)
    %4 = convolution(%2, %3, %b, stride=[1], padding=[1], dilation=[1])
    %5 = convert(%4, dtype=f32)
    %6 = mul(%5, %s)
    %7 = quantize_linear(%6, %u, %z, dtype=u8)
    return %7
  })"},
};

// Numbers of 7 bits, so that weights that are not constant fit.
HostTensor Ramp(Type type, std::vector<int64_t> dims) {
  HostTensor t(type.dtype(), dims);
  std::vector<double> values(t.numel());
  const int low = type.dtype() == DType::kU8 ? 66 : -62;
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = low + static_cast<int>(i * 48271 % 997 % 125);
  }
  t.WriteDoubles(values);
  return t;
}

class Quantized : public testing::TestWithParam<Case> {};

TEST_P(Quantized, RunsOnIntegers) {
  const auto source = Parse(GetParam().program);
  const auto module = Parse(GetParam().program);
  std::vector<HostTensor> inputs;
  for (int i = 0; i < module->main()->num_inputs(); ++i) {
    const Type type = module->main()->input(i)->type();
    std::vector<int64_t> dims;
    for (SymInt d : type.dims()) dims.push_back(d.is_constant() ? d.value() : 33);
    inputs.push_back(Ramp(type, dims));
  }
  CompileOptions compile;
  compile.passes = "cpu";
  const auto done = Compile(*module, compile);
  ASSERT_TRUE(done.ok()) << done.status();
  auto plan = Lower(*module->main(), CpuTarget());
  ASSERT_TRUE(plan.ok()) << plan.status();
  CpuOptions options;
  options.threads = 2;
  const auto executable = Executable::Create(*std::move(plan), options);
  ASSERT_TRUE(executable.ok()) << executable.status();
  const auto got = (*executable)->Run(inputs);
  const auto same = reference::Run(*module->main(), inputs);
  const auto given = reference::Run(*source->main(), inputs);
  ASSERT_TRUE(got.ok() && same.ok() && given.ok()) << got.status();
  EXPECT_EQ(ExactDifference((*got)[0], (*same)[0]), "");
  EXPECT_EQ(Difference((*got)[0], (*given)[0], {0, 1}), "");
  if (FindInt8Unit() == DnnUnit::kNone) return;
  EXPECT_EQ((*executable)->stats().integer_products, 1);
  EXPECT_EQ((*executable)->stats().fallbacks, 0);
}

INSTANTIATE_TEST_SUITE_P(Programs, Quantized, testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace weft::cpu
