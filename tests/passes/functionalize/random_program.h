// Random programs of views, writes and reads.
#ifndef WEFT_TESTS_PASSES_FUNCTIONALIZE_RANDOM_PROGRAM_H_
#define WEFT_TESTS_PASSES_FUNCTIONALIZE_RANDOM_PROGRAM_H_

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

// With up to 30 steps: slices that overlap, transposes, expands, strided views
// and windows, views of views; writes of every kind to all of these; reads;
// clones; branches, loops and scans, nested as well, whose graphs do all this to
// memory of their own and to what they capture. Inputs and views are among the
// outputs. Of one dtype and few elements.
RandomProgram MakeRandomProgram(uint32_t seed);

}  // namespace weft

#endif  // WEFT_TESTS_PASSES_FUNCTIONALIZE_RANDOM_PROGRAM_H_
