// The cost of finding the variant for a call: the inputs' sizes, the constraints, and the guards of
// the variants that are tried.
#include <memory>
#include <vector>

#include "api/dynamic/variant_cache.h"
#include "base/check.h"
#include "benchmark/benchmark.h"
#include "graph/ir/module.h"
#include "graph/ops/registry.h"
#include "graph/tensor/tensor.h"
#include "graph/text/text.h"

namespace weft {
namespace {

constexpr char kModel[] = R"(
func @main(%x: f32[s0, s1, 16], %y: f32[2*s0 + 1, s2])
    where 1 <= s0 <= 64, 1 <= s1 <= 4096, s2 % 8 == 0, s1 >= s2 {
  return %x, %y
})";

std::vector<HostTensor> Inputs(int64_t s0) {
  return {HostTensor(DType::kF32, {s0, 64, 16}), HostTensor(DType::kF32, {2 * s0 + 1, 8})};
}

// With `range(0)` static variants, of which the call takes the one that was used last,
// or one after the other.
void FindVariant(benchmark::State& state, bool last) {
  auto model = ParseModule(kModel, ops::Registry());
  WEFT_CHECK(model.ok()) << model.status();
  ProgramOptions options;
  options.dynamic = Dynamic::kStatic;
  options.cache_limit = static_cast<int>(state.range(0));
  VariantCache cache(**model, options);
  std::vector<std::vector<HostTensor>> inputs;
  for (int i = 0; i < options.cache_limit; ++i) {
    inputs.push_back(Inputs(i + 1));
    WEFT_CHECK(cache.Get(inputs.back()).ok());
  }
  size_t next = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(cache.Get(inputs[next]));
    if (!last) next = (next + 1) % inputs.size();
  }
}

void BM_FindLastVariant(benchmark::State& state) { FindVariant(state, true); }
BENCHMARK(BM_FindLastVariant)->Arg(1)->Arg(8);

void BM_FindOldestVariant(benchmark::State& state) { FindVariant(state, false); }
BENCHMARK(BM_FindOldestVariant)->Arg(8);

}  // namespace
}  // namespace weft
