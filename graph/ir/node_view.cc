#include "graph/ir/node_view.h"

#include "base/check.h"
#include "graph/ir/builtin_ops.h"
#include "graph/ir/node.h"
#include "graph/ir/op_def.h"

namespace weft {

int OperandRange::size() const { return node_->num_operands() - first_; }

Value* OperandRange::operator[](int i) const { return node_->operand(first_ + i); }

NodeView::NodeView(const Node& node, const OpDef& op) : AttrView(node) {
  WEFT_CHECK(node.Is(op)) << "a view of " << op.name() << " on a node of " << node.op().name();
}

NodeView::NodeView(const Node& node, bool (*is_op)(const OpDef& op)) : AttrView(node) {
  WEFT_CHECK(is_op(node.op())) << "a shared view on a node of " << node.op().name();
}

Value* NodeView::Operand(int i) const {
  return i < node_->num_operands() ? node_->operand(i) : nullptr;
}

Graph* NodeView::Region(int i) const { return node_->region(i); }

namespace ops {

ConstantView::ConstantView(const Node& node) : NodeView(node, constant) {}

}  // namespace ops

}  // namespace weft
