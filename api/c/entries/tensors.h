// Tensors of Weft as those of the C interface, and back, without copies.
#ifndef WEFT_API_C_ENTRIES_TENSORS_H_
#define WEFT_API_C_ENTRIES_TENSORS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "api/c/weft.h"
#include "graph/tensor/dtype.h"
#include "graph/tensor/tensor.h"

namespace weft::c {

struct ManagedDeleter {
  void operator()(weft_managed_tensor* tensor) const {
    if (tensor->deleter != nullptr) tensor->deleter(tensor);
  }
};
using OwnedTensor = std::unique_ptr<weft_managed_tensor, ManagedDeleter>;

weft_dl_type TypeFrom(DType dtype);

// Where the elements of a caller's tensor lie, on whichever device.
struct TensorLayout {
  DType dtype = DType::kF32;
  std::vector<int64_t> dims;
  std::vector<int64_t> strides;
  uint8_t* data = nullptr;  // Null without elements.
  int64_t bytes = 0;        // From the first to behind the last one.
};

// InvalidArgument for a tensor that is malformed.
absl::StatusOr<TensorLayout> ReadLayout(const weft_tensor& tensor);
// True for memory that the host reads: kDLCPU, and kDLCUDAHost, which is page-locked.
bool IsOnHost(const weft_dl_device& device);
// The status of a caller's tensor, with its name.
absl::Status NameTensor(const absl::Status& status, absl::string_view name);

// A view of the caller's memory. InvalidArgument, with `name` before the reason, for a tensor that
// is malformed or not in host memory; the memory itself is believed, except for bools, whose bytes
// must be 0 or 1.
absl::StatusOr<HostTensor> BorrowTensor(const weft_tensor& tensor, absl::string_view name);

// The same, on memory that the result keeps alive.
absl::StatusOr<HostTensor> TakeTensor(OwnedTensor tensor, absl::string_view name);

// A copy in memory of its own, dense.
HostTensor CopyTensor(const HostTensor& tensor);

// A weft_tensor that shows a tensor, with what it points to. Its memory is the tensor's, dense for
// 4-bit elements.
struct TensorView {
  weft_tensor tensor = {};
  HostTensor memory;
  std::vector<int64_t> dims;
  std::vector<int64_t> strides;
};
std::unique_ptr<TensorView> ViewTensor(HostTensor tensor);

// Gives the tensor away. `read_only`: something else has a part in its memory.
OwnedTensor GiveTensor(HostTensor tensor, bool read_only);

}  // namespace weft::c

#endif  // WEFT_API_C_ENTRIES_TENSORS_H_
