#include "backends/cpu/library/recurrent_weights.h"

#include <algorithm>

namespace weft::cpu {

void PackGates(const GatePacking& packing, const float* from, float* to) {
  const int64_t lanes = packing.lanes;
  const int64_t depth = packing.depth;
  for (int64_t v = 0; v < packing.vectors(); ++v) {
    const int64_t panel = v / packing.per_panel * packing.per_panel;
    const int64_t width = std::min(packing.per_panel, packing.vectors() - panel) * lanes;
    float* vector = to + panel * lanes * depth + (v - panel) * lanes;
    const int64_t unit = v / packing.count * lanes;
    const int64_t gate = packing.first + v % packing.count;
    for (int64_t l = 0; l < lanes; ++l) {
      if (unit + l >= packing.hidden) {
        for (int64_t k = 0; k < depth; ++k) vector[k * width + l] = 0;
        continue;
      }
      const float* row = from + (gate * packing.hidden + unit + l) * depth;
      for (int64_t k = 0; k < depth; ++k) vector[k * width + l] = row[k];
    }
  }
}

}  // namespace weft::cpu
