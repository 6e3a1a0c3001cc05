// Kernels that are functions of one byte, as activations between quantized tensors are: 256 results
// say all.
#ifndef WEFT_BACKENDS_CPU_INTERPRETER_BYTE_FUNCTION_H_
#define WEFT_BACKENDS_CPU_INTERPRETER_BYTE_FUNCTION_H_

#include <array>
#include <cstdint>
#include <optional>

#include "backends/cpu/kernels/byte_map.h"
#include "backends/cpu/kernels/tile_ops.h"
#include "graph/sym/sym_int.h"
#include "lowering/kernel.h"

namespace weft::cpu {

struct ByteFunction {
  // Arguments of the kernel.
  int from = 0;
  int to = 0;
  SymInt elements;  // Side by side in both.
  std::array<uint8_t, kByteValues> table = {};
};

// Nullopt for a kernel that is anything else, or so cheap that a table would not be faster. The
// results are the interpreter's, in every bit.
std::optional<ByteFunction> FindByteFunction(const Kernel& kernel, const TileTable& table);

// A kernel that finishes a routine's result (lowering/finish_kernel.h) in two parts: the first one
// ends with 8 bits, and the second is a function of these alone, which gives 8 bits.
struct ByteTail {
  Kernel head;
  DType middle = DType::kU8;  // What the head gives.
  std::array<uint8_t, kByteValues> table = {};
};
std::optional<ByteTail> FindByteTail(const Kernel& kernel, const TileTable& table);

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_INTERPRETER_BYTE_FUNCTION_H_
