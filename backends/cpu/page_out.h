// Memory that is mostly not read any more.
#ifndef WEFT_BACKENDS_CPU_PAGE_OUT_H_
#define WEFT_BACKENDS_CPU_PAGE_OUT_H_

#include <cstdint>

namespace weft::cpu {

// Advice that the pages within may leave memory: those of a file, such as weights that
// have been packed. What is read after all comes back.
void PageOut(const void* data, int64_t bytes);

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_PAGE_OUT_H_
