// Runs a pipeline on a module, with the requested checks.
#ifndef WEFT_API_COMPILER_H_
#define WEFT_API_COMPILER_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "api/check/semantics_checker.h"
#include "api/replay.h"
#include "api/verify_level.h"
#include "passes/engine/pass_context.h"
#include "passes/engine/pass_manager.h"
#include "passes/pipelines.h"

namespace weft {

class Module;

class Backend;   // backends/backend.h
struct PassRun;  // api/check/pass_run.h

struct CompileOptions {
  // Pipeline text or the name of a pipeline. Empty: no passes, unless SetTarget() sets them.
  std::string passes = "default";
  VerifyLevel verify = VerifyLevel::kStructure;
  uint64_t seed = 0;
  // File for a small module that shows the fault if a semantic check fails (semantics_case.h);
  // empty: no file.
  std::string case_file;
  PassContext::Options context;
  const PassRegistry* registry = nullptr;  // Null: BuiltinPasses().
  // Fill in PassReport::op_counts, which takes a walk over the graphs after each pass that changed
  // something.
  bool count_ops = true;
  // Folder for the replay file of a failing or crashing pass; by default there is none.
  ReplayOptions replay;
  // Called before and after each run of a pass.
  std::function<absl::Status(const PassReport&, const Module&)> before_pass;
  std::function<absl::Status(const PassReport&, const Module&)> after_pass;
  // Called after after_pass, with all remarks so far.
  std::function<absl::Status(const PassReport&, const Module&, const std::vector<Remark>&)>
      observe_pass;
};

struct CompileResult {
  PipelineReport report;
  std::vector<Remark> remarks;
  SemanticsStats semantics;  // Sums over all passes.
};

// Rewrites `module` in place. Errors: InvalidArgument for malformed pipeline text; errors of a
// pass, the verifier or the semantic check, with the name of the pass. The semantic check also
// names the rewrite and its rule.
absl::StatusOr<CompileResult> Compile(Module& module, const CompileOptions& options = {});
// The same; `result` is also filled in if the run fails: with the reports up to and including the
// failing pass, and the remarks.
absl::Status Compile(Module& module, const CompileOptions& options, CompileResult* result);

// Sets the target that passes read, and `passes`, if empty, to the backend's default pipeline. A
// pipeline that is a backend's default implies its target if none is set.
void SetTarget(const Backend& backend, CompileOptions* options);

// The passes of Compile() and what they run with, without its checks.
PassRun PassRunOf(const CompileOptions& options);

// Takes the writes out of a module that has some (functionalize): a plan is made of one without.
absl::Status MakeFunctional(Module& module);

// Takes over what a replay file says.
absl::Status ApplyReplay(const Replay& replay, CompileOptions* options);

}  // namespace weft

#endif  // WEFT_API_COMPILER_H_
