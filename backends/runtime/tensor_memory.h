// New tensors, parts of tensors and copies, in the memory where a run keeps its tensors. All
// tensors are dense.
#ifndef WEFT_BACKENDS_RUNTIME_TENSOR_MEMORY_H_
#define WEFT_BACKENDS_RUNTIME_TENSOR_MEMORY_H_

#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backends/runtime/device_tensor.h"
#include "backends/runtime/plan_runtime.h"
#include "graph/tensor/dtype.h"

namespace weft {

class TensorMemory {
 public:
  // `runtime` outlives it. New tensors lie on the host if `on_host`, else in the device's memory.
  TensorMemory(PlanRuntime& runtime, bool on_host) : runtime_(runtime), on_host_(on_host) {}

  // The address of the first element, on the host or the device.
  static char* AddressOf(const DeviceTensor& tensor);
  // Arbitrary content.
  absl::StatusOr<DeviceTensor> New(DType dtype, absl::Span<const int64_t> dims);
  // A tensor at an address where the device works, which outlives it.
  absl::StatusOr<DeviceTensor> Borrow(char* address, DType dtype,
                                      absl::Span<const int64_t> dims) const;
  // Rows [first, first + count) along dim 0; they share the memory. Unimplemented if they do not
  // begin with a byte.
  static absl::StatusOr<DeviceTensor> Rows(const DeviceTensor& tensor, int64_t first,
                                           int64_t count);
  // The same for one row, without the dim.
  static absl::StatusOr<DeviceTensor> Row(const DeviceTensor& tensor, int64_t row);
  // True if steps can read and write the tensor where it lies.
  static bool IsAligned(const DeviceTensor& tensor);
  // The tensor, or an aligned copy.
  absl::StatusOr<DeviceTensor> Aligned(DeviceTensor tensor);
  // Copies the elements; dtypes and dims are equal. Both tensors may be dropped then.
  absl::Status Copy(const DeviceTensor& from, const DeviceTensor& to);
  // The same to an address where the device works.
  absl::Status CopyTo(const DeviceTensor& from, char* to);
  // The element of an integer or bool tensor that has one; waits for the work that computes it.
  absl::StatusOr<int64_t> ReadInt(const DeviceTensor& tensor);

 private:
  PlanRuntime& runtime_;
  const bool on_host_;
};

// Tensors of one type, stacked along a new first dim.
class TensorStack {
 public:
  // `memory` outlives it.
  explicit TensorStack(TensorMemory& memory) : memory_(memory) {}

  // The memory of all rows that there will be; without it the stack grows.
  void Reserve(DeviceTensor all) { all_ = std::move(all); }
  // Memory for the next row that a step can write; invalid if there is none yet.
  absl::StatusOr<DeviceTensor> Next();
  // Adds a tensor, which may be that of Next(). InvalidArgument if its type is another one than
  // that of the rows: "is f32[2] in one step and f32[3] in another".
  absl::Status Add(const DeviceTensor& tensor);
  int64_t rows() const { return rows_; }
  // The rows.
  absl::StatusOr<DeviceTensor> Take() const;

 private:
  absl::Status Grow(const DeviceTensor& row);

  TensorMemory& memory_;
  DeviceTensor all_;            // Invalid: there are no rows, and none were reserved.
  const char* next_ = nullptr;  // The memory that Next() gave last.
  int64_t rows_ = 0;
};

}  // namespace weft

#endif  // WEFT_BACKENDS_RUNTIME_TENSOR_MEMORY_H_
