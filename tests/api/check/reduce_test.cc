// Reduction of graphs and pipelines under predicates of several kinds.
#include "api/check/reduce.h"

#include <csignal>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "api/check/predicates.h"
#include "api/check/reduce_pipeline.h"
#include "gmock/gmock.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ops/ops.h"
#include "graph/text/text.h"
#include "graph/verify/verifier.h"
#include "gtest/gtest.h"
#include "passes/pipelines.h"
#include "tests/support/parse.h"

namespace weft {
namespace {

using testing::HasSubstr;

// A chain of `length` pointwise nodes with one atan in its middle.
std::unique_ptr<Module> Chain(int length) {
  std::string text =
      "func @main(%v0: f32[s0, 16], %w: f32[s0, 16]) -> (f32[s0, 16], f32[s0, 16]) {\n";
  for (int i = 0; i < length; ++i) {
    const char* op = i == length / 2 ? "atan" : "tanh";
    absl::StrAppend(&text, "  %v", i + 1, " = ", op, "(%v", i, ") : f32[s0, 16]\n");
  }
  absl::StrAppend(&text, "  %last = add(%w, %v1) : f32[s0, 16]\n  return %v", length,
                  ", %last\n}\n");
  return Parse(text);
}

bool Uses(const Module& module, const OpDef& op) {
  for (const Node* node : module.main()->nodes()) {
    if (node->Is(op)) return true;
  }
  return false;
}

bool HasAtan(const Module& module) { return Uses(module, ops::atan); }

TEST(Reduce, KeepsTheNodeThatIsLookedFor) {
  const auto module = Chain(1000);
  auto reduced = Reduce(*module, HasAtan);
  ASSERT_TRUE(reduced.ok()) << reduced.status();
  EXPECT_EQ(reduced->nodes_before, 1001);
  EXPECT_EQ(reduced->nodes_after, 1) << PrintModule(*reduced->module);
  EXPECT_TRUE(Verify(*reduced->module).ok());
  // Halving, not one test for each node.
  EXPECT_LT(reduced->tests, 60);
  // Sizes are small, too.
  EXPECT_THAT(PrintModule(*reduced->module), HasSubstr("= atan(%arg0) : f32[1, 1]"));
}

TEST(Reduce, TwiceGivesTheSameBytes) {
  const auto module = Chain(100);
  auto a = Reduce(*module, HasAtan), b = Reduce(*module, HasAtan);
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_EQ(PrintModule(*a->module), PrintModule(*b->module));
  EXPECT_EQ(a->tests, b->tests);
}

TEST(Reduce, StopsAtTheBudgetWithWhatItHas) {
  const auto module = Chain(100);
  ReduceOptions options;
  options.max_tests = 5;
  int reports = 0;
  options.progress = [&](const ReduceProgress&) { ++reports; };
  auto reduced = Reduce(*module, HasAtan, options);
  ASSERT_TRUE(reduced.ok());
  EXPECT_TRUE(reduced->exhausted);
  EXPECT_EQ(reduced->tests, 5);
  EXPECT_GT(reports, 0);
  EXPECT_TRUE(HasAtan(*reduced->module));
}

TEST(Reduce, RefusesAPredicateThatDoesNotHold) {
  const auto module = Chain(3);
  auto reduced = Reduce(*module, [](const Module&) { return false; });
  EXPECT_EQ(reduced.status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(Reduce, MakesConstantsAndNestedGraphsPlain) {
  const auto module = Parse(
      "func @main(%c: bool[], %x: f32[4]) -> f32[4] {\n"
      "  %0 = constant(dense<[1.0, 2.0, 3.0, 4.0]>) : f32[4]\n"
      "  %1 = add(%x, %0) : f32[4]\n"
      "  %2 = cond(%c, %1) : f32[4] {\n"
      "    then_graph(%a: f32[4]) -> f32[4] {\n"
      "      %0 = atan(%a) : f32[4]\n"
      "      return %0\n"
      "    }\n"
      "    else_graph(%a: f32[4]) -> f32[4] {\n"
      "      %0 = tanh(%a) : f32[4]\n"
      "      return %0\n"
      "    }\n"
      "  }\n"
      "  return %2\n}\n");
  const auto says_atan = [](const Module& m) { return absl::StrContains(PrintModule(m), "atan"); };
  auto reduced = Reduce(*module, says_atan);
  ASSERT_TRUE(reduced.ok()) << reduced.status();
  EXPECT_EQ(reduced->nodes_after, 1) << PrintModule(*reduced->module);
}

// A pass that dies, or breaks an invariant, where it sees an atan.
template <bool dies>
class BadPass : public Pass {
 public:
  absl::string_view name() const override { return dies ? "dies" : "breaks"; }
  absl::string_view doc() const override { return "Fails on atan."; }
  absl::Status Run(Module& module, PassContext&) override {
    for (Node* node : module.main()->nodes()) {
      if (!node->Is(ops::atan)) continue;
      if (dies) std::raise(SIGKILL);
      node->result()->set_type(Type::Tensor(DType::kI8, {}));
      // An edit, so that the manager looks at it.
      module.main()->SetOutputs(module.main()->outputs());
    }
    return absl::OkStatus();
  }
};

const PassRegistry& Registry() {
  static const PassRegistry& registry = *[] {
    auto* built = new PassRegistry(BuiltinPasses());
    built->Add([]() -> std::unique_ptr<Pass> { return std::make_unique<BadPass<true>>(); });
    built->Add([]() -> std::unique_ptr<Pass> { return std::make_unique<BadPass<false>>(); });
    return built;
  }();
  return registry;
}

PassRun RunOf(const std::string& passes) {
  PassRun run;
  run.passes = passes;
  run.registry = &Registry();
  return run;
}

TEST(Predicates, Crash) {
  auto reduced = Reduce(*Chain(40), Crashes(RunOf("cse,dies,dce")));
  ASSERT_TRUE(reduced.ok()) << reduced.status();
  EXPECT_EQ(reduced->nodes_after, 1);
  EXPECT_FALSE(Crashes(RunOf("cse,dce"))(*Chain(4)));
}

TEST(Predicates, VerifierError) {
  auto reduced = Reduce(*Chain(40), BreaksInvariants(RunOf("breaks")));
  ASSERT_TRUE(reduced.ok()) << reduced.status();
  EXPECT_EQ(reduced->nodes_after, 1);
  EXPECT_FALSE(BreaksInvariants(RunOf("cse"))(*Chain(4)));
}

TEST(Predicates, Message) {
  auto holds = Says(RunOf("breaks"), "types?: .*atan");
  ASSERT_TRUE(holds.ok());
  EXPECT_FALSE((*Says(RunOf("cse"), "atan"))(*Chain(4)));
  EXPECT_EQ(Says(RunOf("cse"), "(").status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(Predicates, Command) {
  const std::string file = absl::StrCat(testing::TempDir(), "/candidate.weft");
  auto reduced = Reduce(*Chain(40), CommandSucceeds("grep -q atan {}", file));
  ASSERT_TRUE(reduced.ok()) << reduced.status();
  EXPECT_EQ(reduced->nodes_after, 1);
}

TEST(ReducePipeline, KeepsWhatIsNeeded) {
  const auto has_dce = [](const std::string& text) { return absl::StrContains(text, "dce"); };
  auto shorter =
      ReducePipeline("cse,fixpoint(canonicalize,dce,fold_constants),cse", BuiltinPasses(), has_dce);
  ASSERT_TRUE(shorter.ok()) << shorter.status();
  EXPECT_EQ(*shorter, "dce");
  EXPECT_FALSE(ReducePipeline("cse", BuiltinPasses(), has_dce).ok());
  EXPECT_FALSE(ReducePipeline("no_such_pass", BuiltinPasses(), has_dce).ok());
}

}  // namespace
}  // namespace weft
