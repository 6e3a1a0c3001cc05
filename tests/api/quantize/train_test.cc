// Programs for training (pipeline quantize-train): they compute what the quantized program will.
#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "api/compiler.h"
#include "api/session.h"
#include "graph/ir/constant_store.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ops/elementwise.h"
#include "graph/ops/nn.h"
#include "graph/ops/quant.h"
#include "graph/tensor/tensor.h"
#include "gtest/gtest.h"
#include "tests/support/parse.h"

namespace weft {
namespace {

std::vector<double> Draw(int count, double low, double high, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<double> values(count);
  for (double& v : values) v = low + (high - low) * static_cast<double>(random() % 1000) / 1000;
  return values;
}

std::string Row(int count, double low, double high, unsigned seed) {
  return absl::StrCat("dense<[", absl::StrJoin(Draw(count, low, high, seed), ", "), "]>");
}

constexpr char kNetwork[] = R"(
func @main(%%x: f32[4, 3, 6, 6], %%k: f32[216] {initial=%s}, %%g: f32[8] {initial=%s},
           %%b: f32[8] {initial=%s}, %%m: f32[8] {initial=%s}, %%v: f32[8] {initial=%s},
           %%l: f32[40] {initial=%s}, %%c: f32[5] {initial=%s}) {
  %%w = reshape(%%k, size=[8, 3, 3, 3])
  %%0 = convolution(%%x, %%w, none, stride=[1, 1], padding=[1, 1], dilation=[1, 1])
  %%1 = batch_norm(%%0, %%g, %%b, %%m, %%v)
  %%2 = relu(%%1)
  %%3 = mean(%%2, dim=[2, 3])
  %%4 = reshape(%%l, size=[5, 8])
  %%5 = linear(%%3, %%4, %%c)
  return %%5
})";

std::unique_ptr<Module> Network() {
  return Parse(absl::StrFormat(kNetwork, Row(216, -0.4, 0.4, 1), Row(8, 0.3, 3, 2),
                               Row(8, -0.5, 0.5, 3), Row(8, -0.5, 0.5, 4), Row(8, 0.2, 2, 5),
                               Row(40, -0.6, 0.6, 6), Row(5, -0.2, 0.2, 7)));
}

HostTensor Batch(unsigned seed) {
  return HostTensor::FromDoubles(DType::kF32, {4, 3, 6, 6}, Draw(4 * 3 * 36, -1, 2, seed));
}

void Apply(const char* passes, Module& module) {
  CompileOptions options;
  options.passes = passes;
  const auto done = Compile(module, options);
  ASSERT_TRUE(done.ok()) << done.status();
}

int CountOf(const Module& module, const OpDef& op) {
  int count = 0;
  for (const Node* node : module.main()->nodes()) count += node->Is(op);
  return count;
}

std::unique_ptr<Session> Open(const Module& module) {
  auto session = Session::Create(module.Clone(), "reference");
  EXPECT_TRUE(session.ok()) << session.status();
  return session.ok() ? std::make_unique<Session>(*std::move(session)) : nullptr;
}

// The other inputs are state, which is left out.
std::vector<double> FirstOutput(Session& session, const HostTensor& input) {
  std::vector<HostTensor> inputs(session.main().num_inputs());
  inputs[0] = input;
  const auto outputs = session.Run(absl::MakeConstSpan(inputs));
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  return outputs.ok() ? (*outputs)[0].ReadDoubles() : std::vector<double>();
}

double SqnrDb(const std::vector<double>& exact, const std::vector<double>& other) {
  double signal = 0, noise = 1e-30;
  for (size_t i = 0; i < exact.size(); ++i) {
    signal += exact[i] * exact[i];
    noise += (exact[i] - other[i]) * (exact[i] - other[i]);
  }
  return 10 * std::log10(signal / noise);
}

// Puts the states of the session into the module: those of observers, and running statistics.
void TakeStates(const Session& session, Module& module) {
  Graph& graph = *module.main();
  for (const int i : graph.write_backs()) {
    InputInfo& info = graph.input_info(i);
    const HostTensor* state = session.state(info.name);
    ASSERT_NE(state, nullptr) << info.name;
    info.initial = module.constants().Add(state->Contiguous());
  }
}

TEST(Train, TheQuantizedProgramComputesWhatTrainingDid) {
  const auto train = Network();
  // Ranges that stay once all batches were seen.
  Apply(
      "default,fold_batch_norm{admit=reassociating},fixpoint(canonicalize,cse,dce),"
      "quantize_annotate{observer=min_max},"
      "quantize_prepare{fake_quantize=true,admit=approximate}",
      *train);
  EXPECT_GE(CountOf(*train, ops::fake_quantize), 4);
  EXPECT_EQ(CountOf(*train, ops::batch_norm), 0);
  EXPECT_GT(train->main()->num_inputs(), Network()->main()->num_inputs());
  const auto session = Open(*train);
  ASSERT_NE(session, nullptr);
  std::vector<double> seen;
  for (const unsigned batch : {20, 21, 22, 23, 23}) seen = FirstOutput(*session, Batch(batch));
  TakeStates(*session, *train);

  Apply("quantize_convert{admit=approximate}", *train);
  EXPECT_EQ(CountOf(*train, ops::fake_quantize), 0);
  EXPECT_EQ(CountOf(*train, ops::observe), 0);
  EXPECT_EQ(train->main()->num_inputs(), Network()->main()->num_inputs());
  const std::vector<double> converted = FirstOutput(*Open(*train), Batch(23));
  EXPECT_GT(SqnrDb(seen, converted), 60);
  const double loss = SqnrDb(FirstOutput(*Open(*Network()), Batch(23)), converted);
  EXPECT_GT(loss, 25);
  EXPECT_LT(loss, 60);

  Apply("quantize-float,quantize_finish,dce", *train);
  EXPECT_EQ(train->main()->num_inputs(), 1);
  EXPECT_EQ(CountOf(*train, ops::choose_qparams), 0);
  EXPECT_GT(SqnrDb(converted, FirstOutput(*Open(*train), Batch(23))), 60);
}

// Batch norms have the statistics of the batch, and the running ones become these.
TEST(Train, BatchNormsOfBatchesBecomeThoseOfInference) {
  const auto train = Network();
  Apply(
      "default,fold_batch_norm{keep,admit=reassociating},fixpoint(canonicalize,cse,dce),"
      "quantize_annotate{observer=min_max},"
      "quantize_prepare{fake_quantize=true,admit=approximate},"
      "train_batch_norm{momentum=0.5,admit=approximate}",
      *train);
  EXPECT_EQ(CountOf(*train, ops::batch_norm), 1);
  EXPECT_GE(CountOf(*train, ops::fake_quantize), 4);
  const auto session = Open(*train);
  ASSERT_NE(session, nullptr);
  std::vector<double> seen;
  for (int i = 0; i < 30; ++i) seen = FirstOutput(*session, Batch(20));
  TakeStates(*session, *train);

  Apply(
      "train_batch_norm{inverse,admit=approximate},dce,quantize_convert{admit=approximate},"
      "fold_batch_norm{admit=reassociating},dce",
      *train);
  EXPECT_EQ(CountOf(*train, ops::batch_norm), 0);
  EXPECT_EQ(CountOf(*train, ops::div), 0);
  EXPECT_EQ(train->main()->num_inputs(), Network()->main()->num_inputs());
  EXPECT_TRUE(train->main()->write_backs().empty());
  // But for the variance without bias, of 144 elements.
  EXPECT_GT(SqnrDb(seen, FirstOutput(*Open(*train), Batch(20))), 35);
  EXPECT_LT(SqnrDb(seen, FirstOutput(*Open(*Network()), Batch(20))), 20);
}

// Without quantization, the program is the batch norm of a batch.
TEST(Train, ScaledWeightsLeaveTheBatchNorm) {
  const auto scaled = Network(), plain = Network();
  Apply("fold_batch_norm{keep,admit=reassociating},train_batch_norm{admit=approximate}", *scaled);
  Apply("train_batch_norm{admit=approximate}", *plain);
  EXPECT_EQ(CountOf(*scaled, ops::div), CountOf(*plain, ops::div) + 1);
  const auto one = Open(*scaled), other = Open(*plain);
  for (const unsigned batch : {20, 21, 22}) {
    EXPECT_GT(SqnrDb(FirstOutput(*other, Batch(batch)), FirstOutput(*one, Batch(batch))), 100);
  }
  for (const char* name : {"m", "v"}) {
    const HostTensor* state = other->state(name);
    ASSERT_NE(state, nullptr);
    EXPECT_GT(SqnrDb(state->ReadDoubles(), one->state(name)->ReadDoubles()), 100);
    EXPECT_NE(state->ReadDoubles(), Draw(8, -0.5, 0.5, 4));
  }
}

TEST(Train, ThePipelineFoldsAndInserts) {
  const auto train = Network();
  Apply("quantize-train", *train);
  EXPECT_GE(CountOf(*train, ops::fake_quantize), 4);
  EXPECT_EQ(CountOf(*train, ops::batch_norm), 0);
  const auto session = Open(*train);
  ASSERT_NE(session, nullptr);
  EXPECT_GT(SqnrDb(FirstOutput(*Open(*Network()), Batch(20)), FirstOutput(*session, Batch(20))),
            25);
}

}  // namespace
}  // namespace weft
