// Alignment of graphs, and the report of differences.
#include "api/inspect/graph_diff.h"

#include <memory>
#include <string>

#include "gmock/gmock.h"
#include "graph/ir/module.h"
#include "graph/ops/registry.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace weft {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Kind = DiffEntry::Kind;

GraphDiff DiffTexts(const std::string& before, const std::string& after) {
  auto a = ParseModule(before, ops::Registry());
  auto b = ParseModule(after, ops::Registry());
  EXPECT_TRUE(a.ok() && b.ok()) << a.status() << b.status();
  return Diff(**a, **b);
}

const char kBase[] = R"(func @main(%x: f32[4], %y: f32[4]) -> f32[4] {
  %0 = tanh(%x) : f32[4]
  %1 = add(%0, %y) : f32[4]
  %2 = softmax(%1, dim=0) : f32[4]
  return %2
})";

TEST(Diff, EqualGraphsInAnotherOrder) {
  const GraphDiff diff = DiffTexts(R"(func @main(%x: f32[4], %y: f32[4]) -> f32[4] {
  %0 = tanh(%x) : f32[4]
  %1 = exp(%y) : f32[4]
  %2 = add(%0, %1) : f32[4]
  return %2
})",
                                   R"(func @main(%x: f32[4], %y: f32[4]) -> f32[4] {
  %0 = exp(%y) : f32[4]
  %1 = tanh(%x) : f32[4]
  %2 = add(%1, %0) : f32[4]
  return %2
})");
  EXPECT_TRUE(diff.equal()) << diff.ToString();
  EXPECT_EQ(diff.aligned, 3);
}

TEST(Diff, InitialValuesOfInputs) {
  const std::string rest = ", %x: f32[2]) -> f32[2] {\n  %0 = add(%w, %x) : f32[2]\n  return %0\n}";
  const std::string one = "func @main(%w: f32[2] {initial=dense<[1.0, 2.0]>}" + rest;
  const std::string two = "func @main(%w: f32[2] {initial=dense<[1.0, 3.0]>}" + rest;
  EXPECT_TRUE(DiffTexts(one, one).equal());
  for (const std::string& other : {two, "func @main(%w: f32[2]" + rest}) {
    const GraphDiff diff = DiffTexts(one, other);
    ASSERT_EQ(diff.entries.size(), 1u) << diff.ToString();
    EXPECT_THAT(diff.entries[0].what, ElementsAre("initial value of %w"));
  }
}

TEST(Diff, ANodeInTheMiddle) {
  const GraphDiff diff = DiffTexts(kBase, R"(func @main(%x: f32[4], %y: f32[4]) -> f32[4] {
  %0 = tanh(%x) : f32[4]
  %1 = add(%0, %y) : f32[4]
  %2 = neg(%1) : f32[4]
  %3 = softmax(%2, dim=0) : f32[4]
  return %3
})");
  EXPECT_EQ(diff.Count(Kind::kAppeared), 1) << diff.ToString();
  EXPECT_EQ(diff.Count(Kind::kWent), 0);
  ASSERT_EQ(diff.Count(Kind::kChanged), 1);
  EXPECT_THAT(diff.entries[0].what, ElementsAre("operand 0"));
  EXPECT_THAT(diff.ToString(), HasSubstr("+ %2 = neg(%1)"));
  EXPECT_THAT(diff.ToString(), HasSubstr("0 went, 1 appeared, 1 changed, 3 aligned"));
}

TEST(Diff, AttributesAndOperandsAreNamed) {
  const GraphDiff diff = DiffTexts(R"(func @main(%x: f32[4, 4], %y: f32[4, 4]) -> f32[4, 4] {
  %0 = sub(%x, %y) : f32[4, 4]
  %1 = softmax(%0, dim=0) : f32[4, 4]
  return %1
})",
                                   R"(func @main(%x: f32[4, 4], %y: f32[4, 4]) -> f32[4, 4] {
  %0 = sub(%y, %x) : f32[4, 4]
  %1 = softmax(%0, dim=1) : f32[4, 4]
  return %1
})");
  ASSERT_EQ(diff.entries.size(), 2u) << diff.ToString();
  EXPECT_THAT(diff.entries[0].what, ElementsAre("operand 0", "operand 1"));
  EXPECT_THAT(diff.entries[1].what, ElementsAre("attribute dim"));
}

TEST(Diff, ProvenanceComesFirst) {
  // By structure alone the first nodes would be partners.
  const GraphDiff diff = DiffTexts(R"(func @main(%x: f32[4]) -> (f32[4], f32[4]) {
  %0 = tanh(%x) : f32[4]  loc("a")
  %1 = tanh(%0) : f32[4]  loc("b")
  return %0, %1
})",
                                   R"(func @main(%x: f32[4]) -> (f32[4], f32[4]) {
  %0 = tanh(%x) : f32[4]  loc("b")
  %1 = tanh(%0) : f32[4]  loc("a")
  return %1, %0
})");
  EXPECT_EQ(diff.aligned, 2);
  EXPECT_EQ(diff.Count(Kind::kChanged), 2) << diff.ToString();
  EXPECT_THAT(diff.entries[0].provenance, ElementsAre("a"));
  EXPECT_THAT(diff.entries[0].after, HasSubstr("%1 = tanh"));
}

TEST(Diff, FunctionsAndJson) {
  const GraphDiff diff = DiffTexts(kBase, std::string(kBase) + R"(
func @other(%x: f32[4]) -> f32[4] {
  return %x
})");
  ASSERT_EQ(diff.entries.size(), 1u);
  const auto json = nlohmann::json::parse(diff.ToJson());
  EXPECT_FALSE(json["equal"]);
  EXPECT_EQ(json["aligned"], 3);
  EXPECT_EQ(json["entries"][0]["kind"], "appeared");
  EXPECT_EQ(json["entries"][0]["function"], "other");
}

}  // namespace
}  // namespace weft
