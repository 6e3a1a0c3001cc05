// Predicates for Reduce: what a module shows under a pipeline.
#ifndef WEFT_API_CHECK_PREDICATES_H_
#define WEFT_API_CHECK_PREDICATES_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "api/check/pass_run.h"
#include "api/check/reduce.h"

namespace weft {

// The passes change what the module computes. With `rule`, also a rule (or
// "fold.<op>") of that name was applied.
ModulePredicate WrongNumbers(PassRun run, uint64_t seed = 0, std::string rule = "");

// The passes kill the process that runs them, or take longer than `seconds`.
// Each test is a forked process.
ModulePredicate Crashes(PassRun run, int64_t seconds = 60);

// A pass leaves a module that the verifier refuses.
ModulePredicate BreaksInvariants(PassRun run);

// An error or a remark of the passes matches the regular expression
// (NameFilter); InvalidArgument when it is malformed.
absl::StatusOr<ModulePredicate> Says(PassRun run, const std::string& regex);

// The shell command gives status 0; `{}` in it stands for a file with the module
// as text, as one word of the shell: it is written to `path`, and removed after the
// command. The module is given to nothing else.
ModulePredicate CommandSucceeds(std::string command, std::string path);

}  // namespace weft

#endif  // WEFT_API_CHECK_PREDICATES_H_
