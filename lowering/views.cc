#include "lowering/views.h"

#include <cstdint>
#include <vector>

#include "graph/ir/node.h"
#include "graph/ir/op_def.h"
#include "graph/ir/op_map.h"
#include "graph/ir/op_schema.h"
#include "graph/ops/ops.h"

namespace weft {
namespace {

using Form = OperandAccess::Form;

// The map of a view's result, which reads operand 0; nothing for other nodes.
std::optional<ElementMap> MapOfView(const Sizes& sizes, const Node& node, int result) {
  if (!IsView(node.op())) return std::nullopt;
  std::optional<ElementMap> map = MapOf(node, result, sizes.symbols());
  if (map && (!map->IsStrided() || map->accesses[0].operand != 0)) map.reset();
  return map;
}

// Adds what `index` contributes to offset and strides where one step of it is `stride` elements.
void AddIndex(const MapIndex& index, SymInt stride, View* view) {
  view->offset = view->offset + index.offset * stride;
  for (const MapTerm& term : index.terms) {
    view->strides[term.var] = view->strides[term.var] + stride * term.factor;
  }
}

// The operand's dim that each dim of the result is; nothing unless that is a permutation, which
// leaves no element of the operand out.
std::optional<std::vector<int>> Permutation(const Sizes& sizes, const ElementMap& map, Type self,
                                            Type result) {
  const auto vars = PlainVariables(map);
  if (!vars || self.rank() != result.rank()) return std::nullopt;
  std::vector<int> dims(vars->size(), -1);
  for (size_t d = 0; d < vars->size(); ++d) {
    const int var = (*vars)[d];
    const bool whole = sizes.Equal(self.dim(static_cast<int>(d)), result.dim(var));
    if (!whole || dims[var] >= 0) return std::nullopt;
    dims[var] = static_cast<int>(d);
  }
  return dims;
}

}  // namespace

bool IsView(const OpDef& op) {
  return &op == &ops::clone || (op.has(kDataMovement) && op.schema().views);
}

bool CountsElements(const Sizes& sizes, const Node& node) {
  const auto map = MapOfView(sizes, node, 0);
  return map && map->accesses[0].form != Form::kIndices;
}

bool IsRearranged(const Sizes& sizes, const Node& node) {
  if (!node.op().schema().views) return false;
  const auto map = MapOfView(sizes, node, 0);
  if (!map) return false;
  return map->accesses[0].form == Form::kSameNumber ||
         Permutation(sizes, *map, node.operand(0)->type(), node.result()->type()).has_value();
}

std::optional<View> ViewOfNode(const Sizes& sizes, const Node& node, int result, const View& self) {
  if (node.num_operands() == 0 || !self.present()) return std::nullopt;
  const auto map = MapOfView(sizes, node, result);
  if (!map) return std::nullopt;
  const OperandAccess& access = map->accesses[0];
  const Type type = node.result(result)->type();
  std::optional<View> view;
  if (access.form == Form::kSameNumber) {
    view = ReshapeView(sizes, self, type.dims());
  } else if (access.form == Form::kIndices || IsDense(sizes, self)) {
    view = self;
    view->strides.assign(map->rank, SymInt(0));
    for (size_t d = 0; d < access.at.size(); ++d) {
      AddIndex(access.at[d], access.form == Form::kNumber ? SymInt(1) : self.strides[d], &*view);
    }
  }
  if (view) view->type = type;
  return view;
}

std::optional<View> OperandOfView(const Sizes& sizes, const Node& node, const View& view) {
  if (node.num_operands() == 0) return std::nullopt;
  const auto map = MapOfView(sizes, node, 0);
  if (!map) return std::nullopt;
  const Type type = node.operand(0)->type();
  if (map->accesses[0].form == Form::kSameNumber) return ReshapeView(sizes, view, type.dims());
  const auto dims = Permutation(sizes, *map, type, node.result()->type());
  if (!dims) return std::nullopt;
  View operand = view;
  operand.type = type;
  for (size_t i = 0; i < dims->size(); ++i) operand.strides[(*dims)[i]] = view.strides[i];
  return operand;
}

}  // namespace weft
