// Bisection of pipelines: the pass, and its rewrite, that brings a fault.
#include "api/check/pass_bisect.h"

#include <cstdio>
#include <fstream>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "api/check/predicates.h"
#include "gmock/gmock.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ops/ops.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "passes/pipelines.h"
#include "tests/support/parse.h"

namespace weft {
namespace {

using testing::HasSubstr;

constexpr int kPairs = 12;

// Pairs of permutes that cancel out, with a sine behind each, and an equal sine beside the first.
std::unique_ptr<Module> Pairs() {
  std::string text = "func @main(%v0: f32[2, 3]) -> (f32[2, 3], f32[2, 3]) {\n";
  for (int i = 0; i < kPairs; ++i) {
    absl::StrAppend(&text, "  %a", i, " = permute(%v", i, ", dims=[1, 0])\n");
    absl::StrAppend(&text, "  %b", i, " = permute(%a", i, ", dims=[1, 0])\n");
    absl::StrAppend(&text, "  %v", i + 1, " = sin(%b", i, ")\n");
  }
  absl::StrAppend(&text, "  %w = sin(%v0)\n  return %v", kPairs, ", %w\n}\n");
  return Parse(text);
}

int Count(const Module& module, const OpDef& op) {
  int count = 0;
  for (const Node* node : module.main()->nodes()) count += node->Is(op);
  return count;
}

// A sine of which fewer than `least` are sines of permutes.
ModuleTest FewerPermuted(int least) {
  return [least](const Module& module) -> absl::StatusOr<bool> {
    int permuted = 0;
    for (const Node* node : module.main()->nodes()) {
      permuted += node->Is(ops::sin) && node->operand(0)->IsResultOf(ops::permute);
    }
    return permuted < least;
  };
}

PassRun RunOf(const std::string& passes) {
  PassRun run;
  run.passes = passes;
  return run;
}

TEST(PassBisect, FindsThePassAndTheRewrite) {
  const auto module = Pairs();
  for (const int least : {1, 2, 7, kPairs}) {
    const ModuleTest faulty = FewerPermuted(least);
    const auto guilty =
        FindGuiltyPass(*module, RunOf("dce,fixpoint(canonicalize,cse,dce)"), faulty);
    ASSERT_TRUE(guilty.ok()) << guilty.status();
    EXPECT_EQ(guilty->path, "fixpoint.1.canonicalize");
    EXPECT_THAT(guilty->text, HasSubstr("canonicalize"));
    EXPECT_GT(guilty->rewrite, 0);
    EXPECT_FALSE(guilty->rule.empty());
    EXPECT_GE(guilty->pass_rewrites, kPairs);
    EXPECT_LT(guilty->tests, 16);
    // One rewrite lies between the two modules.
    EXPECT_FALSE(*faulty(*guilty->before)) << PrintModule(*guilty->before);
    EXPECT_TRUE(*faulty(*guilty->after)) << PrintModule(*guilty->after);
    EXPECT_TRUE(*FewerPermuted(least + 1)(*guilty->before));
  }
}

TEST(PassBisect, FindsALaterPass) {
  const auto module = Pairs();
  const ModuleTest faulty = [](const Module& m) -> absl::StatusOr<bool> {
    return Count(m, ops::sin) <= kPairs;
  };
  const auto guilty = FindGuiltyPass(*module, RunOf("dce,canonicalize,dce,cse,dce"), faulty);
  ASSERT_TRUE(guilty.ok()) << guilty.status();
  EXPECT_EQ(guilty->path, "cse");
  EXPECT_EQ(guilty->changes, 2);
  EXPECT_EQ(Count(*guilty->before, ops::permute), 0);
  EXPECT_EQ(Count(*guilty->before, ops::sin), kPairs + 1);
}

TEST(PassBisect, ALimitOfTheCallersIsNotRead) {
  PassRun run = RunOf("canonicalize,dce");
  run.context.rewrite_limit = 0;
  EXPECT_TRUE(FindGuiltyPass(*Pairs(), run, FewerPermuted(1)).ok());
}

TEST(PassBisect, SaysWhereThereIsNothingToFind) {
  const auto always = [](const Module&) -> absl::StatusOr<bool> { return true; };
  const auto never = [](const Module&) -> absl::StatusOr<bool> { return false; };
  const auto fails = [](const Module&) -> absl::StatusOr<bool> {
    return absl::UnavailableError("no shell");
  };
  const auto module = Pairs();
  EXPECT_EQ(FindGuiltyPass(*module, RunOf("cse"), always).status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(FindGuiltyPass(*module, RunOf("cse"), never).status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(FindGuiltyPass(*module, RunOf("cse"), fails).status().message(), "no shell");
  EXPECT_EQ(FindGuiltyPass(*module, RunOf("cse,"), never).status().code(),
            absl::StatusCode::kInvalidArgument);
}

// Names the outputs, without a numbered rewrite; or fails.
template <bool fails>
class NamingPass : public Pass {
 public:
  absl::string_view name() const override { return fails ? "failing" : "naming"; }
  absl::string_view doc() const override { return "Names the outputs."; }
  absl::Status Run(Module& module, PassContext&) override {
    if (fails) return absl::NotFoundError("a pass failed");
    Graph* main = module.main();
    if (!main->output_names().empty()) return absl::OkStatus();
    main->SetOutputs(main->outputs());
    main->output_names() = {"a", "b"};
    return absl::OkStatus();
  }
};

TEST(PassBisect, PassesWithoutNumbersAndPassesThatFail) {
  PassRegistry registry(BuiltinPasses());
  registry.Add([]() -> std::unique_ptr<Pass> { return std::make_unique<NamingPass<false>>(); });
  registry.Add([]() -> std::unique_ptr<Pass> { return std::make_unique<NamingPass<true>>(); });
  PassRun run = RunOf("canonicalize,naming,dce");
  run.registry = &registry;
  const auto faulty = [](const Module& module) -> absl::StatusOr<bool> {
    return !module.main()->output_names().empty();
  };
  const auto guilty = FindGuiltyPass(*Pairs(), run, faulty);
  ASSERT_TRUE(guilty.ok()) << guilty.status();
  EXPECT_EQ(guilty->path, "naming");
  EXPECT_EQ(guilty->rewrite, 0);
  EXPECT_TRUE(guilty->before->main()->output_names().empty());
  EXPECT_FALSE(guilty->after->main()->output_names().empty());
  run.passes = "canonicalize,failing";
  EXPECT_EQ(FindGuiltyPass(*Pairs(), run, faulty).status(),
            absl::InternalError("failing: a pass failed"));
}

TEST(RunOnFile, GivesTheStatus) {
  const auto module = Pairs();
  const std::string file = testing::TempDir() + "/it's.weft";
  EXPECT_EQ(*RunOnFile("grep -q permute {}", file, *module), 0);
  EXPECT_EQ(*RunOnFile("grep -q softmax {}", file, *module), 1);
  EXPECT_EQ(*RunOnFile("kill -9 $$ {}", file, *module), 128 + 9);
  EXPECT_FALSE(std::ifstream(file).good());
  EXPECT_THAT(std::string(RunOnFile("no-such-command {}", file, *module).status().message()),
              HasSubstr("the shell cannot run \"no-such-command"));
  EXPECT_EQ(RunOnFile("true", "/no/such/folder/x.weft", *module).status().message(),
            "cannot write /no/such/folder/x.weft");
  EXPECT_EQ(RunOnFile("kill -INT $$", file, *module).status().code(), absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace weft
