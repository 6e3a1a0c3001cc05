#include "lowering/step_cost.h"

#include "graph/ir/module.h"
#include "gtest/gtest.h"
#include "lowering/lower.h"
#include "tests/support/generic_target.h"
#include "tests/support/parse.h"

namespace weft {
namespace {

StepCost CostOfMain(absl::string_view text) {
  const auto module = Parse(text);
  return CostOf(*Lower(*module->main(), GenericTarget()));
}

TEST(StepCost, OfAKernelCountsItsBody) {
  const StepCost cost = CostOfMain(R"(
func @main(%x: f32[s0, 8], %y: f32[8]) -> f32[s0, 8] {
  %0 = add(%x, %y) : f32[s0, 8]
  return %0
}
)");
  EXPECT_EQ(cost.flops.ToString(), "8*s0");
  EXPECT_EQ(cost.bytes.ToString(), "64*s0 + 32");
}

TEST(StepCost, WhatRowsShareIsCountedOnce) {
  // A sum of 64, a division and 64 subtractions in each of 4 rows.
  const StepCost cost = CostOfMain(R"(
func @main(%x: f32[4, 64]) -> f32[4, 64] {
  %0 = fused(%x, kind="reduction") : f32[4, 64] {
    body(%a: f32[4, 64]) -> f32[4, 64] {
      %1 = mean(%a, dim=[1], keepdim=true) : f32[4, 1]
      %2 = sub(%a, %1) : f32[4, 64]
      return %2
    }
  }
  return %0
}
)");
  EXPECT_EQ(cost.flops.ToString(), "516");
  EXPECT_EQ(cost.bytes.ToString(), "2048");
}

TEST(StepCost, OfRoutines) {
  const StepCost cost = CostOfMain(R"(
func @main(%x: f32[s0, 64], %w: f32[32, 64]) -> f32[s0, 32] {
  %0 = linear(%x, %w, none) : f32[s0, 32]
  return %0
}
)");
  EXPECT_EQ(cost.flops.ToString(), "4096*s0");
  EXPECT_EQ(cost.bytes.ToString(), "384*s0 + 8192");
}

// Two matmuls, and six operations for each score.
TEST(StepCost, OfAttentionIsWhatTheOpSays) {
  const StepCost cost = CostOfMain(R"(
func @main(%q: f32[2, 5, 8], %k: f32[2, 7, 8], %v: f32[2, 7, 8]) -> f32[2, 5, 8] {
  %0 = scaled_dot_product_attention(%q, %k, %v, none) : f32[2, 5, 8]
  return %0
}
)");
  EXPECT_EQ(cost.flops.ToString(), "2660");
}

// Whether the routine adds it or the epilogue.
TEST(StepCost, ABiasCountsOnce) {
  const StepCost cost = CostOfMain(R"(
func @main(%x: f32[s0, 4], %w: f32[5, 4], %b: f32[5]) -> f32[s0, 5] {
  %0 = linear(%x, %w, %b) : f32[s0, 5]
  return %0
}
)");
  EXPECT_EQ(cost.flops.ToString(), "45*s0");
}

TEST(StepCost, AnEpilogueIsOneOperationForEachElement) {
  const StepCost cost = CostOfMain(R"(
func @main(%x: f32[3, 4], %w: f32[4, 5]) -> f32[3, 5] {
  %0 = fused(%x, %w, kind="gemm") : f32[3, 5] {
    body(%a: f32[3, 4], %b: f32[4, 5]) -> f32[3, 5] {
      %1 = matmul(%a, %b) : f32[3, 5]
      %2 = relu(%1) : f32[3, 5]
      return %2
    }
  }
  return %0
}
)");
  EXPECT_EQ(cost.flops.ToString(), "135");
}

TEST(StepCost, GathersReadWhatTheyGather) {
  const StepCost cost = CostOfMain(R"(
func @main(%t: f32[1000, 16], %i: i64[5]) -> f32[5, 16] {
  %0 = index_select(%t, %i, dim=0) : f32[5, 16]
  return %0
}
)");
  EXPECT_EQ(cost.bytes.ToString(), "680");
}

}  // namespace
}  // namespace weft
