// Records which pass, rule and rewrite made a node, and from which nodes.
//
// Origins live in memory only: the text form keeps source names (loc(...)) and
// no origins. A node holds an id of 4 bytes; a rewrite adds a record of 16, or
// two when it consumed nodes that were themselves made by rewrites. Records are
// never freed: a node's history outlives the nodes it came from.
#ifndef WEFT_GRAPH_IR_ORIGIN_H_
#define WEFT_GRAPH_IR_ORIGIN_H_

#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "graph/ir/ids.h"

namespace weft {

class OpDef;

class OriginTable {
 public:
  // One step of a history, for reading.
  struct Step {
    absl::string_view pass;
    absl::string_view rule;     // Empty if the pass made the node without a rule.
    int64_t rewrite = 0;        // The rewrite's number; 0 without a rule.
    const OpDef* op = nullptr;  // Op of the node that was rewritten, if any...
    uint32_t node = 0;          // ... and its id.
    OriginId from = 0;          // Origin of the nodes that were rewritten.
  };

  OriginTable() : records_(1), makers_(1), ops_(1) {}

  // Nodes that are made while a pass runs get current() as their origin.
  void BeginPass(absl::string_view pass);
  void EndPass() { current_ = 0; }
  OriginId current() const { return current_; }

  // Adds a rewrite of the node with this `op` and id. `from` is the Merge of the origins of all
  // nodes that the rewrite consumed.
  OriginId Rewrite(absl::string_view rule, int64_t number, const OpDef* op, uint32_t node,
                   OriginId from);
  // An origin with both histories.
  OriginId Merge(OriginId a, OriginId b);

  // The steps that led to `id`, the latest first; at most `limit`.
  std::vector<Step> History(OriginId id, size_t limit = 64) const;
  // The passes and rules among the latest 64 of them, the latest first, each once: "freeze",
  // "canonicalize.mul-one"; at most `limit`.
  std::vector<std::string> Rules(OriginId id, size_t limit) const;
  size_t bytes() const { return records_.size() * sizeof(Record); }

 private:
  struct Record {
    uint32_t rewrite = 0;
    uint32_t node = 0;  // For kUnion, the second origin.
    OriginId from = 0;
    uint16_t maker = 0;
    uint16_t op = 0;
  };
  static_assert(sizeof(Record) == 16, "the header promises 16 bytes");
  static constexpr uint16_t kUnion = 0xffff;

  OriginId Add(const Record& record);
  uint16_t Maker(absl::string_view rule);
  uint16_t Op(const OpDef* op);

  std::deque<Record> records_;                               // Grows without a copy.
  std::vector<std::pair<std::string, std::string>> makers_;  // Pass and rule.
  absl::flat_hash_map<std::pair<std::string, std::string>, uint16_t> maker_ids_;
  std::vector<const OpDef*> ops_;
  absl::flat_hash_map<const OpDef*, uint16_t> op_ids_;
  std::string pass_;
  uint16_t last_maker_ = 0;
  uint16_t last_op_ = 0;
  OriginId current_ = 0;
};

}  // namespace weft

#endif  // WEFT_GRAPH_IR_ORIGIN_H_
