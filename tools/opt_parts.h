// Parts of models and reports on them: opt --extract, --cliffs and --emit=cc.
#ifndef WEFT_TOOLS_OPT_PARTS_H_
#define WEFT_TOOLS_OPT_PARTS_H_

#include <memory>
#include <ostream>
#include <string>

#include "absl/status/statusor.h"
#include "graph/ir/module.h"
#include "graph/target/target.h"
#include "tools/opt_options.h"

namespace weft::tools {

// Replaces the module by the part of it that --extract names; nothing without the flag.
absl::Status ExtractPart(const OptOptions& o, std::unique_ptr<Module>* module, std::ostream& info);

// Writes the predictions of --cliffs to `info` or, without --emit, as the result.
absl::Status WriteCliffs(const OptOptions& o, const Module& module, const Target& target,
                         std::ostream& info);

// The kernels of --emit=cc for the target, or for the CPU if it has no name.
absl::StatusOr<std::string> KernelSourceOf(const OptOptions& o, const Module& module,
                                           const Target& target);

}  // namespace weft::tools

#endif  // WEFT_TOOLS_OPT_PARTS_H_
