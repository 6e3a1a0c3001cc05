// Facts about compiled kernels, from the compiler's log.
#ifndef WEFT_BACKENDS_CUDA_DEVICE_KERNEL_FACTS_H_
#define WEFT_BACKENDS_CUDA_DEVICE_KERNEL_FACTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace weft::cuda {

struct KernelFacts {
  std::string name;
  int registers = 0;         // Of a thread.
  int64_t stack_bytes = 0;   // Of a thread, in local memory.
  int64_t spill_bytes = 0;   // Stores of spilled registers; 0: none are spilled.
  int64_t shared_bytes = 0;  // Static shared memory of a block.
};

// Reads what ptxas writes with -v. Kernels in the order of the log; other lines are skipped.
std::vector<KernelFacts> ReadKernelFacts(absl::string_view log);

}  // namespace weft::cuda

#endif  // WEFT_BACKENDS_CUDA_DEVICE_KERNEL_FACTS_H_
