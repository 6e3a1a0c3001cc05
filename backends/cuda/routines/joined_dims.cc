#include "backends/cuda/routines/joined_dims.h"

#include <cstddef>

namespace weft::cuda {

std::vector<Dim> Join(const std::vector<Dim>& dims) {
  std::vector<Dim> joined;
  for (const Dim& dim : dims) {
    if (dim.size == 1) continue;
    bool continues = !joined.empty();
    for (size_t t = 0; continues && t < dim.strides.size(); ++t) {
      continues = joined.back().strides[t] == dim.strides[t] * dim.size;
    }
    if (continues) {
      joined.back() = {joined.back().size * dim.size, dim.strides};
    } else {
      joined.push_back(dim);
    }
  }
  return joined;
}

}  // namespace weft::cuda
