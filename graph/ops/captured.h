// Which operands of control flow its nested graphs see as they are.
#ifndef WEFT_GRAPH_OPS_CAPTURED_H_
#define WEFT_GRAPH_OPS_CAPTURED_H_

#include "graph/core/graph.h"

namespace weft::ops {

// The operand that input `input` of the nested graphs of `node` is, at every run of
// them: an operand of `cond`, a captured one of `loop` and `scan`. -1 for what differs
// from run to run (an iteration, a carried value, a slice) and for other ops.
int CapturedOperand(const Node& node, int input);

// The first operand that nested graphs of `node` see in any form.
int FirstOperandSeen(const Node& node);

}  // namespace weft::ops

#endif  // WEFT_GRAPH_OPS_CAPTURED_H_
