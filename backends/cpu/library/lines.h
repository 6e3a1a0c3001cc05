// The lines of a dense tensor along a dim.
#ifndef WEFT_BACKENDS_CPU_LIBRARY_LINES_H_
#define WEFT_BACKENDS_CPU_LIBRARY_LINES_H_

#include <algorithm>
#include <cstdint>

#include "backends/runtime/run_view.h"

namespace weft::cpu {

// Element k of line (o, i) is at (o * size + k) * inner + i.
struct Lines {
  int64_t outer = 1, size = 1, inner = 1;
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

// Threads for `tasks` tasks over all elements of the lines.
inline int ThreadsOfLines(const Lines& lines, int64_t tasks, int threads) {
  constexpr int64_t kElementsOfAThread = 1 << 14;
  const int64_t elements = lines.outer * lines.size * lines.inner;
  const int64_t most = std::min<int64_t>(tasks, threads);
  return static_cast<int>(
      std::clamp<int64_t>(elements / kElementsOfAThread, 1, std::max<int64_t>(most, 1)));
}

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_LIBRARY_LINES_H_
