// Units stay acyclic: random merges on random graphs against a search of paths.
#include <algorithm>
#include <random>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/ir/builder.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ops/ops.h"
#include "graph/ops/registry.h"
#include "graph/verify/verifier.h"
#include "gtest/gtest.h"
#include "passes/engine/pass_context.h"
#include "passes/fuse/decision.h"
#include "passes/fuse/units.h"

namespace weft {
namespace {

// Pointwise nodes of one size, each of one or two earlier values.
std::vector<Node*> RandomNodes(Graph* graph, int count, uint32_t seed) {
  std::mt19937 random(seed);
  const std::vector<SymInt> dims = {2};
  std::vector<Value*> values = {graph->AddInput(Type::Tensor(DType::kF32, dims))};
  Builder::Options options;
  options.fold = false;
  Builder b(graph, nullptr, options);
  std::vector<Node*> nodes;
  const auto pick = [&] {
    const size_t window = std::min<size_t>(values.size(), 6);
    return values[values.size() - 1 - random() % window];
  };
  for (int i = 0; i < count; ++i) {
    values.push_back(random() % 3 == 0 ? b.Op(ops::exp, {pick()})
                                       : b.Op(ops::add, {pick(), pick()}));
    nodes.push_back(values.back()->node());
  }
  graph->SetOutputs({values.back()});
  return nodes;
}

// True if a path of at least one step leads from `from` to `to`, not counting direct edges from one
// to the other; by exhaustive search.
bool HasPath(const Units& units, const std::vector<Node*>& nodes, int from, int to, bool direct) {
  std::vector<int> seen(nodes.size(), 0), stack = {from};
  while (!stack.empty()) {
    const int unit = stack.back();
    stack.pop_back();
    bool found = false;
    units.ForEachNode(unit, [&](Node* node) {
      for (Use* u = node->result()->first_use(); u != nullptr; u = u->next()) {
        if (u->user() == node->graph()->return_node()) continue;
        const int next = units.Of(u->user());
        if (next == unit) continue;
        if (next == to) {
          found |= direct || unit != from;
          continue;
        }
        if (seen[next]++ == 0) stack.push_back(next);
      }
    });
    if (found) return true;
  }
  return false;
}

TEST(Units, MergeIsRefusedExactlyWhereItMakesACycle) {
  int merged = 0, refused = 0;
  for (uint32_t seed = 0; seed < 60; ++seed) {
    Module module(ops::Registry());
    Graph* graph = module.AddFunction("main");
    const std::vector<Node*> nodes = RandomNodes(graph, 40, seed);
    Units units(*graph);
    std::mt19937 random(seed + 1000);
    for (int i = 0; i < 120; ++i) {
      const int a = units.Of(nodes[random() % nodes.size()]);
      const int b = units.Of(nodes[random() % nodes.size()]);
      if (a == b) continue;
      const bool independent = random() % 4 == 0;
      const bool legal =
          !HasPath(units, nodes, a, b, independent) && !HasPath(units, nodes, b, a, independent);
      const Units::Result result = units.Merge(a, b, independent);
      ASSERT_EQ(result == Units::Result::kMerged, legal) << "seed " << seed << ", merge " << i;
      ++(legal ? merged : refused);
    }
    // The order that is left is one of the graph.
    units.Reorder(*graph);
    ASSERT_TRUE(Verify(module).ok()) << "seed " << seed;
  }
  EXPECT_GT(merged, 500);
  EXPECT_GT(refused, 500);
}

TEST(Units, ReorderKeepsAnUntouchedGraph) {
  Module module(ops::Registry());
  Graph* graph = module.AddFunction("main");
  RandomNodes(graph, 50, 7);
  const uint64_t epoch = graph->epoch();
  Units(*graph).Reorder(*graph);
  EXPECT_EQ(graph->epoch(), epoch);
}

// A merge across very much gives up, and says so.
TEST(Units, FarMergesAreRefused) {
  Module module(ops::Registry());
  Graph* graph = module.AddFunction("main");
  const std::vector<SymInt> dims = {2};
  Value* x = graph->AddInput(Type::Tensor(DType::kF32, dims));
  Builder::Options options;
  options.fold = false;
  Builder b(graph, nullptr, options);
  Value* first = b.Op(ops::exp, {x});
  Value* y = first;
  for (int i = 0; i < 2 * Units::kMaxEdges; ++i) y = b.Op(ops::neg, {y});
  Value* last = b.Op(ops::exp, {x});
  graph->SetOutputs({y, last});
  Units units(*graph);
  EXPECT_EQ(units.Merge(units.Of(first->node()), units.Of(last->node()), true),
            Units::Result::kTooFar);
}

TEST(ApplyFusion, StopsAtTheRewriteLimit) {
  Module module(ops::Registry());
  Graph* graph = module.AddFunction("main");
  const std::vector<Node*> nodes = RandomNodes(graph, 6, 3);
  PassContext::Options options;
  options.rewrite_limit = 0;
  PassContext context(options);
  FusionDecision decision(*graph);
  Units& units = decision.units;
  for (size_t i = 1; i < nodes.size(); ++i) {
    const int a = units.Of(nodes[i - 1]);
    const int b = units.Of(nodes[i]);
    if (a != b) units.Merge(a, b);
  }
  const uint64_t epoch = graph->epoch();
  decision.groups.push_back({units.Of(nodes[0]), "pointwise"});
  ASSERT_TRUE(ApplyFusion(*graph, decision, context).ok());
  EXPECT_EQ(graph->epoch(), epoch);
  EXPECT_EQ(context.num_rewrites(), 0);
}

}  // namespace
}  // namespace weft
