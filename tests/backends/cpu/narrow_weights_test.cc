// Products of bf16 and f16 with constant weights at odd sizes. Weights are widened once for each
// view of a constant, and results are those of f32 products of the same numbers, rounded once.
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "backends/cpu/executable.h"
#include "backends/cpu/target.h"
#include "backends/reference/executor.h"
#include "graph/ir/builder.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/value.h"
#include "graph/tensor/tensor.h"
#include "gtest/gtest.h"
#include "lowering/lower.h"
#include "tests/support/parse.h"

namespace weft::cpu {
namespace {

struct Case {
  const char* name;
  const char* program;  // T stands for the dtype.
};

const Case kCases[] = {
    {"one_row",
     "func @main(%x: T[1, 33], %w: T[17, 33]) {\n"
     "  %0 = linear(%x, %w, none)\n  return %0\n}"},
    {"rows",
     "func @main(%x: T[7, 129], %w: T[131, 129]) {\n"
     "  %0 = linear(%x, %w, none)\n  return %0\n}"},
    {"few_columns",
     "func @main(%x: T[5, 31], %w: T[3, 31]) {\n"
     "  %0 = linear(%x, %w, none)\n  return %0\n}"},
    {"many_rows",
     "func @main(%x: T[901, 35], %w: T[19, 35]) {\n"
     "  %0 = linear(%x, %w, none)\n  return %0\n}"},
    {"batch",
     "func @main(%x: T[2, 3, 65], %w: T[65, 67]) {\n"
     "  %0 = matmul(%x, %w)\n  return %0\n}"},
    {"transposed",
     "func @main(%x: T[5, 37], %w: T[41, 37]) {\n"
     "  %0 = permute(%w, dims=[1, 0])\n  %1 = matmul(%x, %0)\n  return %1\n}"},
    {"part_of_rows",
     "func @main(%x: T[5, 37], %w: T[71, 37]) {\n"
     "  %0 = slice(%w, dim=0, start=11, end=64)\n"
     "  %1 = linear(%x, %0, none)\n  return %1\n}"},
    {"part_of_columns",
     "func @main(%x: T[5, 37], %w: T[41, 71]) {\n"
     "  %0 = slice(%w, dim=1, start=13, end=50)\n"
     "  %1 = linear(%x, %0, none)\n  return %1\n}"},
    {"planes",
     "func @main(%x: T[2, 35, 7, 5], %w: T[21, 35, 3, 3]) {\n"
     "  %0 = convolution(%x, %w, none, stride=[2, 1], padding=[1, 1], dilation=[1, 1])\n"
     "  return %0\n}"},
    {"lines",
     "func @main(%x: T[1, 33, 11], %w: T[19, 33, 5]) {\n"
     "  %0 = convolution(%x, %w, none, stride=[1], padding=[2], dilation=[1])\n"
     "  return %0\n}"},
    {"points",
     "func @main(%x: T[1, 39, 3, 5], %w: T[23, 39, 1, 1]) {\n"
     "  %0 = convolution(%x, %w, none, stride=[1, 1], padding=[0, 0], dilation=[1, 1])\n"
     "  return %0\n}"},
    // Views of one constant, with equal sizes and equal first elements.
    {"rows_and_columns_of_a_vector",
     "func @main(%x: T[5, 48], %w: T[48]) {\n"
     "  %0 = expand(%w, size=[48, 48])\n  %1 = matmul(%x, %0)\n"
     "  %2 = reshape(%w, size=[48, 1])\n  %3 = expand(%2, size=[48, 48])\n"
     "  %4 = matmul(%x, %3)\n  return %1, %4\n}"},
    {"columns_and_rows_of_a_matrix",
     "func @main(%x: T[5, 48], %w: T[48, 96]) {\n"
     "  %0 = slice(%w, dim=1, start=0, end=48)\n  %1 = linear(%x, %0, none)\n"
     "  %2 = reshape(%w, size=[96, 48])\n  %3 = slice(%2, dim=0, start=0, end=48)\n"
     "  %4 = linear(%x, %3, none)\n  return %1, %4\n}"},
    {"a_matrix_and_its_transpose",
     "func @main(%x: T[5, 48], %w: T[48, 48]) {\n"
     "  %0 = linear(%x, %w, none)\n  %1 = matmul(%x, %w)\n  return %0, %1\n}"},
};

// Numbers from -1 to 1 that the dtype holds.
HostTensor Numbers(DType dtype, const std::vector<int64_t>& dims, uint32_t seed) {
  HostTensor t(dtype, dims);
  std::vector<double> values(t.numel());
  for (double& v : values) {
    seed = seed * 1664525 + 1013904223;
    v = static_cast<double>(static_cast<int32_t>(seed)) / 2147483648.0;
  }
  t.WriteDoubles(values);
  return t;
}

std::vector<HostTensor> InputsOf(const Graph& graph, DType dtype) {
  std::vector<HostTensor> inputs;
  for (int i = 0; i < graph.num_inputs(); ++i) {
    std::vector<int64_t> dims;
    for (SymInt d : graph.input(i)->type().dims()) dims.push_back(d.value());
    inputs.push_back(Numbers(dtype, dims, static_cast<uint32_t>(i + 1)));
  }
  return inputs;
}

HostTensor Wide(const HostTensor& t) {
  return HostTensor::FromDoubles(DType::kF32, t.dims(), t.ReadDoubles());
}

std::unique_ptr<Module> ProgramOf(const Case& test, DType dtype) {
  return Parse(absl::StrReplaceAll(test.program, {{"T[", absl::StrCat(DTypeName(dtype), "[")}}));
}

// The last input becomes a constant.
void FreezeWeights(Module& module, const HostTensor& weights) {
  Graph& graph = *module.main();
  Builder builder(&graph, graph.first_node(), {/*fold=*/false});
  graph.input(graph.num_inputs() - 1)->ReplaceAllUsesWith(builder.Constant(weights));
}

// Half a unit in the last place, relative to the smallest number that has it.
double RoundingOf(DType dtype) { return dtype == DType::kBF16 ? 0x1p-8 : 0x1p-11; }

void ExpectRounded(const HostTensor& got, const HostTensor& want, DType dtype) {
  ASSERT_EQ(got.dtype(), dtype);
  const std::vector<double> have = got.ReadDoubles();
  const std::vector<double> exact = want.ReadDoubles();
  ASSERT_EQ(have.size(), exact.size());
  for (size_t i = 0; i < have.size(); ++i) {
    // What is not relative is the error of sums in f32, in another order.
    const double bound = std::abs(exact[i]) * RoundingOf(dtype) + 2e-5;
    ASSERT_LE(std::abs(have[i] - exact[i]), bound) << "element " << i << " is not " << exact[i];
  }
}

class NarrowWeights : public testing::TestWithParam<Case> {};

TEST_P(NarrowWeights, GiveTheProductsOfF32) {
  for (const DType dtype : {DType::kBF16, DType::kF16}) {
    for (const char* isa : {"native", "avx2"}) {
      SCOPED_TRACE(absl::StrCat(DTypeName(dtype), " on ", isa));
      const auto module = ProgramOf(GetParam(), dtype);
      const std::vector<HostTensor> inputs = InputsOf(*module->main(), dtype);
      std::vector<HostTensor> wide;
      for (const HostTensor& t : inputs) wide.push_back(Wide(t));
      const auto want = reference::Run(*ProgramOf(GetParam(), DType::kF32)->main(), wide);
      ASSERT_TRUE(want.ok()) << want.status();
      FreezeWeights(*module, inputs.back());
      auto plan = Lower(*module->main(), CpuTarget());
      ASSERT_TRUE(plan.ok()) << plan.status();
      CpuOptions options;
      options.threads = 2;
      options.isa = isa;
      const auto executable = Executable::Create(*std::move(plan), options);
      ASSERT_TRUE(executable.ok()) << executable.status();
      for (int run = 0; run < 2; ++run) {
        const auto got = (*executable)->Run(inputs);
        ASSERT_TRUE(got.ok()) << got.status();
        for (size_t i = 0; i < got->size(); ++i) ExpectRounded((*got)[i], (*want)[i], dtype);
      }
      EXPECT_EQ((*executable)->stats().fallbacks, 0);
      EXPECT_EQ((*executable)->stats().slow_primitives, 0);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, NarrowWeights, testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace weft::cpu
