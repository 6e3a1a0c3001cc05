// What a pass may know of the device that the graph is compiled for.
#ifndef WEFT_PASSES_ENGINE_TARGET_INFO_H_
#define WEFT_PASSES_ENGINE_TARGET_INFO_H_

#include <cstdint>
#include <string>
#include <vector>

#include "graph/ir/op.h"

namespace weft {

// A value: passes hold no device and call no backend.
struct TargetInfo {
  std::string name = "reference";
  // Composite ops that the target runs itself: `decompose` keeps them.
  std::vector<const OpDef*> claims;
  // Bounds of what the target makes one kernel of: nodes, and tensors read.
  int64_t max_kernel_nodes = 64;
  int64_t max_kernel_inputs = 48;
};

}  // namespace weft

#endif  // WEFT_PASSES_ENGINE_TARGET_INFO_H_
