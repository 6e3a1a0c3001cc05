#include "graph/ir/provenance.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"

namespace weft {

ProvenanceId ProvenanceTable::Leaf(absl::string_view name) {
  if (name.empty()) return 0;
  auto [it, inserted] = leaves_.emplace(std::string(name), entries_.size());
  if (inserted) entries_.push_back({std::string(name), 0, 0});
  return it->second;
}

ProvenanceId ProvenanceTable::Merge(ProvenanceId a, ProvenanceId b) {
  if (a == b || b == 0) return a;
  if (a == 0) return b;
  if (a > b) std::swap(a, b);
  // Absorbs a direct member, so that repeated merges do not grow.
  if (entries_[b].left == a || entries_[b].right == a) return b;
  auto [it, inserted] = unions_.emplace(std::make_pair(a, b), entries_.size());
  if (inserted) entries_.push_back({"", a, b});
  return it->second;
}

std::vector<std::string> ProvenanceTable::Names(ProvenanceId id, size_t limit) const {
  std::vector<ProvenanceId> leaves;
  std::vector<ProvenanceId> stack = {id};
  absl::flat_hash_set<ProvenanceId> seen;
  while (!stack.empty() && leaves.size() < limit) {
    const ProvenanceId top = stack.back();
    stack.pop_back();
    if (top == 0 || !seen.insert(top).second) continue;
    const Entry& entry = entries_[top];
    if (!entry.name.empty()) {
      leaves.push_back(top);
    } else {
      stack.push_back(entry.right);
      stack.push_back(entry.left);
    }
  }
  std::sort(leaves.begin(), leaves.end());
  std::vector<std::string> names;
  for (ProvenanceId leaf : leaves) names.push_back(entries_[leaf].name);
  return names;
}

}  // namespace weft
