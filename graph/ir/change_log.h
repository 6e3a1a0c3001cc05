// Remembers which nodes of a graph were edited, for those who come again and
// want to look at the changes alone.
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

// Readers mark where they stand by a name. Nothing is recorded before the first
// mark. A log that grows past a share of its graph is dropped, marks included:
// then a look at the whole graph is the cheaper way.
class ChangeLog {
 public:
  bool empty() const { return marks_.empty(); }

  // Node `id` was made, edited, or a result of it lost a use. `num_nodes` is
  // the graph's size.
  void Touch(Node* node, uint32_t id, int64_t num_nodes) {
    if (marks_.empty()) return;
    if (static_cast<int64_t>(entries_.size()) > kFree + num_nodes / 4) {
      return Drop();
    }
    entries_.push_back({node, id});
  }

  // `reader` has seen everything up to the graph's `epoch`. `version` is of
  // facts outside of the graph.
  void Mark(absl::string_view reader, uint64_t epoch, uint64_t version);
  // Whether that was the reader's last mark.
  bool IsAt(absl::string_view reader, uint64_t epoch, uint64_t version) const;
  // The nodes touched since the reader's mark that still exist, each once, in
  // the order of their first edit; nothing when it has no mark, the mark was
  // dropped, or the version is another one.
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
