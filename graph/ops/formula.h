// Ops that a formula over other ops defines:
//
//   swish(x, float beta = 1.0) = x * sigmoid(beta * x)
//
// A formula op is a composite: executors run its decomposition, so that it is fused and compiled
// as if the model had the ops of the formula. One whose ops are all pointwise is pointwise.
//
// A number in a formula has the dtype of the values beside it: of the last operand of its op that
// is neither a number nor bool, else of the formula's first operand. A pointwise formula of f16,
// bf16 or f8 operands is computed in f32 and rounded once, as ATen computes its own ops, unless it
// reads their bits (bitcast).
#ifndef WEFT_GRAPH_OPS_FORMULA_H_
#define WEFT_GRAPH_OPS_FORMULA_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/ir/attr.h"
#include "graph/ops/dynamic_op.h"
#include "graph/tensor/dtype.h"

namespace weft::ops {

// An attribute of an op in a formula.
struct FormulaAttr {
  std::string name;
  AttrValue value;
  int from = -1;  // Index of the formula op's own attribute that gives the value, or -1.
};

struct FormulaNode {
  enum class Kind {
    kOperand,  // Operand `index` of the formula op.
    kNumber,   // `number`.
    kAttr,     // Attribute `index` of the formula op, an int or a float, as a number.
    kOp,       // `op` of `inputs`, which come before this node.
  };
  Kind kind = Kind::kOperand;
  int index = -1;
  double number = 0;
  const OpDef* op = nullptr;
  std::vector<int> inputs;
  std::vector<FormulaAttr> attrs;
};

// In the order in which they are computed; the last one, a kOp, is the result.
using Formula = std::vector<FormulaNode>;

class FormulaOp : public DynamicOp {
 public:
  // Limits that keep the work for an op small: nodes of a formula, nodes after the formulas of
  // other ops are inserted, and such ops within each other.
  static constexpr int kMaxNodes = 256;
  static constexpr int kMaxExpandedNodes = 4096;
  static constexpr int kMaxDepth = 16;

  // InvalidArgument, without a place, for a formula that exceeds a limit or leaves an operand out.
  // The ops of the formula
  // are pure and have one result, no nested graphs and no sizes as operands; they outlive this op.
  // The schema parses, and has one result.
  static absl::StatusOr<std::unique_ptr<const FormulaOp>> Make(OpTexts texts, Formula formula);

  const Formula& formula() const { return formula_; }

 private:
  FormulaOp(OpTexts texts, Formula formula);
  static absl::StatusOr<std::vector<Type>> Infer(const OpArgs& args);
  static std::vector<Value*> Decompose(Builder& b, const OpArgs& args);
  // Null for other ops.
  static const FormulaOp* From(const OpDef& op);

  const Formula formula_;
  int expanded_nodes_ = 0;
  int depth_ = 1;
};

}  // namespace weft::ops

#endif  // WEFT_GRAPH_OPS_FORMULA_H_
