// Snapshots and their deltas.
#include "serialize/html/module_view.h"

#include <algorithm>
#include <random>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "graph/ir/attr.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ir/origin.h"
#include "graph/ir/provenance.h"
#include "graph/ops/ops.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "serialize/html/order_diff.h"
#include "tests/serialize/html/view_text.h"

namespace weft {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(DiffOrder, GivesTheOrderBack) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    std::vector<int> before(random() % 20), after(random() % 20);
    for (auto* order : {&before, &after}) {
      std::vector<int> all(25);
      for (int i = 0; i < 25; ++i) all[i] = i;
      std::shuffle(all.begin(), all.end(), random);
      std::copy(all.begin(), all.begin() + order->size(), order->begin());
    }
    const auto edits = DiffOrder(before, after);
    std::vector<int> rest;
    for (int item : before) {
      const bool stays = std::count(after.begin(), after.end(), item) > 0 &&
                         std::none_of(edits.begin(), edits.end(),
                                      [&](const OrderEdit& edit) { return edit.item == item; });
      if (stays) rest.push_back(item);
    }
    EXPECT_EQ(ApplyOrderEdits(rest, edits), after);
  }
}

TEST(DiffOrder, IsAsSmallAsItCanBe) {
  EXPECT_THAT(DiffOrder({1, 2, 3, 4}, {1, 2, 3, 4}), IsEmpty());
  EXPECT_THAT(DiffOrder({1, 2, 3, 4}, {1, 4}), IsEmpty());
  const auto moved = DiffOrder({1, 2, 3, 4}, {4, 1, 2, 3});
  ASSERT_EQ(moved.size(), 1u);
  EXPECT_EQ(moved[0].item, 4);
  EXPECT_EQ(moved[0].after, -1);
}

// One random edit that keeps the graph well formed.
void Edit(Graph& graph, std::mt19937& random) {
  std::vector<Node*> nodes;
  for (Node* node : graph.nodes()) nodes.push_back(node);
  Node* node = nodes[random() % nodes.size()];
  Value* x = graph.input(0);
  switch (random() % 6) {
    case 0: {  // A new node, used by the old one's users.
      Value* const operands[] = {node->result(), x};
      const Type types[] = {x->type()};
      Node* made = graph.CreateNode(ops::mul, operands, AttrList::Empty(), types, node->next());
      if (random() % 2 == 0) made->set_provenance(graph.module().provenance().Leaf("new/Mul"));
      break;
    }
    case 1:
      node->result()->ReplaceAllUsesWith(x);
      if (nodes.size() > 2) graph.EraseNode(node);
      break;
    case 2:
      node->set_operand(1, x);
      break;
    case 3:  // To the end: nothing comes after the return.
      node->result()->ReplaceAllUsesWith(x);
      graph.MoveBefore(node, graph.return_node());
      break;
    case 4:
      node->set_provenance(graph.module().provenance().Merge(
          node->provenance(), nodes[random() % nodes.size()]->provenance()));
      break;
    default: {
      auto& origins = graph.module().origins();
      origins.BeginPass(absl::StrCat("pass", random() % 3));
      node->set_origin(origins.Rewrite("rule", static_cast<int64_t>(random() % 50), &ops::add,
                                       node->id(), node->origin()));
      origins.EndPass();
    }
  }
}

TEST(ModuleView, DeltasReproduceSnapshots) {
  for (int seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937 random(seed);
    auto module = MakeChain(120);
    ModuleViewBuilder builder("m");
    std::vector<std::vector<std::string>> wanted;
    for (int step = 0; step < 12; ++step) {
      ASSERT_TRUE(builder.AddSnapshot(*module, absl::StrCat("s", step), "").ok());
      wanted.push_back(LinesOf(*module));
      for (uint32_t i = random() % 10; i > 0; --i) Edit(*module->main(), random);
    }
    for (size_t i = 0; i < wanted.size(); ++i) {
      EXPECT_EQ(LinesAt(builder.view(), static_cast<int>(i)), wanted[i]) << "snapshot " << i;
    }
  }
}

TEST(ModuleView, NestedGraphsComeAndGo) {
  auto module = ParseText(R"(
func @main(%p: bool[], %x: f32[2]) -> f32[2] {
  %0 = cond(%p, %x) : f32[2] {
    then_graph(%a: f32[2]) {
      %0 = sin(%a)
      return %0
    }
    else_graph(%a: f32[2]) {
      return %a
    }
  }
  %1 = cos(%0)
  return %1
}
)");
  ModuleViewBuilder builder("m");
  ASSERT_TRUE(builder.AddSnapshot(*module, "import", "").ok());
  const auto with = LinesOf(*module);
  EXPECT_THAT(with, testing::Contains("graph main/1:then_graph"));
  Graph& main = *module->main();
  Node* cond = main.first_node();
  cond->result()->ReplaceAllUsesWith(main.input(1));
  main.EraseNode(cond);
  ASSERT_TRUE(builder.AddSnapshot(*module, "fold", "").ok());
  EXPECT_EQ(LinesAt(builder.view(), 0), with);
  EXPECT_EQ(LinesAt(builder.view(), 1), LinesOf(*module));
  // The node, its graphs' three inputs and nodes, and their returns.
  EXPECT_EQ(builder.view().snapshots[1].removed.size(), 6u);
}

TEST(ModuleView, SnapshotsCostWhatChanged) {
  auto module = MakeChain(2000);
  ModuleViewBuilder builder("m");
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(builder.AddSnapshot(*module, "none", "").ok());
    if (i > 0) {
      EXPECT_THAT(builder.view().snapshots[i].placed, IsEmpty());
      EXPECT_THAT(builder.view().snapshots[i].removed, IsEmpty());
    }
  }
  EXPECT_EQ(builder.view().rows.size(), 2002u);
  // The first node, that which stands for a merge, changes alone.
  module->main()->first_node()->set_provenance(module->provenance().Leaf("other"));
  ASSERT_TRUE(builder.AddSnapshot(*module, "one", "").ok());
  EXPECT_EQ(builder.view().rows.size(), 2003u);
  ASSERT_EQ(builder.view().snapshots.back().placed.size(), 1u);
  EXPECT_EQ(builder.view().snapshots.back().placed[0].after, ModuleView::kStays);
}

TEST(ModuleView, WhatHasNoSourceLiesWithItsUsers) {
  const auto lines = LinesOf(*ParseText(R"(
func @main(%x: f32[2], %w: f32[2] {param="w"}) -> f32[2] {
  %0 = sin(%w)
  %1 = add(%x, %0) loc("a/b/Add")
  %2 = mul(%1, %0) loc("a/c/Mul")
  return %2
}
)"));
  ASSERT_EQ(lines.size(), 7u);
  EXPECT_THAT(lines[1], HasSubstr(" input x : f32[2] {-} in  from"));
  EXPECT_THAT(lines[2], HasSubstr(" in a from"));  // Parameters as well.
  EXPECT_THAT(lines[3], HasSubstr("sin - : f32[2] {-} in a from of"));
  EXPECT_THAT(lines[4], HasSubstr(" in a/b from a/b/Add of"));
}

TEST(ModuleView, RemarksFindTheirNodes) {
  auto module = MakeChain(3);
  ModuleViewBuilder builder("m");
  ASSERT_TRUE(builder.AddSnapshot(*module, "import", "").ok());
  builder.AddRemark({"cse", "passed", "", "text", "main", {1, 77, 2}, {"a", "b"}});
  builder.AddRemark({"cse", "passed", "", "text", "other", {1}, {}});
  const auto& remarks = builder.view().remarks;
  ASSERT_EQ(remarks.size(), 2u);
  ASSERT_EQ(remarks[0].keys.size(), 2u);
  EXPECT_EQ(builder.view().keys[remarks[0].keys[0]].local, 1);
  EXPECT_THAT(remarks[1].keys, IsEmpty());
  EXPECT_EQ(remarks[1].sources, -1);
}

TEST(ModuleView, NodesCostTheSameInLargeModules) {
  for (int n : {25'000, 100'000}) {
    auto module = MakeChain(n);
    ModuleViewBuilder builder("m");
    ASSERT_TRUE(builder.AddSnapshot(*module, "import", "").ok());
    const ModuleView& view = builder.view();
    // A row for the input, the nodes and the return; a name for each node, and few
    // other strings.
    EXPECT_EQ(view.rows.size(), n + 2u);
    EXPECT_EQ(view.keys.size(), n + 2u);
    EXPECT_LT(view.strings.size(), n + n / 40 + 100);
    EXPECT_EQ(view.scopes.scopes().size(), 1u + n / 1000 + n / 50);
  }
}

}  // namespace
}  // namespace weft
