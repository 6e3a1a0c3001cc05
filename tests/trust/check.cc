#include "tests/trust/check.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "api/compiler.h"
#include "backends/cpu/target.h"
#include "backends/reference/executor.h"
#include "base/annotate.h"
#include "base/status_macros.h"
#include "lowering/lower.h"
#include "lowering/plan_verifier.h"
#include "tests/trust/judge.h"

namespace weft::trust {
namespace {

bool AreEmpty(const std::vector<HostTensor>& tensors) {
  return std::all_of(tensors.begin(), tensors.end(),
                     [](const HostTensor& tensor) { return tensor.numel() == 0; });
}

}  // namespace

std::string Configuration::ToString() const {
  return absl::StrCat("passes ", passes, ", ", options.isa, ", ", options.threads, " threads, ",
                      options.f32_precision, options.deterministic ? ", deterministic" : "",
                      options.code == cpu::CpuOptions::Code::kNone ? "" : ", generated code");
}

Configuration RandomConfiguration(Random& random, const ConfigurationLimits& limits) {
  Configuration configuration;
  configuration.passes = random.Of<const char*>({"none", "default", "cpu", "cpu", "cpu"});
  if (!limits.passes.empty()) configuration.passes = limits.passes;
  cpu::CpuOptions& options = configuration.options;
  options.threads = random.Pick(1, 2);
  options.isa = !limits.isa.empty() ? limits.isa : random.OneIn(2) ? "native" : "avx2";
  options.deterministic = random.OneIn(10);
  if (limits.narrow_precision && random.OneIn(10)) {
    options.f32_precision = random.OneIn(2) ? "high" : "medium";
  }
  if (limits.code_one_in > 0 && random.OneIn(limits.code_one_in)) {
    options.code = cpu::CpuOptions::Code::kBeforeCreation;
  }
  return configuration;
}

std::string Totals::ToString() const {
  return absl::StrCat(programs, " programs: ", compared, " agree, ", refused, " refused by both, ",
                      unfit, " that fit no sizes, ", strict, " refused by cpu alone, ", empty,
                      " refused by the reference alone without elements, ", skipped,
                      " seeds without a program; ", trials, " runs with errors, ", generated,
                      " generated kernels, ", fallbacks, " calls without a routine");
}

absl::StatusOr<CompiledProgram> CompiledProgram::Create(const Module& module,
                                                        const Configuration& configuration,
                                                        Totals* totals) {
  CompiledProgram program;
  program.module_ = module.Clone();
  CompileOptions compile;
  compile.passes = configuration.passes;
  WEFT_RETURN_IF_ERROR(Compile(*program.module_, compile).status());
  const Graph& main = *program.module_->main();
  WEFT_ASSIGN_OR_RETURN(Plan plan, Lower(main, cpu::CpuTarget()));
  WEFT_RETURN_IF_ERROR(VerifyPlan(plan));
  totals->coverage.Add(plan);
  WEFT_ASSIGN_OR_RETURN(program.executable_,
                        cpu::Executable::Create(std::move(plan), configuration.options));
  WEFT_RETURN_IF_ERROR(program.executable_->WaitForCode());
  return program;
}

absl::StatusOr<std::vector<HostTensor>> CompiledProgram::Run(absl::Span<const HostTensor> inputs) {
  return executable_->Run(inputs);
}

double OperandErrorOf(const cpu::CpuOptions& options) {
  if (options.f32_precision == "highest") return 0;
  // Operands are sums of two bf16, or one.
  return std::ldexp(1.0, options.f32_precision == "high" ? -16 : -8);
}

absl::Status CheckAgainstReference(const TestProgram& program, const Configuration& configuration,
                                   Totals* totals) {
  ++totals->programs;
  const auto want = reference::Run(*program.module->main(), program.inputs);
  auto compiled = CompiledProgram::Create(*program.module, configuration, totals);
  if (!compiled.ok()) {
    // If sizes that must be equal are constants that differ, compilation already fails.
    if (program.misfit && !want.ok() && absl::IsInvalidArgument(compiled.status())) {
      ++totals->unfit;
      return absl::OkStatus();
    }
    return Annotate(compiled.status(), "not compiled");
  }
  for (int run = 0; run < 2; ++run) {
    const auto got = compiled->Run(program.inputs);
    if (program.misfit && want.ok() && absl::IsInvalidArgument(got.status())) {
      ++totals->strict;
      return absl::OkStatus();
    }
    // Indices are not checked if there are no elements.
    if (program.misfit && got.ok() && !want.ok() && AreEmpty(*got)) {
      ++totals->empty;
      return absl::OkStatus();
    }
    if (got.ok() != want.ok()) {
      return absl::InternalError(
          got.ok() ? absl::StrCat("a result, and the reference refuses: ", want.status().message())
                   : absl::StrCat("refused: ", got.status().message()));
    }
    if (!got.ok()) break;
    JudgeLimits limits;
    limits.operand_error = OperandErrorOf(configuration.options);
    const std::string difference = DifferenceBeyondRounding(*program.module, program.inputs, *got,
                                                            *want, limits, &totals->trials);
    if (!difference.empty()) return absl::InternalError(difference);
  }
  ++(want.ok() ? totals->compared : totals->refused);
  totals->generated += compiled->stats().generated_steps;
  totals->fallbacks += compiled->stats().fallbacks;
  return absl::OkStatus();
}

}  // namespace weft::trust
