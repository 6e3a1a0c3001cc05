// The order of a graph's nodes.
#include <algorithm>
#include <functional>
#include <queue>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "serialize/onnx/import/import_model.h"

namespace weft::onnx_import {
namespace {

using ::onnx::AttributeProto;
using ::onnx::GraphProto;
using ::onnx::NodeProto;
using Names = absl::flat_hash_set<absl::string_view>;

// A nested graph and the names that it defines.
struct Level {
  const GraphProto* graph;
  int parent;  // The enclosing level, or -1.
  Names defined;
};

Level MakeLevel(const GraphProto& graph, int parent) {
  Level level{&graph, parent, {}};
  for (const auto& input : graph.input()) level.defined.insert(input.name());
  for (const auto& t : graph.initializer()) level.defined.insert(t.name());
  for (const NodeProto& node : graph.node()) {
    for (const std::string& name : node.output()) level.defined.insert(name);
  }
  return level;
}

// The graphs nested directly in `node`.
void PushLevels(const NodeProto& node, int parent, std::vector<Level>* out) {
  for (const AttributeProto& attr : node.attribute()) {
    if (attr.has_g()) out->push_back(MakeLevel(attr.g(), parent));
    for (const GraphProto& graph : attr.graphs()) {
      out->push_back(MakeLevel(graph, parent));
    }
  }
}

// Calls `read` on the outer names that graphs nested in `node` use.
void ForEachFreeName(const NodeProto& node, const std::function<void(const std::string&)>& read) {
  std::vector<Level> levels;
  PushLevels(node, -1, &levels);
  for (size_t i = 0; i < levels.size(); ++i) {
    const auto visit = [&](const std::string& name) {
      for (int at = static_cast<int>(i); at >= 0; at = levels[at].parent) {
        if (levels[at].defined.contains(name)) return;
      }
      read(name);
    };
    const GraphProto& graph = *levels[i].graph;
    for (const NodeProto& inner : graph.node()) {
      for (const std::string& name : inner.input()) visit(name);
    }
    for (const auto& output : graph.output()) visit(output.name());
    for (const NodeProto& inner : graph.node()) {
      PushLevels(inner, static_cast<int>(i), &levels);
    }
  }
}

using Producers = absl::flat_hash_map<absl::string_view, int>;

absl::StatusOr<Producers> FindProducers(const NodeProtos& nodes) {
  Producers producers;
  for (int i = 0; i < nodes.size(); ++i) {
    for (const std::string& name : nodes[i].output()) {
      if (name.empty()) continue;
      auto [it, inserted] = producers.emplace(name, i);
      if (inserted) continue;
      return absl::InvalidArgumentError(absl::StrCat("value '", name, "' is defined twice: by ",
                                                     DescribeNode(nodes[it->second]), " and by ",
                                                     DescribeNode(nodes[i])));
    }
  }
  return producers;
}

// The nodes that node i must follow.
std::vector<int> Predecessors(const NodeProto& node, const Producers& producers) {
  std::vector<int> before;
  const auto read = [&](const std::string& name) {
    auto it = producers.find(name);
    if (it != producers.end()) before.push_back(it->second);
  };
  for (const std::string& name : node.input()) read(name);
  ForEachFreeName(node, read);
  return before;
}

// Walks back through nodes that never became ready, until one repeats.
absl::Status CycleError(const NodeProtos& nodes, const std::vector<std::vector<int>>& before,
                        const std::vector<int>& waiting) {
  int at = 0;
  while (waiting[at] == 0) ++at;
  std::vector<int> path, position(nodes.size(), -1);
  while (position[at] < 0) {
    position[at] = static_cast<int>(path.size());
    path.push_back(at);
    for (int p : before[at]) {
      if (waiting[p] > 0) {
        at = p;
        break;
      }
    }
  }
  path.erase(path.begin(), path.begin() + position[at]);
  std::reverse(path.begin(), path.end());
  constexpr size_t kShown = 16;
  std::vector<std::string> names;
  for (size_t i = 0; i < std::min(path.size(), kShown); ++i) {
    names.push_back(absl::StrCat("'", NodeName(nodes[path[i]]), "'"));
  }
  if (path.size() > kShown) {
    names.push_back(absl::StrCat("and ", path.size() - kShown, " more"));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("the graph has a cycle through nodes ", absl::StrJoin(names, ", ")));
}

}  // namespace

absl::StatusOr<std::vector<int>> OrderNodes(const NodeProtos& nodes) {
  WEFT_ASSIGN_OR_RETURN(const Producers producers, FindProducers(nodes));
  const int n = nodes.size();
  std::vector<std::vector<int>> before(n);
  bool sorted = true;
  for (int i = 0; i < n; ++i) {
    before[i] = Predecessors(nodes[i], producers);
    for (int p : before[i]) sorted &= p < i;
  }
  std::vector<int> order;
  if (sorted) {
    for (int i = 0; i < n; ++i) order.push_back(i);
    return order;
  }
  std::vector<std::vector<int>> after(n);
  std::vector<int> waiting(n);
  for (int i = 0; i < n; ++i) {
    waiting[i] = static_cast<int>(before[i].size());
    for (int p : before[i]) after[p].push_back(i);
  }
  // The ready nodes; the first in the given order is next.
  std::priority_queue<int, std::vector<int>, std::greater<int>> ready;
  for (int i = 0; i < n; ++i) {
    if (waiting[i] == 0) ready.push(i);
  }
  while (!ready.empty()) {
    const int i = ready.top();
    ready.pop();
    order.push_back(i);
    for (int j : after[i]) {
      if (--waiting[j] == 0) ready.push(j);
    }
  }
  if (static_cast<int>(order.size()) == n) return order;
  return CycleError(nodes, before, waiting);
}

}  // namespace weft::onnx_import
