#include "passes/quantize/half_quadratic.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "passes/quantize/grid.h"

namespace weft {
namespace {

constexpr double kPower = 0.7;
constexpr double kFirstBeta = 10;
constexpr double kBetaFactor = 1.01;
constexpr int kIterations = 20;
constexpr double kStarts[] = {1, 0.95, 0.9, 0.85, 0.8, 0.7};

// The least |w|^0.7 + beta / 2 (w - error)^2 by one step of its fixpoint.
double Shrink(double error, double beta) {
  const double size = std::abs(error);
  if (size == 0) return 0;
  return std::copysign(std::max(size - std::pow(size, kPower - 1) / beta, 0.0), error);
}

class Splitting {
 public:
  Splitting(const QuantSpec& spec, absl::Span<const double> values)
      : affine_(spec.scheme == QuantScheme::kAffine), values_(values) {}

  void RunFrom(QuantGrid grid) {
    double beta = kFirstBeta;
    for (int i = 0; i < kIterations; ++i) {
      Keep(grid);
      const QuantGrid next = Step(grid, beta);
      if (next.scale == grid.scale && next.zero_point == grid.zero_point) return;
      grid = next;
      beta *= kBetaFactor;
    }
    Keep(grid);
  }

  const QuantGrid& best() const { return best_; }

 private:
  void Keep(const QuantGrid& grid) {
    double error = 0;
    for (const double v : values_) error += std::pow(std::abs(v - grid.Nearest(v)), kPower);
    if (error >= least_) return;
    least_ = error;
    best_ = grid;
  }

  // Errors are in steps of the grid, so that beta means the same for all weights.
  QuantGrid Step(const QuantGrid& grid, double beta) const {
    QuantGrid next = grid;
    const double n = static_cast<double>(values_.size());
    double shift = 0;
    for (const double v : values_) {
      const double error = (v - grid.Nearest(v)) / grid.scale;
      shift += (Shrink(error, beta) - error) / n;
    }
    if (affine_) {
      const double zero = std::nearbyint(static_cast<double>(grid.zero_point) + shift);
      next.zero_point = static_cast<int64_t>(
          std::clamp(zero, static_cast<double>(grid.low), static_cast<double>(grid.high)));
    }
    double products = 0, squares = 0;
    const double moved = static_cast<double>(grid.zero_point - next.zero_point);
    for (const double v : values_) {
      const double nearest = grid.Nearest(v);
      const double steps = nearest / grid.scale + moved;
      products += (v - grid.scale * Shrink((v - nearest) / grid.scale, beta)) * steps;
      squares += steps * steps;
    }
    const double scale = static_cast<float>(products / squares);
    const bool usable = std::isfinite(scale) && scale >= std::numeric_limits<float>::min();
    if (usable) next.scale = scale;
    return next;
  }

  bool affine_;
  absl::Span<const double> values_;
  QuantGrid best_;
  double least_ = std::numeric_limits<double>::infinity();
};

}  // namespace

ValueRange HalfQuadraticRange(const QuantSpec& spec, absl::Span<const double> values) {
  const auto [min, max] = std::minmax_element(values.begin(), values.end());
  Splitting splitting(spec, values);
  for (const double share : kStarts) {
    splitting.RunFrom(GridOf(spec, {*min * share, *max * share}));
  }
  const QuantGrid& grid = splitting.best();
  if (spec.scheme == QuantScheme::kAffine) return {grid.min(), grid.max()};
  const double end = grid.scale * static_cast<double>(spec.quant_max - spec.quant_min) / 2;
  return {-end, end};
}

}  // namespace weft
