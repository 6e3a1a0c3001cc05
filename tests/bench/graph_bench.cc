// Scaling of graphs and passes: building, verifying, printing, parsing, and the passes on graphs
// full of matches (equal expressions, x + 0, x * 1, pairs of transposes, dead values) or without
// any.
//
// Items are nodes before the run. peak_B/node is the peak resident size of the
// whole process during the run, so small graphs carry the program itself.
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "benchmark/benchmark.h"
#include "graph/ir/builder.h"
#include "graph/ir/module.h"
#include "graph/ops/ops.h"
#include "graph/ops/registry.h"
#include "graph/tensor/tensor.h"
#include "graph/text/text.h"
#include "graph/verify/verifier.h"
#include "passes/engine/pass_manager.h"
#include "passes/pipelines.h"
#include "tests/bench/generated_graph.h"

namespace weft {
namespace {

// Peak resident bytes since the last reset (Linux).
void ResetPeak() { std::ofstream("/proc/self/clear_refs") << "5"; }
int64_t PeakBytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    long long kilobytes = 0;
    if (std::sscanf(line.c_str(), "VmHWM: %lld", &kilobytes) == 1) {
      return kilobytes * 1024;
    }
  }
  return 0;
}

void Report(benchmark::State& state, int64_t nodes) {
  state.SetItemsProcessed(state.iterations() * nodes);
  state.counters["peak_B/node"] = static_cast<double>(PeakBytes()) / static_cast<double>(nodes);
}

void BM_Build(benchmark::State& state) {
  ResetPeak();
  for (auto _ : state) {
    benchmark::DoNotOptimize(MakeModule(state.range(0), true));
  }
  Report(state, state.range(0));
}

void BM_Verify(benchmark::State& state) {
  const auto module = MakeModule(state.range(0), true);
  ResetPeak();
  for (auto _ : state) {
    if (!Verify(*module).ok()) state.SkipWithError("broken");
  }
  Report(state, state.range(0));
}

void BM_Print(benchmark::State& state) {
  const auto module = MakeModule(state.range(0), true);
  ResetPeak();
  for (auto _ : state) benchmark::DoNotOptimize(PrintModule(*module));
  Report(state, state.range(0));
}

void BM_Parse(benchmark::State& state) {
  const std::string text = PrintModule(*MakeModule(state.range(0), true));
  ResetPeak();
  for (auto _ : state) {
    auto module = ParseModule(text, ops::Registry());
    if (!module.ok()) state.SkipWithError("broken");
  }
  Report(state, state.range(0));
}

// The preparation of a replay file before a pass, for the largest module for which it is done by
// default (api/replay.h): 2,000 nodes, 1 MB of constants.
void BM_PrintForReplay(benchmark::State& state) {
  const auto module = MakeModule(2000, true);
  Builder builder(module->main());
  std::vector<double> values(1 << 18);
  for (size_t i = 0; i < values.size(); ++i) values[i] = 1.0 / static_cast<double>(i + 1);
  HostTensor tensor(DType::kF32, {1 << 18});
  tensor.WriteDoubles(values);
  builder.Constant(tensor);
  for (auto _ : state) benchmark::DoNotOptimize(PrintModule(*module));
}

// Passes alone: no verification, no measuring by the manager.
void RunPasses(benchmark::State& state, std::vector<const char*> names, bool busy) {
  int64_t left = 0;
  for (auto _ : state) {
    state.PauseTiming();
    auto module = MakeModule(state.range(0), busy);
    PassContext context;
    ResetPeak();
    state.ResumeTiming();
    for (const char* name : names) {
      if (!BuiltinPasses().Create(name)->Run(*module, context).ok()) {
        state.SkipWithError("failed");
      }
    }
    state.PauseTiming();
    left = module->num_nodes();
    state.counters["peak_B/node"] =
        static_cast<double>(PeakBytes()) / static_cast<double>(state.range(0));
    module.reset();
    state.ResumeTiming();
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.counters["left"] = static_cast<double>(left) / static_cast<double>(state.range(0));
}

void BM_Cse(benchmark::State& state) { RunPasses(state, {"cse"}, true); }
void BM_Canonicalize(benchmark::State& state) { RunPasses(state, {"canonicalize"}, true); }
void BM_CanonicalizeNoMatch(benchmark::State& state) { RunPasses(state, {"canonicalize"}, false); }
void BM_Dce(benchmark::State& state) { RunPasses(state, {"dce"}, true); }
void BM_AllThree(benchmark::State& state) {
  RunPasses(state, {"cse", "canonicalize", "dce"}, true);
}

// As users run it: with verification, counts and the fixpoint.
void BM_DefaultPipeline(benchmark::State& state) {
  for (auto _ : state) {
    state.PauseTiming();
    auto module = MakeModule(state.range(0), true);
    PassManager manager(*Pipeline::Parse("default", BuiltinPasses()));
    PassContext context;
    ResetPeak();
    state.ResumeTiming();
    if (!manager.Run(*module, context).ok()) state.SkipWithError("failed");
  }
  Report(state, state.range(0));
}

// The pipeline again over what it left behind.
void BM_DefaultPipelineAgain(benchmark::State& state) {
  auto module = MakeModule(state.range(0), true);
  const PassManager manager(*Pipeline::Parse("default", BuiltinPasses()));
  PassContext first;
  if (!manager.Run(*module, first).ok()) state.SkipWithError("failed");
  for (auto _ : state) {
    PassContext context;
    if (!manager.Run(*module, context).ok()) state.SkipWithError("failed");
  }
  Report(state, state.range(0));
}

void Sizes(benchmark::internal::Benchmark* b) {
  b->Arg(10000)->Arg(100000)->Arg(1000000)->Unit(benchmark::kMillisecond);
}
BENCHMARK(BM_Build)->Apply(Sizes);
BENCHMARK(BM_Verify)->Apply(Sizes);
BENCHMARK(BM_Print)->Apply(Sizes);
BENCHMARK(BM_PrintForReplay)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Parse)->Apply(Sizes);
BENCHMARK(BM_Cse)->Apply(Sizes);
BENCHMARK(BM_Canonicalize)->Apply(Sizes);
BENCHMARK(BM_CanonicalizeNoMatch)->Apply(Sizes);
BENCHMARK(BM_Dce)->Apply(Sizes);
BENCHMARK(BM_AllThree)->Apply(Sizes);
BENCHMARK(BM_DefaultPipeline)->Apply(Sizes);
BENCHMARK(BM_DefaultPipelineAgain)->Apply(Sizes);

}  // namespace
}  // namespace weft
