// After decompose no composite op is left: on every sample of every composite op.
#include "passes/decompose.h"

#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "graph/core/builder.h"
#include "graph/core/text.h"
#include "graph/core/verifier.h"
#include "graph/ops/ops.h"
#include "graph/ops/registry.h"
#include "graph/ops/samples.h"
#include "gtest/gtest.h"

namespace weft {
namespace {

using testing::HasSubstr;

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
      PassContext context;
      const absl::Status status = CreateDecomposePass()->Run(*module, context);
      ASSERT_TRUE(status.ok()) << sample.text << ": " << status;
      ASSERT_TRUE(Verify(*module).ok()) << sample.text << Verify(*module);
      for (const Graph* graph : module->AllGraphs()) {
        for (const Node* node : graph->nodes()) {
          EXPECT_FALSE(node->op().is_composite())
              << sample.text << " leaves " << node->op().name();
        }
      }
      ++decomposed;
    }
  }
  EXPECT_GT(decomposed, 50);
}

TEST(Decompose, KeepsWhatTheTargetClaims) {
  const auto samples =
      ParseSamples("stack(f32[2], f32[2])", ops::Registry());
  const auto module = MakeModule((*samples)[0]);
  PassContext::Options options;
  options.target.claims = {&ops::stack};
  PassContext context(options);
  ASSERT_TRUE(CreateDecomposePass()->Run(*module, context).ok());
  EXPECT_TRUE(module->main()->first_node()->Is(ops::stack));
}

TEST(Decompose, RefusesUnknownNames) {
  Module module(ops::Registry());
  PassContext context;
  DecomposeOptions options;
  options.keep = {"stakc"};
  EXPECT_THAT(CreateDecomposePass(options)->Run(module, context).message(),
              HasSubstr("no op is called \"stakc\", did you mean \"stack\"?"));
}

}  // namespace
}  // namespace weft
