// Weft's own inventory, for people.
#ifndef WEFT_API_INSPECT_DESCRIBE_H_
#define WEFT_API_INSPECT_DESCRIBE_H_

#include <string>

#include "absl/status/statusor.h"
#include "passes/engine/registry.h"
#include "passes/engine/rules/rule_set.h"

namespace weft {

class OpRegistry;

// Every op: schema, documentation, whether it is a composite.
std::string DescribeOps(const OpRegistry& ops);

// What `passes` has that is not built in, as lists of --help; empty without any.
std::string DescribeAddedPasses(const PassRegistry& passes);

// What the importers make of a set of operators: "core-aten" (those that PyTorch
// tags as core) or "aten" (all that are known too), one a line: native,
// decomposed or missing, and how; the last line counts them.
absl::StatusOr<std::string> DescribeCoverage(const std::string& set);

// Every rule, built in or of `loaded` (may be null): name, identity, numeric
// contract, pattern, and for loaded rules on how many instances it was tested.
std::string DescribeRules(const RuleSet* loaded);

}  // namespace weft

#endif  // WEFT_API_INSPECT_DESCRIBE_H_
