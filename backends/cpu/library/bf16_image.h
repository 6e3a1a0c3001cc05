// Images of few channels as the kernels of bf16_gemm_tile.h read them: copied with channels last,
// so that the taps of a window along the last dim are one tap.
#ifndef WEFT_BACKENDS_CPU_LIBRARY_BF16_IMAGE_H_
#define WEFT_BACKENDS_CPU_LIBRARY_BF16_IMAGE_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "backends/cpu/onednn/onednn.h"

namespace weft::cpu {

// A copy [lines, left + width + right, point] of x, with zeros beyond its width and channels.
struct Bf16Image {
  DType dtype = DType::kBF16;  // Of x.
  std::vector<int64_t> lines;  // Offset in x of each line's first element.
  int64_t width = 0;
  int64_t stride = 0;  // From point to point.
  int64_t step = 0;    // From channel to channel.
  int64_t channels = 0;
  int64_t point = 0;
  int64_t left = 0;
  int64_t right = 0;

  int64_t line_elements() const { return (left + width + right) * point; }
  int64_t elements() const { return static_cast<int64_t>(lines.size()) * line_elements(); }
};

// Makes of `c` a convolution of the copy, and of its weights those of one tap a line. Unimplemented
// for those that have many channels, no run of taps, or more than two dims.
absl::StatusOr<Bf16Image> JoinTaps(DnnConvolution* c, DnnConstant* constant);

// Copies x, rounding f32 to bf16.
void CopyImage(const Bf16Image& image, const void* x, int threads, uint16_t* to);

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_LIBRARY_BF16_IMAGE_H_
