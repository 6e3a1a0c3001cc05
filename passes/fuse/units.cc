#include "passes/fuse/units.h"

#include <algorithm>

#include "base/check.h"
#include "graph/ir/graph.h"
#include "graph/ir/op_def.h"

namespace weft {

Units::Units(const Graph& graph) : positions_(graph.node_id_limit(), -1) {
  int effects = -1;
  for (Node* node : graph.nodes()) {
    const int position = static_cast<int>(nodes_.size());
    positions_[node->id()] = position;
    nodes_.push_back(node);
    effects_before_.push_back(-1);
    effects_after_.push_back(-1);
    if (node->op().is_pure()) continue;
    effects_before_[position] = effects;
    if (effects >= 0) effects_after_[effects] = position;
    effects = position;
  }
  const int n = static_cast<int>(nodes_.size());
  parents_.resize(n);
  for (int i = 0; i < n; ++i) parents_[i] = i;
  orders_ = last_ = parents_;
  sizes_.assign(n, 1);
  next_.assign(n, -1);
  marks_.assign(n, 0);
}

int Units::Find(int unit) const {
  while (parents_[unit] != unit) {
    parents_[unit] = parents_[parents_[unit]];
    unit = parents_[unit];
  }
  return unit;
}

void Units::ForEachNode(int unit, absl::FunctionRef<void(Node*)> fn) const {
  for (int i = unit; i >= 0; i = next_[i]) fn(nodes_[i]);
}

std::vector<Node*> Units::NodesOf(int unit) const {
  std::vector<Node*> nodes;
  ForEachNode(unit, [&](Node* node) { nodes.push_back(node); });
  std::sort(nodes.begin(), nodes.end(),
            [this](const Node* a, const Node* b) { return PositionOf(a) < PositionOf(b); });
  return nodes;
}

void Units::Users(int position, std::vector<int>* positions) const {
  positions->clear();
  const Node* node = nodes_[position];
  for (int i = 0; i < node->num_results(); ++i) {
    for (Use* use = node->result(i)->first_use(); use != nullptr; use = use->next()) {
      const int user = positions_[use->user()->id()];
      if (user >= 0) positions->push_back(user);
    }
  }
  if (effects_after_[position] >= 0) {
    positions->push_back(effects_after_[position]);
  }
}

void Units::Sources(int position, std::vector<int>* positions) const {
  positions->clear();
  const Node* node = nodes_[position];
  const int n = node->num_operands();
  for (int i = 0; i < n + node->num_symbol_operands(); ++i) {
    const Value* v = i < n ? node->operand(i) : node->symbol_operand(i - n);
    if (v != nullptr && !v->is_input()) {
      positions->push_back(positions_[v->node()->id()]);
    }
  }
  if (effects_before_[position] >= 0) {
    positions->push_back(effects_before_[position]);
  }
}

// False: `low` reaches `high` through another unit, or at all when they must be
// independent.
bool Units::Forward(int low, int high, bool independent, int* edges) {
  reached_.clear();
  stack_.assign(1, low);
  while (!stack_.empty() && *edges <= kMaxEdges) {
    const int unit = stack_.back();
    stack_.pop_back();
    for (int i = unit; i >= 0; i = next_[i]) {
      Users(i, &around_);
      *edges += 1 + static_cast<int>(around_.size());
      for (int position : around_) {
        const int user = Find(position);
        if (user == high) {
          if (unit != low || independent) return false;
          continue;
        }
        if (user == unit || marks_[user] == mark_) continue;
        if (orders_[user] > orders_[high]) continue;
        marks_[user] = mark_;
        reached_.push_back(user);
        stack_.push_back(user);
      }
    }
  }
  return true;
}

bool Units::Backward(int low, int high, int* edges) {
  reaching_.clear();
  stack_.assign(1, high);
  while (!stack_.empty() && *edges <= kMaxEdges) {
    const int unit = stack_.back();
    stack_.pop_back();
    for (int i = unit; i >= 0; i = next_[i]) {
      Sources(i, &around_);
      *edges += 1 + static_cast<int>(around_.size());
      for (int position : around_) {
        const int source = Find(position);
        if (source == unit || source == low || marks_[source] == mark_) {
          continue;
        }
        if (orders_[source] < orders_[low]) continue;
        marks_[source] = mark_;
        reaching_.push_back(source);
        stack_.push_back(source);
      }
    }
  }
  return *edges <= kMaxEdges;
}

// What reaches `high` goes down, what `low` reaches goes up, and the merged unit
// stands between them; all in the places that they had together.
void Units::Move(int low, int high, int merged) {
  const auto by_order = [this](int a, int b) { return orders_[a] < orders_[b]; };
  std::sort(reached_.begin(), reached_.end(), by_order);
  std::sort(reaching_.begin(), reaching_.end(), by_order);
  std::vector<int> places = {orders_[low], orders_[high]};
  for (int unit : reached_) places.push_back(orders_[unit]);
  for (int unit : reaching_) places.push_back(orders_[unit]);
  std::sort(places.begin(), places.end());
  size_t next = 0;
  for (int unit : reaching_) orders_[unit] = places[next++];
  orders_[merged] = places[next];
  next = places.size() - reached_.size();
  for (int unit : reached_) orders_[unit] = places[next++];
}

void Units::Join(int into, int from) {
  parents_[from] = into;
  sizes_[into] += sizes_[from];
  next_[last_[into]] = from;
  last_[into] = last_[from];
}

Units::Result Units::Merge(int a, int b, bool independent) {
  WEFT_CHECK(a != b && Find(a) == a && Find(b) == b);
  const int low = orders_[a] < orders_[b] ? a : b;
  const int high = low == a ? b : a;
  ++mark_;
  int edges = 0;
  const bool apart = Forward(low, high, independent, &edges);
  if (!apart) return Result::kCycle;
  if (edges > kMaxEdges || !Backward(low, high, &edges)) return Result::kTooFar;
  const int into = sizes_[low] >= sizes_[high] ? low : high;
  Move(low, high, into);
  Join(into, into == low ? high : low);
  return Result::kMerged;
}

std::vector<int> Units::InOrder() const {
  std::vector<int> by_order(nodes_.size(), -1);
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (Find(static_cast<int>(i)) == static_cast<int>(i)) {
      by_order[orders_[i]] = static_cast<int>(i);
    }
  }
  by_order.erase(std::remove(by_order.begin(), by_order.end(), -1), by_order.end());
  return by_order;
}

void Units::Reorder(Graph& graph) const {
  Node* at = graph.first_node();
  for (int unit : InOrder()) {
    for (Node* node : NodesOf(unit)) {
      if (node == at) {
        at = at->next();
      } else {
        graph.MoveBefore(node, at);
      }
    }
  }
}

}  // namespace weft
