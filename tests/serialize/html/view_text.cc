#include "tests/serialize/html/view_text.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "graph/ir/builder.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ir/provenance.h"
#include "graph/ops/ops.h"
#include "graph/ops/registry.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"

namespace weft {
namespace {

std::string TextOf(const ModuleView& view, int number) {
  return number < 0 ? "-" : view.strings[number];
}

std::string GraphOf(const ModuleView& view, int graph) {
  const ModuleView::GraphRow& row = view.graphs[graph];
  if (row.owner < 0) return TextOf(view, row.name);
  const ModuleView::Key& owner = view.keys[row.owner];
  // Owners are nested as deep as the graphs of a test.
  return absl::StrCat(GraphOf(view, owner.graph), "/", owner.local, ":", TextOf(view, row.region));
}

std::string LineOf(const ModuleView& view, const ModuleView::Row& row) {
  std::string line =
      absl::StrCat(view.keys[row.key].local, " ", TextOf(view, row.op), " ", TextOf(view, row.name),
                   " : ", TextOf(view, row.types), " {", TextOf(view, row.attrs), "} in ",
                   view.scopes.Path(row.scope), " from");
  if (row.sources >= 0) {
    for (int name : view.source_lists[row.sources]) absl::StrAppend(&line, " ", TextOf(view, name));
  }
  absl::StrAppend(&line, " of");
  for (const ModuleView::Edge& edge : row.edges) {
    absl::StrAppend(&line, " ", edge.key < 0 ? -999 : view.keys[edge.key].local, ".", edge.result,
                    edge.is_symbol ? "s" : "");
  }
  if (row.story >= 0) {
    for (int number : view.stories[row.story]) {
      if (number < 0) {
        absl::StrAppend(&line, " ...");
        continue;
      }
      const ModuleView::Change& change = view.changes[number];
      absl::StrAppend(&line, " by ", TextOf(view, change.pass), ".", TextOf(view, change.rule), ".",
                      change.rewrite, ".", TextOf(view, change.op), ".", change.node);
    }
  }
  return line;
}

}  // namespace

std::unique_ptr<Module> ParseText(absl::string_view text) {
  auto module = ParseModule(text, ops::Registry(), "test");
  EXPECT_TRUE(module.ok()) << module.status().ToString();
  return module.ok() ? *std::move(module) : nullptr;
}

std::vector<std::string> LinesAt(const ModuleView& view, int i) {
  std::vector<std::vector<std::string>> graphs;
  const auto rows = view.RowsAt(i);
  for (size_t g = 0; g < rows.size(); ++g) {
    if (rows[g].empty()) continue;
    graphs.push_back({absl::StrCat("graph ", GraphOf(view, static_cast<int>(g)))});
    for (int row : rows[g]) graphs.back().push_back(LineOf(view, view.rows[row]));
  }
  std::sort(graphs.begin(), graphs.end(), [](const auto& a, const auto& b) { return a[0] < b[0]; });
  std::vector<std::string> lines;
  for (const auto& graph : graphs) lines.insert(lines.end(), graph.begin(), graph.end());
  return lines;
}

std::vector<std::string> LinesOf(const Module& module) {
  ModuleViewBuilder builder("");
  EXPECT_TRUE(builder.AddSnapshot(module, "import", "").ok());
  return LinesAt(builder.view(), 0);
}

std::unique_ptr<Module> MakeChain(int n) {
  auto module = std::make_unique<Module>(ops::Registry());
  Graph* graph = module->AddFunction("main");
  const SymInt dims[] = {SymInt(4), SymInt(8)};
  std::vector<Value*> values = {graph->AddInput(Type::Tensor(DType::kF32, dims), "x")};
  const Type types[] = {values[0]->type()};
  for (int i = 0; i < n; ++i) {
    Value* const operands[] = {values.back(), values[values.size() / 2]};
    Node* node = graph->CreateNode(ops::add, operands, AttrList::Empty(), types);
    node->set_provenance(
        module->provenance().Leaf(absl::StrCat("stage.", i / 1000, "/layer.", i / 50, "/Add_", i)));
    values.push_back(node->result());
  }
  Value* const outputs[] = {values.back()};
  graph->SetOutputs(outputs);
  return module;
}

}  // namespace weft
