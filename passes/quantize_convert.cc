#include "passes/quantize_convert.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
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
#include "passes/quantize/insert_fake_quantize.h"
#include "passes/quantize/observer.h"
#include "passes/quantize/params_layout.h"
#include "passes/quantize/region_edit.h"
#include "passes/quantize/remove_observers.h"
#include "passes/quantize/replace_reads.h"
#include "passes/quantize/sites.h"

namespace weft {
namespace {

// Puts the pairs into one graph of a function.
class Converter {
 public:
  Converter(Graph& graph, const FunctionGraphs& function, PassContext& context)
      : graph_(graph), function_(function), context_(context) {}

  absl::Status Run(const std::vector<SiteGroup>& groups, const std::vector<GroupParams>& params) {
    const auto replace = [&](const QuantRead& read) -> absl::StatusOr<Value*> {
      const SiteGroup& group = groups[read.group];
      WEFT_ASSIGN_OR_RETURN(const Quantized q, QuantizedOf(read, group, params[read.group]));
      return DequantizedFor(read, group, q);
    };
    WEFT_ASSIGN_OR_RETURN(const int64_t users, ReplaceReads(graph_, groups, replace));
    if (users > 0) context_.Count("users", users);
    return absl::OkStatus();
  }

 private:
  struct Quantized {
    Value* value = nullptr;
    ScaleOperands scales;
  };

  // Made once for a value and group.
  absl::StatusOr<Quantized> QuantizedOf(const QuantRead& read, const SiteGroup& group,
                                        const GroupParams& params) {
    Value* value = read.value;
    const auto [it, added] = quantized_.try_emplace({value, read.group});
    if (!added) return it->second;
    if (!context_.StartRewrite({NumericContract::kApproximate, "quantize", ""})) {
      it->second.value = nullptr;
      return it->second;
    }
    Builder b(&graph_, read.before);
    b.set_provenance((value->node() != nullptr ? value->node() : read.before)->provenance());
    Quantized made;
    made.scales = group.spec.dynamic || ComputesParams(group)
                      ? BuildDynamicScales(b, group.spec, value)
                      : ConstantScales(read.group, group.spec, params);
    if (b.status().ok()) {
      made.value = BuildQuantize(b, group.spec, SourceOf(b, value), made.scales);
    }
    if (!b.status().ok()) {
      return absl::Status(b.status().code(),
                          absl::StrCat(ToString(group.sites[0]), ": ", b.status().message()));
    }
    context_.Count(group.spec.dynamic ? "dynamic" : params.weight ? "weights" : "values");
    quantized_[{value, read.group}] = made;
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
  absl::StatusOr<Value*> DequantizedFor(const QuantRead& read, const SiteGroup& group,
                                        const Quantized& q) {
    if (q.value == nullptr) return read.value;
    const auto [it, added] = dequantized_.try_emplace({q.value, read.user});
    if (!added) return it->second;
    Builder b(&graph_, read.user);
    b.set_provenance(read.user->provenance());
    it->second = BuildDequantize(b, group.spec, q.value, q.scales, read.value->type().dtype());
    WEFT_RETURN_IF_ERROR(b.status());
    return it->second;
  }

  Graph& graph_;
  const FunctionGraphs& function_;
  PassContext& context_;
  absl::flat_hash_map<std::pair<const Value*, int>, Quantized> quantized_;
  absl::flat_hash_map<std::pair<const Value*, const Node*>, Value*> dequantized_;
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
      const int64_t fake = RemoveFakeQuantize(*part);
      if (fake > 0) context.Count("fake", fake);
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
