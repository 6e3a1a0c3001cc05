#include "api/compiler.h"

#include "api/semantics.h"

namespace weft {

absl::StatusOr<CompileResult> Compile(Module& module,
                                      const CompileOptions& options) {
  const PassRegistry& registry =
      options.registry != nullptr ? *options.registry : BuiltinPasses();
  auto pipeline = Pipeline::Parse(options.passes, registry);
  if (!pipeline.ok()) return pipeline.status();

  CompileResult result;
  PassManagerOptions manager_options;
  manager_options.verify = options.verify != CompileOptions::Verify::kNone;
  if (options.after_pass) {
    manager_options.hooks.after_pass = [&options](const PassReport& report,
                                                  const Module*,
                                                  const Module& after) {
      return options.after_pass(report, after);
    };
  }
  if (options.verify == CompileOptions::Verify::kSemantics) {
    manager_options.hooks.check_semantics =
        [&](const PassReport& report, const Module& before,
            const Module& after) -> absl::Status {
      SemanticsOptions semantics;
      semantics.seed = options.seed;
      auto checked = CompareSemantics(before, after, report.fired, semantics);
      if (!checked.ok()) return checked.status();
      result.semantic_checks += checked->compared;
      return absl::OkStatus();
    };
  }
  PassContext context(options.context);
  PassManager manager(*std::move(pipeline), std::move(manager_options));
  absl::Status status = manager.Run(module, context, &result.report);
  if (!status.ok()) return status;
  result.remarks = context.TakeRemarks();
  return result;
}

std::optional<CompileOptions::Verify> ParseVerify(absl::string_view name) {
  if (name == "none") return CompileOptions::Verify::kNone;
  if (name == "structure") return CompileOptions::Verify::kStructure;
  if (name == "semantics") return CompileOptions::Verify::kSemantics;
  return std::nullopt;
}

}  // namespace weft
