// What the profiler is told of tensors and nodes, in the words of torch's traces.
#ifndef WEFT_BACKENDS_PROFILE_NAMES_H_
#define WEFT_BACKENDS_PROFILE_NAMES_H_

#include <string>
#include <vector>

#include "graph/ir/ids.h"
#include "graph/tensor/dtype.h"

namespace weft {

class Module;

// Kineto's name of an element type: "float", "long int", ...
std::string ProfileTypeName(DType dtype);

// The source nodes; a merged kernel may stand for thousands, of which the first ones are named.
std::vector<std::string> ProfileSources(const Module& module, ProvenanceId id);

// The passes and rules that led to a node, the latest first, each once: "freeze",
// "canonicalize.mul-one". Bounded, as the sources are.
std::vector<std::string> ProfileRules(const Module& module, OriginId id);

}  // namespace weft

#endif  // WEFT_BACKENDS_PROFILE_NAMES_H_
