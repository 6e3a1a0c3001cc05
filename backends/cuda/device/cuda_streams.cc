// The order of a device's work among that of the caller's streams, and the caller's memory.
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "backends/cuda/device/cuda_device.h"
#include "base/status_macros.h"

namespace weft::cuda {

absl::Status CudaDevice::MakeEvents() {
  for (CuEvent* event : {&before_, &behind_}) {
    if (*event != nullptr) continue;
    WEFT_RETURN_IF_ERROR(
        Check(driver_.event_create(event, kCuEventDisableTiming), "cuEventCreate"));
  }
  return absl::OkStatus();
}

absl::Status CudaDevice::WaitFor(CuStream stream) {
  int captures = 0;
  WEFT_RETURN_IF_ERROR(
      Check(driver_.stream_is_capturing(stream, &captures), "cuStreamIsCapturing"));
  if (captures != 0) {
    return absl::FailedPreconditionError("the caller's stream is captured, which a run cannot be");
  }
  WEFT_RETURN_IF_ERROR(MakeEvents());
  WEFT_RETURN_IF_ERROR(Check(driver_.event_record(before_, stream), "cuEventRecord"));
  return Check(driver_.stream_wait_event(stream_, before_, 0), "cuStreamWaitEvent");
}

absl::Status CudaDevice::Hold(CuStream stream) {
  WEFT_RETURN_IF_ERROR(MakeEvents());
  WEFT_RETURN_IF_ERROR(Check(driver_.event_record(behind_, stream_), "cuEventRecord"));
  return Check(driver_.stream_wait_event(stream, behind_, 0), "cuStreamWaitEvent");
}

absl::StatusOr<bool> CudaDevice::HasReachedHold() {
  if (behind_ == nullptr) return true;
  const CuResult reached = driver_.event_query(behind_);
  if (reached == kCuNotReady) return false;
  WEFT_RETURN_IF_ERROR(Check(reached, "cuEventQuery"));
  return true;
}

absl::Status CudaDevice::CheckAddress(const void* address) {
  unsigned type = 0;
  int ordinal = -1;
  CuPointerAttribute which[] = {kCuPointerMemoryType, kCuPointerDevice};
  void* values[] = {&type, &ordinal};
  WEFT_RETURN_IF_ERROR(
      Check(driver_.pointer_attributes(2, which, values, reinterpret_cast<uintptr_t>(address)),
            "cuPointerGetAttributes"));
  if (type != kCuDeviceMemory) {
    return absl::InvalidArgumentError("its address is not in the memory of a GPU");
  }
  if (ordinal == ordinal_) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("its address is in the memory of GPU ", ordinal, ", not ", ordinal_));
}

}  // namespace weft::cuda
