// What the quantizer does beyond rounding: scales that move, codes by GPTQ, budgets, biases of
// matmuls. On the reference executor.
#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "api/quantize/mixed_precision.h"
#include "api/quantize/quantizer.h"
#include "api/session.h"
#include "gmock/gmock.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ops/elementwise.h"
#include "graph/ops/quant.h"
#include "graph/tensor/tensor.h"
#include "gtest/gtest.h"
#include "tests/support/parse.h"

namespace weft {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

double Next(std::mt19937& random) { return static_cast<double>(random() % 20001) / 10000 - 1; }

std::string Numbers(int count, double spread, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<double> values(count);
  for (double& v : values) v = spread * Next(random);
  return absl::StrCat("[", absl::StrJoin(values, ", "), "]");
}

// A norm whose first channels are large, as those of transformers are, two products that read it,
// and one behind them.
constexpr char kBlock[] = R"(
func @main(%%x: f32[s0, 16]) {
  %%g = constant(dense<[60.0, 40.0, 1.0, 0.7, 0.9, 1.1, 0.8, 1.0, 1.2, 1.0, 0.6, 0.9, 1.0, 1.1, 0.8, 1.0]>) : f32[16]
  %%b = constant(dense<%s>) : f32[16]
  %%w0 = constant(dense<%s>) : f32[128]
  %%w1 = constant(dense<%s>) : f32[128]
  %%w2 = constant(dense<%s>) : f32[32]
  %%c1 = constant(dense<%s>) : f32[8]
  %%0, %%1, %%2 = native_layer_norm(%%x, %%g, %%b, normalized_shape=[16])  loc("norm")
  %%3 = reshape(%%w0, size=[8, 16])
  %%4 = linear(%%0, %%3, none)  loc("left")
  %%5 = reshape(%%w1, size=[16, 8])
  %%6 = matmul(%%0, %%5)  loc("right")
  %%7 = add(%%6, %%c1)
  %%8 = sigmoid(%%4)
  %%9 = mul(%%8, %%7)
  %%10 = reshape(%%w2, size=[4, 8])
  %%11 = linear(%%9, %%10, none)  loc("last")
  return %%11
})";

std::unique_ptr<Module> Block() {
  return Parse(absl::StrFormat(kBlock, Numbers(16, 0.5, 1), Numbers(128, 0.4, 2),
                               Numbers(128, 0.4, 3), Numbers(32, 0.4, 4), Numbers(8, 0.2, 5)));
}

std::vector<HostTensor> Batches(int count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<HostTensor> batches;
  for (int i = 0; i < count; ++i) {
    std::vector<double> values(32 * 16);
    for (int row = 0; row < 32; ++row) {
      const double shared = Next(random);
      for (int k = 0; k < 16; ++k) values[row * 16 + k] = shared * (k % 3) + Next(random) + 0.1 * k;
    }
    batches.push_back(HostTensor::FromDoubles(DType::kF32, {32, 16}, values));
  }
  return batches;
}

QuantizeOptions Options(const std::string& policy) {
  QuantizeOptions options;
  options.policy = policy;
  options.target = "reference";
  options.bias_correction = false;
  for (const HostTensor& batch : Batches(4, 21)) options.samples.push_back({batch});
  return options;
}

absl::StatusOr<QuantizedModel> Quantize(const QuantizeOptions& options) {
  auto quantizer = Quantizer::Create(Block(), options);
  if (!quantizer.ok()) return quantizer.status();
  for (const HostTensor& batch : Batches(4, 21)) {
    const absl::Status status = quantizer->Calibrate({batch});
    if (!status.ok()) return status;
  }
  return quantizer->Finish();
}

HostTensor Run(const Module& module, const HostTensor& input) {
  auto session = Session::Create(module.Clone(), "reference");
  EXPECT_TRUE(session.ok()) << session.status();
  auto outputs = session->Run({input});
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  return outputs.ok() ? (*outputs)[0] : HostTensor();
}

double SqnrDb(const HostTensor& exact, const HostTensor& other) {
  const std::vector<double> a = exact.ReadDoubles(), b = other.ReadDoubles();
  double signal = 0, noise = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    signal += a[i] * a[i];
    noise += (a[i] - b[i]) * (a[i] - b[i]);
  }
  return 10 * std::log10(signal / noise);
}

// Of the outputs for inputs that were not calibrated with.
double SqnrOf(const absl::StatusOr<QuantizedModel>& model) {
  EXPECT_TRUE(model.ok()) << model.status();
  if (!model.ok()) return 0;
  const HostTensor fresh = Batches(1, 77)[0];
  return SqnrDb(Run(*Block(), fresh), Run(*model->module, fresh));
}

TEST(Smooth, OutliersMoveIntoTheWeights) {
  QuantizeOptions options = Options("x86");
  const auto plain = Quantize(options);
  options.smooth = true;
  const auto smooth = Quantize(options);
  EXPECT_GT(SqnrOf(smooth), SqnrOf(plain) + 3);
  ASSERT_TRUE(smooth.ok());
  EXPECT_THAT(absl::StrJoin(smooth->decisions, "\n"),
              AllOf(HasSubstr("scales of: "), HasSubstr("from \"norm\""), HasSubstr(" -> ")));
}

TEST(Smooth, WeightsOfLargeInputsKeepMoreBits) {
  QuantizeOptions options = Options("weight_only{bits=4,group=8}");
  const auto plain = Quantize(options);
  options.smooth = true;
  EXPECT_GT(SqnrOf(Quantize(options)), SqnrOf(plain) + 1);
}

// With many bits next to nothing is lost: factors that were not taken out again would show.
TEST(Smooth, TheFunctionStays) {
  QuantizeOptions options = Options("weight_only{bits=16,group=8}");
  options.smooth = true;
  const auto model = Quantize(options);
  EXPECT_GT(SqnrOf(model), 75);
  ASSERT_TRUE(model.ok());
  EXPECT_THAT(absl::StrJoin(model->decisions, "\n"), HasSubstr(" -> "));
}

TEST(Smooth, NeedsSamplesOfTheInputs) {
  QuantizeOptions options = Options("x86");
  options.smooth = true;
  options.samples.clear();
  EXPECT_EQ(Quantize(options).status().code(), absl::StatusCode::kFailedPrecondition);
  options.samples.push_back({Batches(1, 1)[0], Batches(1, 1)[0]});
  EXPECT_THAT(std::string(Quantize(options).status().message()), HasSubstr("a batch has 1 inputs"));
}

TEST(Gptq, CodesMakeUpForEachOther) {
  for (const char* policy : {"weight_only{bits=4,group=8}", "weight_only_hqq{bits=4,group=8}",
                             "weight_only_channels{bits=4}"}) {
    QuantizeOptions options = Options(policy);
    const auto plain = Quantize(options);
    options.gptq = true;
    const auto better = Quantize(options);
    EXPECT_GT(SqnrOf(better), SqnrOf(plain) + 1.5) << policy;
    ASSERT_TRUE(better.ok());
    EXPECT_THAT(better->decisions, SizeIs(3)) << policy;
    EXPECT_THAT(absl::StrJoin(better->decisions, "\n"), HasSubstr("new codes, error "));
  }
}

TEST(Gptq, NeedsBatches) {
  QuantizeOptions options = Options("weight_only{bits=4,group=8}");
  options.gptq = true;
  auto quantizer = Quantizer::Create(Block(), options);
  ASSERT_TRUE(quantizer.ok()) << quantizer.status();
  EXPECT_THAT(std::string(quantizer->Finish().status().message()), HasSubstr("none was run"));
}

int CountOf(const Module& module, const OpDef& op) {
  int count = 0;
  for (const Node* node : module.main()->nodes()) count += node->Is(op);
  return count;
}

TEST(Budget, LayersStayFloatUntilItIsMet) {
  QuantizeOptions options = Options("weight_only{bits=4,group=8}");
  const auto all = Quantize(options);
  const double plain = SqnrOf(all);
  ASSERT_EQ(CountOf(*all->module, ops::dequantize_linear), 3);
  options.budget_db = plain + 3;
  const auto some = Quantize(options);
  ASSERT_TRUE(some.ok()) << some.status();
  const int left = CountOf(*some->module, ops::dequantize_linear);
  EXPECT_GT(left, 0);
  EXPECT_LT(left, 3);
  // On the batches it is met; others are much like them.
  EXPECT_GT(SqnrOf(some), options.budget_db - 1);
  int in_float = 0;
  for (const QuantizedNode& node : some->nodes) {
    if (node.quantized) continue;
    EXPECT_THAT(node.reason, HasSubstr("the budget of "));
    ++in_float;
  }
  EXPECT_EQ(in_float, 3 - left);
  EXPECT_THAT(absl::StrJoin(some->decisions, "\n"),
              AllOf(HasSubstr("budget: "), HasSubstr("alone "), HasSubstr(", stays float"),
                    HasSubstr(absl::StrCat(3 - left, " of 3 layers stay float: "))));
}

TEST(Budget, ObserversOfFloatLayersGo) {
  QuantizeOptions options = Options("x86");
  const double plain = SqnrOf(Quantize(options));
  options.budget_db = plain + 2;
  const auto some = Quantize(options);
  ASSERT_TRUE(some.ok()) << some.status();
  EXPECT_EQ(some->module->main()->num_inputs(), 1);
  EXPECT_EQ(CountOf(*some->module, ops::observe), 0);
  EXPECT_GT(CountOf(*some->module, ops::quantize_linear), 0);
  EXPECT_GT(SqnrOf(some), plain + 1);
}

TEST(Budget, WhatIsMetChangesNothing) {
  QuantizeOptions options = Options("weight_only{bits=4,group=8}");
  options.budget_db = 3;
  const auto model = Quantize(options);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->num_quantized(), 3);
  EXPECT_THAT(model->decisions, ElementsAre(HasSubstr("budget: all layers: ")));
  options.budget_db = 300;
  EXPECT_THAT(std::string(Quantize(options).status().message()),
              HasSubstr("no layers can be quantized with 300 dB"));
}

TEST(Budget, FloatLayersAreTheNoisyOnesForTheirBytes) {
  // The second makes most noise for its bytes, the fourth's fits again once that is gone.
  const std::vector<LayerCost> layers = {{0.1, 100}, {0.5, 10}, {0.2, 100}, {0.01, 1}};
  EXPECT_THAT(DecideFloatLayers(layers, 1), ElementsAre());
  EXPECT_THAT(DecideFloatLayers(layers, 0.35), ElementsAre(1));
  EXPECT_THAT(DecideFloatLayers(layers, 0.305), ElementsAre(1, 3));
  EXPECT_THAT(DecideFloatLayers(layers, 0.15), ElementsAre(1, 2));
  EXPECT_THAT(DecideFloatLayers(layers, 0), ElementsAre(0, 1, 2, 3));
  const std::vector<LayerCost> broken = {{std::nan(""), 1000}, {0.1, 1}};
  EXPECT_THAT(DecideFloatLayers(broken, 1), ElementsAre(0));
}

// The matmul's bias is what is added to it; the one of the linear was absent.
TEST(BiasCorrection, MeansOfMatmulsComeBack) {
  QuantizeOptions options = Options("weight_only_channels{bits=4}");
  options.exclude = {"left", "last"};
  const auto plain = Quantize(options);
  options.bias_correction = true;
  const auto corrected = Quantize(options);
  EXPECT_GT(SqnrOf(corrected), SqnrOf(plain) + 1);
  ASSERT_TRUE(corrected.ok());
  EXPECT_EQ(CountOf(*corrected->module, ops::add), CountOf(*plain->module, ops::add));
}

}  // namespace
}  // namespace weft
