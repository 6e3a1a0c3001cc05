// The inputs of a run, wherever they lie.
#ifndef WEFT_BACKENDS_RUNTIME_RUN_INPUT_H_
#define WEFT_BACKENDS_RUNTIME_RUN_INPUT_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "backends/runtime/device_tensor.h"
#include "graph/tensor/dtype.h"
#include "graph/tensor/tensor.h"

namespace weft {

// A reference to the caller's tensor.
class RunInput {
 public:
  RunInput(const HostTensor& tensor) : host_(&tensor) {}  // NOLINT(google-explicit-constructor)
  RunInput(const DeviceTensor& tensor)                    // NOLINT(google-explicit-constructor)
      : host_(&tensor.host()), device_(tensor.on_host() ? nullptr : &tensor) {}

  // The tensor in the host's memory; null if it lies in the device's.
  const HostTensor* host() const { return device_ == nullptr ? host_ : nullptr; }
  // The tensor in the device's memory; null if it lies in the host's.
  const DeviceTensor* device() const { return device_; }

  bool valid() const { return device_ != nullptr || host_->valid(); }
  DType dtype() const { return device_ != nullptr ? device_->dtype() : host_->dtype(); }
  absl::Span<const int64_t> dims() const {
    return device_ != nullptr ? device_->dims() : host_->dims();
  }
  int rank() const { return static_cast<int>(dims().size()); }
  int64_t dim(int i) const { return dims()[i]; }
  int64_t numel() const { return device_ != nullptr ? device_->numel() : host_->numel(); }

 private:
  const HostTensor* host_;
  const DeviceTensor* device_ = nullptr;
};

}  // namespace weft

#endif  // WEFT_BACKENDS_RUNTIME_RUN_INPUT_H_
