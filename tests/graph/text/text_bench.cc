// Printing, parsing and verifying long graphs; items are nodes.
#include <string>

#include "benchmark/benchmark.h"
#include "graph/ir/builder.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/text/text.h"
#include "graph/verify/verifier.h"
#include "tests/graph/ir/test_ops.h"

namespace weft {
namespace {

std::unique_ptr<Module> MakeModule(int64_t nodes) {
  auto module = std::make_unique<Module>(test_ops::Registry());
  Graph* graph = module->AddFunction("main");
  const SymInt s0 = SymInt::Symbol("s0");
  Value* x = graph->AddInput(Type::Tensor(DType::kF32, {s0, 128}), "x");
  Builder b(graph);
  Value* y = x;
  for (int64_t i = 0; i < nodes; i += 4) {
    Value* r = b.Op(test_ops::relu, {y});
    Value* s = b.Op(test_ops::softmax, {r}, {{"dim", 1}});
    Value* t = b.Op(test_ops::add, {s, r});
    y = b.Op(test_ops::add, {t, x});
  }
  graph->SetOutputs({y});
  return module;
}

void BM_Print(benchmark::State& state) {
  const auto module = MakeModule(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(PrintModule(*module));
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_Print)->Arg(10000)->Arg(1000000)->Unit(benchmark::kMillisecond);

void BM_Parse(benchmark::State& state) {
  const std::string text = PrintModule(*MakeModule(state.range(0)));
  for (auto _ : state) {
    auto module = ParseModule(text, test_ops::Registry());
    if (!module.ok()) state.SkipWithError(module.status().ToString().c_str());
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_Parse)->Arg(10000)->Arg(1000000)->Unit(benchmark::kMillisecond);

void BM_Verify(benchmark::State& state) {
  const auto module = MakeModule(state.range(0));
  for (auto _ : state) {
    if (!Verify(*module).ok()) state.SkipWithError("broken");
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_Verify)->Arg(10000)->Arg(1000000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace weft
