#include "api/compiled_file.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "api/check/compare.h"
#include "api/check/planned_runs.h"
#include "api/check/seeded_inputs.h"
#include "api/compiled_plan.h"
#include "api/compiled_program.h"
#include "api/compiler.h"
#include "api/model_io.h"
#include "api/session.h"
#include "api/version.h"
#include "backends/cpu/aot/shared_object.h"
#include "backends/cpu/standalone/standalone.h"
#include "backends/step_reference.h"
#include "base/annotate.h"
#include "base/status_macros.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/target/target_text.h"
#include "graph/tensor/tensor.h"
#include "lowering/lower.h"
#include "lowering/plan_constants.h"
#include "lowering/plan_facts.h"
#include "lowering/plan_verifier.h"
#include "passes/sizes/needs.h"
#include "serialize/flat/weftb_builder.h"
#include "serialize/flat/weftb_module.h"
#include "serialize/flat/weftb_plan.h"

namespace weft {
namespace {

using Tensors = std::vector<HostTensor>;
// Runs a program; outputs, then new values of written inputs.
using Runner = std::function<absl::StatusOr<Tensors>(const Tensors& inputs)>;

absl::StatusOr<Runner> RunnerOfSession(std::unique_ptr<Module> module, const Backend& backend) {
  WEFT_ASSIGN_OR_RETURN(Session session, Session::Create(std::move(module), backend));
  const auto shared = std::make_shared<Session>(std::move(session));
  return Runner([shared](const Tensors& inputs) -> absl::StatusOr<Tensors> {
    Tensors written;
    WEFT_ASSIGN_OR_RETURN(Tensors outputs, shared->RunStateless(inputs, &written));
    for (const HostTensor& tensor : written) {
      if (tensor.valid()) outputs.push_back(tensor);
    }
    return outputs;
  });
}

absl::StatusOr<Runner> RunnerOfPlan(const std::string& path) {
  WEFT_ASSIGN_OR_RETURN(CompiledProgram opened, CompiledProgram::Open(path));
  const auto program = std::make_shared<CompiledProgram>(std::move(opened));
  return Runner([program](const Tensors& inputs) -> absl::StatusOr<Tensors> {
    Tensors written;
    WEFT_ASSIGN_OR_RETURN(Tensors outputs, program->Run(inputs, &written));
    for (const HostTensor& tensor : written) {
      if (tensor.valid()) outputs.push_back(tensor);
    }
    return outputs;
  });
}

absl::StatusOr<Runner> RunnerOfFile(const Backend& backend, const std::string& path,
                                    CompiledCheck* check) {
  check->ran_plan = backend.name() == "cpu";
  if (check->ran_plan) return RunnerOfPlan(path);
  WEFT_ASSIGN_OR_RETURN(auto module, LoadModel(path));
  return RunnerOfSession(std::move(module), backend);
}

// Sums of other orders differ by parts of their largest terms, so that elements near zero are
// measured against the largest ones.
CompareOptions ToleranceOf(const HostTensor& want) {
  CompareOptions options = ToleranceFor(want.dtype());
  if (!IsFloat(want.dtype())) return options;
  double largest = 0;
  for (const double value : want.ReadDoubles()) {
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  }
  options.rtol = std::max(options.rtol, 1e-3);
  options.atol = std::max(options.atol, options.rtol * 0.1 * largest);
  return options;
}

std::string ShapesOf(const Tensors& inputs) {
  return absl::StrJoin(inputs, ", ", [](std::string* out, const HostTensor& input) {
    out->append(input.type().ToString());
  });
}

// The difference, or "".
std::string Difference(const Tensors& got, const Tensors& want, CompiledCheck* check) {
  if (got.size() != want.size()) {
    return absl::StrCat(got.size(), " outputs instead of ", want.size());
  }
  for (size_t i = 0; i < got.size(); ++i) {
    double error = 0;
    const absl::Status status = Compare(got[i], want[i], ToleranceOf(want[i]), &error);
    check->largest_error = std::max(check->largest_error, error);
    if (!status.ok()) return absl::StrCat("output ", i, ": ", status.message());
  }
  return "";
}

// Adds to the plan's constants the copies that routines make of them in a run.
absl::Status PackConstants(const Graph& main, const Backend& backend, Plan* plan) {
  if (backend.name() != "cpu") {
    return absl::InvalidArgumentError(
        absl::StrCat("weights are packed for cpu, not for ", backend.name()));
  }
  cpu::StandaloneOptions options;
  options.evaluator = &OpEvaluator();
  WEFT_ASSIGN_OR_RETURN(Plan trial, Lower(main, backend.target()));
  WEFT_ASSIGN_OR_RETURN(const auto program, cpu::Standalone::Create(std::move(trial), options));
  absl::Status status;
  for (const PlannedRun& run : PlanRuns(main, /*edges=*/false, /*more_runs=*/0)) {
    SeedOptions seed;
    seed.values = run.values;
    seed.sizes = run.sizes;
    WEFT_ASSIGN_OR_RETURN(const Tensors inputs, MakeSeededInputs(main, seed));
    Tensors outputs;
    status = program->Run(inputs, &outputs);
    if (status.ok()) break;
  }
  // Inputs of all sizes may be refused because of their data.
  if (!status.ok()) return Annotate(status, "no run to find the layouts of the weights");
  if (plan->constants == nullptr) return absl::OkStatus();
  auto constants = std::make_shared<PlanConstants>(*plan->constants);
  for (auto& [number, packed] : program->Packed()) {
    constants->by_number[number].packed.push_back(std::move(packed));
  }
  SetConstants(std::move(constants), plan);
  return absl::OkStatus();
}

absl::StatusOr<Plan> PlanOf(Module& module, const Backend& backend,
                            const CompiledFileOptions& options) {
  if (!backend.runs_plans()) {
    return absl::InvalidArgumentError(
        absl::StrCat("target ", backend.name(), " runs graphs, so there is no plan to write"));
  }
  WEFT_RETURN_IF_ERROR(CheckHasMain(module));
  // Where no pipeline ran, nothing has looked at what nodes assume about sizes.
  WEFT_RETURN_IF_ERROR(AssumeSizesOfNodes(module).status());
  WEFT_RETURN_IF_ERROR(MakeFunctional(module));
  WEFT_ASSIGN_OR_RETURN(Plan plan, Lower(*module.main(), backend.target()));
  WEFT_RETURN_IF_ERROR(VerifyPlan(plan));
  if (!options.names) StripPlanNames(&plan);
  if (options.pack) WEFT_RETURN_IF_ERROR(PackConstants(*module.main(), backend, &plan));
  return plan;
}

absl::StatusOr<WeftbBuilder> FileOf(const Module& module, const Backend& backend, const Plan& plan,
                                    const CompiledFileOptions& options) {
  WeftbBuilder builder;
  builder.producer = absl::StrCat("weft ", kVersion);
  builder.pipeline = options.pipeline;
  builder.source_hash = options.source_hash;
  if (options.graph) {
    WEFT_RETURN_IF_ERROR(AddModuleToWeftb(module, {options.names}, &builder));
  }
  const int target = builder.AddTarget(backend.name(), PrintTarget(backend.target()));
  WEFT_RETURN_IF_ERROR(AddPlanToWeftb(plan, target, &builder));
  return builder;
}

}  // namespace

absl::Status WriteCompiledFile(Module& module, const Backend& backend, const std::string& path,
                               const CompiledFileOptions& options) {
  WEFT_ASSIGN_OR_RETURN(const Plan plan, PlanOf(module, backend, options));
  const absl::StatusOr<WeftbBuilder> file = FileOf(module, backend, plan, options);
  if (!file.ok()) return Annotate(file.status(), path);
  return file->Write(path);
}

absl::Status WriteCompiledLibrary(Module& module, const Backend& backend, const std::string& path,
                                  const CompiledFileOptions& options, const std::string& compiler) {
  if (backend.name() != "cpu") {
    return absl::InvalidArgumentError(
        absl::StrCat("a shared object has code for cpu, not for ", backend.name()));
  }
  WEFT_ASSIGN_OR_RETURN(const Plan plan, PlanOf(module, backend, options));
  const absl::StatusOr<WeftbBuilder> file = FileOf(module, backend, plan, options);
  if (!file.ok()) return Annotate(file.status(), path);
  cpu::SharedObjectOptions shared;
  shared.compiler = compiler;
  const auto write = [&](const std::string& to) { return file->Write(to); };
  return cpu::WriteSharedObject(plan, backend.target(), write, path, shared);
}

uint64_t HashSource(const Module& module) { return HashModuleText(module); }

absl::StatusOr<std::vector<std::string>> OpsOutsideRuntime(const std::string& path,
                                                           const std::string& target) {
  WEFT_ASSIGN_OR_RETURN(const CompiledPlan compiled, ReadCompiledPlan(path, target));
  return cpu::MissingOps(compiled.plan);
}

std::string CompiledCheck::ToString() const {
  const char* product = ran_plan ? "plan" : "the file's module";
  std::string text =
      difference.empty()
          ? absl::StrFormat("%d runs of source and %s agree; the largest difference is %.2g",
                            compared, product, largest_error)
          : absl::StrCat("source and ", product, " differ: ", difference);
  if (refused > 0) absl::StrAppend(&text, "; the source refused the inputs of ", refused, " more");
  return text;
}

absl::StatusOr<CompiledCheck> CheckCompiledFile(const Module& source, const Backend& backend,
                                                const std::string& path, uint64_t seed) {
  WEFT_RETURN_IF_ERROR(CheckHasMain(source));
  CompiledCheck check;
  WEFT_ASSIGN_OR_RETURN(const Backend* reference, BuiltinBackends().Find("reference"));
  WEFT_ASSIGN_OR_RETURN(const Runner run_source, RunnerOfSession(source.Clone(), *reference));
  WEFT_ASSIGN_OR_RETURN(const Runner run_product, RunnerOfFile(backend, path, &check));
  absl::Status refusal;
  for (const PlannedRun& run : PlanRuns(*source.main(), /*edges=*/false, /*more_runs=*/0)) {
    SeedOptions options;
    options.seed = seed++;
    options.values = run.values;
    options.sizes = run.sizes;
    WEFT_ASSIGN_OR_RETURN(const Tensors inputs, MakeSeededInputs(*source.main(), options));
    const auto want = run_source(inputs);
    if (!want.ok()) {
      ++check.refused;
      refusal = want.status();
      continue;
    }
    const auto got = run_product(inputs);
    ++check.compared;
    check.difference = got.ok() ? Difference(*got, *want, &check)
                                : absl::StrCat("the product refuses: ", got.status().message());
    if (check.difference.empty()) continue;
    check.difference = absl::StrCat("for (", ShapesOf(inputs), "), ", check.difference);
    return check;
  }
  if (check.compared > 0) return check;
  return Annotate(refusal, "no run of source and product could be compared");
}

}  // namespace weft
