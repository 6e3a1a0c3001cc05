#include "passes/engine/pass_manager/memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace weft {

MemoryUse ReadMemoryUse() {
  MemoryUse use;
  if (std::FILE* file = std::fopen("/proc/self/statm", "r")) {
    long long total = 0, resident = 0;  // NOLINT: the types of scanf.
    if (std::fscanf(file, "%lld %lld", &total, &resident) == 2) {
      use.resident = resident * sysconf(_SC_PAGESIZE);
    }
    std::fclose(file);
  }
  struct rusage usage;
  if (getrusage(RUSAGE_SELF, &usage) == 0) use.peak = int64_t{usage.ru_maxrss} << 10;
  // The kernel keeps the peak lazily.
  use.peak = std::max(use.peak, use.resident);
  return use;
}

}  // namespace weft
