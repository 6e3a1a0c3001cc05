// Which values take factors, which factors, and what they change.
#include "passes/quantize/scale_migration.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ir/op_def.h"
#include "gtest/gtest.h"
#include "passes/quantize/annotate.h"
#include "passes/quantize/policy.h"
#include "tests/support/parse.h"

namespace weft {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

QuantDecision Decide(const Module& module, absl::string_view policy_name) {
  const auto policy = LoadQuantPolicy(policy_name);
  EXPECT_TRUE(policy.ok()) << policy.status();
  auto decision = DecideQuantization(module, CollectQuantCandidates(module, *policy), *policy, {});
  EXPECT_TRUE(decision.ok()) << decision.status();
  return *std::move(decision);
}

// Each value with the operands that take its factors.
std::vector<std::string> EdgesOf(const Module& module, absl::string_view policy) {
  const QuantDecision decision = Decide(module, policy);
  std::vector<std::string> texts;
  for (const MigrationEdge& edge : CollectMigrations(*module.main(), decision)) {
    std::string text = absl::StrCat(edge.value->node()->op().name(), ":");
    for (const MigrationSource& source : edge.sources) {
      absl::StrAppend(&text, " ", source.node->op().name(), " ", source.operand, "/", source.axis);
    }
    absl::StrAppend(&text, " to ", edge.readers.size(),
                    edge.readers[0].activation ? " quantized" : "");
    texts.push_back(std::move(text));
  }
  return texts;
}

constexpr char kConstants[] = R"(
  %g = constant(dense<[1.0, 2.0]>) : f32[2]
  %b = constant(dense<[0.5, -0.5]>) : f32[2]
  %w = constant(dense<[[1.0, 0.5], [0.25, -1.5]]>) : f32[2, 2]
)";

std::unique_ptr<Module> WithConstants(absl::string_view body) {
  return Parse(absl::StrCat("func @main(%x: f32[3, 2], %y: f32[3, 2]) {", kConstants, body, "}"));
}

TEST(ScaleMigration, FindsTheConstantsBeforeProducts) {
  const auto edges = [](absl::string_view body, absl::string_view policy = "x86") {
    return EdgesOf(*WithConstants(body), policy);
  };
  constexpr char kNorm[] = R"(
    %0, %1, %2 = native_layer_norm(%x, %g, %b, normalized_shape=[2])
    %3 = linear(%0, %w, none)
    %4 = matmul(%0, %w)
    return %3, %4)";
  EXPECT_THAT(edges(kNorm), ElementsAre("native_layer_norm: native_layer_norm 1/0 "
                                        "native_layer_norm 2/0 to 2 quantized"));
  EXPECT_THAT(edges(kNorm, "weight_only{bits=4,group=2}"),
              ElementsAre("native_layer_norm: native_layer_norm 1/0 native_layer_norm 2/0 to 2"));
  EXPECT_THAT(edges(R"(
    %0 = rms_norm(%x, %g, normalized_shape=[2])
    %1 = matmul(%0, %w)
    return %1)"),
              ElementsAre("rms_norm: rms_norm 1/0 to 1 quantized"));
  // A norm in parts; a gated product; a product behind a relu.
  EXPECT_THAT(edges(R"(
    %0 = mul(%x, %g)
    %1 = add(%0, %b)
    %2 = linear(%1, %w, none)
    return %2)"),
              ElementsAre("add: add 1/0 mul 1/0 to 1 quantized"));
  EXPECT_THAT(edges(R"(
    %0 = silu(%x)
    %1 = linear(%y, %w, %b)
    %2 = mul(%0, %1)
    %3 = linear(%2, %w, none)
    return %3)"),
              ElementsAre("mul: linear 1/0 linear 2/0 to 1 quantized"));
  EXPECT_THAT(edges(R"(
    %0 = matmul(%x, %w)
    %1 = add(%0, %b)
    %2 = relu(%1)
    %3 = matmul(%2, %w)
    return %3)"),
              ElementsAre("relu: add 1/0 matmul 1/1 to 1 quantized"));
}

TEST(ScaleMigration, LeavesOtherValuesAlone) {
  const auto none = [](absl::string_view body) {
    EXPECT_THAT(EdgesOf(*WithConstants(body), "x86"), ElementsAre()) << body;
  };
  // An output, a reader that is no product, a product's other operand, a gelu, a value of two
  // readers before the constant.
  none(R"(
    %0, %1, %2 = native_layer_norm(%x, %g, %b, normalized_shape=[2])
    %3 = linear(%0, %w, none)
    return %3, %0)");
  none(R"(
    %0, %1, %2 = native_layer_norm(%x, %g, %b, normalized_shape=[2])
    %3 = linear(%0, %w, none)
    %4 = add(%x, %0)
    return %3, %4)");
  none(R"(
    %0, %1, %2 = native_layer_norm(%x, none, none, normalized_shape=[2])
    %3 = linear(%0, %w, none)
    return %3)");
  none(R"(
    %0 = linear(%x, %w, %b)
    %1 = gelu(%0)
    %2 = linear(%1, %w, none)
    return %2)");
  none(R"(
    %0 = mul(%x, %g)
    %1 = relu(%0)
    %2 = linear(%1, %w, none)
    return %2, %0)");
}

// Rows around 1, but for channel 1, which is 50 times as large.
ActivationSample Outlier(int64_t channels) {
  std::mt19937 random(5);
  std::vector<double> values;
  ActivationSample sample;
  sample.largest.assign(channels, 0);
  sample.mean.assign(channels, 0);
  for (int64_t i = 0; i < 64; ++i) {
    for (int64_t k = 0; k < channels; ++k) {
      const double v = (static_cast<double>(random() % 2001) / 1000 - 1) * (k == 1 ? 50 : 1);
      values.push_back(v);
      sample.largest[k] = std::max(sample.largest[k], std::abs(v));
      sample.mean[k] += std::abs(v) / 64;
    }
  }
  sample.rows = HostTensor::FromDoubles(DType::kF32, {64, channels}, values);
  return sample;
}

constexpr char kOutlier[] = R"(
func @main(%x: f32[3, 4]) {
  %g = constant(dense<[1.0, 2.0, 3.0, 4.0]>) : f32[4]
  %b = constant(dense<[0.5, -0.5, 1.0, 0.0]>) : f32[4]
  %w = constant(dense<[[1.0, 0.05, -0.7, 0.3], [0.2, -0.06, 0.6, 0.9]]>) : f32[2, 4]
  %0, %1, %2 = native_layer_norm(%x, %g, %b, normalized_shape=[4])
  %3 = linear(%0, %w, none)
  return %3
})";

TEST(ScaleMigration, TakesAnOutlierOutOfTheActivation) {
  const std::unique_ptr<Module> module = Parse(kOutlier);
  const QuantDecision decision = Decide(*module, "x86");
  const std::vector<MigrationEdge> edges = CollectMigrations(*module->main(), decision);
  ASSERT_EQ(edges.size(), 1);
  const auto choice = DecideMigration(edges[0], Outlier(4));
  ASSERT_TRUE(choice.ok()) << choice.status();
  ASSERT_EQ(choice->factors.size(), 4);
  EXPECT_LT(choice->error_after, 0.2 * choice->error_before);
  EXPECT_GT(choice->factors[1], 3 * choice->factors[0]);
  EXPECT_THAT(ToText(edges[0], *choice), HasSubstr(" (native_layer_norm): strength "));
  ASSERT_TRUE(ApplyMigration(edges[0], *choice).ok());
  // Each constant before is divided by what the weight's columns are multiplied by.
  const Node& norm = *edges[0].value->node();
  const Node& linear = *edges[0].readers[0].node;
  const std::vector<double> g = LiteralOf(norm.operand(1))->ReadDoubles();
  const std::vector<double> b = LiteralOf(norm.operand(2))->ReadDoubles();
  const std::vector<double> w = LiteralOf(linear.operand(1))->ReadDoubles();
  for (int k = 0; k < 4; ++k) {
    const double s = choice->factors[k];
    EXPECT_NEAR(g[k] * s, k + 1, 1e-5);
    EXPECT_NEAR(b[k] * s, std::vector<double>({0.5, -0.5, 1, 0})[k], 1e-5);
    EXPECT_NEAR(w[k] / s, std::vector<double>({1, 0.05, -0.7, 0.3})[k], 1e-5);
  }
}

TEST(ScaleMigration, ValuesThatGainNothingStay) {
  const std::unique_ptr<Module> module = Parse(kOutlier);
  const QuantDecision decision = Decide(*module, "x86");
  const std::vector<MigrationEdge> edges = CollectMigrations(*module->main(), decision);
  ASSERT_EQ(edges.size(), 1);
  // Zeros are on every grid.
  ActivationSample sample = Outlier(4);
  std::vector<double> zeros(64 * 4, 0);
  sample.rows = HostTensor::FromDoubles(DType::kF32, {64, 4}, zeros);
  const auto choice = DecideMigration(edges[0], sample);
  ASSERT_TRUE(choice.ok()) << choice.status();
  EXPECT_TRUE(choice->factors.empty());
  EXPECT_THAT(ToText(edges[0], *choice), HasSubstr("stays, error 0"));
  sample.mean.pop_back();
  EXPECT_THAT(std::string(DecideMigration(edges[0], sample).status().message()),
              HasSubstr(" (native_layer_norm): the sample has other channels"));
}

}  // namespace
}  // namespace weft
