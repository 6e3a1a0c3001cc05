// The memory of a GPU, for tensors of programs (DeviceSpace).
#ifndef WEFT_BACKENDS_CUDA_SPACE_H_
#define WEFT_BACKENDS_CUDA_SPACE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "backends/backend.h"
#include "backends/cuda/driver/libraries.h"

namespace weft::cuda {

// FailedPrecondition if there is no such GPU.
absl::StatusOr<std::shared_ptr<DeviceSpace>> OpenSpace(const Libraries& libraries, int ordinal);

}  // namespace weft::cuda

#endif  // WEFT_BACKENDS_CUDA_SPACE_H_
