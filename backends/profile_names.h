// Source nodes and rules of a node, as the profiler is told them.
#ifndef WEFT_BACKENDS_PROFILE_NAMES_H_
#define WEFT_BACKENDS_PROFILE_NAMES_H_

#include <string>
#include <vector>

#include "graph/ir/ids.h"

namespace weft {

class Module;

// The source nodes; a merged kernel may stand for thousands, of which the first ones are named.
std::vector<std::string> ProfileSources(const Module& module, ProvenanceId id);

// The passes and rules that led to a node, the latest first, each once: "freeze",
// "canonicalize.mul-one". Bounded, as the sources are.
std::vector<std::string> ProfileRules(const Module& module, OriginId id);

}  // namespace weft

#endif  // WEFT_BACKENDS_PROFILE_NAMES_H_
