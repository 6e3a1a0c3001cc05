// Concatenations: operands are computed in the result where that is legal.
//
// This is legal for a value that a step computes and that only the concatenation reads, once
// (through reshapes and permutes that strides can express): the step is then the only writer of the
// piece, and the piece has no other contents before or after. The size of the result must be known
// before the first step.
#include <utility>

#include "base/status_macros.h"
#include "graph/ir/graph.h"
#include "graph/ir/node.h"
#include "graph/ir/op_def.h"
#include "graph/ops/ops.h"
#include "graph/ops/shape.h"
#include "graph/ops/support/infer.h"
#include "lowering/graph_lowering.h"
#include "lowering/views.h"

namespace weft {
namespace {

bool IsConcat(const Node& node) { return node.Is(ops::cat) || node.Is(ops::stack); }

// Views have no step that could write elsewhere.
bool IsComputed(const Node& node) {
  return !node.Is(ops::constant) && !IsView(node.op()) &&
         (node.Is(ops::fused) || !node.op().has(kControlFlow)) && !node.op().has(kDataDependent);
}

}  // namespace

View GraphLowering::PieceOf(const Node& concat, int k, const View& result) {
  const Type type = concat.operand(k)->type();
  View piece = result;
  piece.type = type;
  const bool stack = concat.Is(ops::stack);
  const int64_t given = stack ? ops::StackView(concat).dim() : ops::CatView(concat).dim();
  const int dim = *ops::NormalizeDim(given, result.type.rank());
  SymInt start = stack ? SymInt(k) : SymInt(0);
  for (int i = 0; i < k && !stack; ++i) {
    start = start + concat.operand(i)->type().dim(dim);
  }
  piece.offset = piece.offset + start * piece.strides[dim];
  if (stack) piece.strides.erase(piece.strides.begin() + dim);
  return piece;
}

// Visits from last to first, so that a concatenation inside of another has its place before its own
// operands are placed.
void GraphLowering::PlaceConcats(const Graph& graph) {
  if (!options_.place_concats) return;
  for (Node* node = graph.return_node()->prev(); node != nullptr; node = node->prev()) {
    if (IsConcat(*node) && node->has_uses() && !IsLate(node->result()->type().numel()) &&
        DTypeBits(node->result()->type().dtype()) >= 8) {
      PlaceOperands(*node);
    }
  }
}

void GraphLowering::PlaceOperands(const Node& concat) {
  for (int k = 0; k < concat.num_operands(); ++k) {
    const Value* value = concat.operand(k);
    Placement placement;
    placement.concat = &concat;
    placement.piece = k;
    while (value->node() != nullptr && value->has_one_use() &&
           IsRearranged(sizes_, *value->node())) {
      placement.views.push_back(value->node());
      value = value->node()->operand(0);
    }
    if (value->node() == nullptr || !value->has_one_use() || !IsComputed(*value->node())) {
      continue;
    }
    // Only the strides of the result, not its location, decide whether the views are possible.
    View result;
    result.buffer = 0;
    result.type = concat.result()->type();
    result.strides = DenseStrides(result.type.dims());
    std::optional<View> place = PieceOf(concat, k, result);
    for (const Node* view : placement.views) {
      place = OperandOfView(sizes_, *view, *place);
      if (!place) break;
    }
    if (place) placements_.emplace(value, std::move(placement));
  }
}

View GraphLowering::PlacedView(const Value* value) {
  // Up to the outermost concatenation, and down again.
  std::vector<const Value*> chain = {value};
  while (true) {
    const Node* concat = placements_.at(chain.back()).concat;
    if (reserved_.contains(concat->result())) break;
    if (!placements_.contains(concat->result())) {
      reserved_[concat->result()] =
          NewPlace(concat->result(), absl::StrCat("v", concat->result()->id()));
      break;
    }
    chain.push_back(concat->result());
  }
  View view;
  for (auto it = chain.rbegin(); it != chain.rend(); ++it) {
    const Placement& placement = placements_.at(*it);
    const View result = reserved_.at(placement.concat->result());
    view = PieceOf(*placement.concat, placement.piece, result);
    for (const Node* op : placement.views) {
      std::optional<View> operand = OperandOfView(sizes_, *op, view);
      if (!operand) {
        // If strides of an outer concatenation do not allow it, a copy follows.
        operand = NewBuffer(op->operand(0)->type(), "piece");
      }
      view = *std::move(operand);
    }
    if (IsConcat(*(*it)->node())) reserved_[*it] = view;
  }
  return view;
}

absl::StatusOr<bool> GraphLowering::LowerConcat(const Node& node) {
  if (!IsConcat(node) || DTypeBits(node.result()->type().dtype()) < 8) {
    return false;
  }
  const Value* result = node.result();
  const auto reserved = reserved_.find(result);
  View whole;
  if (reserved != reserved_.end()) {
    whole = reserved->second;
    Alias(result, whole);
  } else {
    whole = DefineResult(result, /*dense=*/false);
  }
  for (int k = 0; k < node.num_operands(); ++k) {
    WEFT_ASSIGN_OR_RETURN(const View from, PlaceOf(node.operand(k)));
    const View to = PieceOf(node, k, whole);
    if (from.buffer == to.buffer && from.offset == to.offset) continue;
    if (to.type.numel().Is(0)) continue;
    AddCopy(from, to);
  }
  return true;
}

}  // namespace weft
