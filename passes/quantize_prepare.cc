#include "passes/quantize_prepare.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "graph/ir/annotations.h"
#include "graph/ir/builder.h"
#include "graph/ir/constant_store.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ops/quant.h"
#include "graph/ops/quant/observer_state.h"
#include "passes/quantize/observer.h"

namespace weft {
namespace {

// Each value once, in the order of ids; the pass puts them into the order of the graph.
std::vector<Value*> ValuesOf(const SiteGroup& group) {
  std::vector<Value*> values;
  for (const QuantSite& site : group.sites) values.push_back(site.value);
  std::sort(values.begin(), values.end(),
            [](const Value* a, const Value* b) { return a->id() < b->id(); });
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

absl::Status CheckGranularity(const SiteGroup& group) {
  const QuantSpec& spec = group.spec;
  const bool slices = spec.granularity == QuantGranularity::kAxis;
  if (spec.granularity != QuantGranularity::kTensor && !slices) {
    return absl::InvalidArgumentError(
        absl::StrCat(ToString(group.sites[0]), ": observed values have one scale or one for each ",
                     "slice, not \"", ToText(spec), "\""));
  }
  if (slices && StatisticOf(spec) == "histogram") {
    return absl::InvalidArgumentError(absl::StrCat(ToString(group.sites[0]), ": the observer ",
                                                   spec.observer, " is for one scale only"));
  }
  return absl::OkStatus();
}

// The constant size of the axis, equal for all values.
absl::StatusOr<int64_t> ChannelsOf(const SiteGroup& group, const std::vector<Value*>& values) {
  int64_t channels = -1;
  for (Value* value : values) {
    const Type type = value->type();
    const int axis = group.spec.axis < 0 ? group.spec.axis + type.rank() : group.spec.axis;
    if (axis < 0 || axis >= type.rank() || !type.dim(axis).is_constant()) {
      return absl::InvalidArgumentError(absl::StrCat(ToString(PlaceOf(value)), ": axis ",
                                                     group.spec.axis,
                                                     " of the spec has no constant size"));
    }
    const int64_t size = type.dim(axis).value();
    if (channels >= 0 && size != channels) {
      return absl::InvalidArgumentError(
          absl::StrCat(ToString(PlaceOf(values[0])), " and ", ToString(PlaceOf(value)),
                       " share scales of slices, but have ", channels, " and ", size, " slices"));
    }
    channels = size;
  }
  return channels;
}

// Adds inputs and nodes. The values of one state are seen in the order of the graph.
class Preparer {
 public:
  Preparer(Graph& graph, PassContext& context) : graph_(graph), context_(context) {
    int64_t place = 0;
    for (const Node* node : graph.nodes()) {
      if (node->id() >= places_.size()) places_.resize(node->id() + 1);
      places_[node->id()] = ++place;
    }
  }

  absl::Status Add(ObserverPlan plan, SiteGroup& group) {
    std::stable_sort(plan.values.begin(), plan.values.end(),
                     [this](Value* a, Value* b) { return PlaceOf(a) < PlaceOf(b); });
    const HostTensor initial = InitialState(plan.statistic, plan.channels);
    const int index = graph_.num_inputs();
    Value* state = graph_.AddInput(initial.type(), absl::StrCat("observer.", num_added_));
    graph_.input_info(index).initial = graph_.module().constants().Add(initial);
    ++num_added_;
    for (Value* value : plan.values) {
      Node* after = value->node();
      Builder b(&graph_, after == nullptr ? graph_.first_node() : after->next());
      if (after != nullptr) b.set_provenance(after->provenance());
      state = ops::BuildObserve(b, value, state, plan.statistic, plan.axis);
      WEFT_RETURN_IF_ERROR(b.status());
    }
    Mark(group, graph_.input_info(index).name);
    inputs_.push_back(index);
    states_.push_back(state);
    context_.Count("observers");
    return absl::OkStatus();
  }

  // Write-backs are the last outputs, by input; the new inputs are the last.
  void Finish() {
    if (inputs_.empty()) return;
    std::vector<Value*> outputs = graph_.outputs();
    std::vector<int> write_backs = graph_.write_backs();
    std::vector<std::string> names = graph_.output_names();
    for (size_t i = 0; i < inputs_.size(); ++i) {
      outputs.push_back(states_[i]);
      write_backs.push_back(inputs_[i]);
      if (!graph_.output_names().empty()) names.push_back(graph_.input_info(inputs_[i]).name);
    }
    graph_.SetOutputs(outputs);
    graph_.SetWriteBacks(std::move(write_backs));
    graph_.output_names() = std::move(names);
  }

 private:
  // Inputs come first.
  int64_t PlaceOf(const Value* value) const {
    return value->node() == nullptr ? 0 : places_[value->node()->id()];
  }

  static void Mark(const SiteGroup& group, const std::string& name) {
    for (const QuantSite& site : group.sites) {
      if (site.user == nullptr) {
        SetNote(site.value, kObserverKey, name);
      } else {
        SetNote(site.user, site.operand, kObserverKey, name);
      }
    }
  }

  Graph& graph_;
  PassContext& context_;
  std::vector<int64_t> places_;  // By node id.
  std::vector<int> inputs_;
  std::vector<Value*> states_;
  int num_added_ = 0;
};

class QuantizePreparePass : public Pass {
 public:
  absl::string_view name() const override { return "quantize_prepare"; }
  absl::string_view doc() const override {
    return "Adds observers, whose states are inputs, for the values that are to be quantized.";
  }
  bool ChangesInputs() const override { return true; }
  absl::Status Run(Module& module, PassContext& context) override {
    for (Graph* graph : module.AllGraphs()) {
      const bool is_function = module.FindFunction(graph->name()) == graph;
      WEFT_RETURN_IF_ERROR(is_function ? Prepare(*graph, context) : LeaveAlone(*graph, context));
    }
    return absl::OkStatus();
  }

 private:
  static absl::Status Prepare(Graph& graph, PassContext& context) {
    WEFT_ASSIGN_OR_RETURN(std::vector<SiteGroup> groups, CollectSites(graph));
    WEFT_ASSIGN_OR_RETURN(std::vector<ObserverPlan> plans, PlanObservers(graph, groups));
    Preparer preparer(graph, context);
    for (ObserverPlan& plan : plans) {
      if (!context.StartRewrite({NumericContract::kBitExact})) break;
      SiteGroup& group = groups[plan.group];
      WEFT_RETURN_IF_ERROR(preparer.Add(std::move(plan), group));
    }
    preparer.Finish();
    return absl::OkStatus();
  }

  // A nested graph has no state of its own.
  static absl::Status LeaveAlone(Graph& graph, PassContext& context) {
    WEFT_ASSIGN_OR_RETURN(const std::vector<SiteGroup> groups, CollectSites(graph));
    for (const SiteGroup& group : groups) {
      if (!NeedsObserver(graph, group)) continue;
      context.Count("nested");
      if (context.wants_remarks()) {
        Remark remark;
        remark.kind = RemarkKind::kMissed;
        remark.function = graph.name();
        remark.reason =
            absl::StrCat("values of nested graphs are not observed: ", ToString(group.sites[0]),
                         " and all others stay float");
        context.AddRemark(std::move(remark));
      }
      ClearNotes(&graph, kQuantNoteKey);
      break;
    }
    return absl::OkStatus();
  }
};

}  // namespace

absl::StatusOr<std::vector<ObserverPlan>> PlanObservers(const Graph& graph,
                                                        const std::vector<SiteGroup>& groups) {
  std::vector<ObserverPlan> plans;
  for (size_t i = 0; i < groups.size(); ++i) {
    const SiteGroup& group = groups[i];
    if (!group.observer.empty() || !NeedsObserver(graph, group)) continue;
    WEFT_RETURN_IF_ERROR(CheckGranularity(group));
    ObserverPlan plan;
    plan.group = static_cast<int>(i);
    plan.statistic = std::string(StatisticOf(group.spec));
    plan.values = ValuesOf(group);
    if (group.spec.granularity == QuantGranularity::kAxis) {
      WEFT_ASSIGN_OR_RETURN(plan.channels, ChannelsOf(group, plan.values));
      plan.axis = group.spec.axis;
    }
    plans.push_back(std::move(plan));
  }
  return plans;
}

std::string ToText(const std::vector<ObserverPlan>& plans) {
  std::string text;
  for (const ObserverPlan& plan : plans) {
    std::vector<std::string> names;
    for (Value* value : plan.values) names.push_back(ToString(PlaceOf(value)));
    absl::StrAppend(&text, plan.statistic,
                    plan.axis.has_value() ? absl::StrCat(" axis=", *plan.axis) : "", " of ",
                    absl::StrJoin(names, "; "), "\n");
  }
  return text;
}

std::unique_ptr<Pass> CreateQuantizePreparePass() {
  return std::make_unique<QuantizePreparePass>();
}

}  // namespace weft
