#include "backends/cuda/routines/joined_dims.h"

namespace weft::cuda {

std::vector<Dim> Join(const std::vector<Dim>& dims) {
  std::vector<Dim> joined;
  for (const Dim& dim : dims) {
    if (dim.size == 1) continue;
    const auto continues = [&](int t) {
      return joined.back().strides[t] == dim.strides[t] * dim.size;
    };
    if (!joined.empty() && continues(0) && continues(1) && continues(2)) {
      joined.back() = {joined.back().size * dim.size,
                       {dim.strides[0], dim.strides[1], dim.strides[2]}};
    } else {
      joined.push_back(dim);
    }
  }
  return joined;
}

}  // namespace weft::cuda
