#include "tests/backends/cpu/routine_program.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "api/compiler.h"
#include "backends/cpu/target.h"
#include "backends/reference/executor.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "gtest/gtest.h"
#include "lowering/lower.h"
#include "tests/support/parse.h"

namespace weft::cpu {

HostTensor Noise(DType dtype, absl::Span<const int64_t> dims, double scale, int64_t seed) {
  HostTensor t(dtype, dims);
  std::vector<double> values(t.numel());
  uint64_t state = static_cast<uint64_t>(seed) * 2654435761u + 12345;
  for (double& v : values) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    v = scale * (static_cast<double>(state >> 40) / (1 << 23) - 1);
  }
  t.WriteDoubles(values);
  return t;
}

std::unique_ptr<Executable> RoutineProgram(absl::string_view text, absl::string_view op,
                                           const RoutineRun& run) {
  const auto module = Parse(std::string(text));
  CompileOptions compile;
  compile.passes = "decompose,dce";
  compile.context.target = CpuTarget();
  const auto compiled = Compile(*module, compile);
  EXPECT_TRUE(compiled.ok()) << compiled.status();
  auto plan = Lower(*module->main(), CpuTarget());
  EXPECT_TRUE(plan.ok()) << plan.status();
  const auto is_op = [&](const Step& step) {
    return step.kind == StepKind::kLibrary && step.op_name == op;
  };
  EXPECT_EQ(std::count_if(plan->steps.begin(), plan->steps.end(), is_op), 1);
  CpuOptions options;
  options.threads = run.threads;
  options.isa = run.isa;
  auto executable = Executable::Create(*std::move(plan), options);
  EXPECT_TRUE(executable.ok()) << executable.status();
  return executable.ok() ? *std::move(executable) : nullptr;
}

void ExpectAsReference(Executable& executable, absl::string_view text,
                       const std::vector<HostTensor>& inputs, Tolerance tolerance, int fallbacks) {
  const auto module = Parse(std::string(text));
  const auto want = reference::Run(*module->main(), inputs);
  ASSERT_TRUE(want.ok()) << want.status();
  for (int i = 0; i < 2; ++i) {
    const auto got = executable.Run(inputs);
    ASSERT_TRUE(got.ok()) << got.status();
    ASSERT_EQ(got->size(), want->size());
    for (size_t r = 0; r < want->size(); ++r) {
      EXPECT_EQ(Difference((*got)[r], (*want)[r], tolerance), "") << "result " << r;
    }
  }
  EXPECT_EQ(executable.stats().fallbacks, fallbacks);
}

void ExpectRoutine(absl::string_view text, absl::string_view op,
                   const std::vector<HostTensor>& inputs, Tolerance tolerance) {
  for (const RoutineRun& run : {RoutineRun{"avx2", 2}, {"native", 1}, {"native", 3}}) {
    SCOPED_TRACE(absl::StrCat(text, " isa=", run.isa, " threads=", run.threads));
    const auto executable = RoutineProgram(text, op, run);
    ASSERT_NE(executable, nullptr);
    ExpectAsReference(*executable, text, inputs, tolerance);
  }
}

}  // namespace weft::cpu
