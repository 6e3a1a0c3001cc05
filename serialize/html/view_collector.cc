#include "serialize/html/view_collector.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "graph/ir/module.h"
#include "graph/ir/op_def.h"
#include "graph/ir/op_schema.h"
#include "graph/ir/origin.h"
#include "graph/ir/provenance.h"
#include "serialize/html/order_diff.h"

namespace weft {
namespace {

constexpr size_t kMaxSources = 32;
constexpr size_t kMaxChanges = 16;
// Nested graphs with at most this many nodes are drawn without scopes.
constexpr int64_t kSmallBody = 40;

}  // namespace

absl::Status ViewCollector::Collect(const Module& module, ModuleView::Snapshot* snapshot) {
  ++time_;
  std::vector<std::vector<int>> before = std::move(order_);
  order_.assign(before.size(), {});
  queue_.clear();
  for (const auto& function : module.functions()) {
    queue_.push_back({function.get(), FunctionGraph(function->name())});
  }
  for (size_t i = 0; i < queue_.size(); ++i) {
    CollectGraph(*queue_[i].graph, queue_[i].number);
    if (view_->rows.size() > ModuleViewBuilder::kMaxRows) {
      return absl::ResourceExhaustedError(
          absl::StrCat("the picture would hold more than ", ModuleViewBuilder::kMaxRows,
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

void ViewCollector::CollectGraph(const Graph& graph, int number) {
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

void ViewCollector::CollectNode(const Node& node, int number) {
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

void ViewCollector::SetScopes(const Graph& graph, bool nested, size_t first_node) {
  if (nested && graph.num_nodes() <= kSmallBody) {
    for (auto& row : fresh_) row.scope = 0;
    return;
  }
  ScopeTree& scopes = view_->scopes;
  absl::flat_hash_map<int, int> of_users;  // Scope of the users, by key.
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

void ViewCollector::Keep(ModuleView::Row row, int graph) {
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

void ViewCollector::Compare(const std::vector<int>& before, int graph,
                            ModuleView::Snapshot* snapshot) {
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

int ViewCollector::AddGraph(int name, int owner, int region) {
  const int number = static_cast<int>(view_->graphs.size());
  view_->graphs.push_back({name, owner, region});
  keys_.emplace_back();
  order_.emplace_back();
  return number;
}

int ViewCollector::RegionGraph(const Node& owner, int owner_key, int i) {
  auto [it, inserted] = regions_.emplace(std::make_pair(owner_key, i), 0);
  if (inserted) {
    const auto& names = owner.op().schema().regions;
    const std::string& region = names[std::min<size_t>(i, names.size() - 1)];
    it->second = AddGraph(view_->strings.Add(owner.region(i)->name()), owner_key,
                          view_->strings.Add(region));
  }
  return it->second;
}

int ViewCollector::FindFunction(absl::string_view name) const {
  auto it = functions_.find(name);
  return it == functions_.end() ? -1 : it->second;
}

int ViewCollector::FindRegion(int graph, int64_t node, int region) const {
  auto it = regions_.find(std::make_pair(FindKey(graph, node), region));
  return it == regions_.end() ? -1 : it->second;
}

int ViewCollector::SourceList(const std::vector<std::string>& names) {
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

const ViewCollector::Source& ViewCollector::SourceOf(const Module& module, ProvenanceId id) {
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

int ViewCollector::StoryOf(const Module& module, OriginId id) {
  if (id == 0) return -1;
  auto [it, inserted] = stories_.emplace(id, -1);
  if (!inserted) return it->second;
  std::vector<int> story;
  for (const OriginTable::Step& from : module.origins().History(id, kMaxChanges + 1)) {
    StringTable& strings = view_->strings;
    const int rule = from.rule.empty() ? -1 : strings.Add(from.rule);
    const int op = from.op == nullptr ? -1 : strings.Add(from.op->name());
    const auto key =
        std::make_tuple(strings.Add(from.pass), rule, from.rewrite, op, int64_t{from.node});
    auto [change, is_new] = changes_.emplace(key, view_->changes.size());
    if (is_new) view_->changes.push_back({std::get<0>(key), rule, from.rewrite, op, from.node});
    story.push_back(change->second);
  }
  if (story.size() > kMaxChanges) story.back() = -1;
  auto [list, is_new] = story_ids_.emplace(std::move(story), view_->stories.size());
  if (is_new) view_->stories.push_back(list->first);
  return it->second = list->second;
}

}  // namespace weft
