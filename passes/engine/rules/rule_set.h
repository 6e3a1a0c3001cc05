// Rules, and ops, that come as text, loaded at run time:
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
//   op swish(x, float beta = 1.0) "Swish, in Acme's models." onnx "acme::Swish"
//     = x * sigmoid(beta * x)
//
// Grammar, with what each part means:
//
//   file      {rule | op}; rules may use the ops before them
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
//   op        "op" NAME "(" arguments ")" [DOC] ["onnx" ONNX] "=" formula
//   arguments NAME, an operand, and after the operands TYPE NAME ["=" literal], an attribute. TYPE
//             is that of a schema: int, float, bool, str, ScalarType, int[], float[]
//   formula   numbers, names of operands and of attributes that are int or float, calls
//             OP "(" formulas {"," ATTR "=" (NAME | literal)} ")", the operators
//             + - * / < <= > >= == != as in C, and parentheses
//
// An op is a composite whose decomposition is the formula (graph/ops/formula.h says in which dtypes
// it is computed). ONNX, "domain::Type", is the operator as which ONNX models have it.
//
// CONTRACT is bit-exact, value-safe, reassociating or approximate.
#ifndef WEFT_PASSES_ENGINE_RULES_RULE_SET_H_
#define WEFT_PASSES_ENGINE_RULES_RULE_SET_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/ir/op_registry.h"
#include "passes/engine/rewrite/rule.h"

namespace weft {

class OpDef;
struct FileRule;  // passes/engine/rules/file_rule.h

namespace ops {
class FormulaOp;
}  // namespace ops

class RuleSet {
 public:
  // Evidence for a rule.
  struct Standing {
    // Random instances on which both sides agreed; 0: no instance could be made, so the rule is
    // unchecked.
    int instances = 0;
  };

  struct OwnOp {
    const OpDef* op;
    std::optional<OnnxName> onnx;
  };

  RuleSet();
  ~RuleSet();
  RuleSet(const RuleSet&) = delete;
  RuleSet& operator=(const RuleSet&) = delete;

  // Adds the rules and ops of `other`. AlreadyExists, with nothing added, if both have a rule of
  // the same name.
  absl::Status Append(std::unique_ptr<RuleSet> other);

  // In the order of the files; valid until rules are added.
  absl::Span<const Rule> rules() const { return rules_; }
  const Standing& standing(int rule) const { return standings_[rule]; }
  // The ops of the files, which live as long as this object; valid until rules are added.
  absl::Span<const OwnOp> ops() const { return ops_; }

 private:
  friend absl::StatusOr<std::unique_ptr<RuleSet>> LoadRules(absl::string_view text,
                                                            absl::string_view file,
                                                            const OpRegistry& registry,
                                                            uint64_t seed);

  std::vector<std::unique_ptr<const ops::FormulaOp>> owned_ops_;
  std::vector<OwnOp> ops_;
  std::vector<std::unique_ptr<FileRule>> files_;
  std::vector<Rule> rules_;
  std::vector<Standing> standings_;
};

// Reads rules and ops over the ops of `registry`, and checks each rule: all names are bound, and on
// random instances drawn from `seed` (sizes, dtypes, edge values: infinities, NaN, zeros of both
// signs, empty and size-1 dims) both sides have the same type, with symbolic sizes too, and equal
// results within the contract. Errors: InvalidArgument with file, line and column for malformed
// text; FailedPrecondition with the counterexample for a wrong rule.
absl::StatusOr<std::unique_ptr<RuleSet>> LoadRules(absl::string_view text, absl::string_view file,
                                                   const OpRegistry& registry, uint64_t seed = 0);

}  // namespace weft

#endif  // WEFT_PASSES_ENGINE_RULES_RULE_SET_H_
