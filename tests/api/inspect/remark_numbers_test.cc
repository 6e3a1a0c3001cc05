// Remarks with the numbers of a module's text.
#include "api/inspect/remark_numbers.h"

#include <string>
#include <vector>

#include "api/compiler.h"
#include "gmock/gmock.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "tests/support/parse.h"

namespace weft {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(NumberByText, RemarksAndTextAgree) {
  const auto module = Parse(R"(
func @main(%x: f32[2, 3]) -> (f32[2, 3], f32[2, 2], f32[2, 3]) {
  %0 = permute(%x, dims=[1, 0]) loc("a")
  %1 = permute(%0, dims=[1, 0]) loc("b")
  %2 = sin(%1) loc("c")
  %3, %4 = topk(%x, k=2) loc("t")
  %5 = softmax(%2, dim=1) loc("d")
  return %2, %3, %5
}
)");
  CompileOptions options;
  options.passes = "canonicalize,dce,decompose";
  options.context.remarks = true;
  auto result = Compile(*module, options);
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_THAT(PrintModule(*module), HasSubstr("%3 = softmax"));
  NumberByText(*module, &result->remarks);
  bool missed = false, passed = false;
  for (const Remark& remark : result->remarks) {
    if (remark.kind == RemarkKind::kMissed && remark.pass == "decompose") {
      missed = true;
      EXPECT_EQ(remark.node, 3);
      EXPECT_THAT(remark.ToString(), HasSubstr("@main %3 = softmax (from \"d\")"));
    }
    if (remark.kind == RemarkKind::kPassed && remark.pass == "canonicalize") {
      passed = true;
      // Its node is gone.
      EXPECT_EQ(remark.node, -1);
      EXPECT_THAT(remark.ToString(), HasSubstr("@main permute (from "));
      EXPECT_THAT(remark.ToJson(), testing::Not(HasSubstr("\"node\"")));
    }
  }
  EXPECT_TRUE(missed && passed);
}

TEST(NumberByText, GraphsOfOneNameHaveNoNumbers) {
  const auto module = Parse(R"(
func @main(%p: bool[], %x: f32[2]) -> f32[2] {
  %0 = cond(%p, %x) {
    then_graph @branch(%a: f32[2]) {
      %b = sin(%a)
      return %b
    }
    else_graph @branch(%a: f32[2]) {
      %b = neg(%a)
      %c = neg(%b)
      return %c
    }
  }
  return %0
}
)");
  std::vector<Remark> remarks = {
      RemarkOn(*module->main()->first_node(), RemarkKind::kAnalysis, "outer"),
      RemarkOn(*module->main()->first_node()->region(0)->first_node(), RemarkKind::kAnalysis,
               "in")};
  remarks[0].related = {remarks[0].node, 77};
  NumberByText(*module, &remarks);
  EXPECT_EQ(remarks[0].node, 0);
  EXPECT_THAT(remarks[0].related, ElementsAre(0));
  EXPECT_EQ(remarks[1].node, -1);
}

Remark Miss(const std::string& rule, const std::string& matched) {
  Remark remark;
  remark.kind = RemarkKind::kNearMiss;
  remark.rule = rule;
  remark.args = {{"matched", matched}, {"at", "add"}};
  return remark;
}

TEST(SortNearMisses, TheNearestFirst) {
  Remark other;
  other.rule = "other";
  std::vector<Remark> remarks = {Miss("far", "1/4"),  other,
                                 Miss("near", "3/4"), Miss("odd", "x"),
                                 Miss("a", "4/5"),    Miss("b", "1/2")};
  SortNearMisses(&remarks);
  std::vector<std::string> rules;
  for (const Remark& remark : remarks) rules.push_back(remark.rule);
  EXPECT_THAT(rules, ElementsAre("a", "other", "near", "b", "far", "odd"));
}

}  // namespace
}  // namespace weft
