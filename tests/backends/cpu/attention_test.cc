// Attention, of few queries above all, which reads keys and values where they lie, compared with
// the reference executor.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "backends/cpu/executable.h"
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
  const char* text;  // T stands for the dtype.
};

const Case kCases[] = {
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

// Numbers from -2 to 2 that differ along every dim.
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

class FewQueries : public testing::TestWithParam<Case> {};

TEST_P(FewQueries, AsTheReference) {
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
        // Sums are those of f32; narrow results are rounded once, to either side.
        const double step = dtype == DType::kF32 ? 1e-5 : dtype == DType::kF16 ? 1e-3 : 8e-3;
        EXPECT_EQ(Difference((*got)[0], (*want)[0], {step, 1e-5}), "");
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, FewQueries, testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace weft::cpu
