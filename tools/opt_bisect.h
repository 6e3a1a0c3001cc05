// opt --bisect: which pass makes a command fail.
#ifndef WEFT_TOOLS_OPT_BISECT_H_
#define WEFT_TOOLS_OPT_BISECT_H_

#include "absl/status/statusor.h"
#include "api/compiler.h"
#include "tools/opt_options.h"

namespace weft::tools {

// Prints the pass and its rewrite, and writes the modules before and after. The exit status:
// kExitBad if the command fails before the first pass, or does not fail after the last one.
absl::StatusOr<int> BisectPasses(const OptOptions& o, const Module& module,
                                 const CompileOptions& compile);

}  // namespace weft::tools

#endif  // WEFT_TOOLS_OPT_BISECT_H_
