// The number of attentions that the pipeline `cpu` finds in each program, as a golden.
// attention.txt has a line "FOLDER/NAME COUNT" for each; existing nodes of
// scaled_dot_product_attention count as well.
//
// The networks of examples/ are always checked; those of other projects are checked if they are
// beside the checkout (../shared/...).
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "api/compiler.h"
#include "api/model_io.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ops/ops.h"
#include "gtest/gtest.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

fs::path Runfile(const std::string& path) {
  return fs::path(std::getenv("TEST_SRCDIR")) / std::getenv("TEST_WORKSPACE") / path;
}

// The golden counts of the text file, by name.
std::map<std::string, int> Goldens() {
  std::map<std::string, int> counts;
  std::ifstream file(Runfile("tests/models/attention.txt"));
  std::string line;
  while (std::getline(file, line)) {
    if (line.empty() || line[0] == '#') continue;
    const size_t space = line.find(' ');
    counts[line.substr(0, space)] = std::stoi(line.substr(space));
  }
  return counts;
}

fs::path PathOf(const std::string& name) {
  if (absl::StartsWith(name, "examples/")) return Runfile(name);
  const fs::path checkout = fs::canonical(Runfile("WORKSPACE")).parent_path();
  return checkout.parent_path() / "shared" / name;
}

int CountAttention(const Module& module) {
  int count = 0;
  for (const Graph* graph : module.AllGraphs()) {
    for (const Node* node : graph->nodes()) {
      count += node->Is(ops::scaled_dot_product_attention);
    }
  }
  return count;
}

TEST(Attention, IsFoundInEveryProgram) {
  int looked_at = 0;
  for (const auto& [name, count] : Goldens()) {
    const fs::path path = PathOf(name);
    if (!fs::exists(path)) {
      std::cout << "skipped: " << path << " is not there\n";
      continue;
    }
    auto module = LoadModel(path.string());
    ASSERT_TRUE(module.ok()) << name << ": " << module.status();
    CompileOptions options;
    options.passes = "cpu";
    const auto result = Compile(**module, options);
    ASSERT_TRUE(result.ok()) << name << ": " << result.status();
    EXPECT_EQ(CountAttention(**module), count) << name;
    ++looked_at;
  }
  EXPECT_GE(looked_at, 1);
}

}  // namespace
}  // namespace weft
