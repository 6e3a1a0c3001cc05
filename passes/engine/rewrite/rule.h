// Rewrite rules as named values.
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
// A rule has three parts. The pattern and the guards decide and do not edit; a guard gets the root
// and may pass data to the right side. The right side cannot fail: it is a pattern of ops without
// attributes and of bound variables, or a function that makes nodes through the Rewriter and
// returns the value that replaces the root's only result. Every condition that makes a rewrite
// wrong or useless belongs in the guards. Below the root of a right side, ops of small constants
// are evaluated: x + -c is one node.
//
// A rule must build something smaller, cheaper or closer to the canonical form (which is defined in
// Builder), by a measure that all rules of a set share.
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

// The result of a match: values bound to the variables of the pattern, and data that guards pass to
// the right side, in structs that the rules define:
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
// One Match serves all matches of a run and keeps one object of each type, so that matching does
// not allocate: Find returns an object with old contents, which the guard must overwrite.
struct Match {
  const Rule* rule = nullptr;
  const Node* root = nullptr;
  Value* bound[Pattern::kNumVariables] = {};

  // Begins a new match.
  void Begin(const Rule& new_rule, const Node& new_root) {
    rule = &new_rule;
    root = &new_root;
    ++number_;
  }
  // The object of type T, for guards to write.
  template <class T>
  T& Find() {
    Slot& slot = SlotOf(TypeTag<T>(), &NewObject<T>);
    slot.match = number_;
    return *static_cast<T*>(slot.object.get());
  }
  // The object that a guard of this match wrote; CHECKs that one did.
  template <class T>
  const T& Found() const {
    return *static_cast<const T*>(WrittenObject(TypeTag<T>()));
  }

  // The value bound to a variable; null if an optional part is absent.
  Value* operator[](const Pattern& variable) const { return bound[variable.variable()]; }
  // The node that defines that value.
  const Node& node(const Pattern& variable) const { return *bound[variable.variable()]->node(); }

 private:
  struct Slot {
    const void* type = nullptr;
    std::shared_ptr<void> object;
    int64_t match = 0;  // Number of the match that wrote it.
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

// A condition on a match, with a name for explanations.
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
  const char* name;      // kebab-case, unique in a set
  const char* identity;  // For display: "x + 0 = x".
  NumericContract contract;
  Pattern pattern;  // Its root is an op.
  RuleGuards guards;
  Replacement replacement;
  // How far the guards look: 1 for the root's operands and their nodes, 2 for the operands of
  // those. If something there changes, the root is tried again. The pattern's own depth always
  // counts.
  int depth = 1;
  // Data for the guards and right sides of rules from files.
  const void* data = nullptr;
  // The text of a rule from a file; null for one that is built in.
  const char* source = nullptr;
};

// The depth below the root on which `rule` depends.
int LookingDepth(const Rule& rule);

}  // namespace weft

#endif  // WEFT_PASSES_ENGINE_REWRITE_RULE_H_
