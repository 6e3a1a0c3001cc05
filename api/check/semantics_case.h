// A small module, made from a large one, on which a pass changes the results.
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

  // The command that reproduces the fault in `file`.
  std::string Command(const std::string& file) const;
  // A `.weft` file with the fault and the command as comments at its beginning.
  std::string Text(const std::string& file) const;
};

// Finds the rewrite, cuts out the region that it changed and reduces it. NotFound if the check
// finds no difference when the pass runs alone.
absl::StatusOr<SemanticsCase> MakeSemanticsCase(const Module& before, const PassRun& run,
                                                const SemanticsOptions& options = {});

}  // namespace weft

#endif  // WEFT_API_CHECK_SEMANTICS_CASE_H_
