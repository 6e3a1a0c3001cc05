// Descriptions of nodes for the profiler.
#ifndef WEFT_BACKENDS_REFERENCE_NODE_PROFILE_H_
#define WEFT_BACKENDS_REFERENCE_NODE_PROFILE_H_

#include "absl/types/span.h"
#include "backends/runtime/symbol_env.h"
#include "profiler/description.h"

namespace weft {
class HostTensor;
class Node;
}  // namespace weft

namespace weft::reference {

// Operands and results, bytes, values of symbols, source nodes and rules. Data-dependent sizes of
// results are not known yet. Requires that a session records.
profiler::DescriptionId DescribeForProfile(const Node& node, absl::Span<const HostTensor> operands,
                                           const SymbolEnv& env);

}  // namespace weft::reference

#endif  // WEFT_BACKENDS_REFERENCE_NODE_PROFILE_H_
