// Semantic checking finds what goes wrong with memory: functionalize with a
// fault planted before it is caught on programs that write, and the case that
// it leaves is small and shows the fault again.
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "api/compiler.h"
#include "base/status_macros.h"
#include "gmock/gmock.h"
#include "graph/ir/builder.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ir/op_def.h"
#include "graph/ops/ops.h"
#include "graph/ops/registry.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "passes/functionalize.h"
#include "passes/pipelines.h"

namespace weft::faults {
namespace {

using testing::HasSubstr;

constexpr int kMaxNodes = 8;

struct Fault {
  const char* name;
  const char* program;
};

constexpr Fault kFaults[] = {
    // A view of a mutated value keeps the value from before.
    {"stale-view", R"(
func @main(%x: f32[4, 3], %y: f32[3]) -> (f32[3], f32[4, 3]) {
  %0 = exp(%x) : f32[4, 3]
  %1 = select(%0, dim=0, index=2) : f32[3]
  %2 = sin(%y) : f32[3]
  %3 = add(%0, %2) : f32[4, 3]
  %4 = copy_(%0, %3) : f32[4, 3]
  %5 = mul(%1, %y) : f32[3]
  %6 = atan(%5) : f32[3]
  %7 = neg(%x) : f32[4, 3]
  return %6, %7
})"},
    // A write through a view does not reach what it is a view of.
    {"lost-write", R"(
func @main(%x: f32[4, 3], %y: f32[2, 3]) -> (f32[4, 3], f32[2, 3]) {
  %0 = exp(%x) : f32[4, 3]
  %1 = slice(%0, dim=0, start=1, end=3) : f32[2, 3]
  %2 = sin(%y) : f32[2, 3]
  %3 = copy_(%1, %2) : f32[2, 3]
  %4 = atan(%0) : f32[4, 3]
  %5 = neg(%y) : f32[2, 3]
  return %4, %5
})"},
    // An input is written, and the signature does not say so.
    {"unlisted-input", R"(
func @main(%x: f32[4, 3], %y: f32[3]) -> f32[3] {
  %0 = sin(%y) : f32[3]
  %1 = permute(%x, dims=[1, 0]) : f32[3, 4]
  %2 = select(%1, dim=1, index=0) : f32[3]
  %3 = copy_(%2, %0) : f32[3]
  %4 = exp(%3) : f32[3]
  return %4
})"},
};

// functionalize on a module in which views are copies.
class PlantedPass : public Pass {
 public:
  absl::string_view name() const override { return "planted"; }
  absl::string_view doc() const override { return "functionalize, wrong."; }
  bool HandlesWrites() const override { return true; }
  void VisitOptions(OptionVisitor& visitor) override { visitor.Visit("fault", &fault_, "Which."); }
  absl::Status Run(Module& module, PassContext& context) override {
    if (!module.HasWrites() || !context.StartRewrite({NumericContract::kBitExact})) {
      return absl::OkStatus();
    }
    if (fault_ != "unlisted-input") {
      for (Graph* graph : module.AllGraphs()) CopyViews(graph);
    }
    WEFT_RETURN_IF_ERROR(CreateFunctionalizePass()->Run(module, context));
    for (const auto& function : module.functions()) {
      if (fault_ != "unlisted-input") continue;
      std::vector<Value*> outputs = function->outputs();
      outputs.resize(function->num_own_outputs());
      function->SetWriteBacks({});
      function->SetOutputs(outputs);
    }
    return absl::OkStatus();
  }

 private:
  void CopyViews(Graph* graph) {
    for (Node* node : graph->nodes()) {
      if (node->num_results() == 0 || !ViewedBy(node->result())) continue;
      std::vector<Use*> uses;
      for (Use* use = node->result()->first_use(); use; use = use->next()) {
        const bool written = use->user()->op().writes();
        if (written == (fault_ == "lost-write")) uses.push_back(use);
      }
      Builder::Options options;
      options.fold = false;
      Builder b(graph, node->next(), options);
      Value* copy = b.Op(ops::clone, {node->result()});
      for (Use* use : uses) {
        use->user()->set_operand(use->operand_index(), copy);
      }
    }
  }

  std::string fault_ = "stale-view";
};

const PassRegistry& Registry() {
  static const PassRegistry& registry = *[] {
    auto* built = new PassRegistry(BuiltinPasses());
    built->Add([]() -> std::unique_ptr<Pass> { return std::make_unique<PlantedPass>(); });
    return built;
  }();
  return registry;
}

std::unique_ptr<Module> Parse(const std::string& text) {
  auto module = ParseModule(text, ops::Registry());
  EXPECT_TRUE(module.ok()) << module.status() << "\n" << text;
  return *std::move(module);
}

class AliasesTest : public testing::TestWithParam<Fault> {};

TEST_P(AliasesTest, IsFoundAndReduced) {
  auto module = Parse(GetParam().program);
  CompileOptions options;
  options.passes = absl::StrCat("planted{fault=", GetParam().name, "}");
  options.registry = &Registry();
  options.verify = VerifyLevel::kSemantics;
  options.case_file = absl::StrCat(testing::TempDir(), "/", GetParam().name, ".weft");
  const auto result = Compile(*module->Clone(), options);
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(std::string(result.status().message()), HasSubstr("results change"));
  std::ifstream file(options.case_file);
  std::ostringstream text;
  text << file.rdbuf();
  auto small = Parse(text.str());
  EXPECT_LE(small->num_nodes(), kMaxNodes) << text.str();
  EXPECT_TRUE(small->HasWrites()) << text.str();
  options.case_file.clear();
  EXPECT_FALSE(Compile(*small, options).ok()) << text.str();
}

TEST_P(AliasesTest, TheRightPassPasses) {
  auto module = Parse(GetParam().program);
  CompileOptions options;
  options.passes = "default,reinplace";
  options.verify = VerifyLevel::kSemantics;
  const auto result = Compile(*module, options);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_GT(result->semantics.runs, 0);
}

INSTANTIATE_TEST_SUITE_P(Planted, AliasesTest, testing::ValuesIn(kFaults),
                         [](const testing::TestParamInfo<Fault>& info) {
                           std::string name = info.param.name;
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

}  // namespace
}  // namespace weft::faults
