// The prover's time per question: 100 symbols, a chain of conditions between them, and 10,000
// different questions. The counters are microseconds per question; `first` asks each for the first
// time, `again` repeats them.
#include <algorithm>
#include <chrono>
#include <vector>

#include "benchmark/benchmark.h"
#include "graph/sym/sym_facts.h"
#include "graph/sym/sym_ops.h"

namespace weft {
namespace {

constexpr int kSymbols = 100;
constexpr int kQuestions = 10000;

std::vector<SymInt> Declare(SymbolTable* table) {
  std::vector<SymInt> symbols;
  for (int i = 0; i < kSymbols; ++i) {
    SymbolInfo info;
    info.range.min = 1;
    symbols.push_back(table->Fresh("n", info));
    if (i == 0) continue;
    const SymInt before = symbols[i - 1];
    table->Assume(i % 10 == 0 ? Equal(symbols[i], 2 * before + 1) : LessEqual(before, symbols[i]));
  }
  return symbols;
}

// Typical sizes in models: products, divisions, padding, broadcasting.
SymInt Question(const std::vector<SymInt>& symbols, int i) {
  const SymInt a = symbols[i % 89], b = symbols[i % 89 + 3], c = symbols[i % 97];
  switch (i % 5) {
    case 0:
      return LessEqual(a + SymInt(i), b + SymInt(i + i % 3));
    case 1:
      return Equal(FloorDiv(a * c * SymInt(2), SymInt(2)), a * c + SymInt(i % 2));
    case 2:
      return LessEqual(FloorDiv(a + SymInt(i), SymInt(4)), b + SymInt(i));
    case 3:
      return LessEqual(Min(a, c), b + SymInt(i % 1000));
    default:
      return Equal(Mod(a * SymInt(8) + SymInt(i), SymInt(8)), SymInt(i % 8));
  }
}

std::vector<double> Ask(const SymbolTable& table, const std::vector<SymInt>& questions) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> times;
  for (SymInt question : questions) {
    const Clock::time_point begin = Clock::now();
    benchmark::DoNotOptimize(table.Prove(question));
    times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
  }
  std::sort(times.begin(), times.end());
  return times;
}

void BM_Prove(benchmark::State& state) {
  std::vector<double> first, again;
  for (auto _ : state) {
    SymbolTable table;
    const std::vector<SymInt> symbols = Declare(&table);
    std::vector<SymInt> questions;
    for (int i = 0; i < kQuestions; ++i) questions.push_back(Question(symbols, i));
    first = Ask(table, questions);
    again = Ask(table, questions);
  }
  const auto at = [](const std::vector<double>& times, double share) {
    return times[static_cast<size_t>(share * (times.size() - 1))];
  };
  state.counters["first_median_us"] = at(first, 0.5);
  state.counters["first_p99_us"] = at(first, 0.99);
  state.counters["again_median_us"] = at(again, 0.5);
  state.counters["again_p99_us"] = at(again, 0.99);
}
BENCHMARK(BM_Prove)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace weft
