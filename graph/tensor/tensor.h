// Tensors in host memory: owned, borrowed or memory-mapped bytes, seen through
// dims and strides.
#ifndef WEFT_GRAPH_TENSOR_TENSOR_H_
#define WEFT_GRAPH_TENSOR_TENSOR_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/tensor/dtype.h"
#include "graph/tensor/type.h"

namespace weft {

class HostBuffer;

class HostTensor {
 public:
  HostTensor() = default;  // Empty: no buffer. `valid()` is false.
  // Zero-filled, contiguous. `dims` are not negative and their bytes fit in
  // memory (check loaded sizes with Allocate).
  HostTensor(DType dtype, absl::Span<const int64_t> dims);
  // As above, but an error when the byte size overflows or passes `max_bytes`.
  static absl::StatusOr<HostTensor> Allocate(DType dtype, absl::Span<const int64_t> dims,
                                             int64_t max_bytes);
  static absl::StatusOr<HostTensor> Allocate(DType dtype, absl::Span<const int64_t> dims) {
    return Allocate(dtype, dims, kDefaultMaxBytes);
  }
  // A view. `offset` and `strides` count elements; it is an error if the elements that the dims
  // reach are not all in the buffer. Empty strides mean contiguous.
  static absl::StatusOr<HostTensor> View(std::shared_ptr<HostBuffer> buffer, DType dtype,
                                         absl::Span<const int64_t> dims,
                                         absl::Span<const int64_t> strides = {},
                                         int64_t offset = 0);

  // Contiguous tensors from values, converted to `dtype`. The number of values
  // must match the dims.
  static HostTensor FromDoubles(DType dtype, absl::Span<const int64_t> dims,
                                absl::Span<const double> values);
  static HostTensor FromInts(DType dtype, absl::Span<const int64_t> dims,
                             absl::Span<const int64_t> values);
  static HostTensor Scalar(DType dtype, double value);
  static HostTensor ScalarInt(DType dtype, int64_t value);

  bool valid() const { return buffer_ != nullptr; }
  DType dtype() const { return dtype_; }
  int rank() const { return static_cast<int>(dims_.size()); }
  int64_t dim(int i) const { return dims_[i]; }
  absl::Span<const int64_t> dims() const { return dims_; }
  absl::Span<const int64_t> strides() const { return strides_; }
  int64_t offset() const { return offset_; }
  int64_t numel() const { return numel_; }
  // Bytes of the elements stored densely.
  int64_t bytes() const { return DTypeBytes(dtype_, numel_); }
  Type type() const;  // Tensor type with constant dims.
  bool is_contiguous() const;

  // Address of the first element; for 4-bit dtypes, of the byte that holds it.
  uint8_t* raw() const;
  template <typename T>
  T* data() const {
    return reinterpret_cast<T*>(raw());
  }
  const std::shared_ptr<HostBuffer>& buffer() const { return buffer_; }

  // A dense copy in row-major order; *this if it is already dense.
  HostTensor Contiguous() const;
  // The same elements with other dims; requires is_contiguous() and equal numel.
  HostTensor Reshaped(absl::Span<const int64_t> dims) const;

  // Elements in row-major order. Integers and bools are exact in ReadInts
  // (u64 keeps its bits); floats are exact in ReadDoubles. Reading floats as
  // ints truncates toward zero. Complex dtypes are refused by CHECK.
  std::vector<double> ReadDoubles() const;
  std::vector<int64_t> ReadInts() const;
  // One element by its row-major index.
  double DoubleAt(int64_t index) const;
  int64_t IntAt(int64_t index) const;
  // Overwrites all elements in row-major order. Floats round to nearest even
  // and overflow to infinity (f8: to NaN or the largest value, per format);
  // integers keep their low bits; bool is value != 0.
  void WriteDoubles(absl::Span<const double> values);
  void WriteInts(absl::Span<const int64_t> values);

  // Equal dtype, dims and bits.
  bool BitEqual(const HostTensor& other) const;
  // A hash of dtype, dims and bits; equal in every process.
  uint64_t Fingerprint() const;

  static constexpr int64_t kDefaultMaxBytes = int64_t{1} << 36;

 private:
  std::shared_ptr<HostBuffer> buffer_;
  DType dtype_ = DType::kF32;
  std::vector<int64_t> dims_;
  std::vector<int64_t> strides_;
  int64_t offset_ = 0;
  int64_t numel_ = 0;
};

// Row-major strides, in elements.
std::vector<int64_t> ContiguousStrides(absl::Span<const int64_t> dims);
// Product of the dims; nullopt on overflow or a negative dim.
std::optional<int64_t> CheckedNumel(absl::Span<const int64_t> dims);

// One element of a float dtype (f4*, f8*, f16, bf16, f32) from and to its bits.
double DecodeFloat(DType dtype, uint64_t bits);
// Rounds to nearest even. `saturate` clamps f8 overflow to the largest finite
// value; without it overflow gives the format's infinity or NaN. f4e2m1 always
// clamps, and makes minus zero of NaN. f8e8m0 takes the nearest power of two to
// the magnitude, ties to the larger one, and makes 2^-127 of zero.
uint64_t EncodeFloat(DType dtype, double value, bool saturate = false);

}  // namespace weft

#endif  // WEFT_GRAPH_TENSOR_TENSOR_H_
