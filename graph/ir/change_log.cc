#include "graph/ir/change_log.h"

#include "absl/container/flat_hash_set.h"
#include "graph/ir/node.h"

namespace weft {

void ChangeLog::Mark(absl::string_view reader, uint64_t epoch, uint64_t version) {
  if (marks_.size() == 1 && marks_.begin()->first == reader) entries_.clear();
  marks_.insert_or_assign(std::string(reader), Position{entries_.size(), epoch, version});
}

bool ChangeLog::IsAt(absl::string_view reader, uint64_t epoch, uint64_t version) const {
  auto mark = marks_.find(reader);
  return mark != marks_.end() && mark->second.epoch == epoch && mark->second.version == version;
}

std::optional<std::vector<Node*>> ChangeLog::Since(absl::string_view reader,
                                                   uint64_t version) const {
  auto mark = marks_.find(reader);
  if (mark == marks_.end() || mark->second.version != version) {
    return std::nullopt;
  }
  std::vector<Node*> nodes;
  absl::flat_hash_set<uint32_t> seen;
  for (size_t i = mark->second.entry; i < entries_.size(); ++i) {
    // The memory of an erased node still belongs to the graph, and its id has changed.
    if (entries_[i].node->id() != entries_[i].id) continue;
    if (seen.insert(entries_[i].id).second) nodes.push_back(entries_[i].node);
  }
  return nodes;
}

void ChangeLog::Drop() {
  entries_.clear();
  entries_.shrink_to_fit();
  marks_.clear();
}

}  // namespace weft
