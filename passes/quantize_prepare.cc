#include "passes/quantize_prepare.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "base/status_macros.h"
#include "graph/ir/annotations.h"
#include "graph/ir/builder.h"
#include "graph/ir/constant_store.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ops/quant.h"
#include "graph/ops/quant/observer_state.h"
#include "passes/quantize/function_graphs.h"
#include "passes/quantize/insert_fake_quantize.h"
#include "passes/quantize/observer_plan.h"
#include "passes/quantize/region_edit.h"
#include "passes/quantize/sites.h"

namespace weft {
namespace {

// Adds inputs and nodes to the graphs of a function, outer ones first. The values of one state are
// seen in the order of their graph.
class Preparer {
 public:
  Preparer(FunctionGraphs& function, StatePlan& plan) : function_(function), plan_(plan) {}

  absl::Status Run() {
    AddInputs();
    for (Graph* graph : function_.graphs()) {
      // Not a reference: further rows come in below.
      const auto found = nested_.find(graph);
      const NestedStates nested = found == nested_.end() ? NestedStates() : found->second;
      for (size_t i = 0; i < nested.of.size(); ++i) values_[nested.of[i]] = nested.inputs[i];
      WEFT_RETURN_IF_ERROR(Observe(*graph));
      CarryThroughNodes(*graph);
      if (graph == &function_.function()) {
        AddWriteBacks(*graph);
      } else if (!nested.of.empty()) {
        AddOutputs(*graph, nested);
      }
    }
    return absl::OkStatus();
  }

  const SeenStates& seen() const { return seen_; }

 private:
  // The states that a nested graph is given, and where its outputs lack them.
  struct NestedStates {
    std::vector<int> of;
    std::vector<Value*> inputs;
    int first_output = 0;
  };

  void AddInputs() {
    Graph& graph = function_.function();
    for (const PlannedState& state : plan_.states) {
      const HostTensor initial = InitialState(state.plan.statistic, state.plan.channels);
      inputs_.push_back(graph.num_inputs());
      values_.push_back(graph.AddInput(initial.type(), state.name));
      graph.input_info(inputs_.back()).initial = graph.module().constants().Add(initial);
    }
  }

  absl::Status Observe(Graph& graph) {
    const absl::Span<const int> through = plan_.Through(&graph);
    if (through.empty()) return absl::OkStatus();
    // Inputs come first.
    std::vector<int64_t> places(graph.node_id_limit());
    int64_t place = 0;
    for (const Node* node : graph.nodes()) places[node->id()] = ++place;
    const auto before = [&places](const Value* a, const Value* b) {
      return (a->node() == nullptr ? 0 : places[a->node()->id()]) <
             (b->node() == nullptr ? 0 : places[b->node()->id()]);
    };
    for (const int k : through) {
      PlannedState& state = plan_.states[k];
      if (state.graph != &graph) continue;
      std::stable_sort(state.plan.values.begin(), state.plan.values.end(), before);
      WEFT_RETURN_IF_ERROR(ObserveAll(state, graph, &values_[k]));
      Mark(state);
    }
    return absl::OkStatus();
  }

  absl::Status ObserveAll(const PlannedState& planned, Graph& graph, Value** state) {
    const ObserverPlan& plan = planned.plan;
    for (Value* value : plan.values) {
      Node* after = value->node();
      Builder b(&graph, after == nullptr ? graph.first_node() : after->next());
      if (after != nullptr) b.set_provenance(after->provenance());
      *state = ops::BuildObserve(b, value, *state, plan.statistic, plan.axis);
      WEFT_RETURN_IF_ERROR(b.status());
      seen_[{value, planned.name}] = *state;
    }
    return absl::OkStatus();
  }

  static void Mark(const PlannedState& state) {
    for (const QuantSite& site : state.group.sites) {
      if (site.user == nullptr) {
        SetNote(site.value, kObserverKey, state.name);
      } else {
        SetNote(site.user, site.operand, kObserverKey, state.name);
      }
    }
  }

  void CarryThroughNodes(Graph& graph) {
    if (graph.num_region_nodes() == 0) return;
    for (Node* node : graph.nodes()) {
      std::vector<int> states;
      for (int r = 0; r < node->num_regions(); ++r) {
        const absl::Span<const int> more = plan_.Through(node->region(r));
        states.insert(states.end(), more.begin(), more.end());
      }
      std::sort(states.begin(), states.end());
      if (!states.empty()) CarryThrough(node, states);
    }
  }

  // All nested graphs of the node are given all of the states.
  void CarryThrough(Node* node, const std::vector<int>& states) {
    std::vector<Value*> values;
    std::vector<std::string> names;
    for (const int k : states) {
      values.push_back(values_[k]);
      names.push_back(plan_.states[k].name);
    }
    const CarriedValues carried = CarryValues(node, values, names);
    for (int r = 0; r < carried.node->num_regions(); ++r) {
      Graph* region = carried.node->region(r);
      function_.SetHolder(region, carried.node);
      nested_[region] = {states, carried.inputs[r], carried.first_output};
    }
    for (size_t i = 0; i < states.size(); ++i) values_[states[i]] = carried.results[i];
  }

  void AddOutputs(Graph& graph, const NestedStates& states) const {
    std::vector<Value*> values;
    for (const int k : states.of) values.push_back(values_[k]);
    InsertOutputs(graph, states.first_output, values);
  }

  // Write-backs are the last outputs, by input; the new inputs are the last.
  void AddWriteBacks(Graph& graph) const {
    std::vector<Value*> outputs = graph.outputs();
    std::vector<int> write_backs = graph.write_backs();
    std::vector<std::string> names = graph.output_names();
    for (size_t k = 0; k < inputs_.size(); ++k) {
      outputs.push_back(values_[k]);
      write_backs.push_back(inputs_[k]);
      if (!graph.output_names().empty()) names.push_back(plan_.states[k].name);
    }
    graph.SetOutputs(outputs);
    graph.SetWriteBacks(std::move(write_backs));
    graph.output_names() = std::move(names);
  }

  FunctionGraphs& function_;
  StatePlan& plan_;
  // By state: its input of the function, and what it is at the place in the graph at work.
  std::vector<int> inputs_;
  std::vector<Value*> values_;
  absl::flat_hash_map<const Graph*, NestedStates> nested_;
  SeenStates seen_;
};

absl::Status FakeQuantize(const FunctionGraphs& function, const SeenStates& seen,
                          PassContext& context) {
  for (Graph* graph : function.graphs()) {
    WEFT_ASSIGN_OR_RETURN(const std::vector<SiteGroup> groups, CollectSites(*graph, &function));
    WEFT_RETURN_IF_ERROR(InsertFakeQuantize(*graph, groups, seen, context));
  }
  return absl::OkStatus();
}

class QuantizePreparePass : public Pass {
 public:
  explicit QuantizePreparePass(const QuantizePrepareOptions& options) : options_(options) {}
  absl::string_view name() const override { return "quantize_prepare"; }
  absl::string_view doc() const override {
    return "Adds observers, whose states are inputs, for the values that are to be quantized.";
  }
  void VisitOptions(OptionVisitor& visitor) override {
    visitor.Visit("fake_quantize", &options_.fake_quantize,
                  "read values as they are after quantization: for training");
  }
  NumericContract max_contract() const override { return NumericContract::kApproximate; }
  bool ChangesInputs() const override { return true; }
  absl::Status Run(Module& module, PassContext& context) override {
    if (options_.fake_quantize && !context.Admits(NumericContract::kApproximate)) {
      return absl::FailedPreconditionError(
          "fake quantization changes numbers: the pipeline has to say "
          "quantize_prepare{fake_quantize=true,admit=approximate}");
    }
    for (const auto& graph : module.functions()) {
      FunctionGraphs function(*graph);
      WEFT_ASSIGN_OR_RETURN(StatePlan plan, PlanStates(function));
      for (const auto& [nested, group] : plan.closed) LeaveAlone(*nested, group, context);
      Preparer preparer(function, plan);
      if (!plan.states.empty() && context.StartRewrite({NumericContract::kBitExact})) {
        WEFT_RETURN_IF_ERROR(preparer.Run());
        context.Count("observers", static_cast<int64_t>(plan.states.size()));
      }
      if (!options_.fake_quantize) continue;
      WEFT_RETURN_IF_ERROR(FakeQuantize(function, preparer.seen(), context));
    }
    return absl::OkStatus();
  }

 private:
  static void LeaveAlone(Graph& graph, const SiteGroup& group, PassContext& context) {
    context.Count("nested");
    if (context.wants_remarks()) {
      Remark remark;
      remark.kind = RemarkKind::kMissed;
      remark.function = graph.name();
      remark.reason =
          absl::StrCat("no state goes into the nested graph: ", ToString(group.sites[0]),
                       " and all others stay float");
      context.AddRemark(std::move(remark));
    }
    ClearNotes(&graph, kQuantNoteKey);
  }

  QuantizePrepareOptions options_;
};

}  // namespace

std::unique_ptr<Pass> CreateQuantizePreparePass(const QuantizePrepareOptions& options) {
  return std::make_unique<QuantizePreparePass>(options);
}

std::unique_ptr<Pass> CreateQuantizePreparePass() { return CreateQuantizePreparePass({}); }

}  // namespace weft
