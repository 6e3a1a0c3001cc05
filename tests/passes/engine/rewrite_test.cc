// The rewriting engine, with rules made for the purpose.
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "graph/ir/builder.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ops/ops.h"
#include "graph/ops/registry.h"
#include "graph/text/text.h"
#include "graph/verify/verifier.h"
#include "gtest/gtest.h"
#include "passes/engine/rewrite/driver.h"
#include "passes/engine/rewrite/rewriter.h"

namespace weft {
namespace {

using namespace pattern;  // NOLINT
using testing::HasSubstr;

// The value that right sides start from.
struct Start {
  Value* value = nullptr;
};

bool Always(const Node& node, Match& m) {
  m.Find<Start>().value = node.operand(0);
  return true;
}
template <const OpDef& op>
Value* BuildUnary(const Match& m, Rewriter& rewriter) {
  return rewriter.Op(op, {m.Found<Start>().value});
}

// A rule about one op: bit-exact, with one guard.
Rule On(const char* name, const OpDef& op, Replacement build,
        bool (*guard)(const Node&, Match&) = Always) {
  return {name, "", NumericContract::kBitExact, Op(op), {{"guard", guard}}, build};
}

class RewriteTest : public testing::Test {
 protected:
  void Load(absl::string_view text) {
    auto module = ParseModule(text, ops::Registry());
    ASSERT_TRUE(module.ok()) << module.status();
    module_ = *std::move(module);
  }
  absl::Status Apply(std::vector<Rule> rules, bool fold = false,
                     PassContext::Options options = {}) {
    context_ = std::make_unique<PassContext>(options);
    RewriteOptions rewrite;
    rewrite.fold = fold;
    const absl::Span<const Rule> theme = rules;
    const absl::Status status = ApplyRules(*module_, *context_, {&theme, 1}, rewrite);
    if (status.ok()) {
      EXPECT_TRUE(Verify(*module_).ok()) << Verify(*module_);
    }
    return status;
  }
  std::string Print() {
    PrintOptions options;
    return PrintModule(*module_, options);
  }
  int64_t Counter(const std::string& name) const {
    auto it = context_->counters().find(name);
    return it == context_->counters().end() ? 0 : it->second;
  }

  std::unique_ptr<Module> module_;
  std::unique_ptr<PassContext> context_;
};

constexpr char kChain[] = R"(
func @main(%x: f32[4]) {
  %0 = neg(%x) loc("a")
  %1 = neg(%0) loc("b")
  %2 = exp(%1) loc("c")
  return %2
})";

TEST_F(RewriteTest, AppliesRulesToTheirFixpoint) {
  Load(kChain);
  ASSERT_TRUE(Apply({On("neg-to-abs", ops::neg, BuildUnary<ops::abs>),
                     On("abs-to-sin", ops::abs, BuildUnary<ops::sin>)})
                  .ok());
  EXPECT_EQ(Print(), R"(func @main(%x: f32[4]) -> f32[4] {
  %0 = sin(%x) : f32[4]  loc("a")
  %1 = sin(%0) : f32[4]  loc("b")
  %2 = exp(%1) : f32[4]  loc("c")
  return %2
}
)");
  EXPECT_EQ(Counter("rule.neg-to-abs"), 2);
  EXPECT_EQ(Counter("rule.abs-to-sin"), 2);
  EXPECT_EQ(Counter("rewrites"), 4);
}

TEST_F(RewriteTest, HandsNotesOn) {
  Load(R"(
func @main(%x: f32[4]) {
  %0 = neg(%x) note(quant="u8 affine", operand 0 quant="gone")
  %1 = exp(%0) note(operand 0 quant="stays")
  return %1
})");
  ASSERT_TRUE(Apply({On("neg-to-abs", ops::neg, BuildUnary<ops::abs>)}).ok());
  EXPECT_EQ(Print(), R"(func @main(%x: f32[4]) -> f32[4] {
  %0 = abs(%x) : f32[4]  note(quant="u8 affine")
  %1 = exp(%0) : f32[4]  note(operand 0 quant="stays")
  return %1
}
)");
}

TEST_F(RewriteTest, NoMatchMakesNoNodeAndNoEdit) {
  Load(kChain);
  const uint64_t epoch = module_->main()->epoch();
  const uint32_t ids = module_->main()->node_id_limit();
  const auto never = [](const Node&, Match&) { return false; };
  ASSERT_TRUE(Apply({On("never", ops::neg, BuildUnary<ops::abs>, never)}).ok());
  EXPECT_EQ(module_->main()->epoch(), epoch);
  EXPECT_EQ(module_->main()->node_id_limit(), ids);
  EXPECT_EQ(Counter("rewrites"), 0);
}

// A long chain, of which one pair is to be rewritten.
TEST_F(RewriteTest, LooksAgainAtChangesAlone) {
  std::string text = "func @main(%x: f32[4]) {\n  %0 = exp(%x)\n";
  for (int i = 1; i < 2000; ++i) {
    absl::StrAppend(&text, "  %", i, " = ", i % 2 == 0 ? "exp" : "sin", "(%", i - 1, ")\n");
  }
  Load(absl::StrCat(text, "  return %1999\n}"));
  const std::vector<Rule> rules = {{"sin-of-cos",
                                    "",
                                    NumericContract::kBitExact,
                                    Op(ops::sin, Op(ops::cos, x)),
                                    {},
                                    Op(ops::tan, x)}};
  ASSERT_TRUE(Apply(rules).ok());
  EXPECT_EQ(Counter("visits"), 1000);  // The nodes that rules ask for.
  ASSERT_TRUE(Apply(rules).ok());
  EXPECT_EQ(Counter("visits"), 0);

  // Replaces an exp below a sin by a cos.
  Graph* graph = module_->main();
  Node* middle = graph->first_node();
  for (int i = 0; i < 1000; ++i) middle = middle->next();
  ASSERT_TRUE(middle->Is(ops::exp));
  Builder builder(graph, middle);
  Value* cosine = builder.Op(ops::cos, {middle->operand(0)});
  middle->result()->ReplaceAllUsesWith(cosine);
  graph->EraseNode(middle);
  ASSERT_TRUE(Apply(rules).ok());
  EXPECT_EQ(Counter("rule.sin-of-cos"), 1);
  EXPECT_GT(Counter("visits"), 0);
  EXPECT_LT(Counter("visits"), 20);

  // Other rules have not looked yet.
  ASSERT_TRUE(Apply({{"other",
                      "",
                      NumericContract::kBitExact,
                      Op(ops::sin, Op(ops::cos, x)),
                      {},
                      Op(ops::tan, x)}})
                  .ok());
  EXPECT_GT(Counter("visits"), 990);
}

TEST_F(RewriteTest, AdmitsByContract) {
  const Rule rule = {"r",
                     "",
                     NumericContract::kReassociating,
                     Op(ops::neg),
                     {{"guard", Always}},
                     BuildUnary<ops::abs>};
  Load(kChain);
  ASSERT_TRUE(Apply({rule}).ok());
  EXPECT_EQ(Counter("rewrites"), 0);
  PassContext::Options options;
  options.admitted = NumericContract::kReassociating;
  ASSERT_TRUE(Apply({rule}, false, options).ok());
  EXPECT_EQ(Counter("rewrites"), 2);
  EXPECT_EQ(context_->fired(), NumericContract::kReassociating);
}

TEST_F(RewriteTest, FightingRulesAreNamed) {
  const std::vector<Rule> rules = {On("up", ops::neg, BuildUnary<ops::abs>),
                                   On("down", ops::abs, BuildUnary<ops::neg>),
                                   On("once", ops::exp, BuildUnary<ops::sin>)};
  Load(kChain);
  ASSERT_TRUE(Apply(rules).ok());
  ASSERT_EQ(context_->remarks().size(), 1u);
  const Remark& remark = context_->remarks()[0];
  EXPECT_EQ(remark.kind, RemarkKind::kFailed);
  EXPECT_THAT(remark.reason, HasSubstr("no end after 1096 rewrites in @main"));
  EXPECT_THAT(remark.reason, testing::EndsWith("still fire: up, down"));
  PassContext::Options strict;
  strict.strict = true;
  EXPECT_EQ(Apply(rules, false, strict).code(), absl::StatusCode::kInternal);
}

TEST_F(RewriteTest, StopsAtTheRewriteLimit) {
  for (int limit : {0, 1, 2}) {
    Load(kChain);
    PassContext::Options options;
    options.rewrite_limit = limit;
    ASSERT_TRUE(Apply({On("r", ops::neg, BuildUnary<ops::abs>)}, false, options).ok());
    EXPECT_EQ(Counter("rewrites"), limit);
  }
}

TEST_F(RewriteTest, RemarksNumberTheRewrites) {
  Load(kChain);
  PassContext::Options options;
  options.remarks = true;
  ASSERT_TRUE(Apply({{"r",
                      "neg = abs",
                      NumericContract::kBitExact,
                      Op(ops::neg),
                      {{"guard", Always}},
                      BuildUnary<ops::abs>}},
                    false, options)
                  .ok());
  ASSERT_EQ(context_->remarks().size(), 2u);
  EXPECT_THAT(context_->remarks()[1].ToString(), HasSubstr("(from \"b\"): neg = abs, rewrite=2"));
}

TEST_F(RewriteTest, WrongTypesAreErrorsThatNameTheRule) {
  Load(kChain);
  const auto build = [](const Match& m, Rewriter& rewriter) {
    return rewriter.Op(ops::isnan, {m.Found<Start>().value});
  };
  const absl::Status status = Apply({On("bad", ops::exp, build)});
  EXPECT_THAT(status.message(), HasSubstr("rule bad on %3 = exp: result 0 of "
                                          "exp, f32[4], is replaced by bool"));
  // The nodes that it had built are erased.
  EXPECT_EQ(module_->main()->num_nodes(), 3);
}

TEST_F(RewriteTest, RightSidesReadWhatTheirOwnGuardsFound) {
  const auto finds_nothing = [](const Node& node, Match& m) { return true; };
  Load(kChain);
  EXPECT_DEATH((void)Apply({On("bad", ops::exp, BuildUnary<ops::tan>, finds_nothing)}),
               "no guard of rule bad wrote what it reads");
}

TEST_F(RewriteTest, FailingBuildsAreErrorsThatNameTheRule) {
  Load(kChain);
  const auto build = [](const Match& m, Rewriter& rewriter) {
    Value* part = rewriter.Op(ops::sin, {m.Found<Start>().value});
    return rewriter.Op(ops::permute, {part}, {{"dims", 7}});
  };
  const uint64_t epoch = module_->main()->epoch();
  const absl::Status status = Apply({On("bad", ops::exp, build)});
  EXPECT_THAT(status.message(), HasSubstr("rule bad on %3 = exp: permute"));
  EXPECT_EQ(module_->main()->num_nodes(), 3);
  EXPECT_EQ(module_->main()->epoch(), epoch);
}

TEST_F(RewriteTest, SharesEqualNodesThatStandBefore) {
  Load(R"(
func @main(%x: f32[4], %y: f32[4]) {
  %0 = sub(%x, %y)
  %1 = sub(%x, %y)
  %2 = sub(%y, %x)
  return %0, %1, %2
})");
  // x - y = (-x) + y, wrong on purpose.
  const auto build = [](const Match& m, Rewriter& rewriter) {
    Value* neg = rewriter.Op(ops::neg, {m.root->operand(0)});
    return rewriter.Op(ops::add, {neg, m.root->operand(1)});
  };
  ASSERT_TRUE(Apply({On("r", ops::sub, build)}).ok());
  EXPECT_EQ(module_->main()->num_nodes(), 4);  // Two of each, not three.
  EXPECT_EQ(module_->main()->output(0), module_->main()->output(1));
}

// A rule that matches only a value with one use is tried again when its other use is removed.
TEST_F(RewriteTest, LosingAUseWakesTheOtherUser) {
  Load(R"(
func @main(%x: f32[4]) {
  %0 = exp(%x)
  %1 = abs(%0)
  %2 = neg(%0)
  %3 = sin(%2)
  return %1, %3
})");
  const auto one_use = [](const Node& node, Match& m) {
    m.Find<Start>().value = node.operand(0);
    return m.Found<Start>().value->has_one_use();
  };
  const auto build_cos = [](const Match& m, Rewriter& rewriter) {
    return rewriter.Op(ops::cos, {rewriter.graph()->input(0)});
  };
  // sin(neg) becomes something that does not use %0; then abs has it alone.
  ASSERT_TRUE(Apply({On("lonely-abs", ops::abs, BuildUnary<ops::tan>, one_use),
                     On("sin-goes", ops::sin, build_cos)})
                  .ok());
  EXPECT_EQ(Counter("rule.sin-goes"), 1);
  EXPECT_EQ(Counter("rule.lonely-abs"), 1);
}

// A rule of depth 2 is tried again when an operand's operand changes behind it.
TEST_F(RewriteTest, ChangesWakeUsersAsDeepAsRulesLook) {
  const auto two_below = [](const Node& node, Match& m) {
    const Value* below = node.operand(0);
    if (below->node() == nullptr || below->node()->num_operands() == 0) {
      return false;
    }
    m.Find<Start>().value = below->node()->operand(0);
    return m.Found<Start>().value->IsResultOf(ops::tan);
  };
  const auto build = [](const Match& m, Rewriter& rewriter) {
    return rewriter.Op(ops::cos, {m.Found<Start>().value});
  };
  // When cosh goes, exp has one use and becomes tan; sin is behind by then.
  const auto one_use = [](const Node& node, Match& m) {
    m.Find<Start>().value = node.operand(0);
    return node.result()->has_one_use();
  };
  const auto to_input = [](const Match& m, Rewriter& rewriter) {
    return rewriter.graph()->input(0);
  };
  for (int depth : {1, 2}) {
    Load(R"(
func @main(%x: f32[4]) {
  %0 = exp(%x)
  %1 = abs(%0)
  %2 = sin(%1)
  %3 = cosh(%0)
  return %2, %3
})");
    ASSERT_TRUE(Apply({{"deep",
                        "",
                        NumericContract::kBitExact,
                        Op(ops::sin),
                        {{"guard", two_below}},
                        build,
                        depth},
                       On("exp", ops::exp, BuildUnary<ops::tan>, one_use),
                       On("cosh", ops::cosh, to_input)})
                    .ok());
    EXPECT_EQ(Counter("rule.exp"), 1);
    EXPECT_EQ(Counter("rule.deep"), depth - 1);
  }
}

TEST_F(RewriteTest, FoldsMakeConstantsAndKeepProvenance) {
  Load(R"(
func @main(%x: f32[4]) {
  %0 = sym_constant(values=[2, 3], size=[2]) loc("a")
  %1 = exp(%x) loc("b")
  %2 = permute(%1, dims=[0]) loc("c")
  return %0, %2
})");
  ASSERT_TRUE(Apply({}, true).ok());
  EXPECT_EQ(Print(), R"(func @main(%x: f32[4]) -> (i64[2], f32[4]) {
  %0 = constant(dense<[2, 3]>) : i64[2]  loc("a")
  %1 = exp(%x) : f32[4]  loc("b", "c")
  return %0, %1
}
)");
  EXPECT_EQ(Counter("fold.sym_constant"), 1);
  EXPECT_EQ(Counter("fold.permute"), 1);
}

TEST_F(RewriteTest, WorksInNestedGraphs) {
  Load(R"(
func @main(%p: bool[], %x: f32[4]) {
  %0 = cond(%p, %x) {
    then_graph(%a: f32[4]) {
      %0 = neg(%a)
      return %0
    }
    else_graph(%a: f32[4]) {
      return %a
    }
  }
  return %0
})");
  ASSERT_TRUE(Apply({On("r", ops::neg, BuildUnary<ops::abs>)}).ok());
  EXPECT_EQ(Counter("rule.r"), 1);
}

}  // namespace
}  // namespace weft
