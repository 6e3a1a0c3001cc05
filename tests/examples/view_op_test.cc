// A view op that no file of the tree but its own knows is a view for lowering, is read inside of
// kernels, and may be fused.
#include <memory>
#include <string>
#include <vector>

#include "examples/every.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ir/op_map.h"
#include "graph/ir/op_registry.h"
#include "graph/ops/evaluate.h"
#include "graph/ops/registry.h"
#include "graph/target/target.h"
#include "graph/tensor/tensor.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "lowering/lower.h"
#include "lowering/plan_text.h"
#include "passes/fuse/nodes.h"
#include "tests/lowering/plan_evaluator.h"
#include "tests/support/tensor_compare.h"

namespace weft {
namespace {

class ViewOp : public testing::Test {
 protected:
  ViewOp() : registry_(ops::Registry()) { registry_.Register(&examples::every); }

  // The plan of the program, which gives what its graph does.
  Plan LowerAndRun(const std::string& text) {
    auto module = ParseModule(text, registry_);
    EXPECT_TRUE(module.ok()) << module.status();
    if (!module.ok()) return Plan();
    module_ = *std::move(module);
    auto plan = Lower(*module_->main(), Target());
    EXPECT_TRUE(plan.ok()) << plan.status();
    if (!plan.ok()) return Plan();
    std::vector<double> numbers;
    for (int i = 0; i < 14; ++i) numbers.push_back(i - 6);
    const HostTensor x = HostTensor::FromDoubles(DType::kF32, {2, 7}, numbers);
    const auto want = EvaluateGraph(*module_->main(), {x});
    const auto got = RunPlan(*plan, {x});
    EXPECT_TRUE(want.ok()) << want.status();
    EXPECT_TRUE(got.ok()) << got.status();
    if (want.ok() && got.ok()) {
      EXPECT_EQ(ExactDifference((*got)[0], (*want)[0]), "");
    }
    return *std::move(plan);
  }

  OpRegistry registry_;
  std::unique_ptr<Module> module_;
};

TEST_F(ViewOp, HasAMap) {
  auto module = ParseModule(R"(
func @main(%x: f32[2, 7]) -> (%y: f32[2, 3]) {
  %0 = every(%x, dim=1, n=3)
  return %0
})",
                            registry_);
  ASSERT_TRUE(module.ok()) << module.status();
  const Node& node = *(*module)->main()->first_node();
  const auto map = MapOf(node);
  ASSERT_TRUE(map.has_value());
  EXPECT_EQ(ToString(*map), "(d0, d1) -> %0[d0, 3*d1]");
  EXPECT_TRUE(IsView(node));
}

TEST_F(ViewOp, LiesInItsOperand) {
  const Plan plan = LowerAndRun(R"(
func @main(%x: f32[2, 7]) -> (%y: f32[2, 3]) {
  %0 = every(%x, dim=1, n=3)
  %1 = relu(%0)
  return %1
})");
  ASSERT_EQ(plan.steps.size(), 1u) << PrintPlan(plan);
  EXPECT_EQ(plan.steps[0].kind, StepKind::kKernel);
  EXPECT_EQ(plan.steps[0].args[0].strides, (std::vector<SymInt>{7, 3}));
}

TEST_F(ViewOp, IsReadInKernels) {
  const Plan plan = LowerAndRun(R"(
func @main(%x: f32[2, 7]) -> (%y: f32[2, 3]) {
  %0 = fused(%x, kind="pointwise") : f32[2, 3] {
    body(%arg0: f32[2, 7]) -> f32[2, 3] {
      %0 = abs(%arg0) : f32[2, 7]
      %1 = every(%0, dim=1, n=3) : f32[2, 3]
      %2 = neg(%1) : f32[2, 3]
      return %2
    }
  }
  return %0
})");
  ASSERT_EQ(plan.steps.size(), 1u) << PrintPlan(plan);
  EXPECT_EQ(plan.steps[0].kind, StepKind::kKernel);
}

}  // namespace
}  // namespace weft
