#include "serialize/html/module_view.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "serialize/html/node_text.h"
#include "serialize/html/order_diff.h"

namespace weft {
namespace {

constexpr size_t kMaxSources = 32;
constexpr size_t kMaxSteps = 16;
// Nested graphs of at most this many nodes are drawn without scopes.
constexpr int64_t kSmallBody = 40;

}  // namespace

bool ModuleView::Row::operator==(const Row& o) const {
  return std::tie(key, op, name, types, attrs, sources, scope, story) ==
             std::tie(o.key, o.op, o.name, o.types, o.attrs, o.sources, o.scope, o.story) &&
         edges == o.edges;
}

std::vector<std::vector<int>> ModuleView::RowsAt(int i) const {
  std::vector<std::vector<int>> order(graphs.size());  // Keys.
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

// What is remembered between snapshots, and the walk that makes one.
class ModuleViewBuilder::Collector {
 public:
  explicit Collector(ModuleView* view) : view_(view), text_(&view->strings) {}

  absl::Status Collect(const Module& module, ModuleView::Snapshot* snapshot) {
    ++time_;
    std::vector<std::vector<int>> before = std::move(order_);
    order_.assign(before.size(), {});
    queue_.clear();
    for (const auto& function : module.functions()) {
      queue_.push_back({function.get(), FunctionGraph(function->name())});
    }
    for (size_t i = 0; i < queue_.size(); ++i) {
      CollectGraph(*queue_[i].graph, queue_[i].number);
      if (view_->rows.size() > kMaxRows) {
        return absl::ResourceExhaustedError(
            absl::StrCat("the picture would hold more than ", kMaxRows,
                         " forms of nodes; fewer passes, or --emit=text, take less"));
      }
    }
    before.resize(order_.size());
    for (const auto& graph : before) {
      for (int key : graph) {
        if (seen_[key] != time_) snapshot->removed.push_back(key);
      }
    }
    for (const Place& place : queue_) Compare(before[place.number], place.number, snapshot);
    return absl::OkStatus();
  }

  // The key of a node of the graph with that name, or -1.
  int FindKey(absl::string_view graph, int64_t local) const {
    auto it = by_name_.find(graph);
    return it == by_name_.end() ? -1 : LookUp(it->second, local);
  }

  int SourceList(const std::vector<std::string>& names) {
    if (names.empty()) return -1;
    std::vector<int> list;
    for (const std::string& name : names) {
      if (list.size() == kMaxSources) {
        list.push_back(-1);
        break;
      }
      list.push_back(view_->strings.Add(name));
    }
    auto [it, inserted] = lists_.emplace(std::move(list), view_->source_lists.size());
    if (inserted) view_->source_lists.push_back(it->first);
    return it->second;
  }

 private:
  struct Place {
    const Graph* graph;
    int number;
  };
  struct Source {
    int list = -1;
    int scope = 0;
  };

  int AddGraph(int name, int owner, int region) {
    const int number = static_cast<int>(view_->graphs.size());
    view_->graphs.push_back({name, owner, region});
    by_name_.emplace(view_->strings[name], number);
    keys_.emplace_back();
    order_.emplace_back();
    return number;
  }
  int FunctionGraph(const std::string& name) {
    auto [it, inserted] = functions_.emplace(name, 0);
    if (inserted) it->second = AddGraph(view_->strings.Add(name), -1, -1);
    return it->second;
  }
  int RegionGraph(const Node& owner, int owner_key, int i) {
    auto [it, inserted] = regions_.emplace(std::make_pair(owner_key, i), 0);
    if (inserted) {
      const auto& names = owner.op().schema().regions;
      const std::string& region = names[std::min<size_t>(i, names.size() - 1)];
      it->second = AddGraph(view_->strings.Add(owner.region(i)->name()), owner_key,
                            view_->strings.Add(region));
    }
    return it->second;
  }

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

  void CollectGraph(const Graph& graph, int number) {
    fresh_.clear();
    for (int i = 0; i < graph.num_inputs(); ++i) {
      ModuleView::Row row;
      row.key = KeyOf(number, *graph.input(i));
      text_.FillInput(graph, i, &row);
      fresh_.push_back(std::move(row));
    }
    const size_t first_node = fresh_.size();
    for (const Node* node : graph.nodes()) CollectNode(*node, number);
    if (graph.return_node() != nullptr) CollectNode(*graph.return_node(), number);
    SetScopes(graph, view_->graphs[number].owner >= 0, first_node);
    for (ModuleView::Row& row : fresh_) Keep(std::move(row), number);
  }

  void CollectNode(const Node& node, int number) {
    const Module& module = node.graph()->module();
    ModuleView::Row row;
    row.key = KeyOf(number, int64_t{node.id()});
    text_.FillNode(node, &row);
    const Source& source = SourceOf(module, node.provenance());
    row.sources = source.list;
    row.scope = source.scope;
    row.story = StoryOf(module, node.origin());
    for (int i = 0; i < node.num_operands(); ++i) {
      row.edges.emplace_back();
      if (!node.has_operand(i)) continue;
      row.edges.back() = EdgeFrom(number, *node.operand(i));
    }
    for (int i = 0; i < node.num_symbol_operands(); ++i) {
      row.edges.push_back(EdgeFrom(number, *node.symbol_operand(i)));
      row.edges.back().is_symbol = true;
    }
    for (int i = 0; i < node.num_regions(); ++i) {
      queue_.push_back({node.region(i), RegionGraph(node, row.key, i)});
    }
    fresh_.push_back(std::move(row));
  }

  // Nodes without a source (and parameters) lie where their users do. In a nested
  // graph, scopes begin at the innermost one around all of it.
  void SetScopes(const Graph& graph, bool nested, size_t first_node) {
    if (nested && graph.num_nodes() <= kSmallBody) {
      for (auto& row : fresh_) row.scope = 0;
      return;
    }
    ScopeTree& scopes = view_->scopes;
    absl::flat_hash_map<int, int> of_users;  // By key.
    for (size_t i = fresh_.size(); i-- > 0;) {
      ModuleView::Row& row = fresh_[i];
      const bool is_return = i + 1 == fresh_.size();
      const bool placed = i >= first_node || text_.IsParameter(graph, static_cast<int>(i));
      auto it = of_users.find(row.key);
      if (row.sources < 0 && placed && !is_return && it != of_users.end()) row.scope = it->second;
      if (is_return) continue;
      for (const ModuleView::Edge& edge : row.edges) {
        if (edge.key < 0) continue;
        auto [user, first] = of_users.emplace(edge.key, row.scope);
        if (!first) user->second = scopes.Common(user->second, row.scope);
      }
    }
    if (!nested) return;
    int base = -1;
    for (const auto& row : fresh_) {
      if (row.sources >= 0) base = base < 0 ? row.scope : scopes.Common(base, row.scope);
    }
    for (auto& row : fresh_) row.scope = scopes.Relative(row.scope, std::max(base, 0));
  }

  // A row that says what the latest one of its key says is that one.
  void Keep(ModuleView::Row row, int graph) {
    const int key = row.key;
    const bool present = seen_[key] == time_ - 1 && latest_[key] >= 0;
    seen_[key] = time_;
    order_[graph].push_back(key);
    if (present && view_->rows[latest_[key]] == row) return;
    latest_[key] = static_cast<int>(view_->rows.size());
    view_->rows.push_back(std::move(row));
    changed_.resize(view_->keys.size());
    changed_[key] = time_;
  }

  void Compare(const std::vector<int>& before, int graph, ModuleView::Snapshot* snapshot) {
    const std::vector<int>& after = order_[graph];
    const std::vector<OrderEdit> edits = DiffOrder(before, after);
    changed_.resize(view_->keys.size());
    size_t next = 0;
    for (int key : after) {
      const bool moved = next < edits.size() && edits[next].item == key;
      if (moved) {
        snapshot->placed.push_back({latest_[key], edits[next].after});
        ++next;
      } else if (changed_[key] == time_) {
        snapshot->placed.push_back({latest_[key], ModuleView::kStays});
      }
    }
  }

  const Source& SourceOf(const Module& module, ProvenanceId id) {
    auto [it, inserted] = sources_.emplace(id, Source());
    if (!inserted) return it->second;
    const std::vector<std::string> names = module.provenance().Names(id, kMaxSources + 1);
    Source source;
    source.list = SourceList(names);
    for (size_t i = 0; i < names.size(); ++i) {
      const int scope = view_->scopes.Of(names[i]);
      source.scope = i == 0 ? scope : view_->scopes.Common(source.scope, scope);
    }
    return it->second = source;
  }

  int StoryOf(const Module& module, OriginId id) {
    if (id == 0) return -1;
    auto [it, inserted] = stories_.emplace(id, -1);
    if (!inserted) return it->second;
    std::vector<int> story;
    for (const OriginTable::Step& from : module.origins().History(id, kMaxSteps + 1)) {
      StringTable& strings = view_->strings;
      const int rule = from.rule.empty() ? -1 : strings.Add(from.rule);
      const int op = from.op == nullptr ? -1 : strings.Add(from.op->name());
      const auto key =
          std::make_tuple(strings.Add(from.pass), rule, from.rewrite, op, int64_t{from.node});
      auto [step, is_new] = steps_.emplace(key, view_->steps.size());
      if (is_new) view_->steps.push_back({std::get<0>(key), rule, from.rewrite, op, from.node});
      story.push_back(step->second);
    }
    if (story.size() > kMaxSteps) story.back() = -1;
    auto [list, is_new] = story_ids_.emplace(std::move(story), view_->stories.size());
    if (is_new) view_->stories.push_back(list->first);
    return it->second = list->second;
  }

  ModuleView* view_;
  NodeText text_;
  int time_ = 0;
  std::vector<Place> queue_;
  std::vector<ModuleView::Row> fresh_;   // Of the graph at hand.
  std::vector<std::vector<int>> order_;  // Keys, by graph.
  std::vector<absl::flat_hash_map<int64_t, int>> keys_;
  // By key: the snapshot that it was last in, that of its latest row, that row.
  std::vector<int> seen_;
  std::vector<int> changed_;
  std::vector<int> latest_;
  absl::flat_hash_map<std::string, int> functions_;
  absl::flat_hash_map<std::string, int> by_name_;
  absl::flat_hash_map<std::pair<int, int>, int> regions_;
  absl::flat_hash_map<ProvenanceId, Source> sources_;
  absl::flat_hash_map<OriginId, int> stories_;
  absl::flat_hash_map<std::tuple<int, int, int64_t, int, int64_t>, int> steps_;
  absl::flat_hash_map<std::vector<int>, int> lists_;
  absl::flat_hash_map<std::vector<int>, int> story_ids_;
};

ModuleViewBuilder::ModuleViewBuilder(std::string title)
    : collector_(std::make_unique<Collector>(&view_)) {
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

}  // namespace weft
