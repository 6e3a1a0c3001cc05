// The text that stands before kernels, and the one behind them, when the host's compiler compiles
// them.
#ifndef WEFT_BACKENDS_CUDA_EMULATE_KERNEL_HEADER_H_
#define WEFT_BACKENDS_CUDA_EMULATE_KERNEL_HEADER_H_

#include <string>
#include <vector>

namespace weft::cuda::emulate {

// Declares what CUDA declares by itself, and the emulation's versions of what the prelude of
// backends/cuda/emit leaves to it: pointers that check their ranges, shared memory that reports
// reads of what was not written and accesses that no barrier separates.
std::string KernelHeader();

// Names of the kernels in the text: W_KERNEL(threads) NAME(...).
std::vector<std::string> KernelNames(const std::string& text);

// Makes the kernel's entry, a symbol with that name behind "weft_entry_".
std::string EntryText(const std::string& kernel);

}  // namespace weft::cuda::emulate

#endif  // WEFT_BACKENDS_CUDA_EMULATE_KERNEL_HEADER_H_
