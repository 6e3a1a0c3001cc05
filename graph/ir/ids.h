// The ids by which nodes refer to the tables of their module.
#ifndef WEFT_GRAPH_IR_IDS_H_
#define WEFT_GRAPH_IR_IDS_H_

#include <cstdint>

namespace weft {

// A set of source names, in provenance.h; 0 is the empty set.
using ProvenanceId = uint32_t;

// The pass, rule and rewrite that made a node (origin.h); 0 for nodes of the source program.
using OriginId = uint32_t;

}  // namespace weft

#endif  // WEFT_GRAPH_IR_IDS_H_
