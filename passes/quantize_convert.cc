#include "passes/quantize_convert.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/ir/annotations.h"
#include "graph/ir/builder.h"
#include "graph/ir/constant_store.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ops/quant.h"
#include "graph/ops/support/region.h"
#include "passes/quantize/choose_params.h"
#include "passes/quantize/function_graphs.h"
#include "passes/quantize/observer.h"
#include "passes/quantize/params_layout.h"
#include "passes/quantize/region_edit.h"
#include "passes/quantize/remove_observers.h"
#include "passes/quantize/sites.h"

namespace weft {
namespace {

// Puts the pairs into one graph of a function.
class Converter {
 public:
  Converter(Graph& graph, const FunctionGraphs& function, PassContext& context)
      : graph_(graph), function_(function), context_(context) {}

  // Notes on values first: notes on operands then quantize what their users see.
  absl::Status Run(const std::vector<SiteGroup>& groups, const std::vector<GroupParams>& params) {
    for (const bool values : {true, false}) {
      for (size_t i = 0; i < groups.size(); ++i) {
        for (const QuantSite& site : groups[i].sites) {
          if ((site.user == nullptr) != values) continue;
          WEFT_RETURN_IF_ERROR(Convert(static_cast<int>(i), groups[i], params[i], site));
        }
      }
    }
    return absl::OkStatus();
  }

 private:
  absl::Status Convert(int number, const SiteGroup& group, const GroupParams& params,
                       const QuantSite& site) {
    if (site.user == nullptr) return ConvertValue(number, group, params, site.value);
    Value* seen = site.user->operand(site.operand);
    // The value is one of the group itself.
    if (made_for_.contains({seen, number})) return absl::OkStatus();
    WEFT_ASSIGN_OR_RETURN(const Quantized q, QuantizedOf(number, group, params, seen, site.user));
    WEFT_ASSIGN_OR_RETURN(Value * by, DequantizedFor(number, group, q, seen, site.user));
    site.user->set_operand(site.operand, by);
    context_.Count("users");
    return absl::OkStatus();
  }

  absl::Status ConvertValue(int number, const SiteGroup& group, const GroupParams& params,
                            Value* value) {
    std::vector<std::pair<Node*, int>> uses;
    for (Use* use = value->first_use(); use != nullptr; use = use->next()) {
      if (!use->user()->Is(ops::observe)) uses.push_back({use->user(), use->operand_index()});
    }
    // Edges to definitions of symbols come after the operands and stay.
    uses.erase(
        std::remove_if(uses.begin(), uses.end(),
                       [](const auto& use) { return use.second >= use.first->num_operands(); }),
        uses.end());
    if (uses.empty()) return absl::OkStatus();
    std::sort(uses.begin(), uses.end(), [](const auto& a, const auto& b) {
      return std::pair(a.first->id(), a.second) < std::pair(b.first->id(), b.second);
    });
    Node* before = value->node() == nullptr ? graph_.first_node() : value->node()->next();
    WEFT_ASSIGN_OR_RETURN(const Quantized q, QuantizedOf(number, group, params, value, before));
    for (const auto& [user, operand] : uses) {
      WEFT_ASSIGN_OR_RETURN(Value * by, DequantizedFor(number, group, q, value, user));
      user->set_operand(operand, by);
      context_.Count("users");
    }
    return absl::OkStatus();
  }

  struct Quantized {
    Value* value = nullptr;
    ScaleOperands scales;
  };

  // Made once for a value and group, before `before`, which is its first user.
  absl::StatusOr<Quantized> QuantizedOf(int number, const SiteGroup& group,
                                        const GroupParams& params, Value* value, Node* before) {
    const auto [it, added] = quantized_.try_emplace({value, number});
    if (!added) return it->second;
    if (!context_.StartRewrite({NumericContract::kApproximate, "quantize", ""})) {
      it->second.value = nullptr;
      return it->second;
    }
    Builder b(&graph_, before);
    b.set_provenance((value->node() != nullptr ? value->node() : before)->provenance());
    Quantized made;
    made.scales = group.spec.dynamic ? BuildDynamicScales(b, group.spec, value)
                                     : ConstantScales(number, group.spec, params);
    if (b.status().ok()) {
      made.value = BuildQuantize(b, group.spec, SourceOf(b, value), made.scales);
    }
    if (!b.status().ok()) {
      return absl::Status(b.status().code(),
                          absl::StrCat(ToString(group.sites[0]), ": ", b.status().message()));
    }
    context_.Count(group.spec.dynamic ? "dynamic" : params.weight ? "weights" : "values");
    quantized_[{value, number}] = made;
    return made;
  }

  // A constant that a nested graph captures becomes one of its own, so that what is quantized of it
  // is constant, too.
  Value* SourceOf(Builder& b, Value* value) const {
    const Value* captured = function_.Captured(value);
    const HostTensor* literal = captured == value ? nullptr : LiteralOf(captured);
    return literal == nullptr ? value : b.Constant(*literal);
  }

  // Constants at the begin of the graph, one set for a group.
  ScaleOperands ConstantScales(int number, const QuantSpec& spec, const GroupParams& params) {
    const auto [it, added] = scales_.try_emplace(number);
    if (!added) return it->second;
    Builder b(&graph_, graph_.first_node());
    it->second = BuildScales(b, spec, params.params, params.dims);
    return it->second;
  }

  // One for each user, which may have the value as several operands; the value itself where it is
  // not quantized.
  absl::StatusOr<Value*> DequantizedFor(int number, const SiteGroup& group, const Quantized& q,
                                        Value* value, Node* user) {
    if (q.value == nullptr) return value;
    const auto [it, added] = dequantized_.try_emplace({q.value, user});
    if (!added) return it->second;
    Builder b(&graph_, user);
    b.set_provenance(user->provenance());
    it->second = BuildDequantize(b, group.spec, q.value, q.scales, value->type().dtype());
    WEFT_RETURN_IF_ERROR(b.status());
    made_for_.insert({it->second, number});
    return it->second;
  }

  Graph& graph_;
  const FunctionGraphs& function_;
  PassContext& context_;
  absl::flat_hash_map<std::pair<const Value*, int>, Quantized> quantized_;
  absl::flat_hash_map<std::pair<const Value*, const Node*>, Value*> dequantized_;
  // Dequantized values with their groups.
  absl::flat_hash_set<std::pair<const Value*, int>> made_for_;
  std::map<int, ScaleOperands> scales_;
};

// Drops constants that the nested graphs of a node do not read any more.
void DropUnread(FunctionGraphs* function, Node* node) {
  std::vector<int> operands;
  for (int i = 0; i < node->num_operands(); ++i) {
    const int input = InputOf(*node, i);
    if (input < 0 || ops::CapturedOperand(*node, input) != i) continue;
    bool read = LiteralOf(function->Captured(node->operand(i))) == nullptr;
    for (int r = 0; r < node->num_regions(); ++r) {
      read |= node->region(r)->input(input)->has_uses();
    }
    if (!read) operands.push_back(i);
  }
  if (operands.empty()) return;
  node = DropValues(node, operands, {});
  for (int r = 0; r < node->num_regions(); ++r) function->SetHolder(node->region(r), node);
}

// A group whose observer saw nothing; null without one.
const SiteGroup* FindUnseen(const Graph& function, const std::vector<SiteGroup>& groups) {
  for (int i = 0; i < function.num_inputs(); ++i) {
    const InputInfo& info = function.input_info(i);
    if (info.initial < 0) continue;
    for (const SiteGroup& group : groups) {
      if (group.observer != info.name || !NeedsObserver(group)) continue;
      if (!HasData(function.module().constants().tensor(info.initial))) return &group;
    }
  }
  return nullptr;
}

void LeaveAlone(const Graph& graph, const SiteGroup& unseen, PassContext& context) {
  context.Count("unseen");
  if (!context.wants_remarks()) return;
  Remark remark;
  remark.kind = RemarkKind::kMissed;
  remark.function = graph.name();
  remark.reason = absl::StrCat("no calibration ran the nested graph: ", ToString(unseen.sites[0]),
                               " and all others stay float");
  context.AddRemark(std::move(remark));
}

class QuantizeConvertPass : public Pass {
 public:
  absl::string_view name() const override { return "quantize_convert"; }
  absl::string_view doc() const override {
    return "Replaces observers and notes by pairs of quantize_linear and dequantize_linear.";
  }
  NumericContract max_contract() const override { return NumericContract::kApproximate; }
  bool ChangesInputs() const override { return true; }
  absl::Status Run(Module& module, PassContext& context) override {
    for (const auto& function : module.functions()) {
      WEFT_RETURN_IF_ERROR(ConvertFunction(*function, context));
    }
    return absl::OkStatus();
  }

 private:
  static absl::Status ConvertFunction(Graph& graph, PassContext& context) {
    const FunctionGraphs function(graph);
    std::vector<Graph*> converted;
    for (Graph* part : function.graphs()) {
      WEFT_ASSIGN_OR_RETURN(const std::vector<SiteGroup> groups, CollectSites(*part, &function));
      if (groups.empty()) continue;
      if (!context.Admits(NumericContract::kApproximate)) {
        return absl::FailedPreconditionError(
            "quantization changes numbers: the pipeline has to say "
            "quantize_convert{admit=approximate}");
      }
      converted.push_back(part);
      const SiteGroup* unseen = part == &graph ? nullptr : FindUnseen(graph, groups);
      if (unseen != nullptr) {
        LeaveAlone(*part, *unseen, context);
        continue;
      }
      WEFT_ASSIGN_OR_RETURN(const std::vector<GroupParams> params, ChooseParams(graph, groups));
      WEFT_RETURN_IF_ERROR(Converter(*part, function, context).Run(groups, params));
    }
    if (converted.empty()) return absl::OkStatus();
    context.Count("observers", RemoveObservers(graph, NamesOfStates(graph)));
    for (Graph* part : converted) {
      ClearNotes(part, kQuantNoteKey);
      ClearNotes(part, kObserverKey);
    }
    DropUnreadConstants(graph, converted);
    return absl::OkStatus();
  }

  // Nested graphs first, so that what they captured is not read by those around them either.
  static void DropUnreadConstants(Graph& graph, const std::vector<Graph*>& converted) {
    if (converted.back() == &graph) return;
    FunctionGraphs function(graph);
    const std::vector<Graph*>& graphs = function.graphs();
    for (auto it = graphs.rbegin(); it != graphs.rend(); ++it) {
      for (Node* node : (*it)->nodes()) {
        if (node->num_regions() > 0 && CanCarry(*node)) DropUnread(&function, node);
      }
    }
  }
};

}  // namespace

std::unique_ptr<Pass> CreateQuantizeConvertPass() {
  return std::make_unique<QuantizeConvertPass>();
}

}  // namespace weft
