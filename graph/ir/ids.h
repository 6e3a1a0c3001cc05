// The ids that nodes carry into the tables of their module.
#ifndef WEFT_GRAPH_IR_IDS_H_
#define WEFT_GRAPH_IR_IDS_H_

#include <cstdint>

namespace weft {

// A set of source names, in provenance.h; 0 is the empty set.
using ProvenanceId = uint32_t;

// Which pass, rule and rewrite made a node, in origin.h; 0: it came with the program.
using OriginId = uint32_t;

}  // namespace weft

#endif  // WEFT_GRAPH_IR_IDS_H_
