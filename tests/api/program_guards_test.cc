// Guards from assumptions of passes, tested with passes made for that.
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/program.h"
#include "gmock/gmock.h"
#include "graph/ir/attr.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ops/ops.h"
#include "graph/sym/sym_facts.h"
#include "graph/sym/sym_ops.h"
#include "graph/tensor/tensor.h"
#include "gtest/gtest.h"
#include "passes/engine/pass.h"
#include "passes/pipelines.h"
#include "tests/support/parse.h"

namespace weft {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

constexpr char kModel[] = R"(
func @main(%x: f32[s0, s1], %w: f32[2] {param="w", initial=dense<[1.0, 2.0]>}) where s0 <= 32 {
  %0 = neg(%x)
  return %0, %w
})";

SymInt S(const char* name) { return SymInt::Symbol(name); }

class TestPass : public Pass {
 public:
  using Body = void (*)(Module& module);
  TestPass(absl::string_view name, Body body) : name_(name), body_(body) {}
  absl::string_view name() const override { return name_; }
  absl::string_view doc() const override { return "For a test."; }
  absl::Status Run(Module& module, PassContext& context) override {
    body_(module);
    return absl::OkStatus();
  }

 private:
  absl::string_view name_;
  Body body_;
};

// Wants a multiple of 8, and asks the hint first.
void Vectorize(Module& module) {
  const SymbolInfo* info = module.symbols().Find(S("s1"));
  if (info == nullptr || !info->hint || *info->hint % 8 != 0) return;
  module.symbols().Assume(Equal(Mod(S("s1"), 8), 0), "vectorize");
}

// Assumes without proof.
void AssumeSquare(Module& module) {
  module.symbols().Assume(GreaterEqual(S("s1"), S("s0")), "assume_square");
  // Implied by the constraints: no guard.
  module.symbols().Assume(LessEqual(S("s0"), 40), "assume_square");
}

void Narrow(Module& module) {
  SymbolInfo info;
  info.symbol = S("s1");
  info.range.max = 100;
  module.symbols().Declare(info);
}

// Contradicts what is left of the sizes, call after call.
void AssumeHint(Module& module) {
  module.symbols().Assume(
      Equal(S("s1"), *module.symbols().Find(S("s1"))->hint +
                         static_cast<int64_t>(module.symbols().conditions().size()) + 1),
      "assume_hint");
}

// Freezes: a parameter becomes a constant of the code.
void Freeze(Module& module) {
  Graph& main = *module.main();
  const int id = main.input_info(1).initial;
  if (id < 0) return;
  Node* constant =
      main.CreateNode(ops::constant, {}, AttrList::Get({AttrValue(static_cast<int64_t>(id))}),
                      {main.input(1)->type()}, main.first_node());
  main.input(1)->ReplaceAllUsesWith(constant->result());
  const int kept[] = {0};
  main.KeepInputs(kept);
}

PassRegistry Passes() {
  PassRegistry registry = BuiltinPasses();
  registry.Add([] { return std::make_unique<TestPass>("vectorize", Vectorize); });
  registry.Add([] { return std::make_unique<TestPass>("assume_square", AssumeSquare); });
  registry.Add([] { return std::make_unique<TestPass>("narrow", Narrow); });
  registry.Add([] { return std::make_unique<TestPass>("assume_hint", AssumeHint); });
  registry.Add([] { return std::make_unique<TestPass>("freeze_w", Freeze); });
  return registry;
}

class ProgramGuardsTest : public testing::Test {
 protected:
  Program Make(const char* passes) {
    ProgramOptions options;
    options.dynamic = Dynamic::kSymbolic;
    options.compile.passes = passes;
    options.compile.registry = &registry_;
    auto program = Program::Create(Parse(kModel), options);
    EXPECT_TRUE(program.ok()) << program.status();
    return *std::move(program);
  }
  static absl::Status Run(Program& program, int64_t s0, int64_t s1) {
    return program.Run({HostTensor(DType::kF32, {s0, s1}), HostTensor()}).status();
  }
  static std::vector<std::string> Guards(const Program& program, int variant) {
    std::vector<std::string> texts;
    const ProgramExplanation explanation = program.Explain();
    for (const ExplainedGuard& guard : explanation.variants[variant].guards) {
      texts.push_back(guard.text + " by " + guard.origin);
    }
    return texts;
  }

  const PassRegistry registry_ = Passes();
};

TEST_F(ProgramGuardsTest, WhatAPassAssumesIsAGuard) {
  Program program = Make("vectorize");
  ASSERT_TRUE(Run(program, 2, 16).ok());
  ASSERT_TRUE(Run(program, 3, 24).ok());
  EXPECT_EQ(program.Explain().compiles, 1);
  EXPECT_THAT(Guards(program, 0), ElementsAre("s1 % 8 == 0 by vectorize"));
  ASSERT_TRUE(Run(program, 2, 9).ok());
  EXPECT_EQ(program.Explain().compiles, 2);
  EXPECT_THAT(Guards(program, 1), SizeIs(0));
  EXPECT_EQ(program.Explain().variants[1].misses[0].text,
            "variant 0 needs s1 % 8 == 0: dim 1 of \"x\" was 16, is 9");
  EXPECT_EQ(program.Explain().variants[1].misses[0].origin, "vectorize");
}

TEST_F(ProgramGuardsTest, AnAssumptionThatTheCallDoesNotMeetIsRuledOut) {
  Program program = Make("assume_square");
  ASSERT_TRUE(Run(program, 4, 3).ok());
  EXPECT_EQ(program.Explain().compiles, 2);  // One of them in vain.
  ASSERT_THAT(Guards(program, 0), SizeIs(1));
  EXPECT_THAT(Guards(program, 0)[0], HasSubstr("which assume_square assumes"));
  ASSERT_TRUE(Run(program, 3, 4).ok());
  EXPECT_THAT(Guards(program, 1), SizeIs(1));
  EXPECT_THAT(Guards(program, 1)[0], HasSubstr("by assume_square"));
  ASSERT_TRUE(Run(program, 9, 1).ok());
  ASSERT_TRUE(Run(program, 1, 9).ok());
  EXPECT_EQ(program.Explain().compiles, 3);
}

TEST_F(ProgramGuardsTest, NarrowedFactsAreGuards) {
  Program program = Make("narrow");
  ASSERT_TRUE(Run(program, 1, 100).ok());
  EXPECT_THAT(Guards(program, 0), ElementsAre("s1 <= 100 by the pipeline"));
}

TEST_F(ProgramGuardsTest, APipelineThatNeverFitsIsAnError) {
  Program program = Make("assume_hint");
  const absl::Status status = Run(program, 1, 5);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("which assume_hint assumes"));
  EXPECT_THAT(program.Explain().variants, SizeIs(0));
}

// --- Frozen parameters ---------------------------------------------------------------

HostTensor W(double a, double b) { return HostTensor::FromDoubles(DType::kF32, {2}, {a, b}); }

// The second output is w.
std::vector<double> WOf(const absl::StatusOr<std::vector<HostTensor>>& outputs) {
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  return outputs.ok() ? (*outputs)[1].ReadDoubles() : std::vector<double>();
}

TEST_F(ProgramGuardsTest, WhatIsFrozenIsExchangedBeforeTheFirstCall) {
  for (const char* passes : {"freeze_w", "cpu"}) {
    Program program = Make(passes);
    ASSERT_TRUE(program.SetState("w", W(5, 6)).ok());
    EXPECT_THAT(WOf(program.Run({{"x", HostTensor(DType::kF32, {1, 5})}})), ElementsAre(5, 6))
        << passes;
    EXPECT_EQ(program.Explain().compiles, 1);
  }
}

TEST_F(ProgramGuardsTest, WhatIsFrozenIsExchangedLater) {
  for (const char* passes : {"freeze_w", "cpu"}) {
    Program program = Make(passes);
    const std::map<std::string, HostTensor> x = {{"x", HostTensor(DType::kF32, {1, 5})}};
    EXPECT_THAT(WOf(program.Run(x)), ElementsAre(1, 2)) << passes;
    EXPECT_THAT(WOf(program.FunctionalCall({{"w", W(3, 4)}}, x)), ElementsAre(3, 4)) << passes;
    EXPECT_THAT(WOf(program.Run(x)), ElementsAre(1, 2)) << passes;
    ASSERT_TRUE(program.SetState("w", W(5, 6)).ok());
    EXPECT_THAT(WOf(program.Run(x)), ElementsAre(5, 6)) << passes;
    // Given with the call, beside x.
    EXPECT_THAT(WOf(program.Run({x.at("x"), W(7, 8)})), ElementsAre(7, 8)) << passes;
    // One variant for the value of the model, and one for all others.
    const ProgramExplanation explanation = program.Explain();
    EXPECT_EQ(explanation.compiles, 2);
    ASSERT_THAT(explanation.variants, SizeIs(2));
    ASSERT_THAT(explanation.variants[1].misses, SizeIs(1));
    EXPECT_EQ(explanation.variants[1].misses[0].text,
              "variant 0 needs \"w\" as the model has it: the value differs");
  }
}

}  // namespace
}  // namespace weft
