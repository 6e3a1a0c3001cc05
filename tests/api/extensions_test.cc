// Additions of a program to Weft: accepted ones, and those that are refused.
#include "api/extensions.h"

#include <fstream>
#include <memory>

#include "api/compiler.h"
#include "api/model_io.h"
#include "api/plugin.h"
#include "api/session.h"
#include "gmock/gmock.h"
#include "graph/ir/module.h"
#include "graph/ops/ops.h"
#include "graph/ops/support/op.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "passes/pipelines.h"

namespace weft {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

absl::Status EvalHalf(EvalContext& c) {
  return ops::EvalUnaryFloat(c, [](double x) { return x / 2; });
}

constexpr OpSpec kSpec = OpSpec("half(Tensor self) -> Tensor", "self / 2.")
                             .Traits(kPointwise)
                             .Infer(ops::InferUnaryFloat);
const OpDef half("half", kSpec.Eval(EvalHalf));

// half(half(self)), without an Eval.
std::vector<Value*> DecomposeQuarter(Builder& b, const OpArgs& args) {
  return {b.Op(half, {b.Op(half, {args.operand(0)})})};
}
const OpDef quarter("quarter", OpSpec("quarter(Tensor self) -> Tensor", "self / 4.")
                                   .Traits(kPointwise)
                                   .Infer(ops::InferUnaryFloat)
                                   .Decompose(DecomposeQuarter));

class HalvePass : public Pass {
 public:
  absl::string_view name() const override { return "halve"; }
  absl::string_view doc() const override { return "For tests."; }
  absl::Status Run(Module& module, PassContext& context) override { return absl::OkStatus(); }
};
std::unique_ptr<Pass> CreateHalvePass() { return std::make_unique<HalvePass>(); }

class BadlyNamedPass : public HalvePass {
 public:
  absl::string_view name() const override { return "two words"; }
};

std::string Message(const absl::Status& status) { return std::string(status.message()); }

TEST(Extensions, AnOpIsUsedEverywhere) {
  Extensions mine;
  ASSERT_TRUE(mine.AddOp(&half).ok());
  ASSERT_TRUE(mine.AddRules("rule half-neg bit-exact { x: float half(neg(x)) => neg(half(x)) }",
                            "half.rules")
                  .ok());
  const std::string path = testing::TempDir() + "/half.weft";
  std::ofstream(path) << "func @main(%x: f32[2]) -> f32[2] {\n"
                         "  %0 = neg(%x)\n  %1 = half(%0)\n  return %1\n}\n";
  EXPECT_THAT(Message(LoadModel(path).status()), HasSubstr("unknown op \"half\""));
  LoadOptions load;
  load.ops = &mine.ops();
  auto module = LoadModel(path, load);
  ASSERT_TRUE(module.ok()) << module.status();

  CompileOptions options;
  options.registry = &mine.passes();
  options.context.rules = mine.rules();
  options.verify = VerifyLevel::kSemantics;
  auto result = Compile(**module, options);
  ASSERT_TRUE(result.ok()) << result.status();
  const std::string text = PrintModule(**module);
  EXPECT_THAT(text, HasSubstr("%0 = half(%x) : f32[2]\n  %1 = neg(%0)"));
  auto again = ParseModule(text, mine.ops());
  ASSERT_TRUE(again.ok()) << again.status();
  auto session = Session::Create(*std::move(again), "reference");
  ASSERT_TRUE(session.ok());
  auto out = session->Run({HostTensor::FromDoubles(DType::kF32, {2}, {1, -4})});
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_THAT((*out)[0].ReadDoubles(), ElementsAre(-0.5, 2));
}

TEST(Extensions, ACompositeStandsOnOtherOpsOfTheProgram) {
  Extensions mine;
  ASSERT_TRUE(mine.AddOp(&half).ok());
  ASSERT_TRUE(mine.AddOp(&quarter).ok());
  auto module =
      ParseModule("func @main(%x: f32[n]) -> f32[n] { %0 = quarter(%x) return %0 }", mine.ops());
  ASSERT_TRUE(module.ok()) << module.status();
  CompileOptions options;
  options.passes = "decompose{admit=approximate},default";
  options.verify = VerifyLevel::kSemantics;
  auto result = Compile(**module, options);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_GT(result->semantics.regions, 0);
  EXPECT_THAT(PrintModule(**module), HasSubstr("%0 = half(%x) : f32[n]\n  %1 = half(%0)"));
}

TEST(Extensions, OpsThatAreRefused) {
  Extensions mine;
  static const OpDef no_infer("half", OpSpec("half(Tensor self) -> Tensor", "").Eval(EvalHalf));
  EXPECT_EQ(Message(mine.AddOp(&no_infer)), "op half: it has no Infer");
  static const OpDef no_eval("half", kSpec);
  EXPECT_THAT(Message(mine.AddOp(&no_eval)), HasSubstr("neither an Eval nor a Decompose"));
  static const OpDef other("third", kSpec.Eval(EvalHalf));
  EXPECT_EQ(Message(mine.AddOp(&other)), "op third: its schema is of half");
  static const OpDef bad("half", OpSpec("half(Tensor", "").Infer(ops::InferUnaryFloat));
  EXPECT_EQ(mine.AddOp(&bad).code(), absl::StatusCode::kInvalidArgument);
  static const OpDef odd("1/2", kSpec);
  EXPECT_EQ(Message(mine.AddOp(&odd)), "an op cannot be called \"1/2\"");
  EXPECT_EQ(mine.AddOp(&ops::relu).code(), absl::StatusCode::kAlreadyExists);

  EXPECT_TRUE(mine.AddOp(&half).ok());
  EXPECT_EQ(Message(mine.AddOp(&half)), "there is an op called half already");
}

TEST(Extensions, NamesInOnnxThatAreRefused) {
  Extensions mine;
  EXPECT_THAT(Message(mine.AddOp(&half, OnnxName{"ai.onnx", "Half"})), HasSubstr("\"ai.onnx\""));
  static const OpDef sized(
      "sized", OpSpec("sized(SymInt* n) -> Tensor", "").Infer(ops::InferUnaryFloat).Eval(EvalHalf));
  EXPECT_THAT(Message(mine.AddOp(&sized, OnnxName{"acme", "Sized"})), HasSubstr("sizes"));
  EXPECT_EQ(mine.ops().Find("half"), nullptr);  // Nothing was added.
  EXPECT_TRUE(mine.AddOp(&half, OnnxName{"acme", "Half"}).ok());
  EXPECT_EQ(Message(mine.AddOp(&quarter, OnnxName{"acme", "Half"})),
            "there is an op called acme::Half already");
  EXPECT_EQ(mine.ops().Find("quarter"), nullptr);
  EXPECT_EQ(mine.ops().FindInOnnx("acme", "Half"), &half);
  EXPECT_EQ(mine.ops().FindInOnnx("acme", "Quarter"), nullptr);
}

TEST(Extensions, OpsOfRuleFiles) {
  Extensions mine;
  ASSERT_TRUE(mine.AddRules("op third(x) onnx \"acme::Third\" = x / 3", "a").ok());
  ASSERT_TRUE(mine.AddRules("op ninth(x) = third(third(x))", "b").ok());
  EXPECT_NE(mine.ops().Find("ninth"), nullptr);
  EXPECT_EQ(mine.ops().FindInOnnx("acme", "Third"), mine.ops().Find("third"));
  EXPECT_EQ(Message(mine.AddRules("op third(x) = x / 4", "c")),
            "c:1:4: there is an op called third already");
  EXPECT_EQ(Message(mine.AddRules("op other(x) onnx \"acme::Third\" = x / 3", "d")),
            "d:1:18: there is an op for acme::Third already");
  // A file with an error adds nothing.
  EXPECT_FALSE(mine.AddRules("op sixth(x) = x / 6\nop", "e").ok());
  EXPECT_EQ(mine.ops().Find("sixth"), nullptr);
  static const OpDef third(
      "third",
      OpSpec("third(Tensor self) -> Tensor", "").Infer(ops::InferUnaryFloat).Eval(EvalHalf));
  EXPECT_EQ(Message(mine.AddOp(&third)), "there is an op called third already");
}

TEST(Extensions, PassesAndPipelinesThatAreRefused) {
  Extensions mine;
  EXPECT_TRUE(mine.AddPass(CreateHalvePass).ok());
  EXPECT_EQ(Message(mine.AddPass(CreateHalvePass)), "there is a pass called halve already");
  int made = 0;  // Passes may come from functions that hold something.
  EXPECT_EQ(Message(mine.AddPass([&made] {
              ++made;
              return std::make_unique<BadlyNamedPass>();
            })),
            "a pass cannot be called \"two words\"");
  EXPECT_EQ(made, 1);
  EXPECT_TRUE(mine.AddPipeline({"all", "For tests.", "halve,default"}).ok());
  EXPECT_EQ(Message(mine.AddPipeline({"all", "", "dce"})),
            "there is a pipeline called all already");
  EXPECT_EQ(Message(mine.AddPipeline({"halve", "", "dce"})),
            "there is a pass called halve already");
  EXPECT_THAT(Message(mine.AddPipeline({"more", "", "halv"})),
              HasSubstr("pipeline more, column 1: no pass or pipeline is called \"halv\", did you "
                        "mean \"halve\"?"));
  EXPECT_EQ(mine.passes().FindPipeline("more"), nullptr);
  EXPECT_EQ(BuiltinPasses().Create("halve"), nullptr);
}

TEST(Extensions, RulesOfSeveralFiles) {
  Extensions mine;
  EXPECT_EQ(mine.rules(), nullptr);
  ASSERT_TRUE(mine.AddRules("rule a bit-exact { x: float neg(sin(x)) => sin(neg(x)) }", "a").ok());
  ASSERT_TRUE(mine.AddRules("rule b bit-exact { x: float neg(tan(x)) => tan(neg(x)) }", "b").ok());
  ASSERT_THAT(mine.rules()->rules(), SizeIs(2));
  EXPECT_STREQ(mine.rules()->rules()[1].name, "b");
  EXPECT_GT(mine.rules()->standing(1).instances, 0);
  EXPECT_EQ(Message(mine.AddRules("rule a bit-exact { x: float neg(erf(x)) => erf(neg(x)) }", "c")),
            "there is a rule called a already");
  // Over the ops added so far.
  const char* rule = "rule c bit-exact { x: float half(neg(x)) => neg(half(x)) }";
  EXPECT_THAT(Message(mine.AddRules(rule, "d")), HasSubstr("d:1:"));
  ASSERT_TRUE(mine.AddOp(&half).ok());
  EXPECT_TRUE(mine.AddRules(rule, "d").ok());
  EXPECT_EQ(mine.AddRuleFile("/no/such.rules").code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(mine.rules()->rules(), SizeIs(3));
}

TEST(Plugin, ThatIsNotThere) {
  Extensions mine;
  auto name = LoadPlugin("/no/such.so", mine);
  EXPECT_EQ(name.status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(Message(name.status()), "/no/such.so: no such file");
}

}  // namespace
}  // namespace weft
