// The ops of the IR itself; every registry has them.
#ifndef WEFT_GRAPH_IR_BUILTIN_OPS_H_
#define WEFT_GRAPH_IR_BUILTIN_OPS_H_

namespace weft {

class OpDef;

namespace ops {
// constant(int id): element `id` of the module's constant store.
extern const OpDef constant;
// The last node of every graph; its operands are the graph's outputs.
extern const OpDef return_;
}  // namespace ops

}  // namespace weft

#endif  // WEFT_GRAPH_IR_BUILTIN_OPS_H_
