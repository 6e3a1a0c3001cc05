// A small module, made from a large one, on which a target differs from the reference.
#ifndef WEFT_API_CHECK_TARGET_TARGET_CASE_H_
#define WEFT_API_CHECK_TARGET_TARGET_CASE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "api/check/reduce.h"
#include "api/check/target/target_check.h"
#include "graph/ir/module.h"

namespace weft {

// True if a step of the target's plan for the module differs from the reference on seeded inputs.
ModulePredicate DiffersOnTarget(TargetCheckOptions options);

struct TargetCase {
  TargetCheckOptions options;
  std::unique_ptr<Module> module;
  StepDifference difference;  // For the small module; its node is null.
  int64_t nodes_before = 0;
  int64_t nodes_after = 0;

  // The command that reproduces the fault in `file`.
  std::string Command(const std::string& file) const;
  // A `.weft` file with the fault and the command as comments at its beginning.
  std::string Text(const std::string& file) const;
};

// Cuts out the node of the difference with as much of the graph before it as the fault requires,
// and reduces it. `module` is the checker's. NotFound if seeded inputs do not show the fault.
absl::StatusOr<TargetCase> MakeTargetCase(const Module& module, const StepDifference& difference,
                                          const TargetCheckOptions& options);

}  // namespace weft

#endif  // WEFT_API_CHECK_TARGET_TARGET_CASE_H_
