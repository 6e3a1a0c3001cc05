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
                                            absl::string_view text) {
  ModuleView::Snapshot snapshot;
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
  for (int64_t node : remark.nodes) {
    const int key = collector_->FindKey(remark.function, node);
    if (key >= 0) added.keys.push_back(key);
  }
}

void ModuleViewBuilder::AddKernel(absl::string_view name, double microseconds, int64_t calls,
                                  int64_t bytes, const std::vector<std::string>& sources) {
  view_.kernels.push_back(
      {view_.strings.Add(name), microseconds, calls, bytes, collector_->SourceList(sources)});
}

void ModuleViewBuilder::AddError(absl::string_view name, double noise,
                                 const std::vector<std::string>& sources) {
  view_.shows_errors = true;
  AddKernel(name, noise, 1, 0, sources);
}

}  // namespace weft
