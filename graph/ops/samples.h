// Makes inputs for the samples of ops (OpSpec::Samples; text.h has the form).
//
// A sample's types may contain symbols, in sizes and in attributes; it then represents one instance
// in which every symbol has a small value.
#ifndef WEFT_GRAPH_OPS_SAMPLES_H_
#define WEFT_GRAPH_OPS_SAMPLES_H_

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "graph/text/text.h"

namespace weft {

class HostTensor;

// Gives each symbol of the sample a value: 3, 4, 5, ... in order of appearance.
Sample Instantiate(const Sample& sample);

// Types of the operands; Type() for absent ones.
std::vector<Type> SampleTypes(const Sample& sample);

// One tensor per operand (invalid for absent ones; i64 scalars for symint operands). Elements are
// the given values, repeated as needed, or drawn from the given range; by default from [-2, 2] for
// floats, [-4, 4] for integers ([0, 4] for unsigned ones). The same seed gives the same tensors
// everywhere. Requires constant sizes.
std::vector<HostTensor> SampleInputs(const Sample& sample, uint64_t seed);

}  // namespace weft

#endif  // WEFT_GRAPH_OPS_SAMPLES_H_
