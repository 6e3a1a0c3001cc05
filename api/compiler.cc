#include "api/compiler.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "api/backends.h"
#include "api/check/bisect.h"
#include "api/check/pass_run.h"
#include "api/check/semantics_case.h"
#include "base/log.h"
#include "base/out_of_memory.h"
#include "base/output_file.h"
#include "base/status_macros.h"
#include "graph/text/text.h"
#include "passes/sizes/needs.h"
#include "profiler/record.h"

namespace weft {
namespace {

LogArtifact graph_log("graph", "the module before and after a pipeline");

// The pass hooks of the semantic check.
class SemanticsGuard {
 public:
  SemanticsGuard(const CompileOptions& options, const PassRegistry& registry,
                 const Pipeline& pipeline)
      : options_(options),
        registry_(registry),
        pipeline_(pipeline),
        checker_(SemanticsOptions{options.seed}) {}

  void Install(PassHooks* hooks) {
    hooks->before_pass = [this](const PassReport&, const Module& module) {
      ids_ = NodeIdsOf(module);
      return absl::OkStatus();
    };
    hooks->check_semantics = [this](const PassReport& report, const Module& before,
                                    const Module& after) { return Check(report, before, after); };
  }

  const SemanticsStats& stats() const { return checker_.stats(); }

 private:
  absl::Status Check(const PassReport& report, const Module& before, const Module& after) {
    const std::vector<std::string> texts = PassTexts(pipeline_, report.pass, registry_);
    PassRun run;
    run.context = options_.context;
    run.registry = &registry_;
    GuiltyRewrite guilty;
    if (options_.verify == VerifyLevel::kRewrites) {
      // If several passes have this name, it is not known which one ran, so all are tried.
      for (const std::string& text : texts) {
        run.passes = text;
        absl::Status status = CheckEachRewrite(before, run, checker_, &guilty);
        if (!status.ok()) return Explain(before, run, guilty);
      }
    }
    absl::Status status = checker_.Check(before, after, report.fired, ids_);
    if (status.ok()) return status;
    for (const std::string& text : texts) {
      run.passes = text;
      auto found = FindGuiltyRewrite(before, run, checker_);
      if (found.ok()) return Explain(before, run, *found);
    }
    return status;
  }

  // Returns the error with the path of the case file, which it writes.
  absl::Status Explain(const Module& before, const PassRun& run, const GuiltyRewrite& guilty) {
    std::string text;
    if (guilty.number > 0) text = absl::StrCat("rewrite ", guilty.number, " of the pass");
    if (!guilty.rule.empty()) absl::StrAppend(&text, ", ", guilty.rule);
    absl::StrAppend(&text, text.empty() ? "" : ": ", guilty.difference);
    if (options_.case_file.empty()) return absl::FailedPreconditionError(text);
    auto made = MakeSemanticsCase(before, run, SemanticsOptions{options_.seed});
    if (!made.ok()) return absl::FailedPreconditionError(text);
    const absl::Status written = WriteFile(options_.case_file, made->Text(options_.case_file));
    absl::StrAppend(&text, "\n", made->nodes_after, " of ", made->nodes_before, " nodes show it; ",
                    written.ok() ? "replay: " : absl::StrCat(written.message(), ", for "),
                    made->Command(options_.case_file));
    return absl::FailedPreconditionError(text);
  }

  const CompileOptions& options_;
  const PassRegistry& registry_;
  const Pipeline& pipeline_;
  SemanticsChecker checker_;
  ModuleNodeIds ids_;
};

// Installs the hooks of the caller and of the recorder around those of the guard.
void InstallHooks(const CompileOptions& options, const PassContext& context,
                  ReplayRecorder* recorder, PassHooks* hooks) {
  hooks->before_pass = [&options, &context, recorder, guard = hooks->before_pass](
                           const PassReport& report, const Module& module) -> absl::Status {
    recorder->BeforePass(report, module, context);
    if (options.before_pass) {
      WEFT_RETURN_IF_ERROR(options.before_pass(report, module));
    }
    return guard ? guard(report, module) : absl::OkStatus();
  };
  hooks->after_pass = [&options, &context, recorder](const PassReport& report, const Module*,
                                                     const Module& after) -> absl::Status {
    recorder->AfterPass(report);
    if (options.after_pass) {
      WEFT_RETURN_IF_ERROR(options.after_pass(report, after));
    }
    if (!options.observe_pass) return absl::OkStatus();
    return options.observe_pass(report, after, context.remarks());
  };
  // Unless strict, a fixpoint that does not settle is not an error.
  if (!options.context.strict) return;
  hooks->before_fixpoint = [&context, recorder](const std::string& path, const std::string& text,
                                                const Module& module) {
    recorder->BeforeFixpoint(path, text, module, context);
  };
  hooks->after_fixpoint = [recorder] { recorder->AfterFixpoint(); };
}

// If no target is set, a pipeline that is a backend's default implies the target of the first such
// backend.
PassContext::Options ContextOf(const CompileOptions& options) {
  PassContext::Options context = options.context;
  if (!context.target.name.empty()) return context;
  for (const auto& backend : BuiltinBackends().all()) {
    if (backend->default_pipeline() != options.passes) continue;
    context.target = backend->target();
    break;
  }
  return context;
}

Replay ReplayOf(const CompileOptions& options, const PassContext::Options& context) {
  Replay replay;
  replay.verify = std::string(VerifyLevelName(options.verify));
  replay.seed = options.seed;
  replay.plugins = options.replay.plugins;
  replay.rules = options.replay.rules;
  replay.context = context;
  return replay;
}

}  // namespace

absl::StatusOr<CompileResult> Compile(Module& module, const CompileOptions& options) {
  CompileResult result;
  WEFT_RETURN_IF_ERROR(Compile(module, options, &result));
  return result;
}

absl::Status Compile(Module& module, const CompileOptions& options, CompileResult* result) {
  const profiler::Scope scope(profiler::Activity::kCompilerPass, "compile");
  const PassRegistry& registry = options.registry != nullptr ? *options.registry : BuiltinPasses();
  WEFT_ASSIGN_OR_RETURN(auto pipeline, Pipeline::Parse(options.passes, registry));
  // Used to look up the options of its passes.
  WEFT_ASSIGN_OR_RETURN(auto twin, Pipeline::Parse(options.passes, registry));
  // Recorded first, because a pass may drop or merge nodes that make assumptions on sizes.
  if (!pipeline.steps().empty()) {
    WEFT_RETURN_IF_ERROR(AssumeSizesOfNodes(module).status());
  }

  *result = CompileResult();
  PassManagerOptions manager_options;
  manager_options.count_ops = options.count_ops;
  manager_options.verify = options.verify != VerifyLevel::kNone;
  SemanticsGuard guard(options, registry, twin);
  if (options.verify >= VerifyLevel::kSemantics) {
    guard.Install(&manager_options.hooks);
  }
  const PassContext::Options context_options = ContextOf(options);
  PassContext context(context_options);
  ReplayRecorder recorder(options.replay, ReplayOf(options, context_options));
  InstallHooks(options, context, &recorder, &manager_options.hooks);
  PassManager manager(std::move(pipeline), std::move(manager_options));
  if (graph_log.IsLogged()) {
    Log(graph_log, absl::StrCat("// before ", options.passes, "\n", PrintModule(module)));
  }
  absl::Status status =
      CatchOutOfMemory([&] { return manager.Run(module, context, &result->report); });
  if (graph_log.IsLogged()) {
    Log(graph_log, absl::StrCat("// after ", options.passes, "\n", PrintModule(module)));
  }
  result->remarks = context.TakeRemarks();
  result->semantics = guard.stats();
  return status.ok() ? status : recorder.Failed(status);
}

void SetTarget(const Backend& backend, CompileOptions* options) {
  options->context.target = backend.target();
  if (options->passes.empty()) options->passes = backend.default_pipeline();
}

PassRun PassRunOf(const CompileOptions& options) {
  PassRun run;
  run.passes = options.passes;
  run.context = ContextOf(options);
  run.registry = options.registry;
  return run;
}

absl::Status MakeFunctional(Module& module) {
  if (!module.HasWrites()) return absl::OkStatus();
  CompileOptions options;
  options.passes = "functionalize";
  return Compile(module, options).status();
}

absl::Status ApplyReplay(const Replay& replay, CompileOptions* options) {
  const auto verify = ParseVerifyLevel(replay.verify);
  if (!verify) {
    return absl::InvalidArgumentError(absl::StrCat("unknown verification \"", replay.verify, "\""));
  }
  options->verify = *verify;
  options->passes = replay.passes;
  options->seed = replay.seed;
  options->context.target = replay.context.target;
  options->context.admitted = replay.context.admitted;
  options->context.strict = replay.context.strict;
  options->context.rewrite_limit = replay.context.rewrite_limit;
  options->context.budget = replay.context.budget;
  return absl::OkStatus();
}

}  // namespace weft
