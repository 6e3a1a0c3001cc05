#include "passes/fuse_attention/viewed_value.h"

#include <utility>

#include "graph/ir/attrs.h"
#include "graph/ir/node.h"
#include "graph/ir/op_def.h"
#include "graph/ops/shape.h"

namespace weft {

std::vector<SymInt> ViewedValue::dims() const {
  if (!views.empty()) return views.back().dims;
  const auto dims = base->type().dims();
  return std::vector<SymInt>(dims.begin(), dims.end());
}

bool ViewedValue::Is(const OpDef& op) const {
  return views.empty() ? base->IsResultOf(op) : views.back().op == &op;
}

ViewedValue::View ViewedValue::outermost() const {
  if (!views.empty()) return views.back();
  return {&base->node()->op(), base->node()->attr_list(), dims()};
}

void ViewedValue::DropOutermost() {
  if (views.empty()) {
    base = base->node()->operand(0);
  } else {
    views.pop_back();
  }
}

void ViewedValue::Reshape(const std::vector<SymInt>& size) {
  views.push_back({&ops::reshape, ops::ReshapeAttrs(size), size});
}

void ViewedValue::Expand(const std::vector<SymInt>& size) {
  views.push_back({&ops::expand, ops::ExpandAttrs(size), size});
}

void ViewedValue::Transpose() {
  const int rank = static_cast<int>(dims().size());
  std::vector<int64_t> order(rank);
  for (int i = 0; i < rank; ++i) order[i] = i;
  std::swap(order[rank - 1], order[rank - 2]);
  if (Is(ops::permute)) {
    const Attrs attrs(&ops::permute.schema(), outermost().attrs);
    const std::vector<int64_t> inner = ops::PermuteAttrView(attrs).dims();
    bool same = true;
    for (int i = 0; i < rank; ++i) {
      order[i] = inner[order[i]];
      same &= order[i] == i;
    }
    DropOutermost();
    if (same) return;
  }
  const std::vector<SymInt> before = dims();
  std::vector<SymInt> after;
  for (int64_t d : order) after.push_back(before[d]);
  views.push_back({&ops::permute, ops::PermuteAttrs(order), std::move(after)});
}

}  // namespace weft
