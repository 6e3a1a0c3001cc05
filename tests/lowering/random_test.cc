// Random programs: their plans verify, print and parse back, and give the graph's results, with and
// without library routines.
#include <string>

#include "absl/strings/str_cat.h"
#include "graph/ir/module.h"
#include "graph/ops/evaluate.h"
#include "graph/tensor/tensor.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "lowering/lower.h"
#include "lowering/plan_text.h"
#include "lowering/plan_verifier.h"
#include "tests/lowering/plan_evaluator.h"
#include "tests/lowering/random_graphs.h"
#include "tests/support/generic_target.h"
#include "tests/support/tensor_compare.h"

namespace weft {
namespace {

constexpr uint64_t kPrograms = 500;

void CheckProgram(const RandomProgram& p, const Target& target) {
  const auto plan = Lower(*p.module->main(), target);
  ASSERT_TRUE(plan.ok()) << plan.status();
  const std::string text = PrintPlan(*plan);
  ASSERT_TRUE(VerifyPlan(*plan).ok()) << VerifyPlan(*plan) << text;
  const auto parsed = ParsePlan(text, *p.module);
  ASSERT_TRUE(parsed.ok()) << parsed.status() << text;
  EXPECT_EQ(PrintPlan(*parsed), text);
  const auto want = EvaluateGraph(*p.module->main(), p.inputs);
  ASSERT_TRUE(want.ok()) << want.status();
  const auto got = RunPlan(*parsed, p.inputs);
  ASSERT_TRUE(got.ok()) << got.status() << text;
  // A dozen ops in f32, each of which rounds where the reference keeps doubles
  // within an op.
  const Tolerance tolerance = {1e-4, 1e-4};
  for (size_t i = 0; i < got->size(); ++i) {
    ASSERT_EQ(Difference((*got)[i], (*want)[i], tolerance), "") << "result " << i << "\n" << text;
  }
}

class RandomPlans : public testing::TestWithParam<bool> {};

TEST_P(RandomPlans, GiveWhatTheGraphGives) {
  const Target target = GetParam() ? GenericTarget() : Target();
  for (uint64_t seed = 1; seed <= kPrograms; ++seed) {
    const RandomProgram p = MakeRandomProgram(seed);
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    CheckProgram(p, target);
    if (HasFatalFailure()) FAIL() << PrintModule(*p.module);
  }
}

// With updates of inputs, in the inputs' own memory where the plan allows it.
TEST_P(RandomPlans, UpdateInputsInPlace) {
  const Target target = GetParam() ? GenericTarget() : Target();
  int in_place = 0;
  int elsewhere = 0;
  for (uint64_t seed = 1; seed <= kPrograms / 2; ++seed) {
    const RandomProgram p = MakeRandomUpdate(seed);
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    CheckProgram(p, target);
    if (HasFatalFailure()) FAIL() << PrintModule(*p.module);
    const auto plan = Lower(*p.module->main(), target);
    for (const Buffer& buffer : plan->buffers) {
      in_place += buffer.donor >= 0;
      elsewhere += !buffer.remark.empty();
    }
  }
  EXPECT_GT(in_place, 100);
  EXPECT_GT(elsewhere, 25);
}

INSTANTIATE_TEST_SUITE_P(Targets, RandomPlans, testing::Bool(),
                         [](const auto& info) { return info.param ? "WithRoutines" : "Plain"; });

// Equal programs give equal plans.
TEST(Plans, AreDeterministic) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    const RandomProgram a = MakeRandomProgram(seed);
    const RandomProgram b = MakeRandomProgram(seed);
    EXPECT_EQ(PrintPlan(*Lower(*a.module->main(), GenericTarget())),
              PrintPlan(*Lower(*b.module->main(), GenericTarget())));
  }
}

}  // namespace
}  // namespace weft
