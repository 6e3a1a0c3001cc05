#include "passes/engine/rewrite/replacement.h"

#include <algorithm>
#include <vector>

#include "graph/ir/node.h"
#include "graph/ir/op_def.h"
#include "graph/ir/op_schema.h"
#include "graph/ops/evaluate.h"
#include "graph/tensor/tensor.h"
#include "passes/engine/rewrite/constants.h"

namespace weft {
namespace {

// The constant that an op without attributes computes from small constants; null if it is not such
// a case.
Value* BuildComputed(const OpDef& op, absl::Span<Value* const> operands, Rewriter& rewriter) {
  if (operands.empty() || !op.schema().attrs.empty() ||
      !std::all_of(operands.begin(), operands.end(), IsSmallConstant)) {
    return nullptr;
  }
  std::vector<HostTensor> inputs;
  for (const Value* v : operands) inputs.push_back(*LiteralOf(v));
  const auto outputs = Evaluate(op, AttrList::Empty(), inputs);
  if (!outputs.ok() || outputs->size() != 1) return nullptr;
  return rewriter.Constant(outputs->front());
}

// As deep as the pattern.
Value* BuildNode(const Pattern& pattern, int i, const Match& m, Rewriter& rewriter) {
  const PatternNode& node = pattern.node(i);
  if (node.kind == PatternNode::Kind::kAny) {
    return node.variable < 0 ? nullptr : m.bound[node.variable];
  }
  if (node.kind == PatternNode::Kind::kConstant && node.has_splat) {
    const DType dtype = m.root->result()->type().dtype();
    return rewriter.Scalar(dtype, node.splat);
  }
  if (node.kind != PatternNode::Kind::kOp || node.op == nullptr) {
    return nullptr;
  }
  std::vector<Value*> operands;
  int operand = i + 1;
  for (int k = 0; k < node.num_operands; ++k) {
    operands.push_back(BuildNode(pattern, operand, m, rewriter));
    if (operands.back() == nullptr) return nullptr;
    operand += pattern.node(operand).size;
  }
  Value* computed = i == 0 ? nullptr : BuildComputed(*node.op, operands, rewriter);
  return computed != nullptr ? computed : rewriter.Op(*node.op, operands);
}

}  // namespace

Value* BuildReplacement(const Match& m, Rewriter& rewriter) {
  const Replacement& replacement = m.rule->replacement;
  if (replacement.build != nullptr) return replacement.build(m, rewriter);
  return BuildNode(replacement.pattern, 0, m, rewriter);
}

}  // namespace weft
