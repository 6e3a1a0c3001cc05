// Decompositions end: chains of composites have no cycle and are short, and the final ops are
// evaluated without a decomposition.
#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/ir/builder.h"
#include "graph/ir/builtin_ops.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ir/op_args.h"
#include "graph/ir/op_def.h"
#include "graph/ir/op_registry.h"
#include "graph/ops/registry.h"
#include "graph/ops/samples.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "passes/decompose.h"

namespace weft {
namespace {

// The longest chain of composites, each in the decomposition of the one before.
constexpr int kMaxChain = 2;
// Decompositions that one node leads to: a recurrent cell with two directions has the most, with
// its matmuls and activations.
constexpr int kMaxSteps = 5;

using OpSet = std::set<std::string>;

std::vector<Sample> ValidSamples(const OpDef& op) {
  std::vector<Sample> valid;
  auto samples = ParseSamples(op.samples(), ops::Registry());
  EXPECT_TRUE(samples.ok()) << op.name() << ": " << samples.status();
  if (!samples.ok()) return valid;
  for (const Sample& sample : *samples) {
    if (sample.expected_error.empty()) valid.push_back(Instantiate(sample));
  }
  return valid;
}

// The sample as a function of its operands; `decomposed` by one step.
std::unique_ptr<Module> MakeModule(const Sample& sample, bool decomposed) {
  auto module = std::make_unique<Module>(ops::Registry());
  Graph* graph = module->AddFunction("main");
  const std::vector<Type> types = SampleTypes(sample);
  std::vector<Value*> operands;
  for (const Type& type : types) {
    operands.push_back(type == Type() ? nullptr : graph->AddInput(type));
  }
  Builder::Options options;
  options.fold = false;
  Builder b(graph, nullptr, options);
  OpArgs args;
  args.op = sample.op;
  args.operands = operands;
  args.types = types;
  args.attr_list = sample.attrs;
  args.symbols = &module->symbols();
  const auto results =
      decomposed ? sample.op->decompose()(b, args) : b.Create(*sample.op, operands, sample.attrs);
  EXPECT_TRUE(b.status().ok()) << sample.text << ": " << b.status();
  if (b.status().ok()) graph->SetOutputs(results);
  return module;
}

// The ops in the decompositions of the op's samples.
OpSet LeadsTo(const OpDef& op) {
  OpSet names;
  for (const Sample& sample : ValidSamples(op)) {
    const auto module = MakeModule(sample, /*decomposed=*/true);
    for (const Graph* graph : module->AllGraphs()) {
      for (const Node* node : graph->nodes()) names.emplace(node->op().name());
    }
  }
  return names;
}

const std::map<std::string, OpSet>& Decompositions() {
  static const auto& map = *[] {
    auto* made = new std::map<std::string, OpSet>;
    for (const OpDef* op : ops::Registry().All()) {
      // Samples have no nested graphs; control_test.cc tests those.
      if (!op->is_composite() || op->has(kControlFlow)) continue;
      (*made)[std::string(op->name())] = LeadsTo(*op);
    }
    return made;
  }();
  return map;
}

// The chains from each composite, one link longer in each round; those that are
// left after `links` rounds.
std::vector<std::string> ChainsOf(const std::map<std::string, OpSet>& edges, int links) {
  std::map<std::string, std::string> chains;  // By the last op; one for each.
  for (const auto& [name, leads_to] : edges) chains[name] = name;
  for (int i = 0; i < links; ++i) {
    std::map<std::string, std::string> longer;
    for (const auto& [last, chain] : chains) {
      for (const std::string& next : edges.at(last)) {
        if (edges.count(next) != 0) {
          longer[next] = absl::StrCat(chain, " -> ", next);
        }
      }
    }
    chains = std::move(longer);
  }
  std::vector<std::string> texts;
  for (const auto& [last, chain] : chains) texts.push_back(chain);
  return texts;
}

TEST(DecomposeClosure, ChainsAreShortAndHaveNoCycle) {
  for (const std::string& chain : ChainsOf(Decompositions(), kMaxChain)) {
    ADD_FAILURE() << "more than " << kMaxChain << " composites: " << chain;
  }
}

// Checks that the test above detects a cycle.
TEST(DecomposeClosure, CyclesHaveLongChains) {
  const std::map<std::string, OpSet> cycle = {{"a", {"b"}}, {"b", {"a", "c"}}};
  const std::vector<std::string> chains = ChainsOf(cycle, 2);
  ASSERT_EQ(chains.size(), 2u);
  EXPECT_EQ(chains[0], "a -> b -> a");
  const std::map<std::string, OpSet> line = {{"a", {"b"}}, {"b", {"c"}}};
  EXPECT_TRUE(ChainsOf(line, 2).empty());
  EXPECT_EQ(ChainsOf(line, 1), std::vector<std::string>{"a -> b"});
}

TEST(DecomposeClosure, EndsInOpsThatAreEvaluated) {
  std::set<std::string> core;
  for (const auto& [composite, leads_to] : Decompositions()) {
    EXPECT_FALSE(leads_to.empty()) << composite << " has no sample";
    for (const std::string& name : leads_to) {
      const OpDef* op = ops::Registry().Find(name);
      ASSERT_NE(op, nullptr) << name;
      if (op->is_composite() || op->has(kTerminator)) continue;
      core.insert(name);
      const bool runs = op->eval() != nullptr || op->has(kControlFlow) || op == &ops::constant;
      EXPECT_TRUE(runs) << composite << " leads to " << name
                        << ", which has neither Eval nor a decomposition";
    }
  }
  EXPECT_GT(core.size(), 20u);
}

TEST(DecomposeClosure, TakesFewSteps) {
  int most = 0;
  for (const auto& [name, leads_to] : Decompositions()) {
    for (const Sample& sample : ValidSamples(*ops::Registry().Find(name))) {
      const auto module = MakeModule(sample, /*decomposed=*/false);
      PassContext::Options options;
      options.admitted = NumericContract::kReassociating;
      PassContext context(options);
      ASSERT_TRUE(CreateDecomposePass()->Run(*module, context).ok());
      const auto steps = context.counters().find("decomposed");
      ASSERT_NE(steps, context.counters().end()) << sample.text;
      EXPECT_LE(steps->second, kMaxSteps) << sample.text;
      most = std::max<int>(most, steps->second);
    }
  }
  RecordProperty("most_steps", most);
  EXPECT_GT(most, 0);
}

}  // namespace
}  // namespace weft
