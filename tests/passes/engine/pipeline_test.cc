// The text form of pipelines.
#include "passes/engine/pass_manager/pipeline.h"

#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "passes/pipelines.h"

namespace weft {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class NopPass : public Pass {
 public:
  absl::string_view name() const override { return "nop"; }
  absl::string_view doc() const override { return "Does nothing."; }
  void VisitOptions(OptionVisitor& visitor) override {
    visitor.Visit("flag", &flag_, "A flag.");
    visitor.Visit("count", &count_, "A count.");
    visitor.Visit("ratio", &ratio_, "A ratio.");
    visitor.Visit("text", &text_, "A text.");
    visitor.Visit("names", &names_, "A list.");
  }
  absl::Status Run(Module& module, PassContext& context) override { return absl::OkStatus(); }

 private:
  bool flag_ = false;
  int64_t count_ = 3;
  double ratio_ = 0.5;
  std::string text_;
  std::vector<std::string> names_ = {"a"};
};

PassRegistry TestPasses() {
  PassRegistry registry = BuiltinPasses();
  registry.Add([]() -> std::unique_ptr<Pass> { return std::make_unique<NopPass>(); });
  registry.AddPipeline({"twice", "", "nop{count=1},nop{count=2}"});
  registry.AddPipeline({"broken", "", "cse,nope"});
  return registry;
}

std::string RoundTrip(absl::string_view text) {
  const PassRegistry registry = TestPasses();
  auto pipeline = Pipeline::Parse(text, registry);
  if (!pipeline.ok()) return std::string(pipeline.status().message());
  const std::string printed = pipeline->ToString(registry);
  auto again = Pipeline::Parse(printed, registry);
  EXPECT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again.ok() ? again->ToString(registry) : "", printed);
  return printed;
}

TEST(PipelineTest, PrintsWhatItReads) {
  EXPECT_EQ(RoundTrip(""), "");
  EXPECT_EQ(RoundTrip("cse"), "cse");
  EXPECT_EQ(RoundTrip(" cse , dce "), "cse,dce");
  EXPECT_EQ(RoundTrip("fixpoint(cse,fixpoint{max=3}(dce)),cse"),
            "fixpoint(cse,fixpoint{max=3}(dce)),cse");
  EXPECT_EQ(RoundTrip("fixpoint{max=10}(cse)"), "fixpoint(cse)");
  for (const std::string& name : TestPasses().PassNames()) {
    EXPECT_EQ(RoundTrip(PassToString(*TestPasses().Create(name))), name);
  }
  EXPECT_EQ(RoundTrip("if( has_op( relu ) , cse,if(!nodes < 10,dce) )"),
            "if(has_op(relu),cse,if(!nodes<10,dce))");
  EXPECT_EQ(RoundTrip("fixpoint(cse,if(!!changed,twice))"),
            "fixpoint(cse,if(changed,nop{count=1},nop{count=2}))");
  EXPECT_EQ(RoundTrip("fixpoint(none)"), "fixpoint()");
}

TEST(PipelineTest, LeavesOutDefaultOptions) {
  EXPECT_EQ(RoundTrip("nop{}"), "nop");
  EXPECT_EQ(RoundTrip("nop{count=3, flag=false, ratio=.5, names=a}"), "nop");
  EXPECT_EQ(RoundTrip("nop{count=4,flag=true}"), "nop{flag=true,count=4}");
  EXPECT_EQ(RoundTrip("nop{ratio=2}"), "nop{ratio=2.0}");
  EXPECT_EQ(RoundTrip("nop{names=x;y}"), "nop{names=x;y}");
  EXPECT_EQ(RoundTrip("nop{names=}"), "nop{names=\"\"}");
}

TEST(PipelineTest, QuotesValues) {
  EXPECT_EQ(RoundTrip(R"(nop{text="a, \"b\" \\"})"), R"(nop{text="a, \"b\" \\"})");
}

TEST(PipelineTest, ExpandsNamedPipelines) {
  EXPECT_EQ(RoundTrip("twice,cse"), "nop{count=1},nop{count=2},cse");
  EXPECT_EQ(RoundTrip("none"), "");
  EXPECT_EQ(RoundTrip("fixpoint(twice)"), "fixpoint(nop{count=1},nop{count=2})");
}

TEST(PipelineTest, BuiltinPipelinesParse) {
  for (const NamedPipeline& pipeline : BuiltinPasses().pipelines()) {
    auto parsed = Pipeline::Parse(pipeline.name, BuiltinPasses());
    EXPECT_TRUE(parsed.ok()) << pipeline.name << ": " << parsed.status();
  }
}

TEST(PipelineTest, ErrorsNameTheColumnAndCloseNames) {
  EXPECT_EQ(RoundTrip("cse,dec"),
            "pipeline, column 5: no pass or pipeline is called \"dec\", did "
            "you mean \"dce\"?");
  EXPECT_EQ(RoundTrip("zzzzzz"), "pipeline, column 1: no pass or pipeline is called \"zzzzzz\"");
  EXPECT_EQ(RoundTrip("cse,"), "pipeline, column 5: expected the name of a pass");
  EXPECT_EQ(RoundTrip("cse dce"), "pipeline, column 5: expected ',' or the end");
  EXPECT_EQ(RoundTrip("fixpoint"), "pipeline, column 9: expected '(' after fixpoint");
  EXPECT_EQ(RoundTrip("fixpoint(cse"), "pipeline, column 13: expected ',' or ')'");
  EXPECT_EQ(RoundTrip("if(has(relu),cse)"),
            "pipeline, column 4: expected a condition: has_op(NAME), nodes<N, changed, or "
            "one of them after '!'");
  EXPECT_EQ(RoundTrip("if(nodes>3,cse)"), "pipeline, column 9: expected '<' after nodes");
  EXPECT_EQ(RoundTrip("if(nodes<x,cse)"), "pipeline, column 10: expected a number of nodes");
  EXPECT_EQ(RoundTrip("if(has_op,cse)"), "pipeline, column 10: expected '(' after has_op");
  EXPECT_EQ(RoundTrip("if(changed)"),
            "pipeline, column 11: expected ',' and the items after the condition");
  EXPECT_EQ(RoundTrip("if{x=1}(cse)"), "pipeline, column 4: if has no options");
  EXPECT_EQ(RoundTrip("fixpoint{max=0}(cse)"),
            "pipeline, column 10: max must be a positive integer");
  EXPECT_EQ(RoundTrip("fixpoint{cap=1}(cse)"),
            "pipeline, column 10: fixpoint has no option \"cap\", did you mean "
            "\"max\"?");
  EXPECT_EQ(RoundTrip("cse{x}"), "pipeline, column 5: cse has no option \"x\"");
  EXPECT_EQ(RoundTrip("nop{falg}"),
            "pipeline, column 5: nop has no option \"falg\", did you mean \"flag\"?");
  EXPECT_EQ(RoundTrip("nop{count}"), "pipeline, column 10: expected '=' after count");
  EXPECT_EQ(RoundTrip("fixpoint{max}(cse)"), "pipeline, column 13: expected '=' after max");
  EXPECT_EQ(RoundTrip("nop{cuont=1}"),
            "pipeline, column 5: nop has no option \"cuont\", did you mean "
            "\"count\"?");
  EXPECT_EQ(RoundTrip("nop{count=many}"),
            "pipeline, column 5: option count of nop must be an integer, not "
            "\"many\"");
  EXPECT_EQ(RoundTrip("nop{text=\"abc}"), "pipeline, column 10: a quoted value does not end");
  EXPECT_EQ(RoundTrip("none{x=1}"), "pipeline, column 6: pipeline none takes no options");
  EXPECT_EQ(RoundTrip("dce,broken"),
            "pipeline, column 5: in pipeline broken: pipeline, column 5: no "
            "pass or pipeline is called \"nope\", did you mean \"nop\"?");
}

TEST(PipelineTest, NestingIsBounded) {
  std::string text = "cse";
  for (int i = 0; i < 17; ++i) text = "fixpoint(" + text + ")";
  EXPECT_THAT(RoundTrip(text), HasSubstr("nested too deep"));
  PassRegistry registry = TestPasses();
  registry.AddPipeline({"self", "", "self"});
  EXPECT_THAT(Pipeline::Parse("self", registry).status().message(), HasSubstr("nested too deep"));
}

TEST(RegistryTest, DidYouMean) {
  EXPECT_EQ(DidYouMean("cze", {"dce", "cse"}), ", did you mean \"cse\"?");
  EXPECT_EQ(DidYouMean("canonicalise", {"canonicalize"}), ", did you mean \"canonicalize\"?");
  EXPECT_EQ(DidYouMean("x", {"canonicalize"}), "");
  EXPECT_EQ(DidYouMean("", {}), "");
}

TEST(PipelineTest, NamesTurnSwitchesOn) {
  EXPECT_EQ(RoundTrip("nop{flag}"), "nop{flag=true}");
  EXPECT_EQ(RoundTrip("nop{count=1, flag }"), "nop{flag=true,count=1}");
  EXPECT_EQ(RoundTrip("functionalize,decompose{all}"), "functionalize,decompose{all=true}");
  EXPECT_EQ(RoundTrip("decompose{admit=reassociating}"), "decompose{admit=reassociating}");
}

}  // namespace
}  // namespace weft
