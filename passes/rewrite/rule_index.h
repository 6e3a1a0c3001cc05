// Which rules to try on a node: found by the op's address in a small open table,
// so that a node of an op without rules costs a few instructions.
#ifndef WEFT_PASSES_REWRITE_RULE_INDEX_H_
#define WEFT_PASSES_REWRITE_RULE_INDEX_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "passes/pass_context.h"
#include "passes/rewrite/rule.h"

namespace weft {

class RuleIndex {
 public:
  struct Entry {
    const OpDef* op = nullptr;
    OpSpec::FoldFn fold = nullptr;
    std::vector<int> rules;  // Indices for rule(), in order.
    int64_t folds = 0;       // How often the fold was applied.
    bool empty() const { return fold == nullptr && rules.empty(); }
  };

  RuleIndex(absl::Span<const absl::Span<const Rule>> themes,
            const PassContext& context, bool fold);

  const Rule& rule(int i) const { return *rules_[i]; }
  int num_rules() const { return static_cast<int>(rules_.size()); }
  // The largest depth of the rules; at least 1.
  int depth() const { return depth_; }

  Entry& ForOp(const OpDef& op) {
    if (last_->op == &op) return *last_;
    for (size_t slot = Hash(&op);; slot = (slot + 1) & (table_.size() - 1)) {
      Entry* entry = table_[slot];
      if (entry == nullptr) return Insert(op);
      if (entry->op == &op) return *(last_ = entry);
    }
  }

  // In the order of the first meeting, which depends on the graph alone.
  const std::vector<std::unique_ptr<Entry>>& entries() const {
    return entries_;
  }

 private:
  size_t Hash(const OpDef* op) const {
    const uint64_t h =
        reinterpret_cast<uintptr_t>(op) * uint64_t{0x9e3779b97f4a7c15u};
    return static_cast<size_t>(h >> 32) & (table_.size() - 1);
  }
  Entry& Insert(const OpDef& op);
  void Place(Entry* entry);

  bool fold_;
  int depth_ = 1;
  std::vector<const Rule*> rules_;
  std::vector<std::unique_ptr<Entry>> entries_;
  std::vector<Entry*> table_;  // Open addressing; a power of two of slots.
  Entry none_;
  Entry* last_ = &none_;
};

}  // namespace weft

#endif  // WEFT_PASSES_REWRITE_RULE_INDEX_H_
