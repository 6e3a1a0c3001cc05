// Weights of 4 or 8 bits in groups as plain numbers, their packed form, and products with them by
// the formula: what the op matmul_nbits and its routines are held to.
#ifndef WEFT_TESTS_SUPPORT_NBITS_H_
#define WEFT_TESTS_SUPPORT_NBITS_H_

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "graph/tensor/tensor.h"

namespace weft {

struct NbitsMatrix {
  int bits = 4;
  int64_t columns = 0;
  int64_t depth = 0;
  int64_t group = 0;
  bool has_zero_points = false;
  std::vector<int> numbers;      // [columns, depth]
  std::vector<int> zero_points;  // [columns, groups]
  std::vector<double> scales;    // [columns, groups]
  // [columns, groups]: zero points that are floats, or are added to number * scale; empty: none.
  std::vector<double> floats;
  bool offset = false;

  int64_t groups() const { return (depth + group - 1) / group; }

  double At(int64_t column, int64_t k) const {
    const int64_t at = column * groups() + k / group;
    const int number = numbers[column * depth + k];
    if (offset) return number * scales[at] + floats[at];
    if (!floats.empty()) return (number - floats[at]) * scales[at];
    const int zero = has_zero_points ? zero_points[at] : 1 << (bits - 1);
    return (number - zero) * scales[at];
  }

  // Numbers side by side in `bytes` bytes a row, the first one in the low bits; bits behind the
  // last number are set.
  HostTensor Packed(const std::vector<int>& values, int64_t row, int64_t bytes,
                    std::vector<int64_t> dims) const {
    HostTensor t(DType::kU8, dims);
    for (int64_t c = 0; c < columns; ++c) {
      std::vector<int> bit(bytes * 8, 1);
      for (int64_t i = 0; i < row; ++i) {
        for (int b = 0; b < bits; ++b) bit[i * bits + b] = values[c * row + i] >> b & 1;
      }
      for (int64_t i = 0; i < bytes; ++i) {
        int byte = 0;
        for (int b = 0; b < 8; ++b) byte += bit[i * 8 + b] << b;
        t.data<uint8_t>()[c * bytes + i] = static_cast<uint8_t>(byte);
      }
    }
    return t;
  }
  HostTensor Weight() const {
    const int64_t bytes = group * bits / 8;
    return Packed(numbers, depth, groups() * bytes, {columns, groups(), bytes});
  }
  // Floats are of the dtype of the scales.
  HostTensor ZeroPoint(DType dtype = DType::kF32) const {
    if (!floats.empty()) return HostTensor::FromDoubles(dtype, {columns, groups()}, floats);
    const int64_t bytes = (groups() * bits + 7) / 8;
    return Packed(zero_points, groups(), bytes, {columns, bytes});
  }
  HostTensor Scale(DType dtype = DType::kF32) const {
    return HostTensor::FromDoubles(dtype, {columns, groups()}, scales);
  }

  // Rows of `depth` numbers times the weights, plus the bias where there is one.
  std::vector<double> Times(const std::vector<double>& x, const std::vector<double>& bias) const {
    std::vector<double> y;
    for (size_t row = 0; row < x.size() / depth; ++row) {
      for (int64_t c = 0; c < columns; ++c) {
        double sum = bias.empty() ? 0 : bias[c];
        for (int64_t k = 0; k < depth; ++k) sum += x[row * depth + k] * At(c, k);
        y.push_back(sum);
      }
    }
    return y;
  }
};

// Pseudo-random numbers of a seed.
class NbitsRandom {
 public:
  explicit NbitsRandom(uint32_t seed) : state_(seed) {}
  // From `low` to `high`.
  int Next(int low, int high) {
    state_ = state_ * 1664525 + 1013904223;
    return low + static_cast<int>((state_ >> 8) % static_cast<uint32_t>(high - low + 1));
  }

 private:
  uint32_t state_;
};

// All numbers of the width; scales are 1/4, 1/2 or 1, so that sums of products with small integers
// are exact in f32, in any order.
inline NbitsMatrix MakeNbits(int bits, int64_t columns, int64_t depth, int64_t group,
                             bool has_zero_points, uint32_t seed = 1) {
  NbitsMatrix m;
  m.bits = bits;
  m.columns = columns;
  m.depth = depth;
  m.group = group;
  m.has_zero_points = has_zero_points;
  NbitsRandom random(seed);
  const int most = (1 << bits) - 1;
  for (int64_t i = 0; i < columns * depth; ++i) m.numbers.push_back(random.Next(0, most));
  for (int64_t i = 0; i < columns * m.groups(); ++i) {
    m.zero_points.push_back(random.Next(0, most));
    m.scales.push_back(std::ldexp(1.0, random.Next(-2, 0)));
  }
  return m;
}

// The same with zero points between two numbers, or with offsets.
inline NbitsMatrix MakeFloatNbits(int bits, int64_t columns, int64_t depth, int64_t group,
                                  bool offset, uint32_t seed = 1) {
  NbitsMatrix m = MakeNbits(bits, columns, depth, group, true, seed);
  NbitsRandom random(seed + 1);
  for (int64_t i = 0; i < columns * m.groups(); ++i) m.floats.push_back(random.Next(-31, 31) * 0.5);
  m.offset = offset;
  return m;
}

// Integers from -3 to 3.
inline std::vector<double> SmallIntegers(int64_t count, uint32_t seed = 5) {
  NbitsRandom random(seed);
  std::vector<double> values(count);
  for (double& v : values) v = random.Next(-3, 3);
  return values;
}

}  // namespace weft

#endif  // WEFT_TESTS_SUPPORT_NBITS_H_
