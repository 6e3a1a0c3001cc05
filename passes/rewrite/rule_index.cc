#include "passes/rewrite/rule_index.h"

#include <algorithm>

namespace weft {

RuleIndex::RuleIndex(absl::Span<const absl::Span<const Rule>> themes,
                     const PassContext& context, bool fold)
    : fold_(fold), table_(64) {
  for (absl::Span<const Rule> theme : themes) {
    for (const Rule& rule : theme) {
      if (!context.Admits(rule.contract)) continue;
      rules_.push_back(&rule);
      depth_ = std::max(depth_, rule.depth);
    }
  }
}

RuleIndex::Entry& RuleIndex::Insert(const OpDef& op) {
  auto entry = std::make_unique<Entry>();
  entry->op = &op;
  if (fold_ && op.is_pure()) entry->fold = op.fold();
  for (int i = 0; i < num_rules(); ++i) {
    const Rule& rule = *rules_[i];
    const bool matches =
        rule.root != nullptr
            ? rule.root == &op
            : (op.traits() & rule.root_traits) == rule.root_traits;
    if (matches) entry->rules.push_back(i);
  }
  entries_.push_back(std::move(entry));
  if (entries_.size() * 2 > table_.size()) {
    table_.assign(table_.size() * 2, nullptr);
    for (const auto& old : entries_) Place(old.get());
  } else {
    Place(entries_.back().get());
  }
  return *(last_ = entries_.back().get());
}

void RuleIndex::Place(Entry* entry) {
  size_t slot = Hash(entry->op);
  while (table_[slot] != nullptr) slot = (slot + 1) & (table_.size() - 1);
  table_[slot] = entry;
}

}  // namespace weft
