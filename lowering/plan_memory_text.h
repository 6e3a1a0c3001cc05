// The memory of a plan for people, as comment lines of its text.
#ifndef WEFT_LOWERING_PLAN_MEMORY_TEXT_H_
#define WEFT_LOWERING_PLAN_MEMORY_TEXT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lowering/plan.h"

namespace weft {

// For example sizes, which the text names: the hints of symbols, else 2, or what their facts allow
// that is next to it.
//
//   // memory for batch=2: arena 36864 bytes (74240 without reuse), constants 353024
//   //     offset      bytes  steps  buffers
//   //          0      16384  0-3    %t0, %t1
//   // peak at step 2, convolution: 36864 bytes: %t0 16384, %t2 20480
//
// Steps count from 0. Buffers in one row have one place. Inputs, outputs, constants and buffers
// whose sizes depend on data are not in the arena. Nested plans have arenas of their own, which are
// not shown.
absl::StatusOr<std::string> DescribeMemory(const Plan& plan);

// Bytes of temporaries that are alive at each step, for the same sizes. Buffers whose sizes depend
// on data do not count.
struct LiveMemory {
  std::vector<int64_t> bytes;
  std::string sizes;  // " for s0=2, s1=8"; empty without symbols.
};
LiveMemory LiveMemoryOf(const Plan& plan);

}  // namespace weft

#endif  // WEFT_LOWERING_PLAN_MEMORY_TEXT_H_
