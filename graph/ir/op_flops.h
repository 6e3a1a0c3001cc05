// FlopsArgs: an op and its sizes, as the slot `Flops` sees them. A node and a step of a plan are
// counted by the same formulas.
#ifndef WEFT_GRAPH_IR_OP_FLOPS_H_
#define WEFT_GRAPH_IR_OP_FLOPS_H_

#include "absl/types/span.h"
#include "graph/ir/attrs.h"
#include "graph/sym/sym_int.h"
#include "graph/tensor/type.h"

namespace weft {

class AttrList;
class OpDef;
struct OpFlops;

struct FlopsArgs {
  const OpDef* op = nullptr;
  const AttrList* attr_list = nullptr;
  absl::Span<const Type> operands;  // Type() for absent ones.
  absl::Span<const Type> results;

  Attrs attrs() const;
  bool has(int i) const;
  // Numbers of elements; 0 for what is not a tensor.
  SymInt result_size(int i = 0) const;
  SymInt operand_size(int i = 0) const;
};

// The rate that the slot of an op says, or its traits.
OpFlops FlopsRateOf(const OpDef& op);

// Invalid() for an op that says why it has no count.
SymInt CountFlops(const FlopsArgs& args);

// The divisions, roots and elementary functions among them, as far as the op tells.
SymInt CountFunctions(const FlopsArgs& args);

}  // namespace weft

#endif  // WEFT_GRAPH_IR_OP_FLOPS_H_
