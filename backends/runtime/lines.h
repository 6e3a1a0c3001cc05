// The lines of a dense tensor along a dim.
#ifndef WEFT_BACKENDS_RUNTIME_LINES_H_
#define WEFT_BACKENDS_RUNTIME_LINES_H_

#include <cstdint>

#include "backends/runtime/run_view.h"

namespace weft {

// Element k of line (o, i) is at (o * size + k) * inner + i.
struct Lines {
  int64_t outer = 1, size = 1, inner = 1;

  int64_t count() const { return outer * inner; }
};

// A negative dim counts from the end. False if the view has no such dim.
inline bool FindLines(const RunView& view, int64_t dim, Lines* lines) {
  if (dim < 0) dim += view.rank();
  if (dim < 0 || dim >= view.rank()) return false;
  for (int d = 0; d < view.rank(); ++d) {
    (d < dim ? lines->outer : d == dim ? lines->size : lines->inner) *= view.dims[d];
  }
  return true;
}

}  // namespace weft

#endif  // WEFT_BACKENDS_RUNTIME_LINES_H_
