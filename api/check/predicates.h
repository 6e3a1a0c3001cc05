// Predicates for Reduce: faults that a module shows under a pipeline.
#ifndef WEFT_API_CHECK_PREDICATES_H_
#define WEFT_API_CHECK_PREDICATES_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "api/check/pass_run.h"
#include "api/check/reduce.h"

namespace weft {

// True if the passes change the results of the module. With `rule`, a rule (or "fold.<op>") of that
// name must also have been applied.
ModulePredicate WrongNumbers(PassRun run, uint64_t seed = 0, std::string rule = "");

// True if the passes kill the process that runs them, or take longer than `seconds`. Each test runs
// in a forked process.
ModulePredicate Crashes(PassRun run, int64_t seconds = 60);

// True if a pass leaves a module that the verifier rejects.
ModulePredicate BreaksInvariants(PassRun run);

// True if an error or a remark of the passes matches the regular expression (NameFilter).
// InvalidArgument if the expression is malformed.
absl::StatusOr<ModulePredicate> Says(PassRun run, const std::string& regex);

// Writes the module as text to `path`, runs the shell command, in which `{}` is replaced by that
// file, quoted as one word, and removes the file. The exit status; 128 + the number of a signal
// that ended the command. Errors: the file cannot be written; the shell finds no such command; the
// user interrupted it.
absl::StatusOr<int> RunOnFile(const std::string& command, const std::string& path,
                              const Module& module);

// True if RunOnFile() gives 0.
ModulePredicate CommandSucceeds(std::string command, std::string path);

}  // namespace weft

#endif  // WEFT_API_CHECK_PREDICATES_H_
