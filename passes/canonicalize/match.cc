#include "passes/canonicalize/match.h"

#include <vector>

#include "graph/ops/evaluate.h"
#include "graph/ops/ops.h"

namespace weft::canonicalize {

Value* BuildValue(const Match& m, Rewriter& rewriter) { return m.value; }

Value* BuildFolded(const OpDef& op, absl::Span<Value* const> operands, Rewriter& rewriter) {
  std::vector<HostTensor> inputs;
  for (const Value* v : operands) inputs.push_back(*LiteralOf(v));
  auto outputs = Evaluate(op, AttrList::Empty(), inputs);
  if (!outputs.ok()) return nullptr;
  return rewriter.Constant((*outputs)[0]);
}

Value* BuildSplat(const Match& m, double number, Rewriter& rewriter) {
  const Type type = m.root->result()->type();
  Value* scalar = rewriter.Scalar(type.dtype(), number);
  return rewriter.Op(ops::expand, {scalar}, {{"size", type.dims()}});
}

}  // namespace weft::canonicalize
