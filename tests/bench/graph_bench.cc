// How graphs and passes scale: building, verifying, printing, parsing, and the
// passes on graphs full of what they look for (equal expressions, x + 0, x * 1,
// pairs of transposes, dead values) or without any of it.
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
#include "graph/core/builder.h"
#include "graph/core/text.h"
#include "graph/core/verifier.h"
#include "graph/ops/ops.h"
#include "graph/ops/registry.h"
#include "passes/pass_manager.h"
#include "passes/pipelines.h"

namespace weft {
namespace {

// A xorshift generator: the graphs are the same everywhere.
class Random {
 public:
  uint32_t Below(uint32_t n) {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return static_cast<uint32_t>((state_ >> 20) % n);
  }

 private:
  uint64_t state_ = 0x2545f4914f6cdd1d;
};

// Operands come from the last values; `busy` graphs hold work for every pass.
class Generator {
 public:
  Generator(Graph* graph, bool busy)
      : graph_(graph), busy_(busy), builder_(graph, nullptr, NoFold()) {
    for (int i = 0; i < 4; ++i) {
      recent_.push_back(graph->AddInput(Type::Tensor(DType::kF32, {64, 64})));
    }
    zero_ = builder_.Scalar(DType::kF32, 0.0);
    one_ = builder_.Scalar(DType::kF32, 1.0);
    swap_ = *MakeAttrs(ops::permute,
                       {NamedAttr{"dims", std::vector<int64_t>{1, 0}}});
  }

  void Grow(int64_t nodes) {
    while (graph_->num_nodes() < nodes) Step();
    graph_->SetOutputs(recent_);
  }

 private:
  static Builder::Options NoFold() {
    Builder::Options options;
    options.fold = false;
    return options;
  }
  Value* Recent() { return recent_[random_.Below(recent_.size())]; }
  Value* Make(const OpDef& op, absl::Span<Value* const> operands,
              const AttrList* attrs = AttrList::Empty()) {
    return builder_.Create(op, operands, attrs)[0];
  }
  void Push(Value* v) {
    constexpr size_t kWindow = 32;
    if (recent_.size() < kWindow) {
      recent_.push_back(v);
    } else {
      recent_[next_++ % kWindow] = v;
    }
  }
  void Step() {
    Value* x = Recent();
    switch (busy_ ? random_.Below(8) : 7) {
      case 0:
        return Push(Make(ops::add, {x, zero_}));
      case 1:
        return Push(Make(ops::mul, {x, one_}));
      case 2:
        return Push(
            Make(ops::permute, {Make(ops::permute, {x}, swap_)}, swap_));
      case 3: {
        Value* y = Recent();
        Value* twice = Make(ops::sub, {x, y});
        return Push(Make(ops::mul, {twice, Make(ops::sub, {x, y})}));
      }
      default:
        return Push(random_.Below(4) == 0 ? Make(ops::exp, {x})
                                          : Make(ops::sub, {x, Recent()}));
    }
  }

  Graph* graph_;
  bool busy_;
  Builder builder_;
  Random random_;
  std::vector<Value*> recent_;
  size_t next_ = 0;
  Value* zero_;
  Value* one_;
  const AttrList* swap_;
};

std::unique_ptr<Module> MakeModule(int64_t nodes, bool busy) {
  auto module = std::make_unique<Module>(ops::Registry());
  Generator(module->AddFunction("main"), busy).Grow(nodes);
  return module;
}

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
  state.counters["peak_B/node"] =
      static_cast<double>(PeakBytes()) / static_cast<double>(nodes);
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

// Passes alone: no verification, no measuring by the manager.
void RunPasses(benchmark::State& state, std::vector<const char*> names,
               bool busy) {
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
    state.counters["peak_B/node"] = static_cast<double>(PeakBytes()) /
                                    static_cast<double>(state.range(0));
    module.reset();
    state.ResumeTiming();
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.counters["left"] =
      static_cast<double>(left) / static_cast<double>(state.range(0));
}

void BM_Cse(benchmark::State& state) { RunPasses(state, {"cse"}, true); }
void BM_Canonicalize(benchmark::State& state) {
  RunPasses(state, {"canonicalize"}, true);
}
void BM_CanonicalizeNoMatch(benchmark::State& state) {
  RunPasses(state, {"canonicalize"}, false);
}
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

void Sizes(benchmark::internal::Benchmark* b) {
  b->Arg(10000)->Arg(100000)->Arg(1000000)->Unit(benchmark::kMillisecond);
}
BENCHMARK(BM_Build)->Apply(Sizes);
BENCHMARK(BM_Verify)->Apply(Sizes);
BENCHMARK(BM_Print)->Apply(Sizes);
BENCHMARK(BM_Parse)->Apply(Sizes);
BENCHMARK(BM_Cse)->Apply(Sizes);
BENCHMARK(BM_Canonicalize)->Apply(Sizes);
BENCHMARK(BM_CanonicalizeNoMatch)->Apply(Sizes);
BENCHMARK(BM_Dce)->Apply(Sizes);
BENCHMARK(BM_AllThree)->Apply(Sizes);
BENCHMARK(BM_DefaultPipeline)->Apply(Sizes);

}  // namespace
}  // namespace weft
