// How many threads share the lines of a dense tensor.
#ifndef WEFT_BACKENDS_CPU_LIBRARY_LINES_H_
#define WEFT_BACKENDS_CPU_LIBRARY_LINES_H_

#include <algorithm>
#include <cstdint>

#include "backends/runtime/lines.h"

namespace weft::cpu {

// Threads for `tasks` tasks over all elements of the lines.
inline int ThreadsOfLines(const Lines& lines, int64_t tasks, int threads) {
  constexpr int64_t kElementsOfAThread = 1 << 14;
  const int64_t elements = lines.count() * lines.size;
  const int64_t most = std::min<int64_t>(tasks, threads);
  return static_cast<int>(
      std::clamp<int64_t>(elements / kElementsOfAThread, 1, std::max<int64_t>(most, 1)));
}

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_LIBRARY_LINES_H_
