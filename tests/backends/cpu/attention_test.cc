// Attention compared with the reference, in all dtypes and of few queries, which read keys and
// values where they lie; and with operands and weights of bf16, as machines with AVX512_BF16
// compute it.
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
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
  const char* inputs;  // T stands for the dtype.
  const char* call;
};

const Case kCases[] = {
    {"plain", "%q: T[2, 3, 20, 32], %k: T[2, 3, 37, 32], %v: T[2, 3, 37, 64]",
     "scaled_dot_product_attention(%q, %k, %v)"},
    {"odd_features", "%q: T[1, 2, 16, 33], %k: T[1, 2, 130, 33], %v: T[1, 2, 130, 31]",
     "scaled_dot_product_attention(%q, %k, %v)"},
    {"many_keys", "%q: T[1, 1, 200, 80], %k: T[1, 1, 300, 80], %v: T[1, 1, 300, 40]",
     "scaled_dot_product_attention(%q, %k, %v, scale=0.3)"},
    {"causal", "%q: T[1, 2, 150, 64], %k: T[1, 2, 150, 64], %v: T[1, 2, 150, 64]",
     "scaled_dot_product_attention(%q, %k, %v, is_causal=true)"},
    {"added_mask", "%q: T[2, 2, 17, 48], %k: T[2, 2, 29, 48], %v: T[2, 2, 29, 48], %m: T[17, 29]",
     "scaled_dot_product_attention(%q, %k, %v, %m)"},
    {"causal_and_masked",
     "%q: T[2, 2, 250, 32], %k: T[2, 2, 250, 32], %v: T[2, 2, 250, 32], %m: T[250]",
     "scaled_dot_product_attention(%q, %k, %v, %m, is_causal=true)"},
    {"shared_heads", "%q: T[1, 4, 33, 32], %k: T[1, 2, 65, 32], %v: T[1, 2, 65, 32]",
     "scaled_dot_product_attention(%q, %k, %v, enable_gqa=true)"},
};

std::unique_ptr<Module> ProgramOf(const Case& test, DType dtype) {
  const std::string inputs =
      absl::StrReplaceAll(test.inputs, {{"T[", absl::StrCat(DTypeName(dtype), "[")}});
  return Parse(absl::StrCat("func @main(", inputs, ") {\n %0 = ", test.call, "\n return %0\n}"));
}

// Numbers from -2 to 2.
std::vector<HostTensor> InputsOf(const Graph& graph) {
  std::vector<HostTensor> inputs;
  uint32_t seed = 1;
  for (int i = 0; i < graph.num_inputs(); ++i) {
    std::vector<int64_t> dims;
    for (SymInt d : graph.input(i)->type().dims()) dims.push_back(d.value());
    const DType dtype = graph.input(i)->type().dtype();
    std::vector<double> values(HostTensor(dtype, dims).numel());
    for (double& v : values) {
      seed = seed * 1664525 + 1013904223;
      v = static_cast<double>(static_cast<int32_t>(seed)) / 1073741824.0;
    }
    inputs.push_back(HostTensor::FromDoubles(dtype, dims, values));
  }
  return inputs;
}

std::vector<HostTensor> Wide(const std::vector<HostTensor>& inputs) {
  std::vector<HostTensor> wide;
  for (const HostTensor& t : inputs) {
    wide.push_back(HostTensor::FromDoubles(DType::kF32, t.dims(), t.ReadDoubles()));
  }
  return wide;
}

// The largest difference; expects that a kernel of bf16 runs where the machine has one.
double ErrorOf(const Case& test, DType dtype, const std::vector<HostTensor>& inputs, int threads) {
  const auto want = reference::Run(*ProgramOf(test, DType::kF32)->main(), Wide(inputs));
  EXPECT_TRUE(want.ok()) << want.status();
  auto plan = Lower(*ProgramOf(test, dtype)->main(), CpuTarget());
  EXPECT_TRUE(plan.ok()) << plan.status();
  CpuOptions options;
  options.threads = threads;
  options.f32_precision = "medium";
  const auto executable = Executable::Create(*std::move(plan), options);
  EXPECT_TRUE(executable.ok()) << executable.status();
  const auto got = (*executable)->Run(dtype == DType::kBF16 ? inputs : Wide(inputs));
  EXPECT_TRUE(got.ok()) << got.status();
  EXPECT_EQ((*executable)->stats().fallbacks, 0);
  EXPECT_EQ((*executable)->stats().bf16_attentions, FindBf16Unit() == DnnUnit::kVectors ? 1 : 0);
  const std::vector<double> exact = (*want)[0].ReadDoubles();
  const std::vector<double> have = (*got)[0].ReadDoubles();
  double worst = 0;
  for (size_t i = 0; i < exact.size(); ++i) worst = std::max(worst, std::abs(have[i] - exact[i]));
  return worst;
}

struct Program {
  const char* name;
  const char* text;  // T stands for the dtype.
};

const Program kPrograms[] = {
    {"one_query",
     "func @main(%q: T[2, 3, 1, 64], %k: T[2, 3, 300, 64], %v: T[2, 3, 300, 96]) {"
     " %0 = scaled_dot_product_attention(%q, %k, %v) return %0 }"},
    {"four_queries",
     "func @main(%q: T[1, 2, 4, 32], %k: T[1, 2, 129, 32], %v: T[1, 2, 129, 16], %m: T[4, 129]) {"
     " %0 = scaled_dot_product_attention(%q, %k, %v, %m, scale=0.3) return %0 }"},
    {"five_queries",
     "func @main(%q: T[1, 2, 5, 32], %k: T[1, 2, 129, 32], %v: T[1, 2, 129, 32]) {"
     " %0 = scaled_dot_product_attention(%q, %k, %v) return %0 }"},
    {"causal",
     "func @main(%q: T[1, 2, 3, 32], %k: T[1, 2, 40, 32], %v: T[1, 2, 40, 32]) {"
     " %0 = scaled_dot_product_attention(%q, %k, %v, is_causal=true) return %0 }"},
    {"bools_and_a_cap",
     "func @main(%q: T[1, 2, 4, 32], %k: T[1, 2, 140, 32], %v: T[1, 2, 140, 32], %m: T[4, 140]) {"
     " %zero = constant(dense<0.0>) : T[] %1 = gt(%m, %zero)"
     " %0 = scaled_dot_product_attention(%q, %k, %v, %1, softcap=2.0) return %0 }"},
    {"causal_and_masked",
     "func @main(%q: T[4, 1, 250, 32], %k: T[4, 1, 250, 32], %v: T[4, 1, 250, 32], %m: T[250]) {"
     " %0 = scaled_dot_product_attention(%q, %k, %v, %m, is_causal=true) return %0 }"},
    {"a_mask_of_f32",
     "func @main(%q: T[2, 2, 20, 32], %k: T[2, 2, 40, 32], %v: T[2, 2, 40, 32],"
     " %m: f32[2, 1, 1, 40]) {"
     " %least = constant(dense<-3.4028235e+38>) : f32[] %1 = mul(%m, %least)"
     " %0 = scaled_dot_product_attention(%q, %k, %v, %1) return %0 }"},
    {"shared_heads",
     "func @main(%q: T[2, 6, 1, 32], %k: T[2, 2, 131, 32], %v: T[2, 2, 131, 48]) {"
     " %0 = scaled_dot_product_attention(%q, %k, %v, enable_gqa=true) return %0 }"},
    {"shared_heads_of_one_query_each_causal",
     "func @main(%q: T[1, 6, 1, 32], %k: T[1, 2, 20, 32], %v: T[1, 2, 20, 32]) {"
     " %0 = scaled_dot_product_attention(%q, %k, %v, is_causal=true, enable_gqa=true)"
     " return %0 }"},
    {"a_mask_for_each_of_the_shared_heads",
     "func @main(%q: T[2, 8, 1, 32], %k: T[2, 2, 150, 32], %v: T[2, 2, 150, 32],"
     " %m: T[8, 1, 150]) {"
     " %0 = scaled_dot_product_attention(%q, %k, %v, %m, enable_gqa=true) return %0 }"},
    {"many_shared_heads",
     "func @main(%q: T[1, 24, 1, 32], %k: T[1, 2, 150, 32], %v: T[1, 2, 150, 32],"
     " %m: T[1, 1, 1, 150]) {"
     " %0 = scaled_dot_product_attention(%q, %k, %v, %m, enable_gqa=true) return %0 }"},
    {"keys_of_heads_side_by_side",
     "func @main(%q: T[1, 4, 1, 32], %k: T[1, 70, 4, 32], %v: T[1, 70, 4, 32]) {"
     " %1 = permute(%k, dims=[0, 2, 1, 3]) %2 = permute(%v, dims=[0, 2, 1, 3])"
     " %0 = scaled_dot_product_attention(%q, %1, %2) return %0 }"},
    {"keys_with_gaps",
     "func @main(%q: T[1, 2, 1, 32], %k: T[1, 2, 32, 70], %v: T[1, 2, 70, 32]) {"
     " %1 = permute(%k, dims=[0, 1, 3, 2])"
     " %0 = scaled_dot_product_attention(%q, %1, %v) return %0 }"},
    {"odd_features",
     "func @main(%q: T[1, 2, 1, 24], %k: T[1, 2, 70, 24], %v: T[1, 2, 70, 33]) {"
     " %0 = scaled_dot_product_attention(%q, %k, %v) return %0 }"},
};

class Bf16Attention : public testing::TestWithParam<Case> {};

// A weight is off by 2^-9 of itself, so an average of values up to 2 by 2^-8, and its rounding by
// as much. In f32 nothing but the weights is rounded, since the numbers are bf16.
TEST_P(Bf16Attention, IsAsExactAsItsWeights) {
  const std::vector<HostTensor> inputs = InputsOf(*ProgramOf(GetParam(), DType::kBF16)->main());
  for (const int threads : {1, 3}) {
    EXPECT_LE(ErrorOf(GetParam(), DType::kBF16, inputs, threads), 2.0 / 256);
    EXPECT_LE(ErrorOf(GetParam(), DType::kF32, inputs, threads), 1.0 / 256);
  }
}

INSTANTIATE_TEST_SUITE_P(All, Bf16Attention, testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

class Attention : public testing::TestWithParam<Program> {};

TEST_P(Attention, AsTheReference) {
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16}) {
    const auto module = Parse(
        absl::StrReplaceAll(GetParam().text, {{" T[", absl::StrCat(" ", DTypeName(dtype), "[")}}));
    const std::vector<HostTensor> inputs = InputsOf(*module->main());
    const auto want = reference::Run(*module->main(), inputs);
    ASSERT_TRUE(want.ok()) << want.status();
    for (const char* isa : {"avx2", "native"}) {
      for (const int threads : {1, 2, 3}) {
        SCOPED_TRACE(absl::StrCat(DTypeName(dtype), ", ", isa, ", ", threads, " threads"));
        auto plan = Lower(*module->main(), CpuTarget());
        ASSERT_TRUE(plan.ok()) << plan.status();
        CpuOptions options;
        options.isa = isa;
        options.threads = threads;
        const auto executable = Executable::Create(*std::move(plan), options);
        ASSERT_TRUE(executable.ok()) << executable.status();
        const auto got = (*executable)->Run(inputs);
        ASSERT_TRUE(got.ok()) << got.status();
        EXPECT_EQ((*executable)->stats().fallbacks, 0);
        // Sums are those of f32; narrow results are rounded once, to either side. The weights of
        // many queries in bf16 are rounded as well.
        const double step = dtype == DType::kF32 ? 1e-5 : dtype == DType::kF16 ? 1e-3 : 8e-3;
        EXPECT_EQ(Difference((*got)[0], (*want)[0], {step, step}), "");
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Attention, testing::ValuesIn(kPrograms),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace weft::cpu
