// A small module on which a pass computes something else, made from a large one.
#ifndef WEFT_API_CHECK_SEMANTICS_CASE_H_
#define WEFT_API_CHECK_SEMANTICS_CASE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "api/check/bisect.h"
#include "api/check/pass_run.h"
#include "api/check/semantics.h"
#include "graph/ir/module.h"

namespace weft {

struct SemanticsCase {
  std::string passes;  // The pass, as pipeline text.
  uint64_t seed = 0;
  GuiltyRewrite guilty;
  std::unique_ptr<Module> module;
  int64_t nodes_before = 0;
  int64_t nodes_after = 0;

  // The command that shows the fault in `file`.
  std::string Command(const std::string& file) const;
  // A `.weft` file that begins with comments: the fault and the command.
  std::string Text(const std::string& file) const;
};

// Finds the rewrite, cuts out what it changed and reduces that. NotFound when
// the pass alone changes nothing that the check sees.
absl::StatusOr<SemanticsCase> MakeSemanticsCase(const Module& before, const PassRun& run,
                                                const SemanticsOptions& options = {});

}  // namespace weft

#endif  // WEFT_API_CHECK_SEMANTICS_CASE_H_
