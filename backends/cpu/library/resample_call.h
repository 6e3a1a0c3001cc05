// Resampling of some dims of a tensor: weighted sums of f32, and moves of elements of any dtype.
#ifndef WEFT_BACKENDS_CPU_LIBRARY_RESAMPLE_CALL_H_
#define WEFT_BACKENDS_CPU_LIBRARY_RESAMPLE_CALL_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "backends/cpu/kernels/sample_tile.h"
#include "backends/cpu/library/library.h"

namespace weft::cpu {

// One dim, from the outermost in memory to the innermost. Element i of the result is the sum of
// weights[t] * x[indices[t]] for t in [begins[i], begins[i + 1]).
struct ResampleAxis {
  ResampleAxis(int64_t in, int64_t out) : in(in), out(out) {}

  // Without elements the dim is kept.
  void Add(const std::vector<std::pair<int64_t, double>>& taps);
  bool kept() const { return begins.empty(); }

  int64_t in, out;
  std::vector<int64_t> begins;
  std::vector<int32_t> indices;
  std::vector<float> weights;
};

// Operand 0 and the result are dense, with dims in the order of the axes.
std::unique_ptr<LibraryCall> MakeResampleCall(std::vector<ResampleAxis> axes,
                                              const SampleTable& table, int threads);

// The same where each element is moved: the first tap's. `bytes` of an element are 1, 2, 4 or 8.
std::unique_ptr<LibraryCall> MakeResampleMoveCall(std::vector<ResampleAxis> axes, int64_t bytes,
                                                  int threads);

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_LIBRARY_RESAMPLE_CALL_H_
