#include "tests/api/misfit_runs.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_split.h"
#include "api/compiler.h"
#include "backends/cpu/executable.h"
#include "backends/cpu/target.h"
#include "gtest/gtest.h"
#include "lowering/lower.h"

namespace weft {

absl::StatusOr<Session> MakeSession(const Module& model, const Way& way) {
  std::unique_ptr<Module> module = model.Clone();
  CompileOptions compile;
  compile.passes = way.passes;
  CompileResult result;
  const absl::Status status = Compile(*module, compile, &result);
  if (!status.ok()) return status;
  BackendOptions options;
  if (way.target != std::string("reference")) options = {{"threads", "2"}, {"code", way.code}};
  return Session::Create(std::move(module), way.target, options);
}

Outputs RunPlan(const Module& model, const std::vector<HostTensor>& inputs) {
  auto plan = Lower(*model.main(), cpu::CpuTarget());
  if (!plan.ok()) return plan.status();
  cpu::CpuOptions options;
  options.threads = 2;
  auto executable = cpu::Executable::Create(*std::move(plan), options);
  if (!executable.ok()) return executable.status();
  return (*executable)->Run(inputs);
}

SeedOptions Sizes(absl::string_view text) {
  SeedOptions options;
  for (absl::string_view dim : absl::StrSplit(text, ' ', absl::SkipEmpty())) {
    const std::vector<std::string> parts = absl::StrSplit(dim, '=');
    options.dims[parts[0]] = std::stoll(parts[1]);
  }
  return options;
}

std::vector<HostTensor> InputsOf(const Module& model, absl::string_view sizes) {
  auto inputs = MakeSeededInputs(*model.main(), Sizes(sizes));
  EXPECT_TRUE(inputs.ok()) << inputs.status();
  return *std::move(inputs);
}

}  // namespace weft
