// The example models: the steps of their plans, and the size of their arenas relative to the least
// memory. The table is a golden one with counts, not times.
#include "examples/models/models.h"

#include <algorithm>
#include <cstdio>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "api/compiler.h"
#include "graph/ir/module.h"
#include "graph/ops/evaluate.h"
#include "graph/sym/sym_facts.h"
#include "graph/tensor/tensor.h"
#include "gtest/gtest.h"
#include "lowering/lower.h"
#include "lowering/memory_plan.h"
#include "lowering/plan_text.h"
#include "lowering/plan_verifier.h"
#include "tests/lowering/plan_evaluator.h"
#include "tests/support/generic_target.h"
#include "tests/support/step_counts.h"
#include "tests/support/tensor_compare.h"

namespace weft {
namespace {

constexpr char kPipeline[] = "default,fuse_epilogue,fuse_reduction,fuse_vertical,fuse_concat";

constexpr char kTable[] =
    R"(resnet50        102 kernels   55 library   0 copies  0 reference 101 in place
mobilenet_v2     97 kernels   53 library   0 copies  0 reference  96 in place
bert             28 kernels   85 library   0 copies  0 reference  48 in place
minilm           16 kernels   43 library   0 copies  0 reference  24 in place
gpt2             26 kernels   61 library   0 copies  0 reference  26 in place
llama           125 kernels  241 library   0 copies 60 reference  61 in place
mlp               0 kernels    2 library   0 copies  0 reference   0 in place
dlrm             52 kernels    6 library   1 copies  0 reference   0 in place
norm_chain        1 kernels    0 library   0 copies  0 reference   0 in place
softmax           1 kernels    0 library   0 copies  0 reference   0 in place
adamw           302 kernels    0 library   0 copies  0 reference   0 in place
stack299        299 kernels    0 library   0 copies  0 reference   0 in place
four_linears      0 kernels    4 library   0 copies  0 reference   0 in place
)";

std::unique_ptr<Module> BuildCompiled(const char* name, bool small) {
  models::ModelOptions options;
  options.small = small;
  if (!small) options.weights = models::ModelOptions::Weights::kAbsent;
  auto model = models::BuildModel(name, options);
  EXPECT_TRUE(model.ok()) << model.status();
  CompileOptions compile;
  compile.passes = kPipeline;
  compile.verify = VerifyLevel::kNone;
  const auto compiled = Compile(*model->module, compile);
  EXPECT_TRUE(compiled.ok()) << compiled.status();
  return std::move(model->module);
}

TEST(Models, PlansAreAsCounted) {
  std::string table;
  for (const models::ModelEntry& entry : models::AllModels()) {
    SCOPED_TRACE(entry.name);
    const auto module = BuildCompiled(entry.name, /*small=*/false);
    const auto plan = Lower(*module->main(), GenericTarget());
    ASSERT_TRUE(plan.ok()) << plan.status();
    ASSERT_TRUE(VerifyPlan(*plan).ok()) << VerifyPlan(*plan);
    ArenaPlanner planner(*plan);
    const auto layout = planner.Find([&](SymInt s) {
      const SymbolInfo* info = module->symbols().Find(s);
      return info == nullptr ? std::nullopt : info->hint;
    });
    ASSERT_TRUE(layout.ok()) << layout.status();
    const int64_t bound = std::max<int64_t>((*layout)->lower_bound, 1);
    EXPECT_LE((*layout)->arena_bytes * 100, bound * 105) << entry.name;
    const StepCounts c = CountSteps(*plan);
    absl::StrAppend(&table, absl::StrFormat("%-14s %4d kernels %4d library %3d copies %2d "
                                            "reference %3d in place\n",
                                            entry.name, c.kernels, c.library, c.copies, c.reference,
                                            planner.memory().in_place().size()));
  }
  EXPECT_EQ(table, kTable);
}

TEST(Models, SmallOnesGiveWhatTheGraphGives) {
  for (const models::ModelEntry& entry : models::AllModels()) {
    SCOPED_TRACE(entry.name);
    models::ModelOptions options;
    options.small = true;
    const auto model = models::BuildModel(entry.name, options);
    ASSERT_TRUE(model.ok()) << model.status();
    const auto inputs = models::MakeInputs(*model);
    ASSERT_TRUE(inputs.ok()) << inputs.status();
    const auto want = EvaluateGraph(*model->module->main(), *inputs);
    ASSERT_TRUE(want.ok()) << want.status();
    CompileOptions compile;
    compile.passes = kPipeline;
    ASSERT_TRUE(Compile(*model->module, compile).ok());
    const auto plan = Lower(*model->module->main(), GenericTarget());
    ASSERT_TRUE(plan.ok()) << plan.status();
    const auto got = RunPlan(*plan, *inputs);
    ASSERT_TRUE(got.ok()) << got.status();
    for (size_t i = 0; i < got->size(); ++i) {
      EXPECT_EQ(Difference((*got)[i], (*want)[i], {1e-3, 1e-4}), "");
    }
  }
}

}  // namespace
}  // namespace weft
