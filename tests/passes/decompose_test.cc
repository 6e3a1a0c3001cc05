// No composite op is left after decompose: tested on every sample of every composite op.
#include "passes/decompose.h"

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "graph/ir/builder.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ir/op_def.h"
#include "graph/ir/op_registry.h"
#include "graph/ops/ops.h"
#include "graph/ops/registry.h"
#include "graph/ops/samples.h"
#include "graph/text/text.h"
#include "graph/verify/verifier.h"
#include "gtest/gtest.h"

namespace weft {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

// The sample as a function of its operands; null for an invalid sample.
std::unique_ptr<Module> MakeModule(const Sample& sample) {
  auto module = std::make_unique<Module>(ops::Registry());
  Graph* graph = module->AddFunction("main");
  std::vector<Value*> operands;
  for (const Type& type : SampleTypes(sample)) {
    operands.push_back(type == Type() ? nullptr : graph->AddInput(type));
  }
  Builder::Options options;
  options.fold = false;
  Builder b(graph, nullptr, options);
  const auto results = b.Create(*sample.op, operands, sample.attrs);
  if (!b.status().ok()) return nullptr;
  graph->SetOutputs(results);
  return module;
}

PassContext::Options Admitting(NumericContract contract) {
  PassContext::Options options;
  options.admitted = contract;
  return options;
}

TEST(Decompose, LeavesNoCompositeOp) {
  int decomposed = 0;
  for (const OpDef* op : ops::Registry().All()) {
    if (!op->is_composite()) continue;
    auto samples = ParseSamples(op->samples(), ops::Registry());
    ASSERT_TRUE(samples.ok()) << op->name() << ": " << samples.status();
    for (const Sample& symbolic : *samples) {
      if (!symbolic.expected_error.empty()) continue;
      const Sample sample = Instantiate(symbolic);
      auto module = MakeModule(sample);
      ASSERT_NE(module, nullptr) << sample.text;
      PassContext context(Admitting(NumericContract::kReassociating));
      const absl::Status status = CreateDecomposePass()->Run(*module, context);
      ASSERT_TRUE(status.ok()) << sample.text << ": " << status;
      ASSERT_TRUE(Verify(*module).ok()) << sample.text << Verify(*module);
      for (const Graph* graph : module->AllGraphs()) {
        for (const Node* node : graph->nodes()) {
          EXPECT_FALSE(node->op().is_composite()) << sample.text << " leaves " << node->op().name();
        }
      }
      ++decomposed;
    }
  }
  EXPECT_GT(decomposed, 50);
}

const char* const kStack = "stack(f32[2], f32[2])";
const char* const kSoftmax = "softmax(f32[2, 3], dim=1)";

// One op, and the pass on it.
struct Outcome {
  std::unique_ptr<Module> module;
  absl::Status status;
  std::map<std::string, int64_t, std::less<>> counters;
  std::vector<Remark> remarks;
  RewriteMaker last;
  NumericContract fired;

  const Node& first() const { return *module->main()->first_node(); }
};

Outcome RunOn(const char* sample, const DecomposeOptions& options,
              PassContext::Options with = Admitting(NumericContract::kReassociating)) {
  const auto samples = ParseSamples(sample, ops::Registry());
  Outcome outcome;
  outcome.module = MakeModule((*samples)[0]);
  with.remarks = true;
  PassContext context(std::move(with));
  outcome.status = CreateDecomposePass(options)->Run(*outcome.module, context);
  outcome.counters = context.counters();
  outcome.remarks = context.TakeRemarks();
  outcome.last = context.last_rewrite();
  outcome.fired = context.fired();
  return outcome;
}

PassContext::Options Claiming(const OpDef& op) {
  PassContext::Options options = Admitting(NumericContract::kReassociating);
  options.target.name = "toy";
  options.target.composites = {std::string(op.name())};
  return options;
}

TEST(Decompose, KeepsWhatTheTargetClaims) {
  const Outcome outcome = RunOn(kStack, {}, Claiming(ops::stack));
  ASSERT_TRUE(outcome.status.ok()) << outcome.status;
  EXPECT_TRUE(outcome.first().Is(ops::stack));
  EXPECT_THAT(outcome.counters, ElementsAre(Pair("claimed", 1)));
  ASSERT_EQ(outcome.remarks.size(), 1u);
  EXPECT_EQ(outcome.remarks[0].reason, "stays: target toy runs it");
  EXPECT_EQ(outcome.remarks[0].contract, "bit-exact");
}

TEST(Decompose, NamesDoNotOverrideTheTargetButAllDoes) {
  DecomposeOptions options;
  options.ops = {"stack"};
  EXPECT_TRUE(RunOn(kStack, options, Claiming(ops::stack)).first().Is(ops::stack));
  options.all = true;
  EXPECT_FALSE(RunOn(kStack, options, Claiming(ops::stack)).first().Is(ops::stack));
  options.keep = {"stack"};
  EXPECT_TRUE(RunOn(kStack, options, Claiming(ops::stack)).first().Is(ops::stack));
}

TEST(Decompose, RewritesHaveTheContractOfTheirOp) {
  const Outcome moved = RunOn(kStack, {});
  EXPECT_EQ(moved.fired, NumericContract::kBitExact);
  EXPECT_EQ(moved.last.rule, "stack");
  EXPECT_THAT(moved.counters, ElementsAre(Pair("decomposed", 1), Pair("decomposed.stack", 1)));
  const Outcome rounded = RunOn(kSoftmax, {});
  EXPECT_EQ(rounded.fired, NumericContract::kReassociating);
  EXPECT_EQ(rounded.last.rule, "softmax");
}

TEST(Decompose, DoesWhatThePipelineAdmits) {
  const PassContext::Options exact = Admitting(NumericContract::kBitExact);
  EXPECT_TRUE(RunOn(kSoftmax, {}, exact).first().Is(ops::softmax));
  EXPECT_TRUE(RunOn(kSoftmax, {}, {}).first().Is(ops::softmax));
  EXPECT_FALSE(RunOn(kStack, {}, exact).first().Is(ops::stack));
}

TEST(Decompose, RefusesNamesOfNoComposite) {
  DecomposeOptions options;
  options.keep = {"stakc"};
  EXPECT_THAT(RunOn(kStack, options).status.message(),
              HasSubstr("keep: no op is called \"stakc\", did you mean "
                        "\"stack\"?"));
  options = {};
  options.ops = {"stack", "softmx"};
  EXPECT_THAT(RunOn(kStack, options).status.message(),
              HasSubstr("ops: no op is called \"softmx\", did you mean "
                        "\"softmax\"?"));
  options.ops = {"exp"};
  EXPECT_THAT(RunOn(kStack, options).status.message(), HasSubstr("ops: exp has no decomposition"));
}

}  // namespace
}  // namespace weft
