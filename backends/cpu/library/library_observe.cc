// observe: the statistics of a calibration, in one or two passes over the elements.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>

#include "absl/synchronization/mutex.h"
#include "backends/cpu/library/library_internal.h"
#include "backends/cpu/library/routine_ops.h"
#include "backends/cpu/threads/parallel.h"

namespace weft::cpu {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
// An item is worth a thread of its own.
constexpr int64_t kElementsOfAThread = 1 << 14;

// The least and the largest finite element; without one the least is larger.
struct Extrema {
  float least = kInfinity;
  float largest = -kInfinity;

  void Take(float v) {
    least = v < least ? v : least;
    largest = v > largest ? v : largest;
  }
  void Take(const Extrema& other) {
    least = std::min(least, other.least);
    largest = std::max(largest, other.largest);
  }
  bool empty() const { return least > largest; }
};

// NaN loses every comparison; infinities are rare, so that their absence is seen from the result.
Extrema ExtremaOf(const float* x, int64_t n) {
  constexpr int kChains = 8;
  Extrema chains[kChains];
  int64_t i = 0;
  for (; i + kChains <= n; i += kChains) {
    for (int k = 0; k < kChains; ++k) chains[k].Take(x[i + k]);
  }
  for (; i < n; ++i) chains[0].Take(x[i]);
  for (int k = 1; k < kChains; ++k) chains[0].Take(chains[k]);
  if (chains[0].least > -kInfinity && chains[0].largest < kInfinity) return chains[0];
  Extrema finite;
  for (i = 0; i < n; ++i) {
    if (std::isfinite(x[i])) finite.Take(x[i]);
  }
  return finite;
}

Extrema ExtremaOf(const float* x, int64_t n, int threads) {
  absl::Mutex mutex;
  Extrema all;
  RunTeam(threads, [&](const TeamMember& member) {
    const int64_t begin = member.Begin(n);
    const Extrema own = ExtremaOf(x + begin, member.End(n) - begin);
    absl::MutexLock lock(&mutex);
    all.Take(own);
  });
  return all;
}

int ThreadsFor(int64_t n, int threads) {
  return static_cast<int>(std::clamp<int64_t>(n / kElementsOfAThread, 1, threads));
}

// --- Extrema ------------------------------------------------------------------

struct ExtremaShape {
  int64_t outer = 1, channels = 1, inner = 1;
  // Of a moving average.
  std::optional<float> momentum;
};

class ObserveExtremaCall : public LibraryCall {
 public:
  explicit ObserveExtremaCall(const ExtremaShape& shape, int threads)
      : s_(shape), threads_(ThreadsFor(s_.outer * s_.channels * s_.inner, threads)) {}

  std::string name() const override { return "observe"; }
  int64_t scratch_bytes() const override { return 0; }

  absl::Status Run(const CallMemory& memory) override {
    const float* x = static_cast<const float*>(memory.args[0]);
    const float* state = static_cast<const float*>(memory.args[1]);
    float* result = static_cast<float*>(memory.result);
    const int64_t n = s_.channels;
    if (n == 1 && s_.outer == 1) {
      Store(ExtremaOf(x, s_.inner, threads_), state, result, 0);
      return absl::OkStatus();
    }
    ForEach(threads_, n,
            [&](int64_t c, const TeamMember&) { Store(OfChannel(x, c), state, result, c); });
    return absl::OkStatus();
  }

 private:
  Extrema OfChannel(const float* x, int64_t c) const {
    Extrema all;
    for (int64_t o = 0; o < s_.outer; ++o) {
      all.Take(ExtremaOf(x + (o * s_.channels + c) * s_.inner, s_.inner));
    }
    return all;
  }

  void Store(const Extrema& batch, const float* state, float* result, int64_t c) const {
    float least = state[c], largest = state[s_.channels + c];
    if (!batch.empty()) {
      const bool first = least > largest;
      if (s_.momentum.has_value() && !first) {
        least += (batch.least - least) * *s_.momentum;
        largest += (batch.largest - largest) * *s_.momentum;
      } else if (s_.momentum.has_value()) {
        least = batch.least;
        largest = batch.largest;
      } else {
        least = Lesser(least, batch.least);
        largest = -Lesser(-largest, -batch.largest);
      }
    }
    result[c] = least;
    result[s_.channels + c] = largest;
  }

  // NaN wins, and -0 is less than 0.
  static float Lesser(float a, float b) {
    if (a != a) return a;
    if (a == b) return std::signbit(a) ? a : b;
    return b < a ? b : a;
  }

  const ExtremaShape s_;
  const int threads_;
};

// --- Histograms ---------------------------------------------------------------

// Layout of a state: the least and the largest element, then the counts.
constexpr int64_t kBins = 2048;
constexpr int64_t kState = 2 + kBins;
// Parts of an old bin where the range widens.
constexpr int64_t kParts = 16;

class Bins {
 public:
  Bins(double least, double largest) : left_(least), width_(largest - least) {
    if (!(width_ > 0)) {
      left_ = least - 1;
      width_ = 2;
    }
    scale_ = static_cast<double>(kBins) / width_;
  }

  // The integer part of (x - left) * bins / width, limited to the bins. The product with a rounded
  // reciprocal is off by a few units in the last place: where an integer is as close as that, the
  // quotient decides.
  int64_t Of(double x) const {
    double at = (x - left_) * scale_;
    if (at > 0 && at < kBins) {
      const auto bin = static_cast<int64_t>(at);
      const double rest = at - static_cast<double>(bin);
      if (rest > kNear && rest < 1 - kNear) return bin;
    }
    at = (x - left_) * kBins / width_;
    if (!(at >= 0)) return 0;
    return at < kBins ? static_cast<int64_t>(at) : kBins - 1;
  }

 private:
  static constexpr double kNear = 1e-6;
  double left_, width_, scale_;
};

class ObserveHistogramCall : public LibraryCall {
 public:
  ObserveHistogramCall(int64_t n, int threads) : n_(n), threads_(ThreadsFor(n, threads)) {}

  std::string name() const override { return "observe"; }
  int64_t scratch_bytes() const override { return threads_ * kTables * kBins * 8; }

  absl::Status Run(const CallMemory& memory) override {
    const float* x = static_cast<const float*>(memory.args[0]);
    const double* state = static_cast<const double*>(memory.args[1]);
    double* result = static_cast<double*>(memory.result);
    auto* tables = static_cast<int64_t*>(memory.scratch);
    const double old_least = state[0], old_largest = state[1];
    // Not NaN, which wins in the reference.
    if (!(old_least <= kInfinity) || !(old_largest >= -kInfinity)) {
      return absl::UnimplementedError("a state with NaN");
    }
    if (result != state) std::memcpy(result, state, kState * sizeof(double));
    const Extrema batch = ExtremaOf(x, n_, threads_);
    if (batch.empty()) return absl::OkStatus();
    const double least = std::min<double>(old_least, batch.least);
    const double largest = std::max<double>(old_largest, batch.largest);
    std::fill(tables, tables + threads_ * kTables * kBins, 0);
    RunTeam(threads_, [&](const TeamMember& member) {
      Count(x, member.Begin(n_), member.End(n_), Bins(least, largest),
            tables + member.index * kTables * kBins);
    });
    if (least != old_least || largest != old_largest) Widen(Bins(least, largest), result);
    Add(tables, result);
    result[0] = least;
    result[1] = largest;
    return absl::OkStatus();
  }

 private:
  // Neighbours, which are often equal, count in different tables.
  static constexpr int kTables = 2;

  static void Count(const float* x, int64_t begin, int64_t end, const Bins& bins, int64_t* table) {
    for (int64_t i = begin; i < end; ++i) {
      const float v = x[i];
      if (std::isfinite(v)) ++table[i % kTables * kBins + bins.Of(v)];
    }
  }

  // The old counts by the new bins that hold the mid-points of their parts.
  static void Widen(const Bins& bins, double* result) {
    const double step = (result[1] - result[0]) * (1.0 / (kBins * kParts));
    double counts[kBins] = {};
    for (int64_t i = 0; i < kBins * kParts; ++i) {
      const double middle = (static_cast<double>(i) + 0.5) * step + result[0];
      counts[bins.Of(middle)] += result[2 + i / kParts] * (1.0 / kParts);
    }
    std::memcpy(result + 2, counts, sizeof counts);
  }

  void Add(const int64_t* tables, double* result) const {
    for (int64_t bin = 0; bin < kBins; ++bin) {
      int64_t count = 0;
      for (int t = 0; t < threads_ * kTables; ++t) count += tables[t * kBins + bin];
      result[2 + bin] += static_cast<double>(count);
    }
  }

  const int64_t n_;
  const int threads_;
};

}  // namespace

LibraryCallOr MakeObserveCall(const LibraryStep& step, const LibraryContext& context) {
  const ObserveAttrs attrs(step.schema, step.attrs);
  const RunView& x = step.args[0];
  const RunView& state = step.args[1];
  const absl::Status refused = absl::UnimplementedError("such an observer");
  if (x.dtype != DType::kF32 || !x.dense() || !state.dense() || !step.result.dense() ||
      !step.epilogue.empty() || state.dtype != step.result.dtype ||
      state.numel() != step.result.numel()) {
    return refused;
  }
  if (attrs.statistic() == "histogram") {
    if (state.dtype != DType::kF64 || state.numel() != kState) return refused;
    return std::make_unique<ObserveHistogramCall>(x.numel(), context.threads);
  }
  const bool moving = attrs.statistic() == "moving_average";
  if ((!moving && attrs.statistic() != "min_max") || state.dtype != DType::kF32) return refused;
  ExtremaShape shape;
  if (moving) shape.momentum = static_cast<float>(attrs.momentum());
  shape.inner = x.numel();
  if (attrs.axis().has_value()) {
    const int64_t axis = *attrs.axis() < 0 ? *attrs.axis() + x.rank() : *attrs.axis();
    if (axis < 0 || axis >= x.rank()) return refused;
    shape.inner = 1;
    for (int64_t d = 0; d < x.rank(); ++d) {
      int64_t& size = d < axis ? shape.outer : d == axis ? shape.channels : shape.inner;
      size *= x.dims[d];
    }
  }
  if (state.numel() != 2 * shape.channels) return refused;
  return std::make_unique<ObserveExtremaCall>(shape, context.threads);
}

}  // namespace weft::cpu
