// A pass, or a pipeline, run on a clone of a module.
#ifndef WEFT_API_CHECK_PASS_RUN_H_
#define WEFT_API_CHECK_PASS_RUN_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "api/check/semantics_checker.h"
#include "graph/ir/module.h"
#include "passes/engine/pass_context.h"
#include "passes/engine/pass_manager.h"
#include "passes/pipelines.h"

namespace weft {

struct PassRun {
  // Pipeline text; for bisection a single pass.
  std::string passes;
  PassContext::Options context;
  const PassRegistry* registry = nullptr;  // Null: BuiltinPasses().
};

struct PassRunResult {
  absl::Status status;  // Of the passes and the verifier.
  std::unique_ptr<Module> after;
  ModuleNodeIds ids;  // Of the nodes of `after` before the run.
  PipelineReport report;
  std::vector<Remark> remarks;
  NumericContract fired = NumericContract::kBitExact;  // The most harmful one.
  int64_t rewrites = 0;
  // Of the last rewrite.
  NumericContract last_contract = NumericContract::kBitExact;
  std::string last_rule;  // Or "fold.<op>"; empty when the pass does not say.
};

// At most `limit` rewrites; -1: any number.
PassRunResult RunOnClone(const Module& before, const PassRun& run, int64_t limit = -1);

// Text of the passes of that name in the pipeline, each alone with its options;
// those that are alike once.
std::vector<std::string> PassTexts(const Pipeline& pipeline, absl::string_view name,
                                   const PassRegistry& registry);

}  // namespace weft

#endif  // WEFT_API_CHECK_PASS_RUN_H_
