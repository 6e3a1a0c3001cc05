#include "serialize/html/module_view.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "serialize/html/order_diff.h"
#include "serialize/html/view_collector.h"

namespace weft {
bool ModuleView::Row::operator==(const Row& o) const {
  return std::tie(key, op, name, types, attrs, sources, scope, story) ==
             std::tie(o.key, o.op, o.name, o.types, o.attrs, o.sources, o.scope, o.story) &&
         edges == o.edges;
}

std::vector<std::vector<int>> ModuleView::RowsAt(int i) const {
  std::vector<std::vector<int>> order(graphs.size());  // Keys by graph.
  std::vector<int> row_of(keys.size(), -1);
  for (int s = 0; s <= i; ++s) {
    std::vector<std::vector<OrderEdit>> edits(graphs.size());
    std::vector<char> gone(keys.size());
    for (int key : snapshots[s].removed) gone[key] = true;
    for (const Placement& placed : snapshots[s].placed) {
      const int key = rows[placed.row].key;
      row_of[key] = placed.row;
      if (placed.after == kStays) continue;
      gone[key] = true;
      edits[keys[key].graph].push_back({key, placed.after});
    }
    for (size_t g = 0; g < graphs.size(); ++g) {
      auto& keys_of = order[g];
      keys_of.erase(
          std::remove_if(keys_of.begin(), keys_of.end(), [&](int key) { return gone[key]; }),
          keys_of.end());
      keys_of = ApplyOrderEdits(keys_of, edits[g]);
    }
  }
  for (auto& graph : order) {
    for (int& key : graph) key = row_of[key];
  }
  return order;
}

ModuleViewBuilder::ModuleViewBuilder(std::string title)
    : collector_(std::make_unique<ViewCollector>(&view_)) {
  view_.title = std::move(title);
}

ModuleViewBuilder::~ModuleViewBuilder() = default;

absl::Status ModuleViewBuilder::AddSnapshot(const Module& module, absl::string_view path,
                                            absl::string_view text, double microseconds) {
  ModuleView::Snapshot snapshot;
  snapshot.microseconds = microseconds;
  snapshot.path = std::string(path);
  snapshot.text = std::string(text);
  absl::Status status = collector_->Collect(module, &snapshot);
  if (status.ok()) view_.snapshots.push_back(std::move(snapshot));
  return status;
}

void ModuleViewBuilder::AddRemark(const RemarkText& remark) {
  if (view_.remarks.size() == kMaxRemarks) {
    ++view_.remarks_left_out;
    return;
  }
  ModuleView::Remark& added = view_.remarks.emplace_back();
  added.snapshot = std::max(0, static_cast<int>(view_.snapshots.size()) - 1);
  added.path = view_.strings.Add(remark.path);
  added.kind = view_.strings.Add(remark.kind);
  added.rule = remark.rule.empty() ? -1 : view_.strings.Add(remark.rule);
  added.text = view_.strings.Add(remark.text);
  added.sources = collector_->SourceList(remark.sources);
  const int function = collector_->FindFunction(remark.function);
  for (int64_t node : remark.nodes) {
    const int key = collector_->FindKey(function, node);
    if (key >= 0) added.keys.push_back(key);
  }
}

void ModuleViewBuilder::AddTrace(const TraceView& trace) {
  for (const KernelTime& kernel : trace.kernels) {
    view_.kernels.push_back({kernel, collector_->SourceList(kernel.sources)});
  }
  view_.runs = trace.runs;
  view_.timeline = trace.timeline;
}

void ModuleViewBuilder::AddPlan(const PlanView& plan) {
  view_.plan_kernels = plan.kernels;
  view_.plan_sizes = plan.sizes;
  std::vector<int> graphs;  // Numbers of the plan's graphs; -1: not in the snapshot.
  for (const PlanGraph& graph : plan.graphs) {
    const bool nested = graph.parent >= 0;
    const int parent = nested ? graphs[graph.parent] : -1;
    graphs.push_back(nested ? collector_->FindRegion(parent, graph.node, graph.region)
                            : collector_->FindFunction(graph.function));
  }
  for (const PlanStep& step : plan.steps) {
    ModuleView::Step& added = view_.steps.emplace_back();
    added.step = step;
    added.sources = collector_->SourceList(step.sources);
    added.key = collector_->FindKey(graphs[step.graph], step.node);
  }
}

void ModuleViewBuilder::AddError(absl::string_view name, double noise,
                                 const std::vector<std::string>& sources) {
  view_.shows_errors = true;
  ModuleView::Kernel& kernel = view_.kernels.emplace_back();
  kernel.time.name = std::string(name);
  kernel.time.median_us = noise;
  kernel.time.calls = 1;
  kernel.sources = collector_->SourceList(sources);
}

}  // namespace weft
