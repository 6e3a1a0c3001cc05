// Makes a snapshot of a module by walking over it, and keeps the state between snapshots.
#ifndef WEFT_SERIALIZE_HTML_VIEW_COLLECTOR_H_
#define WEFT_SERIALIZE_HTML_VIEW_COLLECTOR_H_

#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "graph/ir/node.h"
#include "serialize/html/module_view.h"
#include "serialize/html/node_text.h"

namespace weft {

class Module;

class ViewCollector {
 public:
  explicit ViewCollector(ModuleView* view) : view_(view), text_(&view->strings, &view->view_ops) {}

  // Adds rows and the changes since the last snapshot.
  absl::Status Collect(const Module& module, ModuleView::Snapshot* snapshot);
  // Numbers of graphs, and the key of a node in one; -1 if there is none, also for graph -1.
  int FindFunction(absl::string_view name) const;
  int FindRegion(int graph, int64_t node, int region) const;
  int FindKey(int graph, int64_t local) const { return graph < 0 ? -1 : LookUp(graph, local); }
  // Number of the list of these names; -1 for an empty list.
  int SourceList(const std::vector<std::string>& names);

 private:
  struct Place {
    const Graph* graph;
    int number;
  };
  struct Source {
    int list = -1;
    int scope = 0;
  };

  int AddGraph(int name, int owner, int region);
  int FunctionGraph(const std::string& name) {
    auto [it, inserted] = functions_.emplace(name, 0);
    if (inserted) it->second = AddGraph(view_->strings.Add(name), -1, -1);
    return it->second;
  }
  int RegionGraph(const Node& owner, int owner_key, int i);

  int LookUp(int graph, int64_t local) const {
    auto it = keys_[graph].find(local);
    return it == keys_[graph].end() ? -1 : it->second;
  }
  int KeyOf(int graph, int64_t local) {
    auto [it, inserted] = keys_[graph].emplace(local, view_->keys.size());
    if (inserted) {
      view_->keys.push_back({graph, local});
      seen_.push_back(0);
      latest_.push_back(-1);
    }
    return it->second;
  }
  int KeyOf(int graph, const Value& value) {
    return value.is_input() ? KeyOf(graph, -1 - int64_t{value.id()})
                            : KeyOf(graph, int64_t{value.node()->id()});
  }

  ModuleView::Edge EdgeFrom(int graph, const Value& value) {
    return {KeyOf(graph, value), value.is_input() ? 0 : value.index(), false};
  }

  // Collects the rows of a graph, at first in fresh_; its nested graphs go into the queue.
  void CollectGraph(const Graph& graph, int number);
  void CollectNode(const Node& node, int number);
  // Puts nodes without a source (and parameters) into the scopes of their users. In a nested graph,
  // scopes begin at the innermost one that encloses all of it.
  void SetScopes(const Graph& graph, bool nested, size_t first_node);
  // Stores a row, unless it equals the latest row of its key.
  void Keep(ModuleView::Row row, int graph);
  // Records the difference between the old and the new order of a graph.
  void Compare(const std::vector<int>& before, int graph, ModuleView::Snapshot* snapshot);
  const Source& SourceOf(const Module& module, ProvenanceId id);
  int StoryOf(const Module& module, OriginId id);

  ModuleView* view_;
  NodeText text_;
  int time_ = 0;
  std::vector<Place> queue_;
  std::vector<ModuleView::Row> fresh_;   // Rows of the present graph.
  std::vector<std::vector<int>> order_;  // Keys in order, by graph.
  std::vector<absl::flat_hash_map<int64_t, int>> keys_;
  // By key: its last snapshot, the snapshot of its latest row, and that row.
  std::vector<int> seen_;
  std::vector<int> changed_;
  std::vector<int> latest_;
  absl::flat_hash_map<std::string, int> functions_;
  absl::flat_hash_map<std::pair<int, int>, int> regions_;
  absl::flat_hash_map<ProvenanceId, Source> sources_;
  absl::flat_hash_map<OriginId, int> stories_;
  absl::flat_hash_map<std::tuple<int, int, int64_t, int, int64_t>, int> changes_;
  absl::flat_hash_map<std::vector<int>, int> lists_;
  absl::flat_hash_map<std::vector<int>, int> story_ids_;
};

}  // namespace weft

#endif  // WEFT_SERIALIZE_HTML_VIEW_COLLECTOR_H_
