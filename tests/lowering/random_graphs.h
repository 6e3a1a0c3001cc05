// Random programs of the ops that lowering handles specially.
#ifndef WEFT_TESTS_LOWERING_RANDOM_GRAPHS_H_
#define WEFT_TESTS_LOWERING_RANDOM_GRAPHS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "graph/ir/module.h"
#include "graph/tensor/tensor.h"

namespace weft {

struct RandomProgram {
  std::unique_ptr<Module> module;
  std::vector<HostTensor> inputs;
};

// f32 in [-1, 1] and i64 indices; values stay within a few powers of two. Some
// sizes are symbols. Some groups of nodes are `fused` nodes.
RandomProgram MakeRandomProgram(uint64_t seed);

// The same program, which at its end also writes new values to some inputs: updates
// of several kinds, values of the program, and the values of other inputs.
RandomProgram MakeRandomUpdate(uint64_t seed);

}  // namespace weft

#endif  // WEFT_TESTS_LOWERING_RANDOM_GRAPHS_H_
