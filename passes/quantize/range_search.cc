#include "passes/quantize/range_search.h"

#include <algorithm>
#include <cmath>

#include "passes/quantize/grid.h"

namespace weft {
namespace {

// The share of an end that a step of the search leaves, and how many steps it tries: down to
// 1.8 % of the end, and then twice around the best in a sixteenth of the steps before.
constexpr double kCoarseFactor = 0.88;
constexpr int kCoarseSteps = 32;
constexpr int kFineSteps = 16;
constexpr int kFineLevels = 2;
constexpr int kMaxRounds = 3;

class Search {
 public:
  Search(const QuantSpec& spec, const Histogram& histogram, double power)
      : spec_(spec), histogram_(histogram), power_(power) {
    best_ = {std::min(histogram.range.min, 0.0), std::max(histogram.range.max, 0.0)};
    error_ = ErrorOf(best_);
  }

  ValueRange Run() {
    const bool symmetric = spec_.scheme == QuantScheme::kSymmetric;
    if (symmetric) {
      const double end = std::max(-best_.min, best_.max);
      best_ = {-end, end};
    }
    double factor = kCoarseFactor;
    Step(symmetric, factor, 0, kCoarseSteps);
    for (int level = 0; level < kFineLevels; ++level) {
      factor = std::pow(factor, 1.0 / kFineSteps);
      Step(symmetric, factor, -kFineSteps, kFineSteps);
    }
    return best_;
  }

 private:
  double ErrorOf(ValueRange range) const {
    return GridError(histogram_, GridOf(spec_, range), power_);
  }

  void Step(bool both, double factor, int first, int last) {
    if (both) {
      TryEnds(factor, first, last, true, true);
    } else {
      Alternate(factor, first, last);
    }
  }

  void Alternate(double factor, int first, int last) {
    for (int round = 0; round < kMaxRounds; ++round) {
      const bool upper = TryEnds(factor, first, last, false, true);
      const bool lower = TryEnds(factor, first, last, true, false);
      if (!upper && !lower) return;
    }
  }

  // Multiplies the ends by the powers of `factor`; true when one is better.
  bool TryEnds(double factor, int first, int last, bool lower, bool upper) {
    const ValueRange from = best_;
    bool better = false;
    for (int i = first; i <= last; ++i) {
      const double by = std::pow(factor, i);
      const ValueRange range = {lower ? from.min * by : from.min, upper ? from.max * by : from.max};
      const double error = ErrorOf(range);
      if (error >= error_) continue;
      error_ = error;
      best_ = range;
      better = true;
    }
    return better;
  }

  const QuantSpec& spec_;
  const Histogram& histogram_;
  double power_;
  ValueRange best_;
  double error_ = 0;
};

}  // namespace

ValueRange SearchRange(const QuantSpec& spec, const Histogram& histogram, double power) {
  return Search(spec, histogram, power).Run();
}

Histogram MagnitudesOf(const Histogram& histogram) {
  const ValueRange& range = histogram.range;
  Histogram result;
  result.range = {0, std::max(std::abs(range.min), std::abs(range.max))};
  result.counts.assign(histogram.counts.size(), 0);
  if (range.min == range.max) {
    result.range.min = result.range.max;
    result.counts[0] = histogram.total();
    return result;
  }
  // Each bin is cut into parts, which are put where their middles fall.
  constexpr int kParts = 16;
  const double part = histogram.width() / kParts;
  const size_t last = result.counts.size() - 1;
  for (size_t i = 0; i < histogram.counts.size(); ++i) {
    if (histogram.counts[i] == 0) continue;
    for (int k = 0; k < kParts; ++k) {
      const double middle = std::abs(histogram.edge(i) + (k + 0.5) * part);
      const size_t at = static_cast<size_t>(middle / result.width());
      result.counts[std::min(at, last)] += histogram.counts[i] / kParts;
    }
  }
  return result;
}

ValueRange PercentileRange(const QuantSpec& spec, const Histogram& histogram, double percent) {
  if (spec.scheme == QuantScheme::kSymmetric) {
    const double end = MagnitudesOf(histogram).Quantile(percent / 100);
    return {-end, end};
  }
  const double cut = (1 - percent / 100) / 2;
  return {histogram.Quantile(cut), histogram.Quantile(1 - cut)};
}

}  // namespace weft
