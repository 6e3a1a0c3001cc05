// Places in the scratch memory of a call, each at the beginning of a cache line.
#ifndef WEFT_BACKENDS_CPU_LIBRARY_SCRATCH_PLAN_H_
#define WEFT_BACKENDS_CPU_LIBRARY_SCRATCH_PLAN_H_

#include <cstdint>

#include "base/align.h"

namespace weft::cpu {

class ScratchPlan {
 public:
  // Where the next so many bytes lie.
  int64_t Place(int64_t bytes) {
    const int64_t at = bytes_;
    bytes_ += AlignUp(bytes, kCacheLine);
    return at;
  }
  // Of all places.
  int64_t bytes() const { return bytes_; }

 private:
  int64_t bytes_ = 0;
};

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_LIBRARY_SCRATCH_PLAN_H_
