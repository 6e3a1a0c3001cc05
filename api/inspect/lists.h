// Lists of what there is, ops, passes and rules, as text for people and as JSON for programs.
#ifndef WEFT_API_INSPECT_LISTS_H_
#define WEFT_API_INSPECT_LISTS_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/target/target.h"
#include "passes/engine/registry.h"
#include "passes/engine/rules/rule_set.h"

namespace weft {

class OpRegistry;

struct ListForm {
  // A regular expression (passes/engine/remarks/name_filter.h) that whole names match.
  std::string names = ".*";
  bool json = false;
};

// The lists are InvalidArgument for a malformed expression, and NotFound, with the most similar
// name, where nothing matches. JSON is an array with an object for each entry.

// Schema, documentation, traits, whether the op has a decomposition and with which numeric
// contract, and the names of the targets that run the op whole.
absl::StatusOr<std::string> ListOps(const OpRegistry& ops, absl::Span<const Target> targets,
                                    const ListForm& form);

// Passes with their options and defaults, then pipelines.
absl::StatusOr<std::string> ListPasses(const PassRegistry& passes, const ListForm& form);

// Every rule, built in or in `loaded` (may be null): identity, numeric contract, pattern, and for
// loaded rules the number of instances that they were tested on.
absl::StatusOr<std::string> ListRules(const RuleSet* loaded, const ListForm& form);

}  // namespace weft

#endif  // WEFT_API_INSPECT_LISTS_H_
