// Bytes through a table: compiled once for each instruction set; as in tile_ops.h, no inline
// functions.
#ifndef WEFT_BACKENDS_CPU_KERNELS_BYTE_MAP_H_
#define WEFT_BACKENDS_CPU_KERNELS_BYTE_MAP_H_

#include <cstdint>

namespace weft::cpu {

inline constexpr int kByteValues = 256;

// to[i] = table[from[i]] for n bytes; `to` may be `from`.
using ByteMapFn = void (*)(const uint8_t* table, const uint8_t* from, int64_t n, uint8_t* to);

ByteMapFn Avx2ByteMap();
ByteMapFn Avx512ByteMap();

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_KERNELS_BYTE_MAP_H_
