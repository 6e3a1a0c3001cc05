// Rewrite rules: named values.
//
//   // permute(permute(x, p), q) = permute(x, p[q])
//   constexpr Rule kRules[] = {
//       {"permute-permute", "permute(permute(x, p), q) = permute(x, p[q])",
//        NumericContract::kBitExact, Op(ops::permute, Op(ops::permute, x)),
//        {}, BuildComposedPermute},
//       {"sub-neg", "x - -y = x + y", NumericContract::kValueSafe,
//        Op(ops::sub, x, Op(ops::neg, y)), {}, Op(ops::add, x, y)},
//   };
//
// A rule has three parts. The pattern and the guards decide and do not edit:
// guards get the root and may tell the right side what they found. The right
// side cannot refuse: it is a pattern of ops without attributes and of bound
// variables, or a function that makes nodes through the Rewriter and returns the
// value that takes the place of the root's only result. All that could make a
// rewrite wrong or pointless belongs in the guards. Below the root of a right
// side, ops of small constants alone are computed: x + -c is one node.
//
// Rules go downhill: what a rule builds is smaller, cheaper or closer to the
// canonical form (which lives in Builder) by a measure that all rules of a set
// share.
#ifndef WEFT_PASSES_ENGINE_REWRITE_RULE_H_
#define WEFT_PASSES_ENGINE_REWRITE_RULE_H_

#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

#include "graph/ir/value.h"
#include "passes/engine/pass_context.h"
#include "passes/engine/rewrite/pattern.h"

namespace weft {

class Node;
class Rewriter;
struct Rule;

// What a match found: what the variables of the pattern stand for, and what the guards
// tell the right side, in structs of the rules' own:
//
//   struct Run {
//     int64_t start = 0, end = 0;
//   };
//   bool IsRun(const Node& root, Match& m) {
//     Run& run = m.Find<Run>();
//     ...
//   }
//   Value* BuildSlice(const Match& m, Rewriter& rewriter) {
//     const Run& run = m.Found<Run>();
//     ...
//   }
//
// One Match serves all matches of a run and keeps an object of each type, so that
// matching does not allocate: what Find gives holds leftovers until the guard writes it.
struct Match {
  const Rule* rule = nullptr;
  const Node* root = nullptr;
  Value* bound[Pattern::kNumVariables] = {};

  // Begins another match.
  void Begin(const Rule& new_rule, const Node& new_root) {
    rule = &new_rule;
    root = &new_root;
    ++number_;
  }
  // For guards to write.
  template <class T>
  T& Find() {
    Slot& slot = SlotOf(TypeTag<T>(), &NewObject<T>);
    slot.match = number_;
    return *static_cast<T*>(slot.object.get());
  }
  // What a guard of this match wrote; CHECKs that one did.
  template <class T>
  const T& Found() const {
    return *static_cast<const T*>(WrittenObject(TypeTag<T>()));
  }

  // What a variable stands for; null when the pattern left it out.
  Value* operator[](const Pattern& variable) const { return bound[variable.variable()]; }
  // The node that defines it.
  const Node& node(const Pattern& variable) const { return *bound[variable.variable()]->node(); }

 private:
  struct Slot {
    const void* type = nullptr;
    std::shared_ptr<void> object;
    int64_t match = 0;  // The number of the match that wrote it.
  };
  template <class T>
  static const void* TypeTag() {
    static char tag;
    return &tag;
  }
  template <class T>
  static std::shared_ptr<void> NewObject() {
    return std::make_shared<T>();
  }
  Slot& SlotOf(const void* type, std::shared_ptr<void> (*make)());
  const void* WrittenObject(const void* type) const;

  std::vector<Slot> slots_;
  int64_t number_ = 0;
};

// A condition on a match, with the name that explanations print.
struct Guard {
  const char* name = nullptr;
  bool (*holds)(const Node& root, Match& m) = nullptr;
};
struct RuleGuards {
  static constexpr int kMax = 8;
  constexpr RuleGuards(Guard a = {}, Guard b = {}, Guard c = {},  // NOLINT
                       Guard d = {}, Guard e = {}, Guard f = {}, Guard g = {}, Guard h = {})
      : list{a, b, c, d, e, f, g, h} {}
  Guard list[kMax];
};

// The right side: a function, or a pattern.
struct Replacement {
  using BuildFn = Value* (*)(const Match& m, Rewriter& rewriter);

  constexpr Replacement(const Pattern& p) : pattern(p) {}  // NOLINT
  // Functions, and lambdas without captures.
  template <typename F, typename = std::enable_if_t<std::is_convertible_v<F, BuildFn>>>
  constexpr Replacement(F f) : build(f) {}  // NOLINT
  BuildFn build = nullptr;
  Pattern pattern;
};

struct Rule {
  const char* name;      // kebab-case, unique in a set.
  const char* identity;  // For people: "x + 0 = x".
  NumericContract contract;
  Pattern pattern;  // Its root is an op.
  RuleGuards guards;
  Replacement replacement;
  // How far the guards look: 1 at the root's operands and their nodes, 2 at the
  // operands of those. When something there changes, the root is tried again.
  // The pattern's own depth counts in any case.
  int depth = 1;
  // For the guards and right sides of rules that are not written in C++.
  const void* data = nullptr;
};

// How far `rule` looks.
int LookingDepth(const Rule& rule);

}  // namespace weft

#endif  // WEFT_PASSES_ENGINE_REWRITE_RULE_H_
