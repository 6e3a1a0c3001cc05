// Rules that come as text, loaded at run time:
//
//   # Comments run to the end of the line.
//   rule sub-of-neg value-safe "x - -y = x + y" {
//     x: float, y: float
//     sub(x, neg(y)) => add(x, y)
//   }
//   rule swap-permutes bit-exact {
//     permute(permute(x, dims=p), dims=q) => permute(x, dims=compose(p, q))
//     where rank(x) >= 2
//   }
//
// Grammar, with what each part means:
//
//   rule      "rule" NAME CONTRACT [IDENTITY] "{" types pattern "=>" value
//             ["where" condition {"," condition}] "}"
//   types     NAME ":" CLASS ["[" dims "]"] {"," ...}, any number of times.
//             CLASS: any, number, float, int, bool or a dtype; dims are names
//             (one name is one size), numbers, or ".." for whatever comes first
//   pattern   NAME, number (a constant of that value), or
//             OP "(" patterns {"," ATTR "=" (NAME | literal)} ")" ["as" NAME];
//             the same name twice is the same value, or attribute
//   value     as patterns; attributes are literals, names, dims(v), dtype(v) or
//             compose(p, q), the permutation p after q
//   condition term ("==" | "!=" | "<" | "<=" | ">" | ">=") term, or one_use(v)
//   term      integer, dtype, attribute or size name, rank(v), dim(v, i),
//             dtype(v). Sizes compare by what holds for all symbols.
//
// CONTRACT is bit-exact, value-safe, reassociating or approximate.
#ifndef WEFT_PASSES_ENGINE_RULES_RULE_SET_H_
#define WEFT_PASSES_ENGINE_RULES_RULE_SET_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "passes/engine/rewrite/rule.h"

namespace weft {

class OpRegistry;

struct FileRule;  // passes/engine/rules/file_rule.h

class RuleSet {
 public:
  // Evidence for a rule.
  struct Standing {
    // Random instances on which both sides agreed; 0: no instance could be made, so the rule is
    // unchecked.
    int instances = 0;
  };

  RuleSet();
  ~RuleSet();
  RuleSet(const RuleSet&) = delete;
  RuleSet& operator=(const RuleSet&) = delete;

  // Adds the rules of `other`. AlreadyExists, with nothing added, if both have a rule of the same
  // name.
  absl::Status Append(std::unique_ptr<RuleSet> other);

  // In the order of the files; valid until rules are added.
  absl::Span<const Rule> rules() const { return rules_; }
  const Standing& standing(int rule) const { return standings_[rule]; }

 private:
  friend absl::StatusOr<std::unique_ptr<RuleSet>> LoadRules(absl::string_view text,
                                                            absl::string_view file,
                                                            const OpRegistry& registry,
                                                            uint64_t seed);

  std::vector<std::unique_ptr<FileRule>> files_;
  std::vector<Rule> rules_;
  std::vector<Standing> standings_;
};

// Reads rules and checks each of them: all names are bound, and on random instances drawn from
// `seed` (sizes, dtypes, edge values: infinities, NaN, zeros of both signs, empty and size-1 dims)
// both sides have the same type, with symbolic sizes too, and equal results within the contract.
// Errors: InvalidArgument with file, line and column for malformed text; FailedPrecondition with
// the counterexample for a wrong rule.
absl::StatusOr<std::unique_ptr<RuleSet>> LoadRules(absl::string_view text, absl::string_view file,
                                                   const OpRegistry& registry, uint64_t seed = 0);

}  // namespace weft

#endif  // WEFT_PASSES_ENGINE_RULES_RULE_SET_H_
