#include "api/check/target/element_bounds.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "api/check/target/rounding_trial.h"

namespace weft {
namespace {

// The bound of an element relative to its largest move in a trial.
constexpr double kMargin = 4;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

template <typename T>
double LowerQuartile(absl::Span<const T> values) {
  constexpr size_t kSamples = 1024;
  std::vector<double> sample;
  for (size_t i = 0; i < values.size(); i += std::max<size_t>(1, values.size() / kSamples)) {
    const double x = std::abs(static_cast<double>(values[i]));
    if (x > 0 && std::isfinite(x)) sample.push_back(x);
  }
  if (sample.empty()) return 0;
  const size_t quarter = sample.size() / 4;
  std::nth_element(sample.begin(), sample.begin() + static_cast<ptrdiff_t>(quarter), sample.end());
  return sample[quarter];
}

}  // namespace

std::vector<double> Elements(const HostTensor& tensor) {
  if (!IsComplex(tensor.dtype())) return tensor.ReadDoubles();
  const HostTensor dense = tensor.Contiguous();
  const DType real = tensor.dtype() == DType::kC128  ? DType::kF64
                     : tensor.dtype() == DType::kC64 ? DType::kF32
                                                     : DType::kF16;
  auto pairs = HostTensor::View(dense.buffer(), real, {dense.numel() * 2}, {}, dense.offset() * 2);
  return pairs.ok() ? pairs->ReadDoubles() : std::vector<double>();
}

bool SameElement(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

double TypicalMagnitude(absl::Span<const float> values) { return LowerQuartile(values); }
double TypicalMagnitude(absl::Span<const double> values) { return LowerQuartile(values); }

ElementBounds::ElementBounds(const HostTensor& want, bool exact)
    : dtype_(want.dtype()), want_(Elements(want)), exact_(exact) {
  moved_.resize(want_.size(), 0);
  low_ = high_ = want_;
}

void ElementBounds::Add(const HostTensor& trial) {
  const std::vector<double> t = Elements(trial);
  if (t.size() != want_.size()) return;
  for (size_t i = 0; i < t.size(); ++i) {
    moved_[i] = std::max(moved_[i], std::abs(t[i] - want_[i]));
    // If a trial becomes infinite or NaN, or an infinity becomes NaN, every such value is possible.
    const bool finite = std::isfinite(t[i]) && std::isfinite(want_[i]);
    if (!finite && !SameElement(t[i], want_[i])) moved_[i] = kInfinity;
    low_[i] = std::min(low_[i], t[i]);
    high_[i] = std::max(high_[i], t[i]);
  }
}

// Errors of a trial may cancel in an element by chance, so its bound is at least that of most
// others.
void ElementBounds::Finish() {
  least_ = exact_ ? 0 : TypicalMagnitude(absl::MakeConstSpan(moved_));
}

void ElementBounds::AddAlternative(const HostTensor& other) {
  std::vector<double> elements = Elements(other);
  if (elements.size() == want_.size()) alternatives_.push_back(std::move(elements));
}

double ElementBounds::Allowed(size_t i, double center) const {
  double allowed = kMargin * std::max(moved_[i], least_);
  if (exact_) return allowed;
  const double tiny = dtype_ == DType::kF64 ? std::numeric_limits<double>::min()
                                            : std::numeric_limits<float>::min();
  return allowed + kPlainUnits * EpsilonOf(dtype_) * std::abs(center) + tiny;
}

double ElementBounds::ExcessFrom(double center, size_t i, double got, bool near_overflow) const {
  if (SameElement(got, center) || moved_[i] == kInfinity) return 0;
  if (!std::isfinite(got) || !std::isfinite(center)) return near_overflow ? 0 : kInfinity;
  if (EpsilonOf(dtype_) == 0) return got >= low_[i] && got <= high_[i] ? 0 : kInfinity;
  const double allowed = Allowed(i, center);
  return allowed > 0 ? std::abs(got - center) / allowed : kInfinity;
}

double ElementBounds::Excess(size_t i, double got, bool near_overflow) const {
  double excess = ExcessFrom(want_[i], i, got, near_overflow);
  for (const std::vector<double>& other : alternatives_) {
    excess = std::min(excess, ExcessFrom(other[i], i, got, near_overflow));
  }
  return excess;
}

double ElementBounds::Distance(size_t i, double a, double b) const {
  if (SameElement(a, b) || moved_[i] == kInfinity) return 0;
  // On two sides of a branch cut each has a result of its own to be near to.
  const double excess = std::max(Excess(i, a, false), Excess(i, b, false));
  if (!std::isfinite(a) || !std::isfinite(b)) return excess;
  if (EpsilonOf(dtype_) == 0) {
    return std::min(a, b) >= low_[i] && std::max(a, b) <= high_[i] ? 0 : excess;
  }
  const double allowed = 2 * Allowed(i, want_[i]);
  return allowed > 0 ? std::min(excess, std::abs(a - b) / allowed) : excess;
}

}  // namespace weft
