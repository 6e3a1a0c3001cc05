#include "graph/ir/node_view.h"

#include "base/check.h"
#include "graph/ir/attr.h"
#include "graph/ir/node.h"
#include "graph/ir/op_def.h"

namespace weft {

int OperandRange::size() const { return node_->num_operands() - first_; }

Value* OperandRange::operator[](int i) const { return node_->operand(first_ + i); }

NodeView::NodeView(const Node& node, const OpDef& op) : node_(&node) {
  WEFT_CHECK(node.Is(op)) << "a view of " << op.name() << " on a node of " << node.op().name();
}

NodeView::NodeView(const Node& node, bool (*is_op)(const OpDef& op)) : node_(&node) {
  WEFT_CHECK(is_op(node.op())) << "a shared view on a node of " << node.op().name();
}

Value* NodeView::Operand(int i) const {
  return i < node_->num_operands() ? node_->operand(i) : nullptr;
}

Graph* NodeView::Region(int i) const { return node_->region(i); }

const AttrValue& NodeView::Attr(int i) const { return (*node_->attr_list())[i]; }

template <typename T>
const T& NodeView::Get(int i) const {
  const T* value = Attr(i).get_if<T>();
  WEFT_CHECK(value != nullptr) << node_->op().name() << ": attribute " << i << " is "
                               << Attr(i).ToString();
  return *value;
}

bool NodeView::Bool(int i) const { return Get<bool>(i); }
int64_t NodeView::Int(int i) const { return Sym(i).value(); }
SymInt NodeView::Sym(int i) const { return Get<SymInt>(i); }
double NodeView::Float(int i) const { return Get<double>(i); }
const std::string& NodeView::Str(int i) const { return Get<std::string>(i); }
DType NodeView::Dtype(int i) const { return Get<DType>(i); }

std::vector<int64_t> NodeView::Ints(int i) const {
  std::vector<int64_t> ints;
  for (SymInt s : Syms(i)) ints.push_back(s.value());
  return ints;
}
absl::Span<const SymInt> NodeView::Syms(int i) const { return Get<std::vector<SymInt>>(i); }
absl::Span<const double> NodeView::Floats(int i) const { return Get<std::vector<double>>(i); }
absl::Span<const std::string> NodeView::Strs(int i) const {
  return Get<std::vector<std::string>>(i);
}

std::optional<bool> NodeView::OptionalBool(int i) const {
  return Attr(i).present() ? std::optional(Bool(i)) : std::nullopt;
}
std::optional<int64_t> NodeView::OptionalInt(int i) const {
  return Attr(i).present() ? std::optional(Int(i)) : std::nullopt;
}
std::optional<SymInt> NodeView::OptionalSym(int i) const {
  return Attr(i).present() ? std::optional(Sym(i)) : std::nullopt;
}
std::optional<double> NodeView::OptionalFloat(int i) const {
  return Attr(i).present() ? std::optional(Float(i)) : std::nullopt;
}
std::optional<absl::string_view> NodeView::OptionalStr(int i) const {
  return Attr(i).present() ? std::optional<absl::string_view>(Str(i)) : std::nullopt;
}

}  // namespace weft
