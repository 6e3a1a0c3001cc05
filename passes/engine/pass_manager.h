// Runs pipelines. The manager does everything that passes must not do themselves: verification
// after each pass that changed something, timing, counters, node counts and hooks. It measures
// changes by the epochs of the graphs.
#ifndef WEFT_PASSES_ENGINE_PASS_MANAGER_H_
#define WEFT_PASSES_ENGINE_PASS_MANAGER_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "passes/engine/pass_context.h"
#include "passes/engine/pass_manager/pipeline.h"
#include "passes/engine/pass_manager/report.h"

namespace weft {

class Module;

// Called around each run of a pass that is not skipped. An error ends the pipeline, and is reported
// with the pass's name.
struct PassHooks {
  std::function<absl::Status(const PassReport&, const Module&)> before_pass;
  // `before` is null unless keep_before is set.
  std::function<absl::Status(const PassReport&, const Module* before, const Module& after)>
      after_pass;
  // Clone the module before each pass, for after_pass.
  bool keep_before = false;
  // Called around each fixpoint: before it with its path and text, and after it unless it failed.
  std::function<void(const std::string& path, const std::string& text, const Module&)>
      before_fixpoint;
  std::function<void()> after_fixpoint;
  // Compares the results of the two modules within the contract report.fired. Called after each
  // pass that changed something, with a clone from before it.
  std::function<absl::Status(const PassReport&, const Module& before, const Module& after)>
      check_semantics;
};

struct PassManagerOptions {
  bool verify = true;
  bool count_ops = true;
  PassHooks hooks;
};

class PassManager {
 public:
  explicit PassManager(Pipeline pipeline, PassManagerOptions options = {});

  // Errors name the pass. `report` may be null; it is filled in up to and including the failing
  // pass.
  absl::Status Run(Module& module, PassContext& context, PipelineReport* report = nullptr) const;

  const Pipeline& pipeline() const { return pipeline_; }

 private:
  Pipeline pipeline_;
  PassManagerOptions options_;
};

}  // namespace weft

#endif  // WEFT_PASSES_ENGINE_PASS_MANAGER_H_
