// Launches that are made once for the sizes of a step, and submitted with the addresses of each
// run.
#ifndef WEFT_BACKENDS_CUDA_DEVICE_PREPARED_LAUNCH_H_
#define WEFT_BACKENDS_CUDA_DEVICE_PREPARED_LAUNCH_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "backends/cuda/device/cuda_device.h"
#include "backends/cuda/device/operands.h"
#include "backends/runtime/step_launcher.h"

namespace weft::cuda {

// A launch of a kernel. Submit() allocates nothing.
class PreparedLaunch {
 public:
  PreparedLaunch(CuFunction function, const LaunchShape& shape)
      : function_(function), shape_(shape) {}

  // Parameters, in the kernel's order. The memory of an operand is written if it is a result.
  //
  // `operand`: its number in LaunchMemory::all; -1: a null pointer. The pointer is `begin` bytes
  // behind the operand's first element.
  void AddOperand(int operand, int64_t begin, const Extent& extent);
  // `bytes` bytes of the scratch memory from `begin` on; they are written.
  void AddScratch(int64_t bytes, int64_t begin = 0);
  // Memory that lives as long as the step; it is written.
  void AddFixed(const char* address, int64_t bytes);
  void AddValue(int64_t value);
  // A struct, as its bytes, in words of 8.
  void AddStruct(absl::string_view bytes);
  // All that is added between them are members of one struct, aligned to 8 bytes.
  void BeginStruct();
  void EndStruct() { in_struct_ = false; }

  // Words of 8 bytes so far.
  int64_t words() const { return static_cast<int64_t>(words_.size()); }
  // True if it has a parameter in these bytes of the scratch memory.
  bool TakesScratch(int64_t begin, int64_t bytes) const;

  absl::Status Submit(CudaDevice& device, const LaunchMemory& memory, const std::string& label);

 private:
  static constexpr int kScratch = -1;
  struct Pointer {
    int operand;
    int64_t begin;
    Extent extent;
    size_t word;   // Its number in words_.
    size_t range;  // Its number in operands_.
  };

  // Adds a parameter, or a member of the open struct.
  void AddWords(size_t count);

  const CuFunction function_;
  const LaunchShape shape_;
  std::vector<Pointer> pointers_;       // Those that differ from run to run.
  std::vector<uint64_t> words_;         // The bytes of the parameters.
  std::vector<size_t> begins_;          // By parameter: its first word.
  std::vector<void*> parameters_;       // By parameter: its address.
  std::vector<OperandRange> operands_;  // By pointer, in the order of the parameters.
  bool in_struct_ = false;
};

}  // namespace weft::cuda

#endif  // WEFT_BACKENDS_CUDA_DEVICE_PREPARED_LAUNCH_H_
