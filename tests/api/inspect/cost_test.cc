// Costs of nodes and programs, by hand-counted cases; every op has an answer.
#include "api/inspect/cost.h"

#include <string>

#include "examples/models/models.h"
#include "gmock/gmock.h"
#include "graph/ir/module.h"
#include "graph/ops/registry.h"
#include "gtest/gtest.h"
#include "tests/support/parse.h"

namespace weft {
namespace {

using testing::HasSubstr;
using Sizes = std::map<std::string, int64_t>;

ProgramCost Cost(const std::string& text, const Sizes& sizes = {}) {
  const auto module = Parse(text);
  auto cost = CostOf(*module->main(), sizes);
  EXPECT_TRUE(cost.ok()) << cost.status();
  return cost.ok() ? *cost : ProgramCost();
}

TEST(CostTest, EveryOpIsCountedOrSaysWhyNot) {
  for (const CostCoverage& entry : CostCoverageOf(ops::Registry())) {
    EXPECT_NE(entry.way, CostCoverage::Way::kMissing) << entry.op;
  }
  EXPECT_THAT(DescribeCosts(ops::Registry()),
              HasSubstr("\nsort: uncounted, the number depends on the "
                        "algorithm\n"));
}

TEST(CostTest, MatmulAndBias) {
  const ProgramCost cost = Cost(
      "func @main(%x: f32[s0, 4], %w: f32[5, 4], %b: f32[5]) -> f32[s0, 5] {\n"
      "  %0 = linear(%x, %w, %b)\n"
      "  return %0\n"
      "}\n",
      {{"s0", 3}});
  EXPECT_EQ(cost.flops, 2 * 3 * 4 * 5 + 3 * 5);
  EXPECT_EQ(cost.bytes, 4 * (3 * 4 + 5 * 4 + 5 + 3 * 5));
  EXPECT_EQ(cost.node_bytes, cost.bytes);
}

TEST(CostTest, ConvolutionOfGroups) {
  const ProgramCost cost = Cost(
      "func @main(%x: f32[2, 4, 5, 5], %w: f32[6, 2, 3, 3]) -> "
      "f32[2, 6, 5, 5] {\n"
      "  %0 = convolution(%x, %w, none, stride=[1, 1], padding=[1, 1], "
      "dilation=[1, 1], groups=2)\n"
      "  return %0\n"
      "}\n");
  EXPECT_EQ(cost.flops, 2 * (2 * 6 * 5 * 5) * (2 * 3 * 3));
}

TEST(CostTest, BytesOfAProgramAreThoseOfItsEnds) {
  const ProgramCost cost = Cost(
      "func @main(%x: f32[10]) -> f32[10] {\n"
      "  %0 = exp(%x)\n"
      "  %1 = mul(%0, %0)\n"
      "  return %1\n"
      "}\n");
  EXPECT_EQ(cost.flops, 20);
  EXPECT_EQ(cost.bytes, 80);
  EXPECT_EQ(cost.node_bytes, 160);
  EXPECT_EQ(cost.by_op.at("mul").bytes, 80);
}

TEST(CostTest, GathersReadWhatTheyTakeAndViewsNothing) {
  const ProgramCost cost = Cost(
      "func @main(%t: f32[1000, 8], %i: i64[3]) -> f32[8, 3] {\n"
      "  %0 = index_select(%t, %i, dim=0)\n"
      "  %1 = permute(%0, dims=[1, 0])\n"
      "  %2 = neg(%1)\n"
      "  return %2\n"
      "}\n");
  EXPECT_EQ(cost.bytes, 3 * 8 * 4 + 3 * 8 + 3 * 8 * 4);
  EXPECT_EQ(cost.by_op.at("permute").bytes, 0);
  EXPECT_EQ(cost.by_op.at("index_select").bytes, 2 * 3 * 8 * 4 + 3 * 8);
}

TEST(CostTest, UnusedResultsAreNotWritten) {
  const ProgramCost cost = Cost(
      "func @main(%x: f32[4, 8]) -> f32[4, 8] {\n"
      "  %0, %1, %2 = native_layer_norm(%x, none, none, "
      "normalized_shape=[8])\n"
      "  return %0\n"
      "}\n");
  EXPECT_EQ(cost.node_bytes, 2 * 4 * 8 * 4);
}

TEST(CostTest, TheBytesOfAGroupStayInIt) {
  const ProgramCost cost = Cost(
      "func @main(%x: f32[10]) -> f32[10] {\n"
      "  %0 = fused(%x, kind=\"pointwise\") : f32[10] {\n"
      "    body(%arg0: f32[10]) -> f32[10] {\n"
      "      %0 = exp(%arg0) : f32[10]\n"
      "      %1 = mul(%0, %0) : f32[10]\n"
      "      return %1\n"
      "    }\n"
      "  }\n"
      "  return %0\n"
      "}\n");
  EXPECT_EQ(cost.flops, 20);
  EXPECT_EQ(cost.bytes, 80);
  EXPECT_EQ(cost.node_bytes, 80);
}

TEST(CostTest, WhatCannotBeCountedIsListed) {
  const ProgramCost cost = Cost(
      "func @main(%x: f32[8]) -> f32[u0] where u0 <= 8 {\n"
      "  %0, %1 = sort(%x)\n"
      "  %2 = nonzero(%0)\n"
      "  %3 = reshape(%2, size=[u0])\n"
      "  %4 = convert(%3, dtype=f32)\n"
      "  return %4\n"
      "}\n");
  EXPECT_EQ(cost.uncounted.count("sort"), 1u);
  EXPECT_EQ(cost.uncounted.at("convert"), "a size is not known");
}

TEST(CostTest, ErrorsNameTheSymbol) {
  const auto module = Parse(
      "func @main(%x: f32[s0]) -> f32[s0] {\n"
      "  return %x\n"
      "}\n");
  EXPECT_THAT(CostOf(*module->main(), {{"n", 2}}).status().message(), HasSubstr("no symbol \"n\""));
  EXPECT_THAT(CostOf(*module->main()).status().message(), HasSubstr("\"s0\" has no value"));
}

double Gigaflops(const std::string& name, const Sizes& sizes) {
  models::ModelOptions options;
  options.weights = models::ModelOptions::Weights::kAbsent;
  const auto model = models::BuildModel(name, options);
  EXPECT_TRUE(model.ok()) << model.status();
  const auto cost = CostOf(*model->module->main(), sizes);
  EXPECT_TRUE(cost.ok()) << cost.status();
  EXPECT_TRUE(cost->uncounted.empty());
  return static_cast<double>(cost->flops) / 1e9;
}

// Published multiply-adds, twice: 4.09 G, 0.30 G; 85.5 M parameters of BERT's
// layers at 128 tokens.
TEST(CostTest, ModelsCostWhatTheirPapersSay) {
  EXPECT_NEAR(Gigaflops("resnet50", {}), 2 * 4.09, 0.12);
  EXPECT_NEAR(Gigaflops("mobilenet_v2", {}), 2 * 0.30, 0.06);
  EXPECT_NEAR(Gigaflops("bert", {}), 2 * 0.0855 * 128, 1.0);
  EXPECT_NEAR(Gigaflops("resnet50", {{"batch", 8}}), 8 * Gigaflops("resnet50", {}), 0.01);
}

}  // namespace
}  // namespace weft
