#include "api/inspect/remark_numbers.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"

namespace weft {
namespace {

using Numbers = absl::flat_hash_map<int64_t, int64_t>;  // By node id.

Numbers NumbersOf(const Graph& graph) {
  Numbers numbers;
  int64_t number = 0;
  for (const Node* node : graph.nodes()) {
    if (node->num_results() > 0) numbers.emplace(node->id(), number);
    number += node->num_results();
  }
  return numbers;
}

// (missing, -matched) of the argument matched=3/4: the least is the nearest.
std::pair<int64_t, int64_t> Lack(const Remark& remark) {
  for (const auto& [name, value] : remark.args) {
    if (name != "matched") continue;
    const size_t slash = value.find('/');
    int64_t matched = 0, total = 0;
    if (slash == std::string::npos ||
        !absl::SimpleAtoi(absl::string_view(value).substr(0, slash), &matched) ||
        !absl::SimpleAtoi(absl::string_view(value).substr(slash + 1), &total)) {
      break;
    }
    return {total - matched, -matched};
  }
  return {INT64_MAX, 0};
}

}  // namespace

void NumberByText(const Module& module, std::vector<Remark>* remarks) {
  // Null: the name is that of several graphs.
  std::map<absl::string_view, const Graph*> graphs;
  for (const Graph* graph : module.AllGraphs()) {
    const auto [it, fresh] = graphs.emplace(graph->name(), graph);
    if (!fresh) it->second = nullptr;
  }
  std::map<absl::string_view, Numbers> numbers;
  for (Remark& remark : *remarks) {
    const auto [it, fresh] = numbers.try_emplace(remark.function);
    const auto graph = graphs.find(remark.function);
    if (fresh && graph != graphs.end() && graph->second != nullptr) {
      it->second = NumbersOf(*graph->second);
    }
    const auto number = it->second.find(remark.node);
    remark.node = number == it->second.end() ? -1 : number->second;
    std::vector<int64_t> related;
    for (const int64_t id : remark.related) {
      const auto other = it->second.find(id);
      if (other != it->second.end()) related.push_back(other->second);
    }
    remark.related = std::move(related);
  }
}

void SortNearMisses(std::vector<Remark>* remarks) {
  std::vector<size_t> places;
  std::vector<Remark> misses;
  for (size_t i = 0; i < remarks->size(); ++i) {
    if ((*remarks)[i].kind != RemarkKind::kNearMiss) continue;
    places.push_back(i);
    misses.push_back(std::move((*remarks)[i]));
  }
  std::stable_sort(misses.begin(), misses.end(),
                   [](const Remark& a, const Remark& b) { return Lack(a) < Lack(b); });
  for (size_t i = 0; i < places.size(); ++i) (*remarks)[places[i]] = std::move(misses[i]);
}

}  // namespace weft
