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
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ops/quant.h"
#include "passes/quantize/choose_params.h"
#include "passes/quantize/params_layout.h"
#include "passes/quantize/remove_observers.h"
#include "passes/quantize/sites.h"

namespace weft {
namespace {

// Puts the pairs into one graph.
class Converter {
 public:
  Converter(Graph& graph, PassContext& context) : graph_(graph), context_(context) {}

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
    if (b.status().ok()) made.value = BuildQuantize(b, group.spec, value, made.scales);
    if (!b.status().ok()) {
      return absl::Status(b.status().code(),
                          absl::StrCat(ToString(group.sites[0]), ": ", b.status().message()));
    }
    context_.Count(group.spec.dynamic ? "dynamic" : params.weight ? "weights" : "values");
    quantized_[{value, number}] = made;
    return made;
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
  PassContext& context_;
  absl::flat_hash_map<std::pair<const Value*, int>, Quantized> quantized_;
  absl::flat_hash_map<std::pair<const Value*, const Node*>, Value*> dequantized_;
  // Dequantized values with their groups.
  absl::flat_hash_set<std::pair<const Value*, int>> made_for_;
  std::map<int, ScaleOperands> scales_;
};

class QuantizeConvertPass : public Pass {
 public:
  absl::string_view name() const override { return "quantize_convert"; }
  absl::string_view doc() const override {
    return "Replaces observers and notes by pairs of quantize_linear and dequantize_linear.";
  }
  NumericContract max_contract() const override { return NumericContract::kApproximate; }
  bool ChangesInputs() const override { return true; }
  absl::Status Run(Module& module, PassContext& context) override {
    for (Graph* graph : module.AllGraphs()) {
      WEFT_ASSIGN_OR_RETURN(const std::vector<SiteGroup> groups, CollectSites(*graph));
      if (groups.empty()) continue;
      if (!context.Admits(NumericContract::kApproximate)) {
        return absl::FailedPreconditionError(
            "quantization changes numbers: the pipeline has to say "
            "quantize_convert{admit=approximate}");
      }
      WEFT_ASSIGN_OR_RETURN(const std::vector<GroupParams> params, ChooseParams(*graph, groups));
      WEFT_RETURN_IF_ERROR(Converter(*graph, context).Run(groups, params));
      context.Count("observers", RemoveObservers(*graph, groups));
      ClearNotes(graph, kQuantNoteKey);
      ClearNotes(graph, kObserverKey);
    }
    return absl::OkStatus();
  }
};

}  // namespace

std::unique_ptr<Pass> CreateQuantizeConvertPass() {
  return std::make_unique<QuantizeConvertPass>();
}

}  // namespace weft
