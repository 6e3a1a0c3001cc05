// Constants that routines keep in a form of their own.
#ifndef WEFT_BACKENDS_CUDA_ROUTINES_PACKED_WEIGHTS_H_
#define WEFT_BACKENDS_CUDA_ROUTINES_PACKED_WEIGHTS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "backends/cuda/device/cuda_device.h"
#include "backends/runtime/device.h"

namespace weft::cuda {

// Code for other sizes uses the same memory. It is freed with the last code that uses it.
class PackedWeights {
 public:
  // The device outlives it.
  explicit PackedWeights(CudaDevice& device) : device_(device) {}

  // Memory of `bytes` bytes. If there is none for `key`, calls `pack` with new memory: it submits
  // work that writes it. The key has what the content depends on, the address of the constant among
  // it.
  template <typename Pack>
  absl::StatusOr<std::shared_ptr<DeviceMemory>> Find(const std::string& key, int64_t bytes,
                                                     Pack pack) {
    std::weak_ptr<DeviceMemory>& known = all_[key];
    if (std::shared_ptr<DeviceMemory> memory = known.lock()) return memory;
    auto made = device_.Allocate(bytes, profiler::MemoryCategory::kConstant);
    if (!made.ok()) return made.status();
    std::shared_ptr<DeviceMemory> memory = *std::move(made);
    const absl::Status packed = pack(memory->data());
    if (!packed.ok()) return packed;
    known = memory;
    return memory;
  }

 private:
  CudaDevice& device_;
  std::map<std::string, std::weak_ptr<DeviceMemory>> all_;
};

}  // namespace weft::cuda

#endif  // WEFT_BACKENDS_CUDA_ROUTINES_PACKED_WEIGHTS_H_
