#include "passes/fuse_nbits/pack.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "graph/ir/node.h"
#include "graph/ir/value.h"
#include "graph/ops/quant.h"

namespace weft {
namespace {

// Columns that are read together where they lie next to one another.
constexpr int64_t kBlockColumns = 64;

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Twice the values of f4e2m1 by code.
constexpr int8_t kTwiceF4[] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

// Integers of 4 or 8 bits, or twice the values of f4e2m1, by row-major index.
class Numbers {
 public:
  explicit Numbers(const HostTensor& tensor)
      : tensor_(tensor.Contiguous()),
        bytes_(tensor_.raw()),
        narrow_(DTypeBits(tensor.dtype()) == 4),
        halves_(tensor.dtype() == DType::kF4E2M1),
        is_signed_(halves_ || IsSignedInt(tensor.dtype())) {}

  int operator[](int64_t i) const {
    if (!narrow_) return is_signed_ ? static_cast<int8_t>(bytes_[i]) : bytes_[i];
    const int nibble = (bytes_[i / 2] >> (i % 2 * 4)) & 15;
    if (halves_) return kTwiceF4[nibble];
    return is_signed_ && nibble >= 8 ? nibble - 16 : nibble;
  }
  // The scale of a number is half of the scale of its element.
  bool halves() const { return halves_; }
  int64_t size() const { return tensor_.numel(); }
  bool is_signed() const { return is_signed_; }

 private:
  const HostTensor tensor_;
  const uint8_t* const bytes_;
  const bool narrow_;
  const bool halves_;
  const bool is_signed_;
};

// The zero points of a dequantize_linear that are floats; else null.
const HostTensor* FloatZeroPoints(const ops::DequantizeLinearView& view) {
  const HostTensor* zero = view.zero_point() == nullptr ? nullptr : LiteralOf(view.zero_point());
  return zero != nullptr && IsFloat(zero->dtype()) && IsInt(view.self()->type().dtype()) ? zero
                                                                                         : nullptr;
}

const HostTensor& LiteralOfOperand(const Value* value) { return *LiteralOf(value); }

bool FitFourBits(const HostTensor& tensor) {
  const Numbers numbers(tensor);
  const int low = numbers.is_signed() ? -8 : 0;
  for (int64_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] < low || numbers[i] > low + 15) return false;
  }
  return true;
}

// Where the scale or zero point of a column and a group stands.
class Places {
 public:
  explicit Places(const NbitsWeights& w)
      : shared_columns_(w.shared_columns),
        stride_of_column_(w.rows ? CeilDiv(w.depth, w.group) : 1),
        stride_of_group_(w.rows ? 1 : CeilDiv(w.columns, w.shared_columns)) {}
  int64_t operator()(int64_t column, int64_t group) const {
    return column / shared_columns_ * stride_of_column_ + group * stride_of_group_;
  }

 private:
  const int64_t shared_columns_;
  const int64_t stride_of_column_;
  const int64_t stride_of_group_;
};

// Puts a number of `bits` bits at place `i` of zeros; the low bits of a byte come first.
void Put(int value, int bits, int64_t i, uint8_t* to) {
  if (bits == 8) {
    to[i] = static_cast<uint8_t>(value);
  } else {
    to[i / 2] = static_cast<uint8_t>(to[i / 2] | value << (i % 2 * 4));
  }
}

void PackWeights(const NbitsProduct& p, const Numbers& numbers, int offset, HostTensor* to) {
  const NbitsWeights& w = p.weights;
  const int64_t row = to->dim(1) * to->dim(2);  // Bytes of a column.
  const int64_t column_stride = w.rows ? w.depth : 1;
  const int64_t step = w.rows ? 1 : w.columns;
  // Groups end with whole bytes, so weight k has place k.
  for (int64_t first = 0; first < w.columns; first += kBlockColumns) {
    const int64_t last = std::min(w.columns, first + kBlockColumns);
    for (int64_t k = 0; k < w.depth; ++k) {
      for (int64_t column = first; column < last; ++column) {
        Put(numbers[column * column_stride + k * step] + offset, p.bits, k,
            to->data<uint8_t>() + column * row);
      }
    }
  }
}

// Floats for each column and group, times `factor`.
absl::StatusOr<HostTensor> PackFloats(const NbitsProduct& p, const HostTensor& floats,
                                      double factor) {
  const Places places(p.weights);
  const int64_t columns = p.weights.columns;
  const int64_t groups = CeilDiv(p.weights.depth, p.group_size);
  const DType dtype = floats.dtype() == DType::kF8E8M0 ? DType::kF32 : floats.dtype();
  WEFT_ASSIGN_OR_RETURN(HostTensor packed, HostTensor::Allocate(dtype, {columns, groups}));
  const std::vector<double> given = floats.ReadDoubles();
  std::vector<double> values(columns * groups);
  for (int64_t column = 0; column < columns; ++column) {
    for (int64_t g = 0; g < groups; ++g) {
      values[column * groups + g] = given[places(column, g)] * factor;
    }
  }
  packed.WriteDoubles(values);
  return packed;
}

// Zero points that are numbers, plus `offset`; invalid where all are the middle of the range.
absl::StatusOr<HostTensor> PackZeroPoints(const NbitsProduct& p, const Value* zero_point,
                                          int offset) {
  const Places places(p.weights);
  const int64_t columns = p.weights.columns;
  const int64_t groups = CeilDiv(p.weights.depth, p.group_size);
  WEFT_ASSIGN_OR_RETURN(HostTensor packed,
                        HostTensor::Allocate(DType::kU8, {columns, CeilDiv(groups * p.bits, 8)}));
  const Numbers points(zero_point == nullptr ? HostTensor::ScalarInt(DType::kI8, 0)
                                             : LiteralOfOperand(zero_point));
  bool in_the_middle = true;
  for (int64_t column = 0; column < columns; ++column) {
    for (int64_t g = 0; g < groups; ++g) {
      const int zero = points[zero_point == nullptr ? 0 : places(column, g)] + offset;
      in_the_middle &= zero == 1 << (p.bits - 1);
      Put(zero, p.bits, g, packed.data<uint8_t>() + column * packed.dim(1));
    }
  }
  return in_the_middle ? HostTensor() : packed;
}

}  // namespace

bool FitsFourBits(const NbitsWeights& weights) {
  const ops::DequantizeLinearView view(*weights.dequantize);
  return FitFourBits(LiteralOfOperand(view.self())) &&
         (view.zero_point() == nullptr || FloatZeroPoints(view) != nullptr ||
          FitFourBits(LiteralOfOperand(view.zero_point())));
}

absl::StatusOr<NbitsConstants> PackNbits(const NbitsProduct& p) {
  const NbitsWeights& w = p.weights;
  const ops::DequantizeLinearView view(*w.dequantize);
  const int64_t groups = CeilDiv(w.depth, p.group_size);
  const Numbers numbers(LiteralOfOperand(view.self()));
  const int offset = numbers.is_signed() ? 1 << (p.bits - 1) : 0;
  NbitsConstants made;
  WEFT_ASSIGN_OR_RETURN(made.weight, HostTensor::Allocate(DType::kU8, {w.columns, groups,
                                                                       p.group_size * p.bits / 8}));
  PackWeights(p, numbers, offset, &made.weight);
  const double factor = numbers.halves() ? 0.5 : 1;
  WEFT_ASSIGN_OR_RETURN(made.scale, PackFloats(p, LiteralOfOperand(view.scale()), factor));
  const HostTensor* floats = w.offset != nullptr ? LiteralOf(w.offset) : FloatZeroPoints(view);
  if (floats != nullptr) {
    WEFT_ASSIGN_OR_RETURN(made.zero_point, PackFloats(p, *floats, 1));
  } else {
    WEFT_ASSIGN_OR_RETURN(made.zero_point, PackZeroPoints(p, view.zero_point(), offset));
  }
  return made;
}

}  // namespace weft
