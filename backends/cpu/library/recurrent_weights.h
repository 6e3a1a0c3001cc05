// Weights and biases of recurrent layers in the order of gemm_tile.h and recurrent_tile.h.
#ifndef WEFT_BACKENDS_CPU_LIBRARY_RECURRENT_WEIGHTS_H_
#define WEFT_BACKENDS_CPU_LIBRARY_RECURRENT_WEIGHTS_H_

#include <cstdint>

namespace weft::cpu {

// Gates [first, first + count) of weights [gates * hidden, depth], packed by blocks of one vector
// of units. Vector u * count + g has gate g of block u; units beyond `hidden` are zeros. Panels of
// `per_panel` vectors (fewer in the last one) lie behind one another, each [depth, vectors, lanes].
struct GatePacking {
  int64_t hidden = 0;
  int64_t depth = 0;
  int64_t lanes = 0;
  int64_t first = 0;
  int64_t count = 1;
  int64_t per_panel = 1;

  int64_t blocks() const { return (hidden + lanes - 1) / lanes; }
  int64_t vectors() const { return blocks() * count; }
  int64_t floats() const { return vectors() * lanes * depth; }
};

void PackGates(const GatePacking& packing, const float* from, float* to);

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_LIBRARY_RECURRENT_WEIGHTS_H_
