#include "graph/ops/quant/histogram.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "graph/ir/builder.h"
#include "graph/ir/value.h"
#include "graph/ops/ops.h"
#include "graph/ops/quant/observer_state.h"
#include "graph/ops/shape.h"
#include "graph/ops/support/build.h"
#include "graph/ops/support/extrema.h"

namespace weft::ops {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Parts of an old bin where the range widens.
constexpr int64_t kParts = 16;
constexpr int64_t kAllParts = kObserverBins * kParts;

// The bins of a range. One that is a single point covers one to each side of it.
struct Bins {
  double left;
  double width;

  Bins(double min, double max) : left(min), width(max - min) {
    if (width > 0) return;
    left = min - 1;
    width = 2;
  }
  // The bin of x; numbers outside of the range are in the first or the last one, NaN in the first.
  int64_t Of(double x) const {
    const double at = std::trunc((x - left) * kObserverBins / width);
    if (!(at >= 0)) return 0;
    return at < kObserverBins ? static_cast<int64_t>(at) : kObserverBins - 1;
  }
};

// The same as nodes; x, min and max are f64.
Value* BinOf(Builder& b, Value* x, Value* min, Value* max) {
  const auto number = [&](double v) { return b.Scalar(DType::kF64, v); };
  Value* width = b.Op(sub, {max, min});
  Value* wide = b.Op(gt, {width, number(0)});
  Value* left = b.Op(where, {wide, min, b.Op(sub, {min, number(1)})});
  width = b.Op(where, {wide, width, number(2)});
  Value* at = b.Op(mul, {b.Op(sub, {x, left}), number(kObserverBins)});
  at = b.Op(div, {at, width});
  // Limited before it becomes an integer; NaN becomes the least one, and is limited then.
  at = b.Op(clamp, {at, number(0), number(kObserverBins - 1)});
  Value* bin = Convert(b, at, DType::kI64);
  return b.Op(maximum, {bin, b.Scalar(DType::kI64, 0)});
}

// Each element `kParts` times.
Value* RepeatParts(Builder& b, Value* v) {
  v = Reshape(b, v, {SymInt(kObserverBins), SymInt(1)});
  v = Expand(b, v, {SymInt(kObserverBins), SymInt(kParts)});
  return Reshape(b, v, {SymInt(kAllParts)});
}

// Sums of `weights` by bin.
Value* CountsOf(Builder& b, Value* bins, Value* weights) {
  Value* none = Expand(b, b.Scalar(DType::kF64, 0), {SymInt(kObserverBins)});
  return b.Op(scatter, {none, bins, weights}, {{"dim", 0}, {"reduce", "add"}});
}

// The counts of the range old_min .. old_max, seen in min .. max.
Value* WidenCounts(Builder& b, Value* counts, Value* old_min, Value* old_max, Value* min,
                   Value* max) {
  Value* bin = BuildArange(b, 0, kObserverBins);
  Value* part = BuildArange(b, 0, kAllParts);
  Value* middle = WithScalar(b, add, Convert(b, part, DType::kF64), 0.5);
  Value* step = WithScalar(b, mul, b.Op(sub, {old_max, old_min}), 1.0 / kAllParts);
  Value* x = b.Op(add, {b.Op(mul, {middle, step}), old_min});
  Value* same = b.Op(logical_and, {b.Op(eq, {min, old_min}), b.Op(eq, {max, old_max})});
  Value* to = b.Op(where, {same, RepeatParts(b, bin), BinOf(b, x, min, max)});
  return CountsOf(b, to, RepeatParts(b, WithScalar(b, mul, counts, 1.0 / kParts)));
}

}  // namespace

void AddToHistogram(const std::vector<double>& x, std::vector<double>* state) {
  const double old_min = (*state)[0];
  const double old_max = (*state)[1];
  double min = kInfinity;
  double max = -kInfinity;
  for (double v : x) {
    if (!std::isfinite(v)) continue;
    min = v < min ? v : min;
    max = v > max ? v : max;
  }
  min = Smaller(old_min, min);
  max = Larger(old_max, max);
  const Bins bins(min, max);
  if (min != old_min || max != old_max) {
    std::vector<double> counts(kObserverBins, 0);
    const double step = (old_max - old_min) * (1.0 / kAllParts);
    for (int64_t i = 0; i < kAllParts; ++i) {
      const double middle = (static_cast<double>(i) + 0.5) * step + old_min;
      counts[bins.Of(middle)] += (*state)[2 + i / kParts] * (1.0 / kParts);
    }
    std::copy(counts.begin(), counts.end(), state->begin() + 2);
  }
  for (double v : x) {
    if (std::isfinite(v)) (*state)[2 + bins.Of(v)] += 1;
  }
  (*state)[0] = min;
  (*state)[1] = max;
}

Value* AddToHistogram(Builder& b, Value* x, Value* state) {
  if (x == nullptr || state == nullptr) return nullptr;
  // Sizes that are symbols are the state's own from here on.
  state = Reshape(b, state, {SymInt(2 + kObserverBins)});
  x = Convert(b, Reshape(b, x, {x->type().numel()}), DType::kF64);
  const auto part = [&](int64_t first, int64_t end) { return Slice(b, state, 0, first, end); };
  Value* finite = b.Op(lt, {b.Op(abs, {x}), b.Scalar(DType::kF64, kInfinity)});
  const auto or_else = [&](double v) { return b.Op(where, {finite, x, b.Scalar(DType::kF64, v)}); };
  Value* old_min = part(0, 1);
  Value* old_max = part(1, 2);
  Value* min = b.Op(minimum, {old_min, Reduce(b, amin, or_else(kInfinity), {0})});
  Value* max = b.Op(maximum, {old_max, Reduce(b, amax, or_else(-kInfinity), {0})});
  Value* counts = WidenCounts(b, part(2, 2 + kObserverBins), old_min, old_max, min, max);
  Value* added = CountsOf(b, BinOf(b, or_else(0), min, max), Convert(b, finite, DType::kF64));
  return b.Op(cat, {min, max, b.Op(add, {counts, added})}, {{"dim", 0}});
}

}  // namespace weft::ops
