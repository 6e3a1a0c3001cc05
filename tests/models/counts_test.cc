// The number of nodes that `default` leaves of each network, as a golden. counts.txt has a line
// "NAME COMPUTED CONSTANTS" for each; constants are nodes in Weft, so they are counted separately.
//
// The networks of examples/ are always counted. Those of other projects are counted if they are
// beside the checkout (../shared/models/models/NAME/model.onnx). No graph may have two permutes,
// reshapes or expands in a row, arithmetic on sizes at run time, or a constant twice. After an
// intended change, copy the line that the failure prints.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "api/compiler.h"
#include "api/model_io.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ir/op_def.h"
#include "graph/ops/ops.h"
#include "gtest/gtest.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

fs::path Runfile(const std::string& path) {
  return fs::path(std::getenv("TEST_SRCDIR")) / std::getenv("TEST_WORKSPACE") / path;
}

// The checkout, found through the real path of a file in it.
fs::path Checkout() { return fs::canonical(Runfile("WORKSPACE")).parent_path(); }

// The golden lines by name, without comments.
std::map<std::string, std::string> GoldenLines() {
  std::map<std::string, std::string> lines;
  std::ifstream file(Runfile("tests/models/counts.txt"));
  std::string line;
  while (std::getline(file, line)) {
    if (line.empty() || line[0] == '#') continue;
    lines[line.substr(0, line.find(' '))] = line;
  }
  return lines;
}

// A name is an example's file name, or a folder of the shared networks.
fs::path PathOf(const std::string& name) {
  if (absl::EndsWith(name, ".onnx")) return Runfile("examples") / name;
  return Checkout().parent_path() / "shared" / "models" / "models" / name / "model.onnx";
}

std::string LineOf(const std::string& name, const Module& module) {
  int64_t constants = 0;
  for (Graph* graph : module.AllGraphs()) {
    for (Node* node : graph->nodes()) constants += node->Is(ops::constant);
  }
  return absl::StrCat(name, " ", module.num_nodes() - constants, " ", constants);
}

// The value that a node moves or converts alone; null for other nodes.
const Node* SameOpBelow(const Node& node) {
  for (const OpDef* op : {&ops::permute, &ops::reshape, &ops::expand}) {
    if (node.Is(*op) && node.operand(0)->IsResultOf(*op)) return node.operand(0)->node();
  }
  return nullptr;
}

// True for arithmetic on sizes alone, which needs no run time.
bool ComputesWithSizesAlone(const Node& node) {
  bool any = false;
  for (int i = 0; i < node.num_operands(); ++i) {
    const Value* value = node.operand(i);
    if (value == nullptr || value->IsResultOf(ops::constant)) continue;
    if (!value->IsResultOf(ops::sym_constant)) return false;
    any = true;
  }
  return any;
}

// Describes a node that `default` must not leave; "" if there is none.
std::string Leftover(const Graph& graph) {
  std::set<const AttrList*> constants;
  for (const Node* node : graph.nodes()) {
    const std::string name = absl::StrCat("%", node->id(), " = ", node->op().name());
    if (SameOpBelow(*node) != nullptr) return absl::StrCat(name, " of ", node->op().name());
    if (ComputesWithSizesAlone(*node)) return absl::StrCat(name, " of sizes alone");
    if (node->Is(ops::constant) && !constants.insert(node->attr_list()).second) {
      return absl::StrCat(name, " stands twice");
    }
    if (node->Is(ops::expand) && node->operand(0)->type() == node->result()->type()) {
      return absl::StrCat(name, " to the same sizes");
    }
  }
  return "";
}

TEST(Counts, AfterDefaultAreAsRecorded) {
  int counted = 0;
  for (const auto& [name, line] : GoldenLines()) {
    const fs::path path = PathOf(name);
    if (!fs::exists(path)) {
      ASSERT_FALSE(absl::EndsWith(name, ".onnx")) << path << " is part of the checkout";
      std::cerr << "skipped: " << name
                << " is a network of another project, expected at ../shared/models\n";
      continue;
    }
    auto module = LoadModel(path.string());
    ASSERT_TRUE(module.ok()) << module.status();
    const auto result = Compile(**module);
    ASSERT_TRUE(result.ok()) << name << ": " << result.status();
    EXPECT_EQ(LineOf(name, **module), line);
    for (const Graph* graph : (*module)->AllGraphs()) {
      EXPECT_EQ(Leftover(*graph), "") << name << ", @" << graph->name();
    }
    ++counted;
  }
  EXPECT_GE(counted, 2);
}

TEST(Counts, EveryNetworkIsRecorded) {
  const auto lines = GoldenLines();
  const fs::path models = Checkout().parent_path() / "shared" / "models" / "models";
  if (!fs::exists(models)) {
    GTEST_SKIP() << models << " is not there; it holds networks of other projects";
  }
  for (const auto& entry : fs::directory_iterator(models)) {
    if (!fs::exists(entry.path() / "model.onnx")) continue;
    EXPECT_EQ(lines.count(entry.path().filename().string()), 1u) << entry.path();
  }
}

}  // namespace
}  // namespace weft
