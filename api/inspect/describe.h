// What plugins add, and what the importers cover, as text.
#ifndef WEFT_API_INSPECT_DESCRIBE_H_
#define WEFT_API_INSPECT_DESCRIBE_H_

#include <string>

#include "absl/status/statusor.h"
#include "passes/engine/registry.h"

namespace weft {

// The passes and pipelines of `passes` that are not built in, as --help lists them; empty if there
// are none.
std::string DescribeAddedPasses(const PassRegistry& passes);

// How the importers handle a set of operators: "core-aten" (those that PyTorch tags as core) or
// "aten" (all that they know), one per line: native, decomposed or missing, with the reason; the
// last line has totals.
absl::StatusOr<std::string> DescribeCoverage(const std::string& set);

}  // namespace weft

#endif  // WEFT_API_INSPECT_DESCRIBE_H_
