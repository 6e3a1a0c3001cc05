#include "tools/bench/peaks.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

#include "tools/bench/measure.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace weft::bench {
namespace {

constexpr int kChains = 16;  // Independent chains: latency times ports.
constexpr int64_t kSteps = 4 << 20;
constexpr int64_t kArrayElements = 32 << 20;
constexpr int kRounds = 5;

// A multiply-add loop; returns the number of operations. `sink` keeps the results alive.
using FmaLoop = double (*)(int64_t steps, float* sink);

using Vector = float __attribute__((vector_size(16)));

double GenericLoop(int64_t steps, float* sink) {
  Vector sums[kChains] = {};
  const Vector scale = {0.5f, 0.25f, 0.5f, 0.25f};
  const Vector offset = {1, 2, 3, 4};
  for (int64_t i = 0; i < steps; ++i) {
    for (Vector& sum : sums) sum = sum * scale + offset;
  }
  for (const Vector& sum : sums) *sink += sum[0];
  return 2.0 * 4 * kChains * static_cast<double>(steps);
}

#if defined(__x86_64__)

__attribute__((target("avx2,fma"))) double Avx2Loop(int64_t steps, float* sink) {
  constexpr int kRegisters = 12;  // 12 of 16; two more hold constants.
  __m256 sums[kRegisters];
  for (__m256& sum : sums) sum = _mm256_setzero_ps();
  const __m256 scale = _mm256_set1_ps(0.5f);
  const __m256 offset = _mm256_set1_ps(1);
  for (int64_t i = 0; i < steps; ++i) {
#pragma GCC unroll 12
    for (__m256& sum : sums) sum = _mm256_fmadd_ps(sum, scale, offset);
  }
  for (const __m256& sum : sums) *sink += _mm256_cvtss_f32(sum);
  return 2.0 * 8 * kRegisters * static_cast<double>(steps);
}

__attribute__((target("avx512f"))) double Avx512Loop(int64_t steps, float* sink) {
  __m512 sums[kChains];
  for (__m512& sum : sums) sum = _mm512_setzero_ps();
  const __m512 scale = _mm512_set1_ps(0.5f);
  const __m512 offset = _mm512_set1_ps(1);
  for (int64_t i = 0; i < steps; ++i) {
#pragma GCC unroll 16
    for (__m512& sum : sums) sum = _mm512_fmadd_ps(sum, scale, offset);
  }
  for (const __m512& sum : sums) *sink += _mm512_cvtss_f32(sum);
  return 2.0 * 16 * kChains * static_cast<double>(steps);
}

#endif

FmaLoop BestLoop(std::string* isa) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) {
    *isa = "avx512f";
    return Avx512Loop;
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    *isa = "avx2";
    return Avx2Loop;
  }
#endif
  *isa = "generic";
  return GenericLoop;
}

// The sum over threads of the results of `work(thread)`, the best of some rounds.
template <typename Work>
double BestRate(int threads, Work work) {
  double best = 0;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<double> rates(threads);
    std::vector<std::thread> running;
    for (int t = 0; t < threads; ++t) {
      running.emplace_back([&, t] { rates[t] = work(t); });
    }
    for (std::thread& thread : running) thread.join();
    best = std::max(best, std::accumulate(rates.begin(), rates.end(), 0.0));
  }
  return best;
}

double FmaGflops(int threads, FmaLoop loop) {
  std::vector<float> sinks(threads * 16);  // One cache line for each thread.
  return BestRate(threads, [&](int t) {
    double operations = 0;
    const double ms = TimeMs([&] { operations = loop(kSteps, &sinks[16 * t]); });
    return operations / ms / 1e6;
  });
}

double StreamGbs(int threads) {
  const int64_t n = kArrayElements / threads / 4 * 4;
  const auto array = [&] { return std::unique_ptr<float[]>(new float[n * threads]()); };
  const auto a = array();
  const auto b = array();
  const auto c = array();
  return BestRate(threads, [&](int t) {
    auto* to = reinterpret_cast<Vector*>(a.get() + t * n);
    const auto* left = reinterpret_cast<const Vector*>(b.get() + t * n);
    const auto* right = reinterpret_cast<const Vector*>(c.get() + t * n);
    const double ms = TimeMs([&] {
      for (int64_t i = 0; i < n / 4; ++i) to[i] = left[i] + 3.0f * right[i];
    });
    return 3.0 * static_cast<double>(sizeof(float) * n) / ms / 1e6;
  });
}

}  // namespace

Peaks MeasurePeaks(int threads) {
  static auto& known = *new std::map<int, Peaks>;
  const auto it = known.find(threads);
  if (it != known.end()) return it->second;
  Peaks peaks;
  const FmaLoop loop = BestLoop(&peaks.isa);
  peaks.fma_gflops = FmaGflops(threads, loop);
  peaks.stream_gbs = StreamGbs(threads);
  return known[threads] = peaks;
}

}  // namespace weft::bench
