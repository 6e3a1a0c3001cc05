// Lists of ops, passes, rules and importer coverage, as text.
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

// The passes and pipelines of `passes` that are not built in, as --help lists them; empty if there
// are none.
std::string DescribeAddedPasses(const PassRegistry& passes);

// How the importers handle a set of operators: "core-aten" (those that PyTorch tags as core) or
// "aten" (all that they know), one per line: native, decomposed or missing, with the reason; the
// last line has totals.
absl::StatusOr<std::string> DescribeCoverage(const std::string& set);

// Every rule, built in or in `loaded` (may be null): name, identity, numeric contract, pattern, and
// for loaded rules the number of instances that they were tested on.
std::string DescribeRules(const RuleSet* loaded);

}  // namespace weft

#endif  // WEFT_API_INSPECT_DESCRIBE_H_
