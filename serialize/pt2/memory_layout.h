// Decides by the strides in the file which results share memory with an argument.
#ifndef WEFT_SERIALIZE_PT2_MEMORY_LAYOUT_H_
#define WEFT_SERIALIZE_PT2_MEMORY_LAYOUT_H_

#include "serialize/pt2/exported_program.h"

namespace weft::pt2 {

// For operators that return a view if possible and else a copy (reshape, flatten, contiguous, to):
// true if this node copies. False for other operators.
bool CopiesByLayout(const NodeDef& node, const GraphDef& graph);

}  // namespace weft::pt2

#endif  // WEFT_SERIALIZE_PT2_MEMORY_LAYOUT_H_
