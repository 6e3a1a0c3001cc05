// The models that are built in memory: types, parameters, runs of the small ones, and the equality
// of their ONNX exports.
#include "examples/models/models.h"

#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "api/check/compare.h"
#include "api/session.h"
#include "gmock/gmock.h"
#include "graph/ir/constant_store.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ops/ops.h"
#include "graph/sym/sym_facts.h"
#include "graph/tensor/tensor.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "serialize/onnx/export/export.h"
#include "serialize/onnx/import/onnx.h"

namespace weft::models {
namespace {

using testing::HasSubstr;
using Weights = ModelOptions::Weights;

Model Build(const std::string& name, const ModelOptions& options) {
  auto model = BuildModel(name, options);
  EXPECT_TRUE(model.ok()) << name << ": " << model.status();
  return model.ok() ? *std::move(model) : Model();
}

ModelOptions Small() {
  ModelOptions options;
  options.small = true;
  return options;
}

ModelOptions Weightless() {
  ModelOptions options;
  options.weights = Weights::kAbsent;
  return options;
}

// The number that torch counts: without the statistics of batch norms.
int64_t NumParameters(const Model& model) {
  int64_t count = 0;
  const Graph& graph = *model.module->main();
  for (int i = 0; i < graph.num_inputs(); ++i) {
    const std::string& name = graph.input_info(i).param;
    if (name.empty() || absl::StrContains(name, "running_")) continue;
    count += graph.input(i)->type().numel().value();
  }
  return count;
}

std::vector<HostTensor> RunModel(Model model, const Sizes& sizes) {
  auto inputs = MakeInputs(model, sizes);
  EXPECT_TRUE(inputs.ok()) << inputs.status();
  if (!inputs.ok()) return {};
  auto session = Session::Create(std::move(model.module), "reference");
  EXPECT_TRUE(session.ok()) << session.status();
  if (!session.ok()) return {};
  auto outputs = session->Run(absl::MakeConstSpan(*inputs));
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  return outputs.ok() ? *outputs : std::vector<HostTensor>();
}

// Sizes other than the usual ones, for the symbols that the model has.
Sizes Unusual(const Model& model) {
  const Sizes all = {{"batch", 2}, {"sequence", 5}, {"rows", 3}};
  Sizes sizes;
  for (const SymbolInfo& info : model.module->symbols().symbols()) {
    const std::string name(info.symbol.name());
    sizes[name] = all.at(name);
  }
  return sizes;
}

double MaxAbs(const HostTensor& tensor) {
  double most = 0;
  for (const double v : tensor.ReadDoubles()) {
    if (!(std::abs(v) <= most)) most = std::abs(v);  // NaN stays.
  }
  return most;
}

class EveryModel : public testing::TestWithParam<std::string> {};

TEST_P(EveryModel, FullSizeHasATypeForAllSizes) {
  const Model model = Build(GetParam(), Weightless());
  ASSERT_NE(model.module, nullptr);
  const Graph& graph = *model.module->main();
  EXPECT_EQ(static_cast<size_t>(graph.num_inputs()), model.ranges.size());
  EXPECT_GE(graph.num_own_outputs(), 1);
  EXPECT_EQ(graph.output_names().size(), static_cast<size_t>(graph.num_outputs()));
}

TEST_P(EveryModel, SmallOneRunsAndNothingVanishesOrExplodes) {
  Model model = Build(GetParam(), Small());
  ASSERT_NE(model.module, nullptr);
  const Sizes sizes = Unusual(model);
  const std::vector<HostTensor> outputs = RunModel(std::move(model), sizes);
  ASSERT_FALSE(outputs.empty());
  for (const HostTensor& output : outputs) {
    EXPECT_GT(MaxAbs(output), 1e-6);
    EXPECT_LT(MaxAbs(output), 1e3);
  }
}

TEST_P(EveryModel, StaticAndSymbolicAgree) {
  Model symbolic = Build(GetParam(), Small());
  ASSERT_NE(symbolic.module, nullptr);
  ModelOptions options = Small();
  options.sizes = Unusual(symbolic);
  Model fixed = Build(GetParam(), options);
  ASSERT_NE(fixed.module, nullptr);
  EXPECT_TRUE(fixed.module->symbols().symbols().empty());
  const auto want = RunModel(std::move(symbolic), options.sizes);
  const auto got = RunModel(std::move(fixed), {});
  EXPECT_TRUE(CompareAll(got, want).ok()) << CompareAll(got, want);
}

TEST_P(EveryModel, WeightsAsInputsGiveTheSame) {
  ModelOptions options = Small();
  options.weights = Weights::kInputs;
  const auto want = RunModel(Build(GetParam(), Small()), {});
  const auto got = RunModel(Build(GetParam(), options), {});
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_TRUE(got[i].BitEqual(want[i])) << i;
  }
}

TEST_P(EveryModel, TwoBuildsAreEqual) {
  const Model a = Build(GetParam(), Small());
  const Model b = Build(GetParam(), Small());
  EXPECT_EQ(PrintModule(*a.module), PrintModule(*b.module));
  ModelOptions other = Small();
  other.seed = 1;
  const Model c = Build(GetParam(), other);
  if (c.module->constants().size() == 0) return;
  if (c.module->constants().tensor(0).numel() < 2) return;
  EXPECT_NE(PrintModule(*a.module), PrintModule(*c.module));
}

TEST_P(EveryModel, OnnxAndBackComputesTheSame) {
  Model model = Build(GetParam(), Small());
  ASSERT_NE(model.module, nullptr);
  const Sizes sizes = Unusual(model);
  const auto inputs = MakeInputs(model, sizes);
  ASSERT_TRUE(inputs.ok()) << inputs.status();
  const auto bytes = ExportOnnx(*model.module);
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  auto again = ImportOnnxBytes(*bytes, "");
  ASSERT_TRUE(again.ok()) << again.status();
  const auto want = RunModel(std::move(model), sizes);
  auto session = Session::Create(*std::move(again), "reference");
  ASSERT_TRUE(session.ok()) << session.status();
  const auto got = session->Run(absl::MakeConstSpan(*inputs));
  ASSERT_TRUE(got.ok()) << got.status();
  const CompareOptions close = {1e-4, 1e-5};
  EXPECT_TRUE(CompareAll(*got, want, close).ok()) << CompareAll(*got, want, close);
}

std::vector<std::string> Names() {
  std::vector<std::string> names;
  for (const ModelEntry& entry : AllModels()) names.push_back(entry.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Models, EveryModel, testing::ValuesIn(Names()),
                         [](const auto& info) { return info.param; });

TEST(ModelsTest, HaveTheParametersOfTheOriginals) {
  const std::map<std::string, int64_t> counts = {
      {"resnet50", 25557032}, {"mobilenet_v2", 3504872}, {"bert", 109482240},
      {"minilm", 22713216},   {"gpt2", 124439808},       {"mlp", 1024 * 4096 * 2 + 4096 + 1024},
      {"llama", 134515008},
  };
  for (const auto& [name, count] : counts) {
    EXPECT_EQ(NumParameters(Build(name, Weightless())), count) << name;
  }
}

TEST(ModelsTest, TypesOfTheFullSizes) {
  const auto output = [](const std::string& name) {
    const Model model = Build(name, Weightless());
    return model.module->main()->output(0)->type().ToString();
  };
  EXPECT_EQ(output("resnet50"), "f32[batch, 1000]");
  EXPECT_EQ(output("mobilenet_v2"), "f32[batch, 1000]");
  EXPECT_EQ(output("bert"), "f32[batch, sequence, 768]");
  EXPECT_EQ(output("minilm"), "f32[batch, sequence, 384]");
  EXPECT_EQ(output("gpt2"), "f32[batch, sequence, 50257]");
  EXPECT_EQ(output("llama"), "f32[batch, 1, 49152]");
  EXPECT_EQ(output("dlrm"), "f32[batch, 1]");
  EXPECT_EQ(output("stack299"), "f32[batch, 299, 64]");
}

TEST(ModelsTest, TheHeadOfGpt2IsTiedToItsTable) {
  const Model model = Build("gpt2", Small());
  std::multiset<std::string> names;
  for (int i = 0; i < model.module->constants().size(); ++i) {
    names.insert(model.module->constants().name(i));
  }
  EXPECT_EQ(names.count("wte.weight"), 1u);
  EXPECT_EQ(names.count("lm_head.weight"), 0u);
}

TEST(ModelsTest, AttentionWrittenOutComputesTheSame) {
  for (const char* name : {"bert", "minilm", "gpt2", "llama"}) {
    ModelOptions options = Small();
    options.written_attention = true;
    Model written = Build(name, options);
    for (const Node* node : written.module->main()->nodes()) {
      EXPECT_FALSE(node->Is(ops::scaled_dot_product_attention)) << name;
    }
    Model op = Build(name, Small());
    const Sizes sizes = Unusual(op);
    const auto want = RunModel(std::move(op), sizes);
    const auto got = RunModel(std::move(written), sizes);
    EXPECT_TRUE(CompareAll(got, want, {1e-4, 1e-5}).ok())
        << name << ": " << CompareAll(got, want, {1e-4, 1e-5});
  }
}

TEST(ModelsTest, AdamWUpdatesThreeHundredParameters) {
  ModelOptions options;
  options.write_back = true;
  const Model model = Build("adamw", options);
  EXPECT_EQ(model.module->main()->write_backs().size(), 900u);
  EXPECT_EQ(model.module->main()->num_own_outputs(), 0);
}

TEST(ModelsTest, ErrorsNameTheCulprit) {
  EXPECT_THAT(BuildModel("resnet").status().message(),
              HasSubstr("no model \"resnet\"; there are resnet50, "));
  ModelOptions options = Small();
  options.sizes = {{"length", 3}};
  EXPECT_THAT(BuildModel("bert", options).status().message(),
              HasSubstr("no size \"length\"; it has batch, sequence"));
  options.sizes = {{"sequence", 1000}};
  EXPECT_THAT(BuildModel("bert", options).status().message(),
              HasSubstr("sequence = 1000 is not in [1, 32]"));
  const Model model = Build("mlp", Small());
  EXPECT_THAT(MakeInputs(model, {{"rows", 3}}).status().message(), HasSubstr("no symbol \"rows\""));
}

}  // namespace
}  // namespace weft::models
