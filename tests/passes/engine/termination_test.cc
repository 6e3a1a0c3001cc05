// Fixpoints that do not settle, budgets, and conditions of pipelines.
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ir/origin.h"
#include "graph/ops/ops.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "passes/engine/pass_manager.h"
#include "passes/engine/pass_manager/fingerprint.h"
#include "passes/engine/rewrite/driver.h"
#include "passes/pipelines.h"
#include "tests/support/parse.h"

namespace weft {
namespace {

using namespace pattern;  // NOLINT
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;

// Three rules that undo each other, across two passes.
constexpr Rule kUp[] = {
    {"neg-to-abs",
     "-x = |x|, for tests",
     NumericContract::kBitExact,
     Op(ops::neg, x),
     {},
     Op(ops::abs, x)},
};
constexpr Rule kDown[] = {
    {"abs-to-sin",
     "|x| = sin(x), for tests",
     NumericContract::kBitExact,
     Op(ops::abs, x),
     {},
     Op(ops::sin, x)},
    {"sin-to-neg",
     "sin(x) = -x, for tests",
     NumericContract::kBitExact,
     Op(ops::sin, x),
     {},
     Op(ops::neg, x)},
};

class RulePass : public Pass {
 public:
  RulePass(std::string name, absl::Span<const Rule> rules)
      : name_(std::move(name)), rules_(rules) {}
  absl::string_view name() const override { return name_; }
  absl::string_view doc() const override { return "For tests."; }
  absl::Status Run(Module& module, PassContext& context) override {
    RewriteOptions options;
    options.fold = false;
    return ApplyRules(module, context, {&rules_, 1}, options);
  }

 private:
  std::string name_;
  absl::Span<const Rule> rules_;
};

PassRegistry TestPasses() {
  PassRegistry registry = BuiltinPasses();
  registry.Add([]() -> std::unique_ptr<Pass> { return std::make_unique<RulePass>("up", kUp); });
  registry.Add([]() -> std::unique_ptr<Pass> { return std::make_unique<RulePass>("down", kDown); });
  return registry;
}

constexpr char kTwo[] = R"(func @main(%x: f32[4]) -> (f32[4], f32[4]) {
  %0 = neg(%x) loc("source")
  %1 = exp(%0)
  %2 = cos(%x)
  return %1, %2
})";

struct Outcome {
  absl::Status status;
  PipelineReport report;
  std::vector<Remark> remarks;
};

Outcome RunOn(Module& module, absl::string_view pipeline, PassContext::Options options = {}) {
  Outcome outcome;
  const PassRegistry registry = TestPasses();
  auto parsed = Pipeline::Parse(pipeline, registry);
  outcome.status = parsed.status();
  if (!parsed.ok()) return outcome;
  PassContext context(std::move(options));
  outcome.status = PassManager(*std::move(parsed)).Run(module, context, &outcome.report);
  outcome.remarks = context.TakeRemarks();
  return outcome;
}

TEST(Termination, NamesThreeRulesAcrossTwoPasses) {
  auto module = Parse(kTwo);
  const Outcome outcome = RunOn(*module, "fixpoint{max=50}(up,down)");
  ASSERT_TRUE(outcome.status.ok()) << outcome.status;
  ASSERT_EQ(outcome.remarks.size(), 1u);
  const Remark& remark = outcome.remarks[0];
  EXPECT_EQ(remark.kind, RemarkKind::kFailed);
  EXPECT_THAT(remark.reason, HasSubstr("a cycle of 1 round"));
  EXPECT_THAT(remark.reason, HasSubstr("up(rule.neg-to-abs=1)"));
  EXPECT_THAT(remark.reason, HasSubstr("down(rule.abs-to-sin=1, "
                                       "rule.sin-to-neg=1)"));
  // The nodes that alternate, and no others.
  EXPECT_THAT(remark.details, Contains(AllOf(HasSubstr("- %"), HasSubstr(" = neg(%"))));
  EXPECT_THAT(remark.details, Contains(AllOf(HasSubstr("+ %"), HasSubstr(" = abs(%"))));
  EXPECT_THAT(remark.ToString(), Not(HasSubstr("exp")));
  // Long before the cap.
  EXPECT_EQ(outcome.report.passes.size(), 10u);
}

TEST(Termination, IsAnErrorWhenStrict) {
  auto module = Parse(kTwo);
  PassContext::Options options;
  options.strict = true;
  const Outcome outcome = RunOn(*module, "fixpoint{max=50}(up,down)", options);
  EXPECT_THAT(std::string(outcome.status.message()),
              AllOf(HasSubstr("neg-to-abs"), HasSubstr("abs-to-sin"), HasSubstr("sin-to-neg"),
                    HasSubstr("+ %")));
}

TEST(Termination, BudgetsStopAPassWithARemark) {
  auto module = Parse(kTwo);
  PassContext::Options options;
  options.budget = 5;
  // One pass that fights itself.
  static constexpr Rule kFight[] = {kUp[0], kDown[0], kDown[1]};
  PassContext context(options);
  context.BeginPass("fight");
  RulePass pass("fight", kFight);
  ASSERT_TRUE(pass.Run(*module, context).ok());
  ASSERT_EQ(context.remarks().size(), 1u);
  EXPECT_EQ(context.remarks()[0].ToString(),
            "budget fight: stopped: the budget is spent, budget=5; a larger budget lets it go on");
  EXPECT_EQ(context.remarks()[0].work, 6);
  EXPECT_EQ(context.counters().at("budget_spent"), 1);
  EXPECT_LE(context.num_rewrites(), 5);
  // Each run of a pass has its own.
  context.BeginPass("next");
  EXPECT_TRUE(context.Spend(5));
  EXPECT_FALSE(context.Spend());
}

TEST(Conditions, PickItems) {
  const auto ran = [](absl::string_view pipeline) {
    auto module = Parse(kTwo);
    const Outcome outcome = RunOn(*module, pipeline);
    std::string paths(outcome.status.message());
    for (const PassReport& pass : outcome.report.passes) {
      absl::StrAppend(&paths, paths.empty() ? "" : " ", pass.path);
    }
    return paths;
  };
  EXPECT_EQ(ran("if(has_op(neg),up),if(has_op(neg),down)"), "if.up");
  EXPECT_EQ(ran("if(!has_op(neg),up),cse"), "cse");
  EXPECT_EQ(ran("if(nodes<3,dce),if(nodes<4,cse)"), "if.cse");
  EXPECT_EQ(ran("cse,if(changed,dce),up,if(changed,dce)"), "cse up if.dce");
  EXPECT_EQ(ran("up,fixpoint(cse,if(changed,dce))"), "up fixpoint.1.cse");
  EXPECT_EQ(ran("if(has_op(nge),dce)"), "if(has_op(nge)): no op is called \"nge\"");
}

TEST(Fingerprints, IgnoreOrderAndDeadNodes) {
  const auto of = [](absl::string_view text) { return Fingerprint(*Parse(text)).value(); };
  const uint64_t want = of(kTwo);
  EXPECT_EQ(of(R"(func @main(%x: f32[4]) -> (f32[4], f32[4]) {
    %0 = cos(%x)
    %dead = sin(%x)
    %1 = neg(%x)
    %2 = exp(%1)
    return %2, %0
  })"),
            want);
  EXPECT_NE(of(R"(func @main(%x: f32[4]) -> (f32[4], f32[4]) {
    %0 = neg(%x)
    %1 = exp(%0)
    %2 = cos(%x)
    return %2, %1
  })"),
            want);
}

TEST(Report, IsATreeAndJson) {
  auto module = Parse(kTwo);
  const Outcome outcome = RunOn(*module, "cse,fixpoint(if(has_op(neg),up),dce)");
  ASSERT_TRUE(outcome.status.ok()) << outcome.status;
  const std::string text = outcome.report.ToString();
  for (const char* row :
       {"   0  cse ", "\n      fixpoint ", "\n        round 1 ", "\n          if(has_op(neg)) ",
        "\n   1        up ", "\n   2      dce ", "if(has_op(neg))  no pass ran"}) {
    EXPECT_THAT(text, HasSubstr(row));
  }
  const std::string json = outcome.report.ToJson();
  EXPECT_THAT(json, HasSubstr("{\"name\": \"round 1\", \"depth\": 1, \"passes\": [1, 3]"));
  EXPECT_THAT(json, HasSubstr("\"path\": \"fixpoint.1.if.up\", \"pass\": \"up\""));
  EXPECT_THAT(json, HasSubstr("\"ops\": {\"abs\": [0, 1], \"neg\": [1, 0]}"));
  EXPECT_THAT(json, HasSubstr("\"rule.neg-to-abs\": 1"));
  EXPECT_GT(outcome.report.passes[0].peak_bytes, 1 << 20);
}

TEST(Origins, NameRulePassAndStep) {
  auto module = Parse(kTwo);
  ASSERT_TRUE(RunOn(*module, "up,down").status.ok());
  const Node* node = module->main()->output(0)->node()->operand(0)->node();
  ASSERT_TRUE(node->Is(ops::neg));
  const auto steps = module->origins().History(node->origin());
  ASSERT_EQ(steps.size(), 3u);
  EXPECT_EQ(steps[0].rule, "sin-to-neg");
  EXPECT_EQ(steps[0].pass, "down");
  EXPECT_EQ(steps[0].rewrite, 3);
  EXPECT_EQ(steps[0].op, &ops::sin);
  EXPECT_EQ(steps[1].rule, "abs-to-sin");
  EXPECT_EQ(steps[2].rule, "neg-to-abs");
  EXPECT_EQ(steps[2].pass, "up");
  EXPECT_EQ(steps[2].op, &ops::neg);
  EXPECT_EQ(module->main()->output(0)->node()->origin(), 0u);  // As it came.
  // A clone has them too, and the text form keeps the sources alone.
  const auto copy = module->Clone();
  EXPECT_EQ(copy->origins().History(node->origin()).size(), 3u);
  EXPECT_THAT(PrintModule(*copy), HasSubstr("loc(\"source\")"));
}

TEST(Remarks, MissedFoldsSayWhichOptionLiftsTheBound) {
  const char* text = R"(func @main() -> f32[2] {
  %0 = constant(dense<[1.0, 2.0]>) : f32[2]
  %1 = constant(dense<[3.0, 4.0]>) : f32[2]
  %2 = add(%0, %1)
  return %2
})";
  PassContext::Options options;
  options.remarks = true;
  auto module = Parse(text);
  const Outcome outcome = RunOn(*module, "fold_constants{max_work=3}", options);
  ASSERT_EQ(outcome.remarks.size(), 1u);
  const Remark& remark = outcome.remarks[0];
  EXPECT_EQ(remark.suggestion, "fold_constants{max_work=4} lifts this bound");
  EXPECT_EQ(remark.related, (std::vector<int64_t>{1, 2}));
  EXPECT_THAT(remark.ToString(), HasSubstr(", growth=-8, related=%1 %2; fold_constants{"));
  // And it does.
  EXPECT_TRUE(RunOn(*module, "fold_constants{max_work=4}", options).remarks.empty());
}

TEST(Remarks, NearMissesPointAtTheNode) {
  auto module = Parse(R"(func @main(%x: f32[4], %y: f32[4]) -> f32[4] {
  %0 = add(%x, %y)
  %1 = sub(%x, %0)
  return %1
})");
  PassContext::Options options;
  options.near_misses = "sub-neg";
  const Outcome outcome = RunOn(*module, "canonicalize", options);
  ASSERT_EQ(outcome.remarks.size(), 1u);
  EXPECT_EQ(outcome.remarks[0].reason, "not neg(y)");
  EXPECT_EQ(outcome.remarks[0].related, std::vector<int64_t>{1});
  EXPECT_THAT(outcome.remarks[0].ToString(), HasSubstr(", at=add"));
}

TEST(Remarks, AreRecordsAndFilters) {
  auto module = Parse(kTwo);
  PassContext::Options options;
  options.remarks = true;
  Outcome outcome = RunOn(*module, "up,down", options);
  ASSERT_EQ(outcome.remarks.size(), 3u);
  EXPECT_EQ(outcome.remarks[0].ToJson(),
            "{\"kind\": \"passed\", \"pass\": \"up\", \"rule\": \"neg-to-abs\", "
            "\"contract\": \"bit-exact\", \"function\": \"main\", \"op\": \"neg\", "
            "\"node\": 1, \"provenance\": [\"source\"], \"reason\": \"-x = |x|, for tests\", "
            "\"args\": {\"rewrite\": \"1\"}, \"related\": [5], \"step\": 1, \"work\": 2}");
  auto down = FilterRemarks(outcome.remarks, "passed:down");
  ASSERT_TRUE(down.ok());
  EXPECT_EQ(down->size(), 2u);
  EXPECT_EQ(FilterRemarks(outcome.remarks, "sin$")->size(), 1u);
  EXPECT_EQ(FilterRemarks(outcome.remarks, "(").status().message(),
            "\"(\" is not a regular expression: a '(' is not closed (character 1)");
}

}  // namespace
}  // namespace weft
