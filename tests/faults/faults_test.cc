// Semantic checking finds every planted rule: it names the rule, among the right
// rewrites around it, and leaves a case of at most 6 nodes that shows the fault
// again.
#include <fstream>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "api/check/pass_run.h"
#include "api/check/semantics_checker.h"
#include "api/compiler.h"
#include "gmock/gmock.h"
#include "graph/ir/builder.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ops/ops.h"
#include "graph/ops/registry.h"
#include "graph/sym/sym_facts.h"
#include "graph/text/text.h"
#include "graph/verify/verifier.h"
#include "gtest/gtest.h"
#include "passes/pipelines.h"
#include "tests/faults/planted_rules.h"
#include "tests/support/parse.h"

namespace weft::faults {
namespace {

using testing::HasSubstr;

constexpr int kMaxNodes = 6;

const PassRegistry& Registry() {
  static const PassRegistry& registry = *[] {
    auto* built = new PassRegistry(BuiltinPasses());
    built->Add(CreatePlantedPass);
    return built;
  }();
  return registry;
}

std::vector<const PlantedRule*> All() {
  std::vector<const PlantedRule*> all;
  for (const PlantedRule& planted : PlantedRules()) all.push_back(&planted);
  return all;
}

// Layers on which rules of canonicalize fire, a bit-exact one among them.
Value* AddLayers(Builder& b, Value* x, int layers) {
  for (int i = 0; i < layers; ++i) {
    Value* difference = b.Op(ops::add, {b.Op(ops::neg, {x}), b.Op(ops::atan, {x})});
    Value* turned = b.Op(ops::permute, {difference}, {{"dims", std::vector<int64_t>{1, 0}}});
    Value* back = b.Op(ops::permute, {turned}, {{"dims", std::vector<int64_t>{1, 0}}});
    x = b.Op(ops::sigmoid, {b.Op(ops::sin, {back})});
  }
  return x;
}

// The graph of a planted rule inside a larger one: its inputs are computed, its
// outputs are used, and other rewrites are done before and after it.
std::unique_ptr<Module> Embed(const PlantedRule& planted) {
  const auto inner = Parse(planted.graph);
  auto module = std::make_unique<Module>(ops::Registry());
  for (const SymbolInfo& info : inner->symbols().symbols()) module->symbols().Declare(info);
  Graph* main = module->AddFunction("main");
  Builder::Options options;
  options.fold = false;
  Builder b(main, nullptr, options);
  std::vector<Value*> outputs = {
      AddLayers(b, main->AddInput(Type::Tensor(DType::kF32, {2, 3})), 5)};
  std::vector<Value*> inputs;
  for (Value* input : inner->main()->inputs()) {
    const Type type = input->type();
    Value* choice = main->AddInput(Type::Scalar(DType::kBool));
    inputs.push_back(b.Op(ops::where, {choice, main->AddInput(type), main->AddInput(type)}));
  }
  for (Value* output : InlineGraph(*inner->main(), inputs, main, nullptr)) {
    Value* choice = main->AddInput(Type::Scalar(DType::kBool));
    outputs.push_back(b.Op(ops::where, {choice, output, main->AddInput(output->type())}));
  }
  outputs.push_back(AddLayers(b, outputs[0], 5));
  EXPECT_TRUE(b.status().ok()) << b.status();
  main->SetOutputs(outputs);
  EXPECT_TRUE(Verify(*module).ok()) << Verify(*module);
  return module;
}

class FaultsTest : public testing::TestWithParam<const PlantedRule*> {
 protected:
  CompileOptions Options() const {
    CompileOptions options;
    options.passes = absl::StrCat("planted{rule=", GetParam()->rule.name, "}");
    options.registry = &Registry();
    options.verify = VerifyLevel::kSemantics;
    options.context.admitted = GetParam()->rule.contract;
    return options;
  }
};

TEST_P(FaultsTest, IsFoundNamedAndReduced) {
  const PlantedRule& planted = *GetParam();
  const auto module = Embed(planted);
  SCOPED_TRACE(PrintModule(*module));
  ASSERT_GT(module->num_nodes(), 50);
  CompileOptions options = Options();
  options.case_file = absl::StrCat(testing::TempDir(), "/", planted.rule.name, ".weft");
  auto clone = module->Clone();
  const auto result = Compile(*clone, options);
  ASSERT_FALSE(result.ok()) << "not found; " << result->semantics.ToString()
                            << result->report.ToString();
  EXPECT_THAT(std::string(result.status().message()),
              HasSubstr(absl::StrCat("of the pass, ", planted.rule.name, ": ")));

  // The case replays: alone, it shows the fault of the same rule.
  std::ifstream file(options.case_file);
  std::ostringstream text;
  text << file.rdbuf();
  auto small = Parse(text.str());
  EXPECT_LE(small->num_nodes(), kMaxNodes) << text.str();
  EXPECT_THAT(text.str(), HasSubstr(absl::StrCat("rule ", planted.rule.name)));
  options.case_file.clear();
  const auto again = Compile(*small, options);
  ASSERT_FALSE(again.ok()) << text.str();
  EXPECT_THAT(std::string(again.status().message()), HasSubstr(planted.rule.name)) << text.str();
}

TEST_P(FaultsTest, TheRightRulesAroundItPass) {
  auto module = Embed(*GetParam());
  CompileOptions options = Options();
  options.passes = "planted";
  auto result = Compile(*module, options);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_GE(result->report.Counter("rewrites"), 10);
  EXPECT_GT(result->semantics.runs, 0);
}

INSTANTIATE_TEST_SUITE_P(Planted, FaultsTest, testing::ValuesIn(All()),
                         [](const testing::TestParamInfo<const PlantedRule*>& info) {
                           std::string name = info.param->rule.name;
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

TEST(Faults, AreManyAndDifferent) {
  std::set<std::string> names, faults;
  for (const PlantedRule& planted : PlantedRules()) {
    names.insert(planted.rule.name);
    faults.insert(planted.fault);
  }
  EXPECT_GE(names.size(), 20u);
  EXPECT_EQ(names.size(), PlantedRules().size());
  EXPECT_EQ(faults.size(), PlantedRules().size());
}

}  // namespace
}  // namespace weft::faults
