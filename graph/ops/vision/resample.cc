#include "graph/ops/vision/resample.h"

#include <algorithm>
#include <cmath>

namespace weft {
namespace {

// The cubic convolution kernel.
double Cubic(double x, double a) {
  x = std::abs(x);
  if (x >= 2) return 0;
  if (x >= 1) return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return ((a + 2) * x - (a + 3)) * x * x + 1;
}

int64_t ToIndex(double v, int64_t size) {
  // Also for NaN and values far away.
  if (!(v > 0)) return 0;
  if (v >= static_cast<double>(size - 1)) return size - 1;
  return static_cast<int64_t>(v);
}

}  // namespace

void CubicWeights(double t, double a, double weights[4]) {
  for (int i = 0; i < 4; ++i) weights[i] = Cubic(t + 1 - i, a);
}

bool Resampling::IsIdentity() const {
  return in == out && scale == 1 && coordinates != "tf_crop_and_resize";
}

double Resampling::Source(int64_t index) const {
  const double x = static_cast<double>(index);
  const double length = static_cast<double>(in);
  const double resized = scale * length;  // May be a fraction.
  if (coordinates == "align_corners") {
    return index == 0 ? 0 : x * (length - 1) / (resized - 1);
  }
  if (coordinates == "asymmetric") return x / scale;
  if (coordinates == "tf_half_pixel_for_nn") return (x + 0.5) / scale;
  if (coordinates == "tf_crop_and_resize") {
    if (out == 1) return 0.5 * (roi_start + roi_end) * (length - 1);
    // Regions are f32 in ONNX. In double, a position that means the last element could be after it.
    const float start = static_cast<float>(roi_start * (length - 1));
    const float part = static_cast<float>(roi_end - roi_start);
    return start + x * part * (length - 1) / static_cast<double>(out - 1);
  }
  if (coordinates == "pytorch_half_pixel" && out == 1) return 0;
  double offset = 0;
  if (coordinates == "half_pixel_symmetric") {
    offset = length / 2 * (1 - static_cast<double>(out) / resized);
  }
  return offset + (x + 0.5) / scale - 0.5;
}

bool Resampling::IsOutside(double source) const {
  return coordinates == "tf_crop_and_resize" &&
         !(source >= 0 && source <= static_cast<double>(in - 1));
}

int64_t Resampling::Nearest(double source) const {
  const double floor = std::floor(source);
  double nearest = std::ceil(source);
  if (nearest_mode == "floor" || (nearest_mode == "round_prefer_floor" && source - floor <= 0.5) ||
      (nearest_mode == "round_prefer_ceil" && source - floor < 0.5)) {
    nearest = floor;
  }
  return ToIndex(nearest, in);
}

std::vector<std::pair<int64_t, double>> Resampling::RawTaps(double source) const {
  const bool cubic = mode == "cubic";
  // Clamps positions far outside, which does not change the result.
  source = std::clamp(source, -4.0, static_cast<double>(in) + 4);
  const double floor = std::floor(source);
  const int64_t at = static_cast<int64_t>(floor);
  std::vector<std::pair<int64_t, double>> taps;
  if (antialias && scale < 1) {
    // The filter grows with the elements that it covers, up to a few times the input.
    const double narrow = std::max(scale, 0.25 / static_cast<double>(std::max<int64_t>(in, 1)));
    const double support = (cubic ? 2 : 1) / narrow;
    const int64_t last = static_cast<int64_t>(std::floor(source + support));
    for (int64_t i = static_cast<int64_t>(std::ceil(source - support)); i <= last; ++i) {
      const double x = narrow * (static_cast<double>(i) - source);
      taps.emplace_back(i, cubic ? Cubic(x, cubic_coeff_a) : std::max(0.0, 1 - std::abs(x)));
    }
  } else if (cubic) {
    double weights[4];
    CubicWeights(source - floor, cubic_coeff_a, weights);
    for (int i = 0; i < 4; ++i) taps.emplace_back(at - 1 + i, weights[i]);
  } else {
    taps.emplace_back(at, 1 - (source - floor));
    taps.emplace_back(at + 1, source - floor);
  }
  return taps;
}

std::vector<std::pair<int64_t, double>> Resampling::Taps(double source) const {
  std::vector<std::pair<int64_t, double>> taps = RawTaps(source);
  double sum = 0;
  for (auto& [index, weight] : taps) {
    if (exclude_outside && (index < 0 || index >= in)) weight = 0;
    index = std::clamp<int64_t>(index, 0, in - 1);
    sum += weight;
  }
  const bool normalize = exclude_outside || antialias;
  for (auto& [index, weight] : taps) {
    if (normalize && sum != 0) weight /= sum;
  }
  return taps;
}

int64_t SampleFlops(absl::string_view mode, int dims) {
  if (mode == "nearest") return 0;
  const int64_t taps = mode == "cubic" || mode == "bicubic" ? 4 : 2;
  int64_t neighbours = 1;
  for (int i = 0; i < dims; ++i) neighbours *= taps;
  return 2 * neighbours;
}

}  // namespace weft
