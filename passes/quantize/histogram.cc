#include "passes/quantize/histogram.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace weft {
namespace {

// The integral of |x - Nearest(x)|^power between two points; in closed form, as the distance to
// the nearest value is a saw tooth inside the grid and grows evenly outside of it.
class ErrorIntegral {
 public:
  ErrorIntegral(const QuantGrid& grid, double power)
      : grid_(grid), min_(grid.min()), max_(grid.max()), power_(power) {
    whole_ = 2 * Primitive(0.5);
  }

  double Between(double a, double b) const { return Until(b) - Until(a); }

 private:
  // |d|^(power + 1) / (power + 1)
  double Primitive(double d) const {
    if (power_ == 2) return d * d * d / 3;
    return std::pow(d, power_ + 1) / (power_ + 1);
  }
  double SawTooth(double x) const {
    const double u = x / grid_.scale;
    const double n = std::floor(u + 0.5);
    const double r = u - n;
    return n * whole_ + (r < 0 ? -Primitive(-r) : Primitive(r));
  }
  // From the least value of the grid to x.
  double Until(double x) const {
    const double unit = std::pow(grid_.scale, power_ + 1);
    if (x < min_) return -Primitive((min_ - x) / grid_.scale) * unit;
    const double inside = SawTooth(std::min(x, max_)) - SawTooth(min_);
    const double above = x > max_ ? Primitive((x - max_) / grid_.scale) : 0;
    return (inside + above) * unit;
  }

  const QuantGrid& grid_;
  double min_;
  double max_;
  double power_;
  double whole_ = 0;
};

}  // namespace

double Histogram::total() const { return std::accumulate(counts.begin(), counts.end(), 0.0); }

double Histogram::Quantile(double share) const {
  if (range.min == range.max) return range.min;
  const double wanted = share * total();
  double below = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] > 0 && below + counts[i] >= wanted) {
      const double part = std::max(wanted - below, 0.0) / counts[i];
      return std::min(edge(i) + part * width(), range.max);
    }
    below += counts[i];
  }
  return range.max;
}

absl::StatusOr<Histogram> HistogramOfState(const HostTensor& state) {
  std::vector<double> values = state.ReadDoubles();
  if (values.size() < 3) {
    return absl::InvalidArgumentError(
        absl::StrCat("a histogram has at least 3 elements, got ", values.size()));
  }
  Histogram histogram;
  histogram.range = {values[0], values[1]};
  histogram.counts.assign(values.begin() + 2, values.end());
  for (double count : histogram.counts) {
    if (!(count >= 0) || std::isinf(count)) {
      return absl::InvalidArgumentError(absl::StrCat("a histogram has a bin of ", count));
    }
  }
  if (histogram.total() == 0) return absl::FailedPreconditionError("no element was seen");
  if (!(histogram.range.min <= histogram.range.max)) {
    return absl::InvalidArgumentError("a histogram has its least value above its largest");
  }
  return histogram;
}

Histogram HistogramOf(absl::Span<const double> values, int bins) {
  Histogram histogram;
  ValueRange range = {std::numeric_limits<double>::infinity(),
                      -std::numeric_limits<double>::infinity()};
  for (double v : values) {
    if (!std::isfinite(v)) continue;
    range.min = std::min(range.min, v);
    range.max = std::max(range.max, v);
  }
  if (range.min > range.max) return histogram;
  histogram.range = range;
  histogram.counts.assign(bins, 0);
  const double scale = range.min == range.max ? 0 : bins / (range.max - range.min);
  for (double v : values) {
    if (!std::isfinite(v)) continue;
    const int i = static_cast<int>((v - range.min) * scale);
    ++histogram.counts[std::min(i, bins - 1)];
  }
  return histogram;
}

double GridError(const Histogram& histogram, const QuantGrid& grid, double power) {
  if (histogram.range.min == histogram.range.max) {
    const double x = histogram.range.min;
    return histogram.total() * std::pow(std::abs(x - grid.Nearest(x)), power);
  }
  const ErrorIntegral integral(grid, power);
  const double width = histogram.width();
  double sum = 0;
  for (size_t i = 0; i < histogram.counts.size(); ++i) {
    if (histogram.counts[i] == 0) continue;
    const double left = histogram.edge(i);
    sum += histogram.counts[i] / width * integral.Between(left, left + width);
  }
  return sum;
}

}  // namespace weft
