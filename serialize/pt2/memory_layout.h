// Which results share memory with an argument, by the strides in the file.
#ifndef WEFT_SERIALIZE_PT2_MEMORY_LAYOUT_H_
#define WEFT_SERIALIZE_PT2_MEMORY_LAYOUT_H_

#include "serialize/pt2/exported_program.h"

namespace weft::pt2 {

// Of operators that give a view when they can and a copy when they cannot
// (reshape, flatten, contiguous, to): whether this node copies. False for other
// operators.
bool CopiesByLayout(const NodeDef& node, const GraphDef& graph);

}  // namespace weft::pt2

#endif  // WEFT_SERIALIZE_PT2_MEMORY_LAYOUT_H_
