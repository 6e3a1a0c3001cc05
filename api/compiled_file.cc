#include "api/compiled_file.h"

#include <filesystem>
#include <memory>
#include <set>
#include <system_error>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/types/span.h"
#include "api/check/planned_runs.h"
#include "api/check/seeded_inputs.h"
#include "api/compiler.h"
#include "api/runtime/compiled_plan.h"
#include "api/version.h"
#include "backends/cpu/aot/model_source.h"
#include "backends/cpu/aot/shared_object.h"
#include "backends/cpu/kernels/isa.h"
#include "backends/cpu/standalone/model_entry.h"
#include "backends/cpu/standalone/model_library.h"
#include "backends/cpu/standalone/needed_kernels.h"
#include "backends/cpu/standalone/standalone.h"
#include "backends/cpu/target.h"
#include "backends/step_reference.h"
#include "base/annotate.h"
#include "base/output_file.h"
#include "base/printable.h"
#include "base/status_macros.h"
#include "graph/ir/constant_store.h"
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
#include "serialize/flat/weftb_file.h"
#include "serialize/flat/weftb_format.h"
#include "serialize/flat/weftb_module.h"
#include "serialize/flat/weftb_plan.h"

namespace weft {
namespace {

using Tensors = std::vector<HostTensor>;

// Adds to the plan's constants the copies that routines make of them in a run.
absl::Status PackConstants(const Graph& main, const Target& target,
                           const std::string& instruction_set, Plan* plan) {
  cpu::StandaloneOptions options;
  options.isa = instruction_set;
  options.evaluator = &OpEvaluator();
  WEFT_ASSIGN_OR_RETURN(Plan trial, Lower(main, target));
  const auto program = cpu::Standalone::Create(std::move(trial), options);
  if (!program.ok()) return Annotate(program.status(), "no run to find the layouts of the weights");
  absl::Status status;
  for (const PlannedRun& run : PlanRuns(main, /*edges=*/false, /*more_runs=*/0)) {
    SeedOptions seed;
    seed.values = run.values;
    seed.sizes = run.sizes;
    WEFT_ASSIGN_OR_RETURN(const Tensors inputs, MakeSeededInputs(main, seed));
    Tensors outputs;
    status = (*program)->Run(inputs, &outputs);
    if (status.ok()) break;
  }
  // Inputs of all sizes may be refused because of their data.
  if (!status.ok()) return Annotate(status, "no run to find the layouts of the weights");
  if (plan->constants == nullptr) return absl::OkStatus();
  auto constants = std::make_shared<PlanConstants>(*plan->constants);
  for (auto& [number, packed] : (*program)->Packed()) {
    constants->by_number[number].packed.push_back(std::move(packed));
  }
  SetConstants(std::move(constants), plan);
  return absl::OkStatus();
}

// The instruction sets of the plans, each once, that which most machines have first: readers before
// version 1.2 of the format take the first plan.
absl::StatusOr<std::set<cpu::Isa>> SetsOf(const std::vector<std::string>& names) {
  std::set<cpu::Isa> sets;
  for (const std::string& name : names) {
    if (name == "avx2") {
      sets.insert(cpu::Isa::kAvx2);
    } else if (name == "avx512") {
      sets.insert(cpu::Isa::kAvx512);
    } else if (name == "native") {
      WEFT_ASSIGN_OR_RETURN(const cpu::Isa native, cpu::DetectIsa());
      sets.insert(native);
    } else {
      return absl::InvalidArgumentError(
          absl::StrCat("plans are for native, avx2 or avx512, not for \"", name, "\""));
    }
  }
  return sets;
}

// A plan of the file.
struct FilePlan {
  Target target;
  std::string instruction_set;  // "" if the target has none.
  Plan plan;
};

// The targets of the plans.
absl::StatusOr<std::vector<FilePlan>> TargetsOf(const Backend& backend,
                                                const CompiledFileOptions& options) {
  std::vector<FilePlan> plans;
  if (backend.name() != "cpu") {
    if (options.pack || options.kernels || !options.instruction_sets.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(options.pack      ? "weights are packed"
                                                     : options.kernels ? "machine code is"
                                                                       : "instruction sets are",
                                                     " for cpu, not for ", backend.name()));
    }
    plans.push_back({backend.target(), "", Plan()});
  } else if (options.instruction_sets.empty()) {
    // Plans are also written on machines that cannot run them.
    const bool wide = backend.target().vector_bytes >= 64;
    plans.push_back({backend.target(),
                     std::string(cpu::IsaName(wide ? cpu::Isa::kAvx512 : cpu::Isa::kAvx2)),
                     Plan()});
  } else {
    WEFT_ASSIGN_OR_RETURN(const std::set<cpu::Isa> sets, SetsOf(options.instruction_sets));
    for (const cpu::Isa isa : sets) {
      plans.push_back({cpu::TargetOf(isa), std::string(cpu::IsaName(isa)), Plan()});
    }
  }
  return plans;
}

absl::StatusOr<std::vector<FilePlan>> PlansOf(Module& module, const Backend& backend,
                                              const CompiledFileOptions& options) {
  if (!backend.runs_plans()) {
    return absl::InvalidArgumentError(
        absl::StrCat("target ", backend.name(), " runs graphs, so there is no plan to write"));
  }
  WEFT_RETURN_IF_ERROR(CheckHasMain(module));
  // Where no pipeline ran, nothing has looked at what nodes assume about sizes.
  WEFT_RETURN_IF_ERROR(AssumeSizesOfNodes(module).status());
  WEFT_RETURN_IF_ERROR(MakeFunctional(module));
  WEFT_ASSIGN_OR_RETURN(std::vector<FilePlan> plans, TargetsOf(backend, options));
  for (FilePlan& p : plans) {
    WEFT_ASSIGN_OR_RETURN(p.plan, Lower(*module.main(), p.target));
    WEFT_RETURN_IF_ERROR(VerifyPlan(p.plan));
    if (!options.names) StripPlanNames(&p.plan);
    if (!options.pack) continue;
    WEFT_RETURN_IF_ERROR(PackConstants(*module.main(), p.target, p.instruction_set, &p.plan));
  }
  return plans;
}

cpu::PlanForSet CodeOf(const FilePlan& p) {
  return {&p.plan, &p.target, p.instruction_set, HashPlanText(p.plan)};
}

// The initial values of the inputs that the plan reads; others were compiled in.
absl::Status AddStates(const Graph& main, const Plan& plan, int target, WeftbBuilder* builder) {
  for (size_t i = 0; i < plan.inputs.size(); ++i) {
    const int initial = main.input_info(static_cast<int>(i)).initial;
    if (initial < 0 || !plan.inputs[i].read) continue;
    WEFT_RETURN_IF_ERROR(builder->AddState(plan.name, target, static_cast<int>(i),
                                           main.module().constants().tensor(initial)));
  }
  return absl::OkStatus();
}

absl::StatusOr<WeftbBuilder> FileOf(const Module& module, const std::vector<FilePlan>& plans,
                                    const CompiledFileOptions& options) {
  WeftbBuilder builder;
  builder.producer = absl::StrCat("weft ", kVersion);
  builder.pipeline = options.pipeline;
  builder.source_hash = options.source_hash;
  if (options.graph) {
    WEFT_RETURN_IF_ERROR(AddModuleToWeftb(module, {options.names}, &builder));
  }
  for (const FilePlan& p : plans) {
    const int target = builder.AddTarget(p.target.name, PrintTarget(p.target), p.instruction_set);
    WEFT_RETURN_IF_ERROR(AddPlanToWeftb(p.plan, target, &builder));
    WEFT_RETURN_IF_ERROR(AddStates(*module.main(), p.plan, target, &builder));
    if (!options.kernels) continue;
    WEFT_ASSIGN_OR_RETURN(std::string code, cpu::MakeKernelObject(CodeOf(p), {options.compiler}));
    WEFT_RETURN_IF_ERROR(
        builder.AddCode(p.plan.name, target, cpu::kModelCodeFormat, std::move(code)));
  }
  return builder;
}

// Compares what was written with the source, if there is one, and enters the result.
absl::Status CheckWritten(const Backend& backend, const std::string& path,
                          const CompiledFileOptions& options, const LinkedKernels& linked,
                          WeftbBuilder* builder) {
  WEFT_ASSIGN_OR_RETURN(*options.check, CheckCompiledFile(*options.source, backend, path,
                                                          options.check_seed, linked));
  if (!options.check->difference.empty()) return absl::OkStatus();
  for (const CheckedProduct& checked : options.check->products) {
    builder->checks.push_back({checked.product, checked.instruction_set, checked.runs,
                               options.check->seed, CompiledCheck::kRelative,
                               CompiledCheck::kOfLargest, checked.largest_error});
  }
  return absl::OkStatus();
}

std::vector<cpu::PlanForSet> CodesOf(const std::vector<FilePlan>& plans) {
  std::vector<cpu::PlanForSet> codes;
  for (const FilePlan& p : plans) codes.push_back(CodeOf(p));
  return codes;
}

// Plans whose kernels are code outside of their file.
struct Generated {
  std::vector<FilePlan> plans;
  WeftbBuilder file;
};

absl::StatusOr<Generated> Generate(Module& module, const Backend& backend, const std::string& path,
                                   CompiledFileOptions options) {
  if (backend.name() != "cpu") {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": code of kernels is for cpu, not for ", backend.name()));
  }
  options.kernels = false;
  WEFT_ASSIGN_OR_RETURN(std::vector<FilePlan> plans, PlansOf(module, backend, options));
  absl::StatusOr<WeftbBuilder> file = FileOf(module, plans, options);
  if (!file.ok()) return Annotate(file.status(), path);
  return Generated{std::move(plans), *std::move(file)};
}

}  // namespace

absl::StatusOr<FileTargets> ParseFileTargets(absl::string_view text) {
  FileTargets targets;
  const std::vector<absl::string_view> names = absl::StrSplit(text, ',');
  for (const absl::string_view name : names) {
    const std::pair<std::string, std::string> parts = absl::StrSplit(name, absl::MaxSplits(':', 1));
    const bool has_set = absl::StrContains(name, ':');
    if (parts.first.empty() || (has_set && parts.second.empty()) ||
        (!targets.backend.empty() && parts.first != targets.backend)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "\"", text, "\" is not one target, or one with several instruction sets, as in ",
          "cpu,cpu:avx2"));
    }
    targets.backend = parts.first;
    if (has_set || names.size() > 1) {
      targets.instruction_sets.push_back(has_set ? parts.second : "native");
    }
  }
  return targets;
}

absl::Status WriteCompiledFile(Module& module, const Backend& backend, const std::string& path,
                               const CompiledFileOptions& options) {
  WEFT_ASSIGN_OR_RETURN(const auto plans, PlansOf(module, backend, options));
  absl::StatusOr<WeftbBuilder> file = FileOf(module, plans, options);
  if (!file.ok()) return Annotate(file.status(), path);
  WEFT_RETURN_IF_ERROR(file->Write(path));
  if (options.source == nullptr) return absl::OkStatus();
  WEFT_RETURN_IF_ERROR(CheckWritten(backend, path, options, {}, &*file));
  return file->Write(path);
}

absl::Status WriteCompiledLibrary(Module& module, const Backend& backend, const std::string& path,
                                  const CompiledFileOptions& options) {
  WEFT_ASSIGN_OR_RETURN(Generated made, Generate(module, backend, path, options));
  cpu::SharedObjectOptions shared;
  shared.compiler = options.compiler;
  const auto check = [&](const std::string& object) {
    return CheckWritten(backend, object, options, {}, &made.file);
  };
  if (options.source != nullptr) shared.check = check;
  const auto write = [&](const std::string& to) { return made.file.Write(to); };
  return cpu::WriteSharedObject(CodesOf(made.plans), write, path, shared);
}

absl::StatusOr<std::string> WriteCompiledSource(Module& module, const Backend& backend,
                                                const std::string& folder,
                                                const CompiledFileOptions& options) {
  const std::filesystem::path at = std::filesystem::path(folder).lexically_normal();
  const std::string stem = at.has_filename() ? at.filename() : at.parent_path().filename();
  const std::string name = cpu::CIdentifier(stem);
  WEFT_ASSIGN_OR_RETURN(Generated made, Generate(module, backend, folder, options));
  WEFT_ASSIGN_OR_RETURN(
      const cpu::ModelSource source,
      cpu::MakeModelSource(CodesOf(made.plans), name, module.main()->output_names()));
  std::error_code error;
  std::filesystem::create_directories(at, error);
  if (error) return absl::InvalidArgumentError(absl::StrCat(folder, ": ", error.message()));
  const std::string path = at / name;
  WEFT_RETURN_IF_ERROR(made.file.Write(path + ".weftb"));
  WEFT_RETURN_IF_ERROR(WriteFile(path + ".h", source.header));
  WEFT_RETURN_IF_ERROR(WriteFile(path + ".cc", source.source));
  if (options.source == nullptr) return path;
  LinkedKernels linked;
  for (const FilePlan& p : made.plans) {
    if (!cpu::ChooseIsa(p.instruction_set).ok()) continue;
    WEFT_ASSIGN_OR_RETURN(linked[p.instruction_set],
                          cpu::LoadModelSource(path + ".cc", CodeOf(p), options.compiler));
  }
  WEFT_RETURN_IF_ERROR(CheckWritten(backend, path + ".weftb", options, linked, &made.file));
  WEFT_RETURN_IF_ERROR(made.file.Write(path + ".weftb"));
  return path;
}

absl::Status StripMachineCode(const std::string& from, const std::string& path) {
  WEFT_ASSIGN_OR_RETURN(const auto file, WeftbFile::Open(from));
  const absl::StatusOr<WeftbBuilder> stripped = WeftbBuilder::WithoutCode(*file);
  if (!stripped.ok()) return Annotate(stripped.status(), from);
  return stripped->Write(path);
}

absl::StatusOr<std::string> DescribeCompiledFile(const std::string& path) {
  WEFT_ASSIGN_OR_RETURN(const auto file, OpenCompiledFile(path));
  const WeftbContents& contents = file->contents();
  std::string text = absl::StrFormat("%s: version %d.%d of the format, by %s\n", path, kWeftbMajor,
                                     contents.minor, PrintableName(contents.producer));
  if (!contents.pipeline.empty()) {
    absl::StrAppend(&text, "passes: ", Printable(contents.pipeline), "\n");
  }
  absl::StrAppend(&text, "module: ", contents.graph >= 0 ? "in the file" : "none", "\n");
  for (size_t i = 0; i < contents.plans.size(); ++i) {
    const WeftbContents::Plan& plan = contents.plans[i];
    const WeftbContents::Target& target = contents.targets[plan.target];
    absl::StrAppend(&text, "plan: @", PrintableName(plan.function), " for ",
                    PrintableName(target.name), target.instruction_set.empty() ? "" : ":",
                    PrintableName(target.instruction_set));
    const auto of_plan = [&](const auto& entry) { return entry.plan == static_cast<int>(i); };
    if (absl::c_any_of(contents.codes, of_plan)) absl::StrAppend(&text, ", with machine code");
    const auto states = absl::c_count_if(contents.states, of_plan);
    if (states > 0) absl::StrAppend(&text, ", with initial values of ", states, " inputs");
    absl::StrAppend(&text, "\n");
  }
  for (const WeftbContents::Check& check : contents.checks) {
    absl::StrAppend(
        &text, "checked: ", PrintableName(check.product),
        check.instruction_set.empty() ? "" : " for ", PrintableName(check.instruction_set),
        absl::StrFormat(", in %d runs from seed %d: elements differ from the source's on the "
                        "reference executor by at most %.2g (allowed: %g of their value, or %g of "
                        "the output's largest element)\n",
                        check.runs.size(), check.seed, check.largest_error, check.rtol,
                        check.atol));
    for (const absl::string_view run : check.runs) {
      absl::StrAppend(&text, "  ", Printable(run), "\n");
    }
  }
  if (contents.checks.empty()) absl::StrAppend(&text, "checked: no\n");
  return text;
}

uint64_t HashSource(const Module& module) { return HashModuleText(module); }

absl::StatusOr<std::vector<std::string>> OpsOutsideRuntime(const std::string& path,
                                                           const std::string& target) {
  WEFT_ASSIGN_OR_RETURN(const CompiledPlan compiled, ReadCompiledPlan(path, target));
  return cpu::MissingOps(compiled.plan);
}

absl::StatusOr<std::string> ListKernels(const std::string& path) {
  WEFT_ASSIGN_OR_RETURN(const auto sets, ReadInstructionSets(path, "cpu"));
  if (sets.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": there is no plan for cpu"));
  }
  std::set<std::string> lines;
  for (const std::string& set : sets) {
    CompiledPlanOptions options;
    options.plan.instruction_sets = {set};
    WEFT_ASSIGN_OR_RETURN(const CompiledPlan compiled, ReadCompiledPlan(path, "cpu", options));
    lines.insert(absl::StrCat("isa ", set));
    for (std::string& line : cpu::NeededKernels(compiled.plan)) lines.insert(std::move(line));
  }
  return absl::StrCat(absl::StrJoin(lines, "\n"), "\n");
}

}  // namespace weft
