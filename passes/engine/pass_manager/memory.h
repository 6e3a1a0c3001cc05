// Memory of the process, as the system reports it; 0 if it does not.
#ifndef WEFT_PASSES_ENGINE_PASS_MANAGER_MEMORY_H_
#define WEFT_PASSES_ENGINE_PASS_MANAGER_MEMORY_H_

#include <cstdint>

namespace weft {

struct MemoryUse {
  int64_t resident = 0;
  int64_t peak = 0;
};

MemoryUse ReadMemoryUse();

}  // namespace weft

#endif  // WEFT_PASSES_ENGINE_PASS_MANAGER_MEMORY_H_
