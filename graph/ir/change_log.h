// Remembers which nodes of a graph were edited, so that a pass that runs again can visit the
// changes alone.
#ifndef WEFT_GRAPH_IR_CHANGE_LOG_H_
#define WEFT_GRAPH_IR_CHANGE_LOG_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace weft {

class Node;

// A reader marks its position in the log under its name. Nothing is recorded before the first mark.
// A log that grows past a share of its graph is dropped, with its marks, because visiting the whole
// graph is then cheaper.
class ChangeLog {
 public:
  bool empty() const { return marks_.empty(); }

  // Records that node `id` was made or edited, or that a result of it lost a use. `num_nodes` is
  // the number of nodes of the graph.
  void Touch(Node* node, uint32_t id, int64_t num_nodes) {
    if (marks_.empty()) return;
    if (static_cast<int64_t>(entries_.size()) > kFree + num_nodes / 4) {
      return Drop();
    }
    entries_.push_back({node, id});
  }

  // Records that `reader` has seen everything up to the graph's `epoch`. `version` is that of facts
  // outside of the graph.
  void Mark(absl::string_view reader, uint64_t epoch, uint64_t version);
  // True if these are the epoch and version of the reader's last mark.
  bool IsAt(absl::string_view reader, uint64_t epoch, uint64_t version) const;
  // The existing nodes that were touched since the reader's mark, each once, in the order of their
  // first edit. Nullopt if the reader has no mark, its mark was dropped, or the version differs.
  std::optional<std::vector<Node*>> Since(absl::string_view reader, uint64_t version) const;

 private:
  static constexpr int64_t kFree = 256;
  struct Entry {
    Node* node;
    uint32_t id;
  };
  struct Position {
    size_t entry;
    uint64_t epoch;
    uint64_t version;
  };
  void Drop();

  std::vector<Entry> entries_;
  std::map<std::string, Position, std::less<>> marks_;
};

}  // namespace weft

#endif  // WEFT_GRAPH_IR_CHANGE_LOG_H_
