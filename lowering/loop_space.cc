#include "lowering/loop_space.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "graph/ir/node.h"
#include "graph/ir/op_def.h"
#include "graph/ir/op_map.h"
#include "graph/ops/reduce.h"
#include "graph/ops/shape.h"
#include "graph/ops/support/infer.h"
#include "lowering/scalar_ops.h"
#include "lowering/views.h"

namespace weft {
namespace {

using ValueSet = absl::flat_hash_set<const Value*>;

// The point of the loop; loops of extent 1 have but one.
Index PointOf(absl::Span<const SymInt> extents, size_t loop) {
  return extents[loop].Is(1) ? ZeroIndex(extents.size()) : LoopIndex(extents.size(), loop);
}

// Finds out where values of some nodes stand, from those that are known.
class Propagation {
 public:
  Propagation(const Sizes& sizes, LoopSpace* space) : sizes_(sizes), space_(space) {}

  void Run(absl::Span<const Node* const> nodes) {
    // What a round finds leads on in both directions; chains that turn more
    // often than this are rare and cost a nest of their own.
    constexpr int kRounds = 4;
    for (int round = 0; round < kRounds; ++round) {
      const size_t before = space_->at.size();
      for (const Node* node : nodes) Forward(*node);
      for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) Backward(**it);
      if (space_->at.size() == before) return;
    }
  }

 private:
  size_t loops() const { return space_->extents.size(); }
  const Indices* Find(const Value* v) const {
    if (v == nullptr) return nullptr;
    const auto it = space_->at.find(v);
    return it == space_->at.end() ? nullptr : &it->second;
  }
  void Set(const Value* v, Indices at) {
    if (v != nullptr && v->type().is_tensor()) {
      space_->at.emplace(v, std::move(at));
    }
  }

  static bool IsPointwise(const Node& node) {
    return FindScalarOp(node.op()) != nullptr || node.Is(ops::tril) || node.Is(ops::triu);
  }

  void Forward(const Node& node) {
    const Value* result = node.result();
    if (node.num_results() != 1 || Find(result) != nullptr) return;
    if (IsPointwise(node)) return ForwardPointwise(node);
    const Indices* at = node.num_operands() > 0 ? Find(node.operand(0)) : nullptr;
    if (at == nullptr) return;
    if (node.Is(ops::expand)) return ForwardPointwise(node);
    const auto map = MapOfMove(node);
    if (!map) return;
    if (map->accesses[0].form == OperandAccess::Form::kSameNumber) {
      auto out = ReshapeIndices(sizes_, *at, space_->extents, node.operand(0)->type().dims(),
                                result->type().dims());
      if (out) Set(result, *std::move(out));
    } else {
      ForwardByMap(node, *map, *at);
    }
  }

  // The map of a view or of a reduction; nothing for other nodes.
  std::optional<ElementMap> MapOfMove(const Node& node) const {
    if (!IsView(node.op()) && !IsKernelReduction(node.op())) return std::nullopt;
    return MapOf(node, 0, sizes_.symbols());
  }

  // For each dim of operand 0 the variable that is its index; nothing where a view shows some
  // elements only, or one twice.
  std::optional<std::vector<int>> WholeDims(const Node& node, const ElementMap& map) const {
    auto vars = PlainVariables(map);
    if (!vars || !map.reduced.empty()) return vars;
    const Type self = node.operand(0)->type();
    std::vector<bool> met(map.rank, false);
    for (size_t d = 0; d < vars->size(); ++d) {
      const int var = (*vars)[d];
      const SymInt size = node.result()->type().dim(var);
      if (met[var] || !sizes_.Equal(self.dim(static_cast<int>(d)), size)) return std::nullopt;
      met[var] = true;
    }
    return vars;
  }

  // Dims of the result that no operand with a known place has take, in order,
  // the loops that are left.
  void ForwardPointwise(const Node& node) {
    const Type type = node.result()->type();
    const int rank = type.rank();
    Indices out(rank, ZeroIndex(loops()));
    std::vector<bool> known(rank, false);
    bool any = false;
    for (int i = 0; i < node.num_operands(); ++i) {
      const Indices* at = Find(node.operand(i));
      if (at == nullptr) continue;
      any = true;
      const Type operand = node.operand(i)->type();
      const int grown = rank - operand.rank();
      for (int d = 0; d < operand.rank(); ++d) {
        if (known[grown + d] || operand.dim(d) != type.dim(grown + d)) continue;
        out[grown + d] = (*at)[d];
        known[grown + d] = true;
      }
    }
    if (!any || !FillUnknown(type, &known, &out)) return;
    Set(node.result(), std::move(out));
  }

  bool FillUnknown(Type type, std::vector<bool>* known, Indices* out) {
    std::vector<bool> used(loops(), false);
    for (const Index& index : *out) {
      for (size_t l = 0; l < loops(); ++l) {
        used[l] = used[l] || !index.strides[l].Is(0);
      }
    }
    size_t loop = 0;
    for (int d = 0; d < type.rank(); ++d) {
      if ((*known)[d] || type.dim(d).Is(1)) continue;
      while (loop < loops() && (used[loop] || space_->extents[loop].Is(1))) {
        ++loop;
      }
      if (loop == loops() || !sizes_.Equal(space_->extents[loop], type.dim(d))) {
        return false;
      }
      (*out)[d].strides[loop++] = 1;
    }
    return true;
  }

  // Dims of the result that no dim of the operand is have one index, 0.
  void ForwardByMap(const Node& node, const ElementMap& map, const Indices& at) {
    const auto vars = WholeDims(node, map);
    if (!vars) return;
    Indices out(map.rank, ZeroIndex(loops()));
    int kept = 0;
    for (size_t d = 0; d < vars->size(); ++d) {
      if ((*vars)[d] >= map.rank) continue;
      out[(*vars)[d]] = at[d];
      ++kept;
    }
    if (kept < map.rank && map.reduced.empty()) return;
    Set(node.result(), std::move(out));
  }

  void Backward(const Node& node) {
    if (node.num_results() != 1) return;
    const Indices* at = Find(node.result());
    if (at == nullptr) return;
    if (IsPointwise(node) || node.Is(ops::expand)) {
      const Indices copy = *at;  // Set may move it.
      for (int i = 0; i < node.num_operands(); ++i) {
        BackwardBroadcast(node.operand(i), node.result()->type(), copy);
      }
      return;
    }
    const Value* self = node.num_operands() > 0 ? node.operand(0) : nullptr;
    if (self == nullptr || Find(self) != nullptr) return;
    const auto map = MapOfMove(node);
    if (!map) return;
    if (map->accesses[0].form == OperandAccess::Form::kSameNumber) {
      auto out = ReshapeIndices(sizes_, *at, space_->extents, node.result()->type().dims(),
                                self->type().dims());
      if (out) Set(self, *std::move(out));
    } else {
      BackwardByMap(node, *map, *at);
    }
  }

  void BackwardBroadcast(const Value* operand, Type result, const Indices& at) {
    if (operand == nullptr || Find(operand) != nullptr) return;
    const Type type = operand->type();
    if (!type.is_tensor()) return;
    const int grown = result.rank() - type.rank();
    Indices out;
    for (int d = 0; d < type.rank(); ++d) {
      if (type.dim(d) == result.dim(grown + d)) {
        out.push_back(at[grown + d]);
      } else if (type.dim(d).Is(1)) {
        out.push_back(ZeroIndex(loops()));
      } else {
        return;
      }
    }
    Set(operand, std::move(out));
  }

  // The dims that are reduced are the inner loops.
  void BackwardByMap(const Node& node, const ElementMap& map, const Indices& at) {
    const Value* self = node.operand(0);
    const auto vars = WholeDims(node, map);
    if (!vars) return;
    Indices out;
    size_t inner = space_->num_outer;
    for (size_t d = 0; d < vars->size(); ++d) {
      if ((*vars)[d] < map.rank) {
        out.push_back(at[(*vars)[d]]);
        continue;
      }
      const SymInt size = self->type().dim(static_cast<int>(d));
      if (inner == loops() || !sizes_.Equal(space_->extents[inner], size)) return;
      out.push_back(PointOf(space_->extents, inner++));
    }
    if (IsKernelReduction(node.op()) && inner != loops()) return;
    Set(self, std::move(out));
  }

  const Sizes& sizes_;
  LoopSpace* space_;
};

class Planner {
 public:
  Planner(const KernelGroup& group, const Sizes& sizes) : group_(group), sizes_(sizes) {
    FindComponents();
  }

  absl::StatusOr<std::vector<LoopSpace>> Run() {
    std::vector<LoopSpace> spaces;
    std::vector<bool> done(group_.outputs.size(), false);
    for (size_t o : OutputsInOrder()) {
      if (done[o]) continue;
      WEFT_ASSIGN_OR_RETURN(LoopSpace space, SpaceOf(o));
      for (int p : outputs_of_[ComponentOf(group_.outputs[o])]) {
        if (done[p] || !Covers(space, group_.outputs[p])) continue;
        space.outputs.push_back(p);
        done[p] = true;
      }
      if (!done[o]) {
        return absl::UnimplementedError(absl::StrCat("result ", o, " does not lie on the loops"));
      }
      WEFT_RETURN_IF_ERROR(AddPieces(std::move(space), &spaces));
    }
    return spaces;
  }

 private:
  // A nest over the whole of a concatenation would ask at each point which
  // operand it is in: there is one nest for each operand instead.
  absl::Status AddPieces(LoopSpace space, std::vector<LoopSpace>* spaces) {
    constexpr int kMaxPieces = 1024;
    size_t loop = 0;
    const Node* concat = FindConcat(space, &loop);
    if (concat == nullptr) {
      spaces->push_back(std::move(space));
      return absl::OkStatus();
    }
    if (concat->num_operands() > kMaxPieces) {
      return absl::UnimplementedError("a concatenation of many operands");
    }
    const int dim =
        *ops::NormalizeDim(ops::CatView(*concat).dim(), concat->result()->type().rank());
    SymInt start = 0;
    for (int k = 0; k < concat->num_operands(); ++k) {
      const SymInt size = concat->operand(k)->type().dim(dim);
      LoopSpace piece;
      piece.extents = space.extents;
      piece.extents[loop] = size;
      piece.num_outer = space.num_outer;
      piece.outputs = space.outputs;
      for (int o : space.outputs) {
        Indices at = space.at.at(group_.outputs[o]);
        for (Index& index : at) {
          index.offset = index.offset + index.strides[loop] * start;
          if (size.Is(1)) index.strides[loop] = 0;
        }
        piece.at.emplace(group_.outputs[o], std::move(at));
      }
      if (!size.Is(0)) spaces->push_back(std::move(piece));
      start = start + size;
    }
    return absl::OkStatus();
  }

  // A concatenation along one of the loops, in a group without reductions.
  const Node* FindConcat(const LoopSpace& space, size_t* loop) {
    const Value* output = group_.outputs[space.outputs[0]];
    const auto& nodes = nodes_of_[ComponentOf(output)];
    if (FirstReduction(output, nodes) != nullptr) return nullptr;
    for (const Node* node : nodes) {
      if (!node->Is(ops::cat)) continue;
      const auto at = space.at.find(node->result());
      if (at == space.at.end()) continue;
      const int dim = *ops::NormalizeDim(ops::CatView(*node).dim(), node->result()->type().rank());
      for (size_t l = 0; l < space.extents.size(); ++l) {
        if (!(at->second[dim] == LoopIndex(space.extents.size(), l)) ||
            space.extents[l] != node->result()->type().dim(dim)) {
          continue;
        }
        *loop = l;
        return node;
      }
    }
    return nullptr;
  }

  // Those behind reductions first: their nests may take in others.
  std::vector<size_t> OutputsInOrder() {
    std::vector<size_t> order, rest;
    for (size_t o = 0; o < group_.outputs.size(); ++o) {
      const Value* value = group_.outputs[o];
      const bool reduces = FirstReduction(value, nodes_of_[ComponentOf(value)]) != nullptr;
      (reduces ? order : rest).push_back(o);
    }
    order.insert(order.end(), rest.begin(), rest.end());
    return order;
  }

  // Nodes that share no value are apart from each other.
  void FindComponents() {
    parent_.resize(group_.nodes.size());
    for (size_t i = 0; i < group_.nodes.size(); ++i) {
      parent_[i] = static_cast<int>(i);
      node_index_[group_.nodes[i]] = static_cast<int>(i);
      const Node& node = *group_.nodes[i];
      for (int k = 0; k < node.num_operands(); ++k) {
        if (node.operand(k) == nullptr) continue;
        const auto it = node_index_.find(node.operand(k)->node());
        if (it != node_index_.end()) parent_[Root(it->second)] = Root(i);
      }
    }
    for (size_t i = 0; i < group_.nodes.size(); ++i) {
      nodes_of_[Root(static_cast<int>(i))].push_back(group_.nodes[i]);
    }
    for (size_t o = 0; o < group_.outputs.size(); ++o) {
      outputs_of_[ComponentOf(group_.outputs[o])].push_back(static_cast<int>(o));
    }
  }

  int Root(int i) {
    while (parent_[i] != i) {
      parent_[i] = parent_[parent_[i]];
      i = parent_[i];
    }
    return i;
  }

  int ComponentOf(const Value* v) {
    const auto it = node_index_.find(v->node());
    return it == node_index_.end() ? -1 : Root(it->second);
  }

  absl::StatusOr<LoopSpace> SpaceOf(size_t output) {
    const Value* value = group_.outputs[output];
    LoopSpace space;
    const auto& nodes = nodes_of_[ComponentOf(value)];
    const Node* first = FirstReduction(value, nodes);
    if (first != nullptr) {
      StartAtReduction(*first, &space);
    } else {
      const Type type = value->type();
      space.extents.assign(type.dims().begin(), type.dims().end());
      space.num_outer = space.extents.size();
      Indices at;
      for (size_t d = 0; d < space.num_outer; ++d) {
        at.push_back(PointOf(space.extents, d));
      }
      space.at.emplace(value, std::move(at));
    }
    Propagation(sizes_, &space).Run(nodes);
    return space;
  }

  // Of those that `value` is computed from.
  static const Node* FirstReduction(const Value* value, absl::Span<const Node* const> nodes) {
    ValueSet needed = {value};
    const Node* first = nullptr;
    for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) {
      const Node& node = **it;
      bool used = false;
      for (int r = 0; r < node.num_results(); ++r) {
        used = used || needed.contains(node.result(r));
      }
      if (!used) continue;
      if (IsKernelReduction(node.op())) first = &node;
      for (int i = 0; i < node.num_operands(); ++i) {
        needed.insert(node.operand(i));
      }
    }
    return first;
  }

  static void StartAtReduction(const Node& node, LoopSpace* space) {
    const Type type = node.operand(0)->type();
    const std::vector<int> axes = AxesOf(node);
    std::vector<int> order;  // Dims in the order of their loops.
    for (int d = 0; d < type.rank(); ++d) {
      if (std::find(axes.begin(), axes.end(), d) == axes.end()) {
        order.push_back(d);
      }
    }
    space->num_outer = order.size();
    order.insert(order.end(), axes.begin(), axes.end());
    Indices at(type.rank());
    for (size_t l = 0; l < order.size(); ++l) {
      space->extents.push_back(type.dim(order[l]));
    }
    for (size_t l = 0; l < order.size(); ++l) at[order[l]] = PointOf(space->extents, l);
    space->at.emplace(node.operand(0), std::move(at));
  }

  // Each point of the loops, or of the outer ones, has one element of the
  // value, and all elements are met.
  bool Covers(const LoopSpace& space, const Value* value) const {
    const auto it = space.at.find(value);
    if (it == space.at.end()) return false;
    const bool inner = space.UsesInner(it->second);
    const size_t loops = inner ? space.extents.size() : space.num_outer;
    SymInt points = 1;
    for (size_t l = 0; l < loops; ++l) {
      points = points * space.extents[l];
      bool used = space.extents[l].Is(1);
      for (const Index& index : it->second) {
        used = used || !index.strides[l].Is(0);
      }
      if (!used) return false;
    }
    return sizes_.Equal(sizes_.Simplify(points), sizes_.Simplify(value->type().numel()));
  }

  const KernelGroup& group_;
  const Sizes& sizes_;
  std::vector<int> parent_;
  absl::flat_hash_map<const Node*, int> node_index_;
  absl::flat_hash_map<int, std::vector<const Node*>> nodes_of_;
  absl::flat_hash_map<int, std::vector<int>> outputs_of_;
};

}  // namespace

bool LoopSpace::UsesInner(const Indices& indices) const {
  for (const Index& index : indices) {
    for (size_t l = num_outer; l < index.strides.size(); ++l) {
      if (!index.strides[l].Is(0) && !extents[l].Is(1)) return true;
    }
  }
  return false;
}

bool IsKernelReduction(const OpDef& op) {
  return &op == &ops::sum || &op == &ops::mean || &op == &ops::prod || &op == &ops::amax ||
         &op == &ops::amin || &op == &ops::any || &op == &ops::all || &op == &ops::argmax ||
         &op == &ops::argmin;
}

std::vector<int> AxesOf(const Node& node) {
  const auto map = MapOf(node);
  WEFT_CHECK(map.has_value()) << node.op().name();
  return ReducedDims(*map);
}

absl::StatusOr<std::vector<LoopSpace>> PlanLoops(const KernelGroup& group, const Sizes& sizes) {
  return Planner(group, sizes).Run();
}

}  // namespace weft
