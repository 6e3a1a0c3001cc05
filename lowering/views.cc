#include "lowering/views.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "graph/ir/node.h"
#include "graph/ops/shape.h"
#include "graph/ops/support/infer.h"
#include "graph/ops/support/sizes.h"
#include "graph/sym/sym_facts.h"
#include "graph/sym/sym_ops.h"

namespace weft {
namespace {

int DimOf(const Value* self, int64_t dim) { return *ops::NormalizeDim(dim, self->type().rank()); }

View Permute(const ops::PermuteView& permute, View view) {
  const View self = view;
  const std::vector<int> dims = *ops::NormalizeDims(permute.dims(), self.type.rank());
  for (size_t i = 0; i < dims.size(); ++i) {
    view.strides[i] = self.strides[dims[i]];
  }
  return view;
}

View Expand(const Sizes& sizes, const ops::ExpandView& expand, View view) {
  const View self = view;
  const auto size = expand.size();
  const size_t grown = size.size() - self.strides.size();
  view.strides.assign(size.size(), SymInt(0));
  for (size_t i = 0; i < self.strides.size(); ++i) {
    const SymInt from = self.type.dim(static_cast<int>(i));
    if (from.Is(1)) continue;
    const bool same = from.is_constant() || sizes.Equal(from, size[grown + i]);
    view.strides[grown + i] = same ? self.strides[i] : self.strides[i] * NotEqual(from, 1);
  }
  return view;
}

View Slice(const Sizes& sizes, const ops::SliceView& slice, View view) {
  const int dim = DimOf(slice.self(), slice.dim());
  const SymInt start = SliceStart(sizes, slice.start(), slice.self()->type().dim(dim));
  view.offset = view.offset + start * view.strides[dim];
  const SymInt length = slice.node().result()->type().dim(dim);
  if (!length.Is(0) && !length.Is(1)) {
    view.strides[dim] = view.strides[dim] * slice.step();
  }
  return view;
}

View Select(const Sizes& sizes, const ops::SelectView& select, View view) {
  const int dim = DimOf(select.self(), select.dim());
  const SymInt index = FromEnd(sizes, select.index(), select.self()->type().dim(dim));
  view.offset = view.offset + index * view.strides[dim];
  view.strides.erase(view.strides.begin() + dim);
  return view;
}

View Split(const ops::SplitWithSizesView& split, int result, View view) {
  const int dim = DimOf(split.self(), split.dim());
  SymInt start = 0;
  for (int i = 0; i < result; ++i) {
    start = start + split.split_sizes()[i];
  }
  view.offset = view.offset + start * view.strides[dim];
  return view;
}

View Unfold(const ops::UnfoldView& unfold, View view) {
  const int dim = DimOf(unfold.self(), unfold.dimension());
  view.strides.push_back(view.strides[dim]);
  view.strides[dim] = view.strides[dim] * unfold.step();
  return view;
}

View Diagonal(const ops::DiagonalView& diagonal, View view) {
  const int a = DimOf(diagonal.self(), diagonal.dim1());
  const int b = DimOf(diagonal.self(), diagonal.dim2());
  const int64_t offset = diagonal.offset();
  const SymInt stride = view.strides[a] + view.strides[b];
  view.offset = view.offset + (offset >= 0 ? view.strides[b] * offset : view.strides[a] * -offset);
  view.strides.erase(view.strides.begin() + std::max(a, b));
  view.strides.erase(view.strides.begin() + std::min(a, b));
  view.strides.push_back(stride);
  return view;
}

std::optional<View> AsStrided(const Sizes& sizes, const ops::AsStridedView& strided, View view) {
  if (!IsDense(sizes, view)) return std::nullopt;
  const auto strides = strided.stride();
  view.strides.assign(strides.begin(), strides.end());
  view.offset = view.offset + strided.storage_offset();
  return view;
}

}  // namespace

SymInt FromEnd(const Sizes& sizes, SymInt position, SymInt n) {
  if (position.Is(SymRange::kMin)) return 0;
  if (position.Is(SymRange::kMax)) return n;
  const SymRange range = sizes.symbols().RangeOf(position);
  if (range.min >= 0) return position;
  if (range.max < 0) return position + n;
  return position + n * Less(position, 0);
}

SymInt SliceStart(const Sizes& sizes, SymInt start, SymInt n) {
  const SymInt first = FromEnd(sizes, start, n);
  return ops::KnownMin(sizes.symbols(), ops::KnownMax(sizes.symbols(), first, 0), n);
}

std::optional<View> ViewOfNode(const Sizes& sizes, const Node& node, int result, const View& self) {
  std::optional<View> view;
  if (node.num_operands() == 0 || !self.present()) return view;
  if (node.Is(ops::reshape)) {
    view = ReshapeView(sizes, self, ops::ReshapeView(node).size());
  } else if (node.Is(ops::permute)) {
    view = Permute(ops::PermuteView(node), self);
  } else if (node.Is(ops::expand)) {
    view = Expand(sizes, ops::ExpandView(node), self);
  } else if (node.Is(ops::slice)) {
    view = Slice(sizes, ops::SliceView(node), self);
  } else if (node.Is(ops::select)) {
    view = Select(sizes, ops::SelectView(node), self);
  } else if (node.Is(ops::split_with_sizes)) {
    view = Split(ops::SplitWithSizesView(node), result, self);
  } else if (node.Is(ops::unfold)) {
    view = Unfold(ops::UnfoldView(node), self);
  } else if (node.Is(ops::diagonal)) {
    view = Diagonal(ops::DiagonalView(node), self);
  } else if (node.Is(ops::as_strided)) {
    view = AsStrided(sizes, ops::AsStridedView(node), self);
  } else if (node.Is(ops::clone)) {
    view = self;
  }
  if (view) view->type = node.result(result)->type();
  return view;
}

std::optional<View> OperandOfView(const Sizes& sizes, const Node& node, const View& view) {
  if (node.num_operands() == 0) return std::nullopt;
  const Type type = node.operand(0)->type();
  if (node.Is(ops::reshape)) {
    return ReshapeView(sizes, view, type.dims());
  }
  if (!node.Is(ops::permute)) return std::nullopt;
  View operand = view;
  operand.type = type;
  const std::vector<int> dims = *ops::NormalizeDims(ops::PermuteView(node).dims(), type.rank());
  for (size_t i = 0; i < dims.size(); ++i) {
    operand.strides[dims[i]] = view.strides[i];
  }
  return operand;
}

}  // namespace weft
