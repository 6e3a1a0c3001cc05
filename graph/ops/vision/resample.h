// Resampling along one dim: the elements that contribute to an element of the result. The terms are
// those of ONNX's Resize.
#ifndef WEFT_GRAPH_OPS_VISION_RESAMPLE_H_
#define WEFT_GRAPH_OPS_VISION_RESAMPLE_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace weft {

// The weights of the four elements around a point at `t` in [0, 1] after the second one, by cubic
// convolution with coefficient `a`.
void CubicWeights(double t, double a, double weights[4]);

// One dim.
struct Resampling {
  int64_t in, out;
  double scale;
  // Ends of the region of interest, as fractions of the input.
  double roi_start = 0, roi_end = 1;

  absl::string_view mode;
  absl::string_view coordinates;
  absl::string_view nearest_mode;
  double cubic_coeff_a;
  bool exclude_outside;
  bool antialias;

  // True if every output element equals its input element.
  bool IsIdentity() const;
  // Position of output element `x` in the input.
  double Source(int64_t x) const;
  // True for positions that get the extrapolation value.
  bool IsOutside(double source) const;
  // The index of the nearest element.
  int64_t Nearest(double source) const;
  // Indices and weights of the elements in linear and cubic modes. Indices outside of the input are
  // clamped.
  std::vector<std::pair<int64_t, double>> Taps(double source) const;

 private:
  // The same before clamping.
  std::vector<std::pair<int64_t, double>> RawTaps(double source) const;
};

// The resampling of dim `d` by `interpolate` without a region of interest. `attrs` has the op's
// attributes as methods.
template <typename Attributes>
Resampling ResamplingOf(const Attributes& attrs, int d, int64_t in, int64_t out) {
  const auto& scales = attrs.scales();
  Resampling r;
  r.in = in;
  r.out = out;
  r.scale = scales.empty() || scales[d] == 0 ? static_cast<double>(out) / static_cast<double>(in)
                                             : scales[d];
  r.mode = attrs.mode();
  r.coordinates = attrs.coordinate_transformation_mode();
  r.nearest_mode = attrs.nearest_mode();
  r.cubic_coeff_a = attrs.cubic_coeff_a();
  r.exclude_outside = attrs.exclude_outside();
  r.antialias = attrs.antialias();
  return r;
}

// Operations for an element of the result: neighbours in `dims` dims, and their weights.
int64_t SampleFlops(absl::string_view mode, int dims);

}  // namespace weft

#endif  // WEFT_GRAPH_OPS_VISION_RESAMPLE_H_
