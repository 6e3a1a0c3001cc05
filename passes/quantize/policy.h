// Which ops are quantized and how, as text:
//
//   # Comments run to the end of the line.
//   policy mine(bits=8) "for targets with ..."
//   spec activation = u8 affine tensor histogram
//   weight weight = i$bits symmetric axis=0 min_max
//   spec bias = i32 derived axis=0
//   op convolution(activation, weight, bias) -> activation where transposed=false
//   op matmul(activation, weight axis=-1)
//   op add(activation, activation) where same_shape
//   fuse convolution + add(activation) + relu|clamp
//   propagate activation: max_pool, cat, reshape
//   exclude "head.*", softmax
//
// Grammar, with what each part means; a statement ends with its line or with `;`:
//
//   policy    "policy" NAME ["(" NAME "=" INTEGER {"," ...} ")"] [STRING]
//             first; `$name` in a spec stands for the parameter
//   spec      ("spec" | "weight") NAME "=" SPEC
//             a spec (spec.h) by name; values that a `weight` is for must be constant
//   op        "op" OP "(" [slot {"," slot}] ")" ["->" slot] ["where" condition {"," condition}]
//             slot: "_" (stays float) or NAME of a spec ["axis" "=" INTEGER], by operand; operands
//             that are left out and those that a node lacks stay float. condition: ATTR "="
//             (true | false | INTEGER), or about operands 0 and 1: same_shape, matrices (their
//             rank is 2 or more), or independent (no value from which both are computed by
//             pointwise ops alone, as the two sides of a GELU in parts are). The first row of an
//             op that holds is taken.
//   fuse      "fuse" OP {"+" OP {"|" OP} ["(" NAME ")"]}
//             nodes that are quantized as one: the first has a row, each other alone uses the value
//             of the one before, and values between them stay float. The result of the row is that
//             of the last node; the name is the spec of the other operand of a node with two.
//             Larger patterns go first, and of equal ones those that stand first.
//   propagate "propagate" NAME ":" OP {"," OP}
//             ops that keep the parameters of their operands: where all these are quantized values,
//             operands and result are quantized as NAME and share one scale. Ops that only view
//             their operand are left alone where nobody quantizes what they give.
//   exclude   "exclude" (STRING | OP) {"," ...}
//             nodes that stay float: by the name of a source node, where * stands for any text, or
//             by op
#ifndef WEFT_PASSES_QUANTIZE_POLICY_H_
#define WEFT_PASSES_QUANTIZE_POLICY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "passes/quantize/spec.h"

namespace weft {

class OpDef;
class OpRegistry;

using PolicyParameters = std::vector<std::pair<std::string, int64_t>>;

struct QuantPolicy {
  struct NamedSpec {
    std::string name;
    // As written, where it has parameters.
    std::string text;
    QuantSpec spec;
    bool weight = false;
  };
  // An operand or a result of an op.
  struct Slot {
    // An index in `specs`; -1: stays float.
    int spec = -1;
    std::optional<int> axis;
  };
  struct Condition {
    // An attribute of the op with its value, or one of the predicates.
    std::string name;
    bool is_attr = false;
    int64_t value = 0;
  };
  struct Row {
    const OpDef* op = nullptr;
    std::vector<Slot> operands;
    Slot result;
    std::vector<Condition> conditions;
  };
  struct Step {
    std::vector<const OpDef*> ops;
    // The spec of the other operand, or -1.
    int other = -1;
  };
  struct Fusion {
    const OpDef* first = nullptr;
    std::vector<Step> steps;
  };
  struct Propagation {
    int spec = -1;
    std::vector<const OpDef*> ops;
  };

  // The spec of a slot, its axis included.
  QuantSpec SpecOf(const Slot& slot) const;

  std::string name;
  std::string doc;
  PolicyParameters parameters;
  std::vector<NamedSpec> specs;
  std::vector<Row> rows;
  // In the order of the text.
  std::vector<Fusion> fusions;
  std::vector<Propagation> propagations;
  std::vector<std::string> excluded_names;
  std::vector<const OpDef*> excluded_ops;
};

// The text form; reads back to an equal policy.
std::string ToText(const QuantPolicy& policy);

// Errors are InvalidArgument with file, line and column; an unknown op, spec, attribute or
// parameter comes with a close name. `parameters` take the place of the policy's own defaults.
absl::StatusOr<QuantPolicy> ParseQuantPolicy(absl::string_view text, absl::string_view file,
                                             const OpRegistry& registry,
                                             const PolicyParameters& parameters = {});

// The names of the built-in policies: x86, symmetric, dynamic, weight_only, f8, ...
absl::Span<const absl::string_view> BuiltinQuantPolicies();
// The text of one of them; empty for another name.
absl::string_view BuiltinQuantPolicyText(absl::string_view name);

// A built-in policy by name, with parameters in braces ("weight_only{bits=8,group=64}"), or the
// text of a policy, which begins with the word `policy` or a comment.
absl::StatusOr<QuantPolicy> LoadQuantPolicy(absl::string_view name_or_text);

// Makes `observer` that of all activations; empty: each keeps its own. An error where a spec does
// not take it.
absl::Status SetActivationObserver(absl::string_view observer, QuantPolicy* policy);

// Whether `*` in the pattern can stand for texts that make it the name. Linear in both but for
// the number of stars.
bool MatchesGlob(absl::string_view pattern, absl::string_view name);

}  // namespace weft

#endif  // WEFT_PASSES_QUANTIZE_POLICY_H_
