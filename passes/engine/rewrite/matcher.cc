// The walk over a pattern is recursive; its depth is that of the pattern, which has at most
// Pattern::kMaxNodes nodes.
#include "passes/engine/rewrite/matcher.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "graph/ir/builtin_ops.h"
#include "graph/ir/node.h"
#include "passes/engine/rewrite/constants.h"

namespace weft {
namespace {

using Kind = PatternNode::Kind;

// The condition of a pattern node that failed.
enum class Failure { kNone, kKind, kOperands, kBinding, kUses, kPredicate };

class Matcher {
 public:
  Matcher(const Rule& rule, uint32_t flips, Match& m)
      : pattern_(rule.pattern), flips_(flips), m_(m) {}

  bool Run(const Node& root) {
    std::fill(std::begin(m_.bound), std::end(m_.bound), nullptr);
    // The root's type and users are unrestricted unless the pattern says otherwise.
    return MatchValue(0, root.result());
  }

  int matched() const { return matched_; }
  std::string Reason() const;
  // The node at which matching failed.
  const Node* at() const { return at_; }

 private:
  bool Fail(int i, Failure failure, const Value* value) {
    failed_ = i;
    failure_ = failure;
    at_ = value == nullptr ? nullptr : value->node();
    return false;
  }

  bool MatchValue(int i, Value* value) {
    const PatternNode& want = pattern_.node(i);
    if (value == nullptr) return Fail(i, Failure::kKind, value);
    switch (want.kind) {
      case Kind::kAny:
        break;
      case Kind::kInput:
        if (!value->is_input()) return Fail(i, Failure::kKind, value);
        break;
      case Kind::kConstant:
        if (!value->IsResultOf(ops::constant) ||
            (want.has_splat && SplatFloat(value) != want.splat)) {
          return Fail(i, Failure::kKind, value);
        }
        break;
      case Kind::kOneOf:
        if (!MatchOneOf(i, value)) return false;
        break;
      case Kind::kRest:
        return true;
      case Kind::kOp:
        if (!MatchOp(i, value)) return false;
        break;
    }
    return MatchRest(i, value);
  }

  // The conditions that do not depend on the kind.
  bool MatchRest(int i, Value* value) {
    const PatternNode& want = pattern_.node(i);
    if (want.one_use && !value->has_one_use()) return Fail(i, Failure::kUses, value);
    if (want.variable >= 0) {
      Value*& bound = m_.bound[want.variable];
      if (bound != nullptr && bound != value) return Fail(i, Failure::kBinding, value);
      bound = value;
    }
    if (want.predicate.holds != nullptr && !want.predicate.holds(*value)) {
      return Fail(i, Failure::kPredicate, value);
    }
    ++matched_;
    return true;
  }

  bool MatchOneOf(int i, Value* value) {
    Value* bound[Pattern::kNumVariables];
    std::copy(std::begin(m_.bound), std::end(m_.bound), bound);
    const int first = i + 1;
    if (MatchValue(first, value)) return true;
    std::copy(std::begin(bound), std::end(bound), m_.bound);
    return MatchValue(first + pattern_.node(first).size, value);
  }

  bool MatchOp(int i, Value* value) {
    const PatternNode& want = pattern_.node(i);
    if (want.min != 1 || want.max != 1) return MatchRepeated(i, value);
    const Node* node = value->node();
    // A pattern matches the first of several results.
    if (node == nullptr || value->index() != 0 || !IsAbout(want, node->op())) {
      return Fail(i, Failure::kKind, value);
    }
    return want.any_operands || MatchOperands(i, *node);
  }

  bool MatchRepeated(int i, Value* value) {
    const PatternNode& want = pattern_.node(i);
    int n = 0;
    while (n < want.max && value->IsResultOf(*want.op)) {
      value = value->node()->operand(0);
      ++n;
    }
    if (n < want.min) return Fail(i, Failure::kKind, value);
    return MatchValue(i + 1, value);
  }

  bool MatchOperands(int i, const Node& node) {
    const PatternNode& want = pattern_.node(i);
    const bool swap = ((flips_ >> i) & 1) != 0;
    int operand = i + 1;
    for (int k = 0; k < want.num_operands; ++k) {
      const PatternNode& next = pattern_.node(operand);
      if (next.kind == Kind::kRest) {
        ++matched_;
        return true;
      }
      const int at = swap ? 1 - k : k;
      if (at >= node.num_operands()) return Fail(i, Failure::kOperands, node.result());
      if (!MatchValue(operand, node.operand(at))) return false;
      operand += next.size;
    }
    for (int k = want.num_operands; k < node.num_operands(); ++k) {
      // Optional operands that are absent do not count.
      if (node.operand(k) != nullptr) return Fail(i, Failure::kOperands, node.result());
    }
    return true;
  }

  const Pattern& pattern_;
  const uint32_t flips_;
  Match& m_;
  int matched_ = 0;
  int failed_ = 0;
  const Node* at_ = nullptr;
  Failure failure_ = Failure::kNone;
};

std::string Matcher::Reason() const {
  const PatternNode& want = pattern_.node(failed_);
  const std::string text = ToString(pattern_, failed_);
  switch (failure_) {
    case Failure::kNone:
      return "";
    case Failure::kKind:
      return absl::StrCat("not ", text);
    case Failure::kOperands:
      return absl::StrCat("other number of operands than ", text);
    case Failure::kBinding:
      return absl::StrCat("another value than ", VariableName(want.variable), " elsewhere");
    case Failure::kUses:
      return absl::StrCat("more than one use of ", text);
    case Failure::kPredicate:
      return absl::StrCat("not ", want.predicate.name, ": ", text);
  }
  return "";
}

}  // namespace

int LookingDepth(const Rule& rule) {
  const Pattern& pattern = rule.pattern;
  int ends[Pattern::kMaxNodes];  // Ends of the subtrees around a node.
  int depth = 0, repeats = 0, deepest = rule.depth;
  for (int i = 0; i < pattern.size(); ++i) {
    while (depth > 0 && ends[depth - 1] <= i) --depth;
    const PatternNode& node = pattern.node(i);
    repeats += node.max - 1;
    // A bare variable does not depend on the definition of its value.
    const bool looks = node.kind != Kind::kAny || node.predicate.holds != nullptr;
    if (looks) deepest = std::max(deepest, depth + repeats);
    ends[depth++] = i + node.size;
  }
  return deepest;
}

Match::Slot& Match::SlotOf(const void* type, std::shared_ptr<void> (*make)()) {
  for (Slot& slot : slots_) {
    if (slot.type == type) return slot;
  }
  slots_.push_back({type, make()});
  return slots_.back();
}

const void* Match::WrittenObject(const void* type) const {
  for (const Slot& slot : slots_) {
    if (slot.type == type && slot.match == number_) return slot.object.get();
  }
  WEFT_CHECK(false) << "no guard of rule " << rule->name << " wrote what it reads";
  return nullptr;
}

bool MatchRule(const Rule& rule, uint32_t flips, const Node& root, Match& m) {
  m.Begin(rule, root);
  if (!Matcher(rule, flips, m).Run(root)) return false;
  for (const Guard& guard : rule.guards.list) {
    if (guard.holds == nullptr) break;
    if (!guard.holds(root, m)) return false;
  }
  return true;
}

bool ExplainRule(const Rule& rule, const Node& root, Match& m, NearMiss* miss) {
  *miss = NearMiss();
  for (uint32_t flips : OrdersOf(rule.pattern)) {
    m.Begin(rule, root);
    Matcher matcher(rule, flips, m);
    const bool shape = matcher.Run(root);
    int matched = matcher.matched();
    int total = rule.pattern.size();
    bool holds = shape;
    std::string reason = matcher.Reason();
    for (const Guard& guard : rule.guards.list) {
      if (guard.holds == nullptr) break;
      ++total;
      if (!holds) continue;
      holds = guard.holds(root, m);
      if (holds) ++matched;
      if (!holds) reason = absl::StrCat("not ", guard.name);
    }
    if (holds) return true;
    if (matched > miss->matched || miss->total == 0) {
      *miss = {matched, total, std::move(reason), shape ? nullptr : matcher.at()};
    }
  }
  return false;
}

}  // namespace weft
