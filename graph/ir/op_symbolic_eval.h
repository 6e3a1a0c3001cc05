// SymbolicEvalContext: one evaluation of an op on small integer tensors whose elements are
// symbolic, as its SymbolicEval sees it.
#ifndef WEFT_GRAPH_IR_OP_SYMBOLIC_EVAL_H_
#define WEFT_GRAPH_IR_OP_SYMBOLIC_EVAL_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "graph/ir/attrs.h"
#include "graph/sym/sym_int.h"
#include "graph/tensor/type.h"

namespace weft {

class AttrList;
class OpDef;
class SymbolTable;

// Operands and the one result are i32, i64 or bool tensors of constant dims; all operands are
// present. Elements are in row-major order, those of bool are 0 or 1, and unknown ones are
// Invalid(). They are taken to fit in the dtype.
class SymbolicEvalContext {
 public:
  using Elements = std::vector<SymInt>;

  // `in` and what it points to outlive this.
  SymbolicEvalContext(const OpDef& op, const AttrList* attrs, const SymbolTable& symbols,
                      absl::Span<const Elements* const> in, Types in_types, Type out_type);

  Attrs attrs() const;
  // Facts about the symbols.
  const SymbolTable& symbols() const { return symbols_; }
  int num_inputs() const { return static_cast<int>(in_.size()); }
  const Elements& in(int i) const { return *in_[i]; }
  Type in_type(int i) const { return in_types_[i]; }
  Type out_type() const { return out_type_; }
  // As many unknown elements as the result has.
  Elements& out() { return out_; }

 private:
  const OpDef& op_;
  const AttrList* attrs_;
  const SymbolTable& symbols_;
  absl::Span<const Elements* const> in_;
  Types in_types_;
  Type out_type_;
  Elements out_;
};

}  // namespace weft

#endif  // WEFT_GRAPH_IR_OP_SYMBOLIC_EVAL_H_
