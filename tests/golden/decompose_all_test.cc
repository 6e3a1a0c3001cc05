// decompose{all} leaves no composite: neither in the functions of the golden
// files, sizes with symbols included, nor in the example models.
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ir/op_def.h"
#include "graph/ops/registry.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "passes/engine/pass_manager.h"
#include "passes/pipelines.h"
#include "serialize/onnx/import/onnx.h"
#include "tests/golden/runner.h"

namespace weft::golden {
namespace {

int CountComposites(const Module& module, std::string* names) {
  int count = 0;
  for (const Graph* graph : module.AllGraphs()) {
    for (const Node* node : graph->nodes()) {
      if (!node->op().is_composite()) continue;
      ++count;
      names->append(" ").append(std::string(node->op().name()));
    }
  }
  return count;
}

// The number of composites that the module had.
int ExpectNoneLeft(Module& module, const std::string& what) {
  std::string names;
  const int before = CountComposites(module, &names);
  auto pipeline =
      Pipeline::Parse("functionalize,decompose{all,admit=reassociating}", BuiltinPasses());
  EXPECT_TRUE(pipeline.ok()) << pipeline.status();
  if (!pipeline.ok()) return 0;
  PassContext context;
  const absl::Status status = PassManager(*std::move(pipeline)).Run(module, context);
  EXPECT_TRUE(status.ok()) << what << ": " << status;
  names.clear();
  EXPECT_EQ(CountComposites(module, &names), 0) << what << " keeps" << names;
  return before;
}

TEST(DecomposeAll, GoldenFunctions) {
  int composites = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator("tests/golden")) {
    if (entry.path().extension() != ".weft") continue;
    const auto file = ReadFile(entry.path().generic_string());
    ASSERT_TRUE(file.ok()) << file.status();
    for (const Case& test : file->cases) {
      const auto module = ParseModule(test.input, ops::Registry());
      ASSERT_TRUE(module.ok()) << file->path << ": " << module.status();
      composites += ExpectNoneLeft(**module, file->path + ", " + test.name);
    }
  }
  EXPECT_GT(composites, 20);
}

TEST(DecomposeAll, ExampleModels) {
  int composites = 0;
  for (const char* path : {"examples/resnet.onnx", "examples/transformer.onnx"}) {
    const auto module = ImportOnnx(path);
    ASSERT_TRUE(module.ok()) << module.status();
    composites += ExpectNoneLeft(**module, path);
  }
  EXPECT_GT(composites, 10);
}

}  // namespace
}  // namespace weft::golden
