// Runs a pipeline over a module, with the checks that were asked for.
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

class Backend;  // backends/backend.h

struct CompileOptions {
  // Pipeline text or the name of a pipeline. Empty: no pass, but SetTarget() fills it in.
  std::string passes = "default";
  VerifyLevel verify = VerifyLevel::kStructure;
  uint64_t seed = 0;
  // Where a semantic check that fails leaves a small module that shows the fault
  // (semantics_case.h); empty: nowhere.
  std::string case_file;
  PassContext::Options context;
  const PassRegistry* registry = nullptr;  // Null: BuiltinPasses().
  // Fill in PassReport::op_counts: a walk over the graphs after each pass that
  // changed something.
  bool count_ops = true;
  // Where a failing or crashing pass leaves a replay file; default: nowhere.
  ReplayOptions replay;
  // Called before and after each run of a pass.
  std::function<absl::Status(const PassReport&, const Module&)> before_pass;
  std::function<absl::Status(const PassReport&, const Module&)> after_pass;
  // Called after that, with all remarks so far.
  std::function<absl::Status(const PassReport&, const Module&, const std::vector<Remark>&)>
      observe_pass;
};

struct CompileResult {
  PipelineReport report;
  std::vector<Remark> remarks;
  SemanticsStats semantics;  // All passes together.
};

// Rewrites `module` in place. Errors: InvalidArgument for bad pipeline text;
// what a pass, the verifier or the semantic check found, with the pass's name.
// The semantic check also names the rewrite and its rule.
absl::StatusOr<CompileResult> Compile(Module& module, const CompileOptions& options = {});
// The same; `result` holds what a run that fails came to as well: the report up to
// and including the failing pass, and the remarks.
absl::Status Compile(Module& module, const CompileOptions& options, CompileResult* result);

// Compiles for that backend: passes read its target, and `passes` is its default pipeline where it
// is empty. A pipeline that is a backend's default one implies this where no target is set.
void SetTarget(const Backend& backend, CompileOptions* options);

// Takes the writes out of a module that has some (functionalize): a plan is made of one without.
absl::Status MakeFunctional(Module& module);

// Takes over what a replay file says.
absl::Status ApplyReplay(const Replay& replay, CompileOptions* options);

}  // namespace weft

#endif  // WEFT_API_COMPILER_H_
