// OpArgs: an op and its operands, as arguments of Verify, Infer, Fold and Decompose.
#ifndef WEFT_GRAPH_IR_OP_ARGS_H_
#define WEFT_GRAPH_IR_OP_ARGS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/ir/attrs.h"
#include "graph/sym/sym_int.h"
#include "graph/tensor/type.h"

namespace weft {

class AttrList;
class Graph;
class OpDef;
class SymbolTable;
class Value;

// An op applied to operands, before or after a node exists for it.
struct OpArgs {
  const OpDef* op = nullptr;
  // Null entries are absent optional operands.
  absl::Span<Value* const> operands;
  // Type() for absent operands.
  absl::Span<const Type> types;
  const AttrList* attr_list = nullptr;
  absl::Span<Graph* const> regions;
  // Facts about symbols; data-dependent ops declare new symbols here.
  SymbolTable* symbols = nullptr;
  // Assumptions (guards) on sizes that Verify and Infer make; may be null. The op fails at run time
  // if one of them is false.
  std::vector<SymInt>* needs = nullptr;

  int size() const { return static_cast<int>(types.size()); }
  bool has(int i) const { return i < size() && types[i].kind() != Type::Kind::kNone; }
  Type type(int i) const { return types[i]; }
  // Requires that operands are set, which they are not during Infer on bare types.
  Value* operand(int i) const { return operands[i]; }
  Attrs attrs() const;
  // False if the condition provably does not hold. A condition that is unknown becomes an
  // assumption.
  bool MayHold(SymInt condition) const;
};

// Verify, then Infer. The error names the op.
absl::StatusOr<Types> InferTypes(const OpArgs& args);

}  // namespace weft

#endif  // WEFT_GRAPH_IR_OP_ARGS_H_
