// Finds the pass of a pipeline after which a module shows a fault, and the rewrite of that pass.
//
// Passes are deterministic, so the module at any point of the pipeline is made by running it again
// up to that point. Where the fault comes and goes, the result is one pass that brings it.
#ifndef WEFT_API_CHECK_PASS_BISECT_H_
#define WEFT_API_CHECK_PASS_BISECT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "api/check/pass_run.h"
#include "graph/ir/module.h"

namespace weft {

// True if the module shows the fault. An error ends the search.
using ModuleTest = std::function<absl::StatusOr<bool>(const Module&)>;

struct PassBisectOptions {
  // Called before each test with what is tested: "after fixpoint.2.cse".
  std::function<void(absl::string_view what)> progress;
};

struct GuiltyPass {
  std::string path;  // "fixpoint.2.canonicalize"
  std::string text;  // The pass with its options, as pipeline text.
  int index = -1;    // Among all runs of passes in the pipeline.
  // The rewrite, by its number among all rewrites of the pipeline, and its rule, or "fold.<op>". 0:
  // the pass does not number its changes, or the fault is there without its rewrites.
  int64_t rewrite = 0;
  std::string rule;
  int64_t pass_rewrites = 0;  // Number of rewrites of the pass.
  // The module before and after the rewrite; without one, before and after the pass.
  std::unique_ptr<Module> before;
  std::unique_ptr<Module> after;
  int64_t changes = 0;  // Runs of passes that changed something.
  int64_t tests = 0;
};

// Tests about log2(passes) + log2(rewrites) modules and runs the pipeline as often. A rewrite limit
// of `run` is not read. InvalidArgument for malformed pipeline text; FailedPrecondition if the
// module shows the fault before the first pass; NotFound if it does not after the last one;
// Internal for errors of passes and of the verifier.
absl::StatusOr<GuiltyPass> FindGuiltyPass(const Module& module, const PassRun& run,
                                          const ModuleTest& faulty,
                                          const PassBisectOptions& options = {});

}  // namespace weft

#endif  // WEFT_API_CHECK_PASS_BISECT_H_
