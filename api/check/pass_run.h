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
  absl::Status status;  // Status of the passes and the verifier.
  std::unique_ptr<Module> after;
  ModuleNodeIds ids;  // Ids of the nodes of `after` before the run.
  PipelineReport report;
  std::vector<Remark> remarks;
  NumericContract fired = NumericContract::kBitExact;  // The loosest contract of all rewrites.
  int64_t rewrites = 0;
  // Contract of the last rewrite.
  NumericContract last_contract = NumericContract::kBitExact;
  std::string last_rule;  // Or "fold.<op>"; empty if the pass does not give one.
};

// Does at most `limit` rewrites; -1: no limit.
PassRunResult RunOnClone(const Module& before, const PassRun& run, int64_t limit = -1);

// Texts of the passes with that name in the pipeline, each alone with its options; equal texts
// once.
std::vector<std::string> PassTexts(const Pipeline& pipeline, absl::string_view name,
                                   const PassRegistry& registry);

}  // namespace weft

#endif  // WEFT_API_CHECK_PASS_RUN_H_
