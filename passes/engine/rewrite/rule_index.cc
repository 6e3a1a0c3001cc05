#include "passes/engine/rewrite/rule_index.h"

#include <algorithm>

#include "base/hash.h"
#include "graph/ir/builtin_ops.h"
#include "passes/engine/rewrite/matcher.h"

namespace weft {
namespace {

using Kind = PatternNode::Kind;

// Largest operand index that is tested.
constexpr int kMaxOperand = 14;

// Collects the ops that a pattern requires below its root, two levels deep.
class SkeletonMaker {
 public:
  SkeletonMaker(const Pattern& pattern, uint32_t flips) : pattern_(pattern), flips_(flips) {}

  std::vector<std::pair<int, const OpDef*>> Make() {
    Operands(0, 0);
    std::sort(needs_.begin(), needs_.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    return std::move(needs_);
  }

 private:
  // The operands of pattern node `i`, which stands at `position`.
  void Operands(int i, int position) {
    const bool swap = ((flips_ >> i) & 1) != 0;
    int operand = i + 1;
    for (int k = 0; k < pattern_.node(i).num_operands; ++k) {
      const int at = swap ? 1 - k : k;
      if (at < kMaxOperand) Need(operand, position * 16 + 1 + at);
      operand += pattern_.node(operand).size;
    }
  }

  void Need(int i, int position) {
    const PatternNode& node = pattern_.node(i);
    if (node.kind == Kind::kConstant) {
      needs_.emplace_back(position, &ops::constant);
    }
    if (node.kind != Kind::kOp || node.op == nullptr || node.min == 0) return;
    needs_.emplace_back(position, node.op);
    const bool plain = node.min == 1 && node.max == 1;
    if (plain && position < 16) Operands(i, position);
  }

  const Pattern& pattern_;
  const uint32_t flips_;
  std::vector<std::pair<int, const OpDef*>> needs_;
};

// The op that a skeleton requires at `position`; null for any.
const OpDef* NeedAt(const RuleIndex::Skeleton& skeleton, int position) {
  for (const auto& [at, op] : skeleton.needs) {
    if (at == position) return op;
  }
  return nullptr;
}

// The end of a text, which no UTF-8 text contains, enters too.
uint64_t AddText(uint64_t hash, absl::string_view text) { return Fnv1a("\xff", Fnv1a(text, hash)); }

}  // namespace

RuleIndex::RuleIndex(absl::Span<const absl::Span<const Rule>> themes, const PassContext& context,
                     bool fold)
    : fold_(fold), fingerprint_(fold ? 1 : 0), table_(64) {
  for (absl::Span<const Rule> theme : themes) {
    for (const Rule& rule : theme) {
      if (!context.Admits(rule.contract)) continue;
      rules_.push_back(&rule);
      depth_ = std::max(depth_, LookingDepth(rule));
      fingerprint_ = AddText(AddText(fingerprint_, rule.name), rule.identity);
      if (rule.source != nullptr) fingerprint_ = AddText(fingerprint_, rule.source);
    }
  }
}

RuleIndex::Entry& RuleIndex::Insert(const OpDef& op) {
  auto entry = std::make_unique<Entry>();
  entry->op = &op;
  if (fold_ && op.is_pure()) entry->fold = op.fold();
  std::vector<int> alive;
  for (int i = 0; i < num_rules(); ++i) {
    const Pattern& pattern = rules_[i]->pattern;
    if (!IsAbout(pattern.root(), op)) continue;
    entry->rules.push_back(i);
    for (uint32_t flips : OrdersOf(pattern)) {
      alive.push_back(static_cast<int>(alive.size()));
      entry->skeletons.push_back({{i, flips}, SkeletonMaker(pattern, flips).Make()});
    }
  }
  entry->root = MakeState(*entry, std::move(alive), 0);
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

RuleIndex::State* RuleIndex::MakeState(Entry& entry, std::vector<int> alive, int after) {
  states_.push_back(std::make_unique<State>());
  State* state = states_.back().get();
  for (int i : alive) {
    for (const auto& [at, op] : entry.skeletons[i].needs) {
      if (at <= after) continue;
      if (state->position == 0 || at < state->position) state->position = at;
    }
  }
  if (state->position == 0) {
    for (int i : alive) {
      state->candidates.push_back(entry.skeletons[i].candidate);
    }
  }
  state->alive = std::move(alive);
  return state;
}

RuleIndex::State* RuleIndex::Grow(Entry& entry, State* state, const OpDef* op) {
  bool asked = false;
  std::vector<int> alive;
  for (int i : state->alive) {
    const OpDef* need = NeedAt(entry.skeletons[i], state->position);
    asked |= need != nullptr && need == op;
    if (need == nullptr || need == op) alive.push_back(i);
  }
  State* made = MakeState(entry, std::move(alive), state->position);
  // The branch for other ops must be last: it hides branches that are not made yet.
  if (asked || op == nullptr) {
    state->next.emplace_back(op, made);
    return made;
  }
  for (int i : state->alive) {
    const OpDef* need = NeedAt(entry.skeletons[i], state->position);
    if (need == nullptr) continue;
    Next(entry, state, need);
  }
  return state->other = made;
}

}  // namespace weft
