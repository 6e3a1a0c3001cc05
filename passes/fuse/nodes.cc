#include "passes/fuse/nodes.h"

#include <algorithm>
#include <iterator>

#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ir/op_def.h"
#include "graph/ir/op_map.h"
#include "graph/ir/op_schema.h"
#include "graph/ops/nn.h"
#include "graph/ops/ops.h"
#include "graph/ops/reduce.h"
#include "graph/sym/sym_facts.h"

namespace weft {
namespace {

// Along the dim that `dim` names.
const OpDef* const kAlongDim[] = {&ops::softmax, &ops::log_softmax};
// Over the last dims.
const OpDef* const kOverLast[] = {&ops::native_layer_norm, &ops::rms_norm};

template <size_t n>
bool IsAnyOf(const Node& node, const OpDef* const (&ops)[n]) {
  return std::find(std::begin(ops), std::end(ops), &node.op()) != std::end(ops);
}

// Reductions of one operand along whole dims.
bool ReducesDims(const Node& node) {
  return node.op().has(kReduction) && node.num_operands() == 1 && node.num_results() == 1 &&
         node.op().map() != nullptr;
}

// The sizes that are not 1 are equal, in order.
bool DiffersInOnes(Type a, Type b) {
  const auto skip = [](absl::Span<const SymInt> dims, size_t* i) {
    while (*i < dims.size() && dims[*i].Is(1)) ++*i;
  };
  size_t i = 0, j = 0;
  for (;; ++i, ++j) {
    skip(a.dims(), &i);
    skip(b.dims(), &j);
    if (i == a.dims().size() || j == b.dims().size()) break;
    if (a.dims()[i] != b.dims()[j]) return false;
  }
  return i == a.dims().size() && j == b.dims().size();
}

std::vector<int> LastDims(int rank, int count) {
  std::vector<int> axes;
  for (int d = rank - count; d < rank; ++d) axes.push_back(d);
  return axes;
}

std::vector<int> AxesOf(const Node& node) {
  const int rank = node.operand(0)->type().rank();
  if (IsAnyOf(node, kOverLast)) {
    return LastDims(rank, static_cast<int>(ops::NormOverLastView(node).normalized_shape().size()));
  }
  if (IsAnyOf(node, kAlongDim)) {
    const int64_t dim = ops::AnySoftmaxView(node).dim();
    return {static_cast<int>(dim < 0 ? dim + rank : dim)};
  }
  const auto map = MapOf(node);
  return map ? ReducedDims(*map) : std::vector<int>();
}

// Each dim of the result is one of the operand's, or repeats its elements; none is taken apart.
bool MovesDims(const ElementMap& map) {
  if (!map.IsStrided() || map.accesses[0].form != OperandAccess::Form::kIndices) return false;
  std::vector<bool> used(map.rank, false);
  for (const MapIndex& index : map.accesses[0].at) {
    if (index.terms.size() > 1) return false;
    for (const MapTerm& term : index.terms) {
      if (used[term.var]) return false;
      used[term.var] = true;
    }
  }
  return true;
}

// Composites that lowering decomposes to elementwise ops, where kernels have their integers.
bool IsQuantizer(const Node& node) {
  if (!node.Is(ops::quantize_linear) && !node.Is(ops::dequantize_linear)) return false;
  const bool narrows = node.Is(ops::quantize_linear);
  const DType dtype = (narrows ? node.result() : node.operand(0))->type().dtype();
  return IsInt(dtype) && DTypeBits(dtype) >= 8;
}

}  // namespace

bool IsPointwise(const Node& node) {
  if ((!node.op().has(kPointwise) && !IsQuantizer(node)) || !node.op().is_pure()) return false;
  if (node.num_results() != 1 || node.num_regions() != 0) return false;
  if (!node.result()->type().is_tensor()) return false;
  if (IsComplex(node.result()->type().dtype())) return false;
  for (int i = 0; i < node.num_operands(); ++i) {
    if (!node.has_operand(i)) continue;
    const Type type = node.operand(i)->type();
    if (!type.is_tensor() || IsComplex(type.dtype())) return false;
  }
  return true;
}

bool IsView(const Node& node) {
  if (!node.op().has(kDataMovement) || !node.op().schema().views || node.num_results() != 1) {
    return false;
  }
  const auto map = MapOf(node);
  if (!map || map->accesses[0].operand != 0) return false;
  if (map->accesses[0].form != OperandAccess::Form::kSameNumber) return MovesDims(*map);
  return DiffersInOnes(node.operand(0)->type(), node.result()->type());
}

bool SameDims(absl::Span<const SymInt> a, absl::Span<const SymInt> b, const SymbolTable& symbols) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i]) continue;
    if (a[i].is_constant() && b[i].is_constant()) return false;
    if (symbols.ProveEq(a[i], b[i]) != Proof::kYes) return false;
  }
  return true;
}

bool SameSpace(const Node& a, const Node& b) {
  return SameDims(a.result()->type().dims(), b.result()->type().dims(),
                  a.graph()->module().symbols());
}

bool IsReduction(const Node& node) {
  if (node.num_regions() != 0 || node.num_operands() == 0 || !node.has_operand(0) ||
      !node.operand(0)->type().is_tensor() || IsComplex(node.operand(0)->type().dtype())) {
    return false;
  }
  return ReducesDims(node) || IsAnyOf(node, kAlongDim) || IsAnyOf(node, kOverLast) ||
         node.Is(ops::group_norm);
}

ReductionSpace SpaceOf(const Node& reduction) {
  const Type type = reduction.operand(0)->type();
  ReductionSpace space;
  space.dims.assign(type.dims().begin(), type.dims().end());
  if (reduction.Is(ops::group_norm)) {
    space.alone = true;
    for (int i = 1; i < type.rank(); ++i) space.axes.push_back(i);
  } else {
    space.axes = AxesOf(reduction);
  }
  return space;
}

}  // namespace weft
