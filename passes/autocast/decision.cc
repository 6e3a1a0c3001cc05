#include "passes/autocast/decision.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ir/op_args.h"
#include "graph/ir/op_def.h"
#include "graph/ir/op_registry.h"
#include "graph/ir/provenance.h"
#include "graph/ops/control.h"
#include "graph/ops/elementwise.h"
#include "graph/ops/nn.h"
#include "graph/ops/support/region.h"
#include "graph/sym/sym_facts.h"
#include "passes/autocast/ranges.h"
#include "passes/fuse/decision.h"
#include "passes/quantize/policy.h"

namespace weft {
namespace {

bool IsF32(Type type) { return type.is_tensor() && type.dtype() == DType::kF32; }

// The nodes that the user keeps in f32.
class KeptNodes {
 public:
  KeptNodes(const Module& module, absl::Span<const std::string> keep) : module_(module) {
    for (const std::string& name : keep) rows_.push_back({name, module.registry().Find(name)});
    met_.resize(rows_.size());
  }

  bool Contains(const Node& node) {
    if (rows_.empty()) return false;
    const std::vector<std::string> names = module_.provenance().Names(node.provenance());
    bool kept = false;
    for (size_t i = 0; i < rows_.size(); ++i) {
      if (!Meets(rows_[i], node, names)) continue;
      met_[i] = kept = true;
    }
    return kept;
  }

  std::vector<std::string> Unmet() const {
    std::vector<std::string> unmet;
    for (size_t i = 0; i < rows_.size(); ++i) {
      if (!met_[i]) unmet.push_back(rows_[i].text);
    }
    return unmet;
  }

 private:
  struct Row {
    std::string text;
    const OpDef* op;
  };

  static bool Meets(const Row& row, const Node& node, const std::vector<std::string>& names) {
    if (row.op != nullptr) return row.op == &node.op();
    return std::any_of(names.begin(), names.end(),
                       [&](const std::string& name) { return MatchesGlob(row.text, name); });
  }

  const Module& module_;
  std::vector<Row> rows_;
  std::vector<bool> met_;
};

// A bitcast of another dtype shows other bits. Data-dependent ops define symbols, so that a second
// node of them would not be the first.
bool MayChange(const Node& node) {
  return node.op().is_mergeable() && node.num_regions() == 0 && node.num_operands() > 0 &&
         !node.Is(ops::bitcast);
}

class Decider {
 public:
  Decider(const Module& module, const AutocastLists& lists, const CastSettings& settings)
      : module_(module),
        lists_(lists),
        settings_(settings),
        known_(module, settings.low),
        kept_(module, settings.keep) {}

  CastDecision Run() {
    CastDecision decision;
    for (Graph* graph : module_.AllGraphs()) {
      const Node* owner = known_.OwnerOf(graph);
      if (owner != nullptr && owner->Is(ops::fused)) continue;
      decision.graphs.push_back(Forward(graph));
    }
    // Nested graphs come behind the graphs around them.
    for (size_t i = decision.graphs.size(); i-- > 0;) Backward(&decision.graphs[i]);
    decision.unmet = kept_.Unmet();
    return decision;
  }

 private:
  GraphCasts Forward(Graph* graph) {
    GraphCasts casts;
    casts.graph = graph;
    int place = 0;
    for (Node* node : graph->nodes()) {
      Decide(node, ++place, &casts);
      NoteLarge(*node);
    }
    return casts;
  }

  void Decide(Node* node, int place, GraphCasts* casts) {
    // Each node is asked, so that an entry that meets only others is not unmet.
    if (kept_.Contains(*node)) {
      kept_nodes_.insert(node);
      return;
    }
    if (!MayChange(*node)) return;
    const AutocastLists::Row* row = lists_.Find(node->op());
    const CastRole role = row == nullptr ? CastRole::kWidest : row->role;
    if (role == CastRole::kF32) return;
    LoweredNode lowered;
    lowered.node = node;
    lowered.place = place;
    lowered.operands = F32Operands(*node, row);
    lowered.reason = role == CastRole::kLow ? "low" : "widest";
    const bool speaks = role == CastRole::kLow ? !lowered.operands.empty() : AnyLow(lowered);
    if (!speaks) return;
    std::string why = role == CastRole::kWidest ? WhyWide(lowered) : WhyNotLow(*node);
    if (why.empty()) why = Lower(&lowered);
    if (why.empty()) {
      casts->nodes.push_back(std::move(lowered));
    } else {
      casts->refusals.push_back({node, std::move(why)});
    }
  }

  static std::vector<int> F32Operands(const Node& node, const AutocastLists::Row* row) {
    std::vector<int> operands;
    for (int i = 0; i < node.num_operands(); ++i) {
      if (!node.has_operand(i) || !IsF32(node.operand(i)->type())) continue;
      const bool listed =
          row == nullptr || row->operands.empty() ||
          std::find(row->operands.begin(), row->operands.end(), i) != row->operands.end();
      if (listed) operands.push_back(i);
    }
    return operands;
  }

  bool IsLow(const Value* value) const { return low_.contains(value); }

  bool AnyLow(const LoweredNode& lowered) const {
    return std::any_of(lowered.operands.begin(), lowered.operands.end(),
                       [&](int i) { return IsLow(lowered.node->operand(i)); });
  }

  std::string WhyWide(const LoweredNode& lowered) const {
    if (settings_.narrow_mixed && lowered.node->op().has(kPointwise)) return "";
    return WhyF32(*lowered.node, lowered.operands);
  }

  // Attention of one query reads each key and value once: to cast them takes as long.
  std::string WhyNotLow(const Node& node) const {
    if (!node.Is(ops::scaled_dot_product_attention)) return "";
    const Type query = node.operand(0)->type();
    return query.dim(query.rank() - 2) == SymInt(1) ? WhyF32(node, {1, 2}) : "";
  }

  // Names an operand that would be cast.
  std::string WhyF32(const Node& node, absl::Span<const int> operands) const {
    for (const int i : operands) {
      const Value* value = node.operand(i);
      if (!IsLow(value) && known_.Find(value) == nullptr) {
        return absl::StrCat("operand ", i, " is f32");
      }
    }
    return "";
  }

  bool IsLarge(const Value* value) {
    if (!IsF32(value->type()) || IsLow(value)) return false;
    return large_.contains(value) || known_.Overflows(value);
  }

  // A value computed from a constant that the low dtype takes for an infinity, as masks of
  // attention are, may become infinite, too. Nothing is known of other values.
  void NoteLarge(const Node& node) {
    if (node.num_regions() > 0) return NoteLargeInputs(node);
    constexpr const OpDef* kOps[] = {&ops::add,   &ops::sub,     &ops::mul,    &ops::neg,
                                     &ops::where, &ops::maximum, &ops::minimum};
    const bool passes_on =
        node.op().has(kDataMovement) ||
        std::find(std::begin(kOps), std::end(kOps), &node.op()) != std::end(kOps);
    if (!passes_on) return;
    bool large = false;
    for (int i = 0; i < node.num_operands(); ++i) {
      large |= node.has_operand(i) && IsLarge(node.operand(i));
    }
    for (int i = 0; large && i < node.num_results(); ++i) {
      const Value* result = node.result(i);
      if (IsF32(result->type()) && !IsLow(result)) large_.insert(result);
    }
  }

  void NoteLargeInputs(const Node& owner) {
    if (owner.Is(ops::fused)) return;
    for (int r = 0; r < owner.num_regions(); ++r) {
      const Graph& body = *owner.region(r);
      for (int input = 0; input < body.num_inputs(); ++input) {
        const int operand = OperandOfInput(owner, input);
        if (operand < 0 || !owner.has_operand(operand)) continue;
        if (IsLarge(owner.operand(operand))) large_.insert(body.input(input));
      }
    }
  }

  // Marks the results, and the uses that are lowered. The reason, without a mark, where the node
  // cannot take the low dtype. Operands out of its range are left out where the op takes them in
  // f32, as attention does its mask.
  std::string Lower(LoweredNode* lowered) {
    const Node& node = *lowered->node;
    Node::ArgStorage storage;
    const OpArgs args = node.Args(&storage);
    std::vector<int> operands;
    std::string why;
    for (const int i : lowered->operands) {
      const Value* operand = node.operand(i);
      if (IsLarge(operand) || (!IsLow(operand) && !known_.Fits(operand))) {
        why = absl::StrCat("operand ", i, " is out of the range of ", DTypeName(settings_.low));
        continue;
      }
      operands.push_back(i);
      storage.types[i] = storage.types[i].WithDType(settings_.low);
    }
    if (operands.empty()) return why;
    const absl::StatusOr<Types> types = InferTypes(args);
    if (!types.ok() && !why.empty()) return why;
    if (!types.ok()) return std::string(types.status().message());
    for (int i = 0; i < node.num_results(); ++i) {
      const Type from = node.result(i)->type(), to = (*types)[i];
      const bool narrowed = IsF32(from) && to.is_tensor() && to.dtype() == settings_.low;
      if (!narrowed && (!to.is_tensor() || !from.is_tensor() || to.dtype() != from.dtype())) {
        return absl::StrCat("result ", i, " would be ", to.ToString());
      }
    }
    for (int i = 0; i < node.num_results(); ++i) {
      const Type from = node.result(i)->type();
      if (IsF32(from) && (*types)[i].dtype() == settings_.low) low_.insert(node.result(i));
    }
    for (const int i : operands) uses_.insert({&node, i});
    lowered->operands = std::move(operands);
    return "";
  }

  // --- Against the order -------------------------------------------------------

  // Whether something reads the value, and all that do take it in the low dtype.
  bool IsReadLow(const Value* value) const {
    for (const Use* use = value->first_use(); use != nullptr; use = use->next()) {
      if (!uses_.contains({use->user(), use->operand_index()})) return false;
    }
    return value->has_uses();
  }

  void Backward(GraphCasts* casts) {
    const size_t not_sunk = casts->nodes.size();
    std::vector<Node*> nodes(casts->graph->nodes().begin(), casts->graph->nodes().end());
    for (size_t i = nodes.size(); i-- > 0;) {
      const int place = static_cast<int>(i) + 1;
      if (nodes[i]->num_regions() > 0) {
        LowerInputs(nodes[i], place, &casts->inputs);
        continue;
      }
      LoweredNode lowered = SunkInto(nodes[i]);
      lowered.place = place;
      if (!lowered.operands.empty() && Lower(&lowered).empty()) casts->nodes.push_back(lowered);
    }
    const auto before = [](const auto& a, const auto& b) { return a.place < b.place; };
    if (casts->nodes.size() > not_sunk) {
      std::sort(casts->nodes.begin(), casts->nodes.end(), before);
    }
    std::stable_sort(casts->inputs.begin(), casts->inputs.end(), before);
  }

  // An op that moves elements and reads no more of them than it gives: a cast before it does not
  // take longer than one behind it. Without operands: the node stays.
  LoweredNode SunkInto(Node* node) const {
    LoweredNode lowered{node, 0, {}, "sunk"};
    if (!MayChange(*node) || !node->op().has(kDataMovement) || kept_nodes_.contains(node))
      return lowered;
    const AutocastLists::Row* row = lists_.Find(node->op());
    if (row != nullptr && row->role == CastRole::kF32) return lowered;
    SymInt read = 0, given = 0;
    for (int i = 0; i < node->num_results(); ++i) {
      if (!IsF32(node->result(i)->type()) || IsLow(node->result(i))) return lowered;
      if (!IsReadLow(node->result(i))) return lowered;
      given = given + node->result(i)->type().numel();
    }
    const std::vector<int> operands = F32Operands(*node, row);
    for (const int i : operands) read = read + node->operand(i)->type().numel();
    if (module_.symbols().ProveLe(read, given) == Proof::kYes) lowered.operands = operands;
    return lowered;
  }

  // The operand of which the nested graphs see the elements in that input, all or a slice; -1:
  // none, or one that is carried.
  static int OperandOfInput(const Node& owner, int input) {
    const int captured = ops::CapturedOperand(owner, input);
    if (captured >= 0 || !owner.Is(ops::scan)) return captured;
    return input >= ops::ScanView(owner).num_carried() ? input : -1;
  }

  void LowerInputs(Node* owner, int place, std::vector<LoweredInput>* inputs) {
    if (owner->Is(ops::fused)) return;
    for (int input = 0; input < owner->region(0)->num_inputs(); ++input) {
      const int operand = OperandOfInput(*owner, input);
      if (operand < 0 || !owner->has_operand(operand)) continue;
      if (!IsF32(owner->operand(operand)->type())) continue;
      bool read = false, only_low = true;
      for (int r = 0; r < owner->num_regions(); ++r) {
        const Value* value = owner->region(r)->input(input);
        read |= value->has_uses();
        only_low &= !value->has_uses() || IsReadLow(value);
      }
      if (!read || !only_low) continue;
      inputs->push_back({owner, place, operand, input});
      uses_.insert({owner, operand});
    }
  }

  const Module& module_;
  const AutocastLists& lists_;
  const CastSettings& settings_;
  KnownValues known_;
  KeptNodes kept_;
  absl::flat_hash_set<const Node*> kept_nodes_;
  // Values that have the low dtype, and operands that are taken in it.
  absl::flat_hash_set<const Value*> low_;
  absl::flat_hash_set<const Value*> large_;  // Beside constants.
  absl::flat_hash_set<std::pair<const Node*, int>> uses_;
};

}  // namespace

bool CastDecision::empty() const {
  return std::all_of(graphs.begin(), graphs.end(), [](const GraphCasts& casts) {
    return casts.nodes.empty() && casts.inputs.empty();
  });
}

CastDecision DecideCasts(const Module& module, const AutocastLists& lists,
                         const CastSettings& settings) {
  return Decider(module, lists, settings).Run();
}

std::string ToString(const CastDecision& decision) {
  std::string text;
  for (const GraphCasts& casts : decision.graphs) {
    for (const LoweredNode& lowered : casts.nodes) {
      absl::StrAppend(&text, NodeText(*lowered.node), ": ", lowered.reason, ", operands ",
                      absl::StrJoin(lowered.operands, " "), "\n");
    }
    for (const LoweredInput& lowered : casts.inputs) {
      absl::StrAppend(&text, NodeText(*lowered.owner), ": operand ", lowered.operand, " (input ",
                      lowered.input, ")\n");
    }
    for (const CastRefusal& refusal : casts.refusals) {
      absl::StrAppend(&text, NodeText(*refusal.node), ": f32: ", refusal.reason, "\n");
    }
  }
  return text;
}

}  // namespace weft
