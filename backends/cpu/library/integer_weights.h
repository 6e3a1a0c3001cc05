// Weights of 8 bits in the layout of integer_gemm_tile.h, one copy of each constant.
#ifndef WEFT_BACKENDS_CPU_LIBRARY_INTEGER_WEIGHTS_H_
#define WEFT_BACKENDS_CPU_LIBRARY_INTEGER_WEIGHTS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "backends/cpu/kernels/integer_gemm_tile.h"
#include "base/host_buffer.h"

namespace weft::cpu {

// 8-bit weights in memory: [columns, taps, depth] by strides in elements.
struct IntegerWeightView {
  const uint8_t* data = nullptr;
  bool is_signed = true;
  int64_t columns = 0;
  int64_t depth = 0;
  int64_t column = 0;
  std::vector<int64_t> tap;  // Offset of each tap.
  int64_t step = 0;
  // Above 0: the depth is that of several points, each of `point` weights, of which the first
  // `point_depth` exist. From point to point there are `point_stride` elements.
  int64_t point = 0;
  int64_t point_depth = 0;
  int64_t point_stride = 0;
  // The zero point of each column, or one for all; empty: 0.
  std::vector<int32_t> zero_points;
  // Reads them from memory: `count` bytes that lie `stride` apart.
  void ReadZeroPoints(const void* memory, int64_t count, int64_t stride);

  int64_t taps() const { return static_cast<int64_t>(tap.size()); }
  // The weight less its zero point.
  int32_t At(int64_t column, int64_t tap, int64_t index) const;
};

// Columns [first, first + columns), and where their parts lie in the memory of PackedIntegers.
struct PackedIntegerPanel {
  int64_t first = 0;
  int64_t columns = 0;
  int vectors = 1;
  int64_t weights_at = 0;
  // The excess of a vector: how many entries, then the parts of an IntegerExcess.
  struct Excess {
    int64_t count = 0;
    int64_t first_at = 0;
    int64_t offsets_at = 0;
    int64_t weights_at = 0;
  };
  Excess excess[kMaxIntegerVectors];
};

struct PackedIntegers {
  std::vector<PackedIntegerPanel> panels;
  // The sum of each column, zeros up to a whole number of vectors.
  std::vector<int32_t> sums;
  std::shared_ptr<HostBuffer> memory;

  // The weights of a panel as the kernel takes them.
  void Describe(const PackedIntegerPanel& from, IntegerPanel* panel) const;
  const int8_t* weights(const PackedIntegerPanel& of) const {
    return reinterpret_cast<const int8_t*>(memory->data() + of.weights_at);
  }
  int64_t bytes() const { return memory->size() + static_cast<int64_t>(sums.size()) * 4; }
};

// ResourceExhausted when there is no memory.
absl::StatusOr<std::shared_ptr<const PackedIntegers>> PackIntegers(const IntegerWeightView& view,
                                                                   const IntegerGemmTable& table,
                                                                   int threads);

class IntegerWeights {
 public:
  // Packed once for each constant `key` and view.
  absl::StatusOr<std::shared_ptr<const PackedIntegers>> Get(int64_t key,
                                                            const IntegerWeightView& view,
                                                            const IntegerGemmTable& table,
                                                            int threads);
  int64_t bytes() const { return bytes_; }

 private:
  // The key, the view without its data, the lanes, and whether sums saturate.
  using Key = std::vector<int64_t>;
  absl::flat_hash_map<Key, std::shared_ptr<const PackedIntegers>> packed_;
  int64_t bytes_ = 0;
};

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_LIBRARY_INTEGER_WEIGHTS_H_
