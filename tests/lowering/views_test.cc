// Where views lie, and where what they show is computed.
#include "lowering/views.h"

#include <memory>
#include <string>
#include <vector>

#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ops/evaluate.h"
#include "graph/ops/ops.h"
#include "graph/target/target.h"
#include "graph/tensor/tensor.h"
#include "gtest/gtest.h"
#include "lowering/lower.h"
#include "lowering/plan_text.h"
#include "tests/lowering/plan_evaluator.h"
#include "tests/support/parse.h"
#include "tests/support/tensor_compare.h"

namespace weft {
namespace {

// Copies in the plan of a function of one f32[2, 6], whose result is that of the graph.
int CopiesOf(const std::string& text) {
  const auto module = Parse(text);
  const auto plan = Lower(*module->main(), Target());
  EXPECT_TRUE(plan.ok()) << plan.status();
  if (!plan.ok()) return -1;
  std::vector<double> numbers;
  for (int i = 0; i < 12; ++i) numbers.push_back(i - 5);
  const HostTensor x = HostTensor::FromDoubles(DType::kF32, {2, 6}, numbers);
  const auto want = EvaluateGraph(*module->main(), {x});
  const auto got = RunPlan(*plan, {x});
  EXPECT_TRUE(want.ok()) << want.status();
  EXPECT_TRUE(got.ok()) << got.status() << PrintPlan(*plan);
  if (want.ok() && got.ok()) {
    EXPECT_EQ(ExactDifference((*got)[0], (*want)[0]), "") << text;
  }
  int copies = 0;
  for (const Step& step : plan->steps) copies += step.kind == StepKind::kCopy;
  return copies;
}

TEST(Views, PermutesAreComputedInConcatenations) {
  EXPECT_EQ(CopiesOf(R"(
func @main(%x: f32[2, 6]) -> f32[12, 2] {
  %0 = relu(%x) : f32[2, 6]
  %1 = permute(%0, dims=[1, 0]) : f32[6, 2]
  %2 = neg(%x) : f32[2, 6]
  %3 = permute(%2, dims=[1, 0]) : f32[6, 2]
  %4 = cat(%1, %3, dim=0) : f32[12, 2]
  return %4
})"),
            0);
}

// The whole would lie over the pieces that follow.
TEST(Views, PartsAreCopiedIntoConcatenations) {
  EXPECT_EQ(CopiesOf(R"(
func @main(%x: f32[2, 6]) -> f32[2, 8] {
  %0 = relu(%x) : f32[2, 6]
  %1 = slice(%0, dim=1, end=2) : f32[2, 2]
  %2 = neg(%x) : f32[2, 6]
  %3 = cat(%2, %1, dim=1) : f32[2, 8]
  return %3
})"),
            1);
  EXPECT_EQ(CopiesOf(R"(
func @main(%x: f32[2, 6]) -> f32[2, 8] {
  %0 = relu(%x) : f32[2, 6]
  %1 = slice(%0, dim=1, end=2) : f32[2, 2]
  %2 = neg(%x) : f32[2, 6]
  %3 = cat(%1, %2, dim=1) : f32[2, 8]
  return %3
})"),
            1);
}

TEST(Views, AreRearrangedWhenNoElementIsLeftOut) {
  const auto module = Parse(R"(
func @main(%x: f32[2, 6]) -> (f32[6, 2], f32[12], f32[2, 2], f32[6], f32[2]) {
  %0 = permute(%x, dims=[1, 0]) : f32[6, 2]
  %1 = reshape(%x, size=[12]) : f32[12]
  %2 = slice(%x, dim=1, end=2) : f32[2, 2]
  %3 = select(%x, dim=0, index=0) : f32[6]
  %4 = diagonal(%x) : f32[2]
  return %0, %1, %2, %3, %4
})");
  const Sizes sizes(&module->symbols());
  std::vector<bool> rearranged, counts;
  const Graph& main = *module->main();
  for (const Node* node = main.first_node(); node != main.return_node(); node = node->next()) {
    EXPECT_TRUE(IsView(node->op()));
    rearranged.push_back(IsRearranged(sizes, *node));
    counts.push_back(CountsElements(sizes, *node));
  }
  EXPECT_EQ(rearranged, (std::vector<bool>{true, true, false, false, false}));
  EXPECT_EQ(counts, (std::vector<bool>{false, true, false, false, false}));
  EXPECT_FALSE(IsView(ops::flip));
  EXPECT_FALSE(IsView(ops::bitcast));
  EXPECT_TRUE(IsView(ops::clone));
}

}  // namespace
}  // namespace weft
