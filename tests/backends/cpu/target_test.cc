// Hypothetical devices, made by editing the target of this backend. A program compiled for one uses
// only features that the device has, and gives the same numbers.
#include "backends/cpu/target.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "api/check/seeded_inputs.h"
#include "api/compiler.h"
#include "backends/cpu/executable.h"
#include "backends/reference/executor.h"
#include "gmock/gmock.h"
#include "graph/ir/module.h"
#include "graph/ops/ops.h"
#include "graph/target/target_text.h"
#include "graph/tensor/tensor.h"
#include "gtest/gtest.h"
#include "lowering/lower.h"
#include "lowering/plan_text.h"
#include "lowering/plan_verifier.h"
#include "tests/support/parse.h"
#include "tests/support/tensor_compare.h"

namespace weft::cpu {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr char kNet[] = R"(
func @main(%x: f32[n, 4, 9, 9], %w: f32[8, 4, 3, 3], %v: f32[8, 8, 1, 1], %m: f32[16, 8],
           %r: f32[n, 8, 9, 9], %k: f64[8]) -> (f32[n, 16], f64[8], f32[n, 8, 9, 9])
    where 1 <= n <= 16 {
  %0 = convolution(%x, %w, none, stride=[1, 1], padding=[1, 1], dilation=[1, 1])
  %1 = add(%0, %r)
  %2 = relu(%1)
  %3 = convolution(%2, %v, none, stride=[1, 1], padding=[0, 0], dilation=[1, 1])
  %4 = silu(%3)
  %5 = softmax(%4, dim=3)
  %6 = mean(%4, dim=[2, 3])
  %7 = linear(%6, %m, none)
  %8 = gelu(%7)
  %9 = tanh(%k)
  %10 = mul(%9, %k)
  return %8, %10, %5
}
)";

struct Compiled {
  std::unique_ptr<Module> module;
  std::string plan;
  std::vector<HostTensor> outputs;
};

Compiled CompileAndRun(const Target& target, const std::vector<HostTensor>& inputs) {
  Compiled result;
  result.module = Parse(kNet);
  CompileOptions options;
  options.passes = "cpu";
  options.context.target = target;
  EXPECT_TRUE(Compile(*result.module, options).ok());
  auto plan = Lower(*result.module->main(), target);
  EXPECT_TRUE(plan.ok()) << plan.status();
  EXPECT_TRUE(VerifyPlan(*plan).ok());
  result.plan = PrintPlan(*plan);
  CpuOptions cpu;
  cpu.threads = 2;
  auto executable = Executable::Create(*std::move(plan), cpu);
  EXPECT_TRUE(executable.ok()) << executable.status();
  auto outputs = (*executable)->Run(inputs);
  EXPECT_TRUE(outputs.ok()) << outputs.status() << result.plan;
  if (outputs.ok()) result.outputs = *std::move(outputs);
  return result;
}

class EditedTarget : public testing::Test {
 protected:
  EditedTarget() {
    const auto module = Parse(kNet);
    SeedOptions seed;
    seed.dims["n"] = 3;
    auto inputs = MakeSeededInputs(*module->main(), seed);
    EXPECT_TRUE(inputs.ok()) << inputs.status();
    inputs_ = *std::move(inputs);
    auto want = reference::Run(*module->main(), inputs_);
    EXPECT_TRUE(want.ok()) << want.status();
    want_ = *std::move(want);
    plan_ = CompileAndRun(CpuTarget(), inputs_).plan;
  }

  // The plan for the target once `edit` has changed it.
  std::string PlanFor(const std::function<void(Target&)>& edit) {
    Target target = CpuTarget();
    edit(target);
    const Compiled compiled = CompileAndRun(target, inputs_);
    EXPECT_NE(compiled.plan, plan_) << PrintTarget(target);
    EXPECT_EQ(compiled.outputs.size(), want_.size());
    for (size_t i = 0; i < compiled.outputs.size(); ++i) {
      EXPECT_EQ(Difference(compiled.outputs[i], want_[i], {1e-4, 1e-5}), "")
          << "output " << i << "\n"
          << compiled.plan;
    }
    return compiled.plan;
  }

  std::vector<HostTensor> inputs_;
  std::vector<HostTensor> want_;
  std::string plan_;
};

TEST_F(EditedTarget, WithoutRoutines) {
  EXPECT_THAT(plan_, HasSubstr("library convolution"));
  EXPECT_THAT(plan_, HasSubstr("library linear"));
  const std::string plan = PlanFor([](Target& t) { t.routines.clear(); });
  EXPECT_THAT(plan, Not(HasSubstr("library ")));
}

TEST_F(EditedTarget, WithoutConvolutions) {
  const std::string plan = PlanFor([](Target& t) {
    for (Routine& routine : t.routines) {
      if (routine.ops == std::vector<std::string>{"convolution"}) routine.ops.clear();
    }
  });
  EXPECT_THAT(plan, Not(HasSubstr("library convolution")));
  EXPECT_THAT(plan, HasSubstr("library linear"));
}

TEST_F(EditedTarget, WithoutEpilogues) {
  PlanFor([](Target& t) { t.epilogues.clear(); });
}

TEST_F(EditedTarget, WithDenseOperandsAlone) {
  PlanFor([](Target& t) {
    for (Routine& routine : t.routines) {
      routine.strided.clear();
      routine.prefers_channels_last = false;
    }
  });
}

TEST_F(EditedTarget, WithoutComposites) {
  EXPECT_THAT(plan_, HasSubstr("library linear"));
  // A composite with a routine stays without being named.
  const std::string plan = PlanFor([](Target& t) {
    t.composites.clear();
    for (Routine& routine : t.routines) {
      routine.ops.erase(std::remove(routine.ops.begin(), routine.ops.end(), "linear"),
                        routine.ops.end());
    }
  });
  EXPECT_THAT(plan, Not(HasSubstr("library linear")));
}

TEST_F(EditedTarget, WithNarrowerVectors) {
  EXPECT_THAT(plan_, Not(HasSubstr("schedule lanes=4 {")));
  const std::string plan = PlanFor([](Target& t) { t.vector_bytes = 16; });
  EXPECT_THAT(plan, HasSubstr("schedule lanes=4 {"));
}

TEST_F(EditedTarget, WithASmallerCache) {
  EXPECT_THAT(plan_, HasSubstr(" tile=512 "));
  const std::string plan = PlanFor([](Target& t) { t.l1_bytes = 16 << 10; });
  EXPECT_THAT(plan, Not(HasSubstr(" tile=512 ")));
}

TEST_F(EditedTarget, WithKernelsOfF32Alone) {
  const std::string plan = PlanFor([](Target& t) { t.kernel_dtypes = {DType::kF32}; });
  EXPECT_THAT(plan, HasSubstr("reference"));
}

TEST_F(EditedTarget, WithSmallKernels) {
  PlanFor([](Target& t) { t.max_kernel_nodes = 1; });
  PlanFor([](Target& t) { t.max_row_elements = 1; });
}

}  // namespace
}  // namespace weft::cpu
