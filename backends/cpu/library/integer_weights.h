// Constant i8 weights in the layout of integer_gemm_tile.h, one copy of each.
#ifndef WEFT_BACKENDS_CPU_LIBRARY_INTEGER_WEIGHTS_H_
#define WEFT_BACKENDS_CPU_LIBRARY_INTEGER_WEIGHTS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "backends/cpu/kernels/integer_gemm_tile.h"

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
  // The zero point of each column, or one for all; empty: 0.
  std::vector<int32_t> zero_points;

  int64_t taps() const { return static_cast<int64_t>(tap.size()); }
  // The weight less its zero point.
  int32_t At(int64_t column, int64_t tap, int64_t index) const;
};

// Columns [first, first + columns).
struct PackedIntegerPanel {
  int64_t first = 0;
  int64_t columns = 0;
  int vectors = 1;
  std::vector<int8_t> weights;
  struct Excess {
    std::vector<int64_t> first;
    std::vector<int64_t> offsets;
    std::vector<int8_t> weights;
  };
  std::vector<Excess> excess;  // One for each vector.

  // The panel's weights as the kernel takes them.
  void Describe(IntegerPanel* panel) const;
};

struct PackedIntegers {
  std::vector<PackedIntegerPanel> panels;
  // The sum of each column, zeros up to a whole number of vectors.
  std::vector<int32_t> sums;
  int64_t bytes() const;
};

// Null when a weight less its zero point does not fit in i8.
std::shared_ptr<const PackedIntegers> PackIntegers(const IntegerWeightView& view,
                                                   const IntegerGemmTable& table, int threads);

class IntegerWeights {
 public:
  // Packed once for each constant `key` and view.
  std::shared_ptr<const PackedIntegers> Get(int64_t key, const IntegerWeightView& view,
                                            const IntegerGemmTable& table, int threads);
  int64_t bytes() const { return bytes_; }

 private:
  // The key, the view without its data, the lanes.
  using Key = std::vector<int64_t>;
  absl::flat_hash_map<Key, std::shared_ptr<const PackedIntegers>> packed_;
  int64_t bytes_ = 0;
};

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_LIBRARY_INTEGER_WEIGHTS_H_
