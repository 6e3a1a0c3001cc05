// Small networks through the whole quantizer.
#include "api/quantize/quantizer.h"

#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "api/backends.h"
#include "api/compiler.h"
#include "api/session.h"
#include "gmock/gmock.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ops/quant.h"
#include "graph/tensor/tensor.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "tests/support/parse.h"

namespace weft {
namespace {

using testing::HasSubstr;

// Seeded numbers around `center`.
HostTensor Draw(std::vector<int64_t> dims, double spread, double center, std::mt19937& random) {
  HostTensor tensor(DType::kF32, dims);
  std::vector<double> values(tensor.numel());
  for (double& v : values) {
    v = center + spread * (static_cast<double>(random() % 20001) / 10000 - 1);
  }
  tensor.WriteDoubles(values);
  return tensor;
}

// The text of a tensor with one dim.
std::string Text(const HostTensor& tensor) {
  return absl::StrCat("[", absl::StrJoin(tensor.ReadDoubles(), ", "), "]");
}

// Reshapes of flat constants: folded before anything is quantized.
constexpr char kConvolutions[] = R"(
func @main(%%x: f32[s0, 3, 8, 8]) {
  %%w0 = constant(dense<%s>) : f32[216]
  %%b0 = constant(dense<%s>) : f32[8]
  %%w1 = constant(dense<%s>) : f32[576]
  %%w2 = constant(dense<%s>) : f32[40]
  %%0 = reshape(%%w0, size=[8, 3, 3, 3])
  %%1 = reshape(%%w1, size=[8, 8, 3, 3])
  %%2 = reshape(%%w2, size=[5, 8])
  %%3 = convolution(%%x, %%0, %%b0, stride=[1, 1], padding=[1, 1], dilation=[1, 1])  loc("conv0")
  %%4 = relu(%%3)  loc("relu0")
  %%5 = convolution(%%4, %%1, none, stride=[1, 1], padding=[1, 1], dilation=[1, 1])  loc("conv1")
  %%6 = relu(%%5)  loc("relu1")
  %%7 = mean(%%6, dim=[2, 3])
  %%8 = linear(%%7, %%2, none)  loc("fc")
  return %%8
})";

std::unique_ptr<Module> Convolutions() {
  std::mt19937 random(3);
  const std::string w0 = Text(Draw({216}, 0.3, 0, random));
  const std::string b0 = Text(Draw({8}, 0.1, 0, random));
  const std::string w1 = Text(Draw({576}, 0.15, 0.01, random));
  const std::string w2 = Text(Draw({40}, 0.5, 0, random));
  return Parse(absl::StrFormat(kConvolutions, w0, b0, w1, w2));
}

constexpr char kMlp[] = R"(
func @main(%%x: f32[s0, 16]) {
  %%w0 = constant(dense<%s>) : f32[256]
  %%w1 = constant(dense<%s>) : f32[64]
  %%0 = reshape(%%w0, size=[16, 16])
  %%1 = reshape(%%w1, size=[4, 16])
  %%2 = linear(%%x, %%0, none)  loc("fc0")
  %%3 = relu(%%2)  loc("relu")
  %%4 = linear(%%3, %%1, none)  loc("fc1")
  return %%4
})";

std::unique_ptr<Module> Mlp() {
  std::mt19937 random(5);
  const std::string w0 = Text(Draw({256}, 0.4, 0, random));
  const std::string w1 = Text(Draw({64}, 0.4, 0, random));
  return Parse(absl::StrFormat(kMlp, w0, w1));
}

std::vector<HostTensor> Batches(std::vector<int64_t> dims, int count) {
  std::mt19937 random(11);
  std::vector<HostTensor> batches;
  for (int i = 0; i < count; ++i) batches.push_back(Draw(dims, 1, 0.2, random));
  return batches;
}

QuantizeOptions OnReference(const std::string& policy) {
  QuantizeOptions options;
  options.policy = policy;
  options.target = "reference";
  return options;
}

QuantizedModel Quantized(std::unique_ptr<Module> module, const std::vector<HostTensor>& batches,
                         const QuantizeOptions& options) {
  auto quantizer = Quantizer::Create(std::move(module), options);
  EXPECT_TRUE(quantizer.ok()) << quantizer.status();
  if (!quantizer.ok()) return {};
  for (const HostTensor& batch : batches) {
    const absl::Status status = quantizer->Calibrate({batch});
    EXPECT_TRUE(status.ok()) << status;
  }
  auto model = quantizer->Finish();
  EXPECT_TRUE(model.ok()) << model.status();
  return model.ok() ? *std::move(model) : QuantizedModel();
}

HostTensor RunOn(const char* target, const Module& module, const char* passes,
                 const HostTensor& input) {
  std::unique_ptr<Module> copy = module.Clone();
  CompileOptions options;
  options.passes = passes;
  // Without a text: the pipeline of the target.
  if (options.passes.empty()) SetTarget(**BuiltinBackends().Find(target), &options);
  EXPECT_TRUE(Compile(*copy, options).ok());
  auto session = Session::Create(std::move(copy), target);
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

int CountOf(const Module& module, const OpDef& op) {
  int count = 0;
  for (const Node* node : module.main()->nodes()) count += node->Is(op);
  return count;
}

TEST(Quantizer, ConvolutionsStayCloseToFloat) {
  const std::vector<HostTensor> batches = Batches({4, 3, 8, 8}, 6);
  const QuantizedModel model = Quantized(Convolutions(), batches, OnReference("x86"));
  ASSERT_NE(model.module, nullptr);
  EXPECT_EQ(model.module->main()->num_inputs(), 1);
  EXPECT_TRUE(model.module->main()->write_backs().empty());
  EXPECT_EQ(CountOf(*model.module, ops::observe), 0);
  EXPECT_GE(CountOf(*model.module, ops::dequantize_linear), 6);
  EXPECT_GE(model.num_quantized(), 3);
  const HostTensor fresh = Batches({2, 3, 8, 8}, 1)[0];
  const HostTensor exact = RunOn("reference", *Convolutions(), "none", fresh);
  EXPECT_GT(SqnrDb(exact, RunOn("reference", *model.module, "none", fresh)), 25);
  for (const QuantizedNode& node : model.nodes) {
    if (!node.quantized || node.op != "convolution") continue;
    EXPECT_GT(node.sqnr_db, 20) << node.name;
    EXPECT_GT(node.cosine, 0.99) << node.name;
    EXPECT_LT(node.weight_bytes_after, node.weight_bytes_before * 2 / 5) << node.name;
  }
}

// Results are compared some at a time; none is left out.
TEST(Quantizer, MeasuresEveryNode) {
  std::string text = "func @main(%x: f32[4, 16]) {\n  %w = constant(dense<[";
  for (int row = 0; row < 16; ++row) {
    absl::StrAppend(&text, row == 0 ? "[" : ", [");
    for (int k = 0; k < 16; ++k) {
      absl::StrAppend(&text, k == 0 ? "" : ", ", (row * 7 + k * 3) % 11 - 5, ".0");
    }
    absl::StrAppend(&text, "]");
  }
  absl::StrAppend(&text, "]>) : f32[16, 16]\n  %0 = linear(%x, %w, none)\n");
  for (int i = 1; i < 9; ++i) {
    absl::StrAppend(&text, "  %t", i, " = tanh(%", i == 1 ? "0" : absl::StrCat("l", i - 1),
                    ")\n  %l", i, " = linear(%t", i, ", %w, none)\n");
  }
  absl::StrAppend(&text, "  return %l8\n}");
  const QuantizedModel model = Quantized(Parse(text), Batches({4, 16}, 2), OnReference("x86"));
  ASSERT_NE(model.module, nullptr);
  EXPECT_EQ(model.num_quantized(), 9);
  for (const QuantizedNode& node : model.nodes) EXPECT_GT(node.sqnr_db, 5) << node.name;
}

// Integer products are exact: the sums of the float form are rounded, no more.
TEST(Quantizer, IntegerProductsComputeTheSame) {
  const QuantizedModel model = Quantized(Mlp(), Batches({4, 16}, 4), OnReference("x86"));
  ASSERT_NE(model.module, nullptr);
  const HostTensor fresh = Batches({3, 16}, 1)[0];
  const HostTensor exact = RunOn("reference", *model.module, "none", fresh);
  const HostTensor fused =
      RunOn("reference", *model.module, "fuse_quantized{admit=reassociating},default", fresh);
  EXPECT_GT(SqnrDb(exact, fused), 100);
  EXPECT_GT(SqnrDb(exact, RunOn("cpu", *model.module, "", fresh)), 100);
  EXPECT_GT(SqnrDb(RunOn("reference", *Mlp(), "none", fresh), fused), 25);
}

// Every pass of the CPU's pipeline, on a calibrated module: the same within its contract.
TEST(Quantizer, TheCpuComputesTheSameConvolutions) {
  const QuantizedModel model =
      Quantized(Convolutions(), Batches({2, 3, 8, 8}, 2), OnReference("x86"));
  ASSERT_NE(model.module, nullptr);
  const HostTensor fresh = Batches({2, 3, 8, 8}, 1)[0];
  const HostTensor exact = RunOn("reference", *model.module, "none", fresh);
  // A value that lies between two steps may fall to the other one.
  EXPECT_GT(SqnrDb(exact, RunOn("cpu", *model.module, "", fresh)), 50);
  std::unique_ptr<Module> copy = model.module->Clone();
  CompileOptions options;
  options.passes = "fuse_quantized{admit=reassociating},default";
  options.verify = VerifyLevel::kSemantics;
  const auto compiled = Compile(*copy, options);
  EXPECT_TRUE(compiled.ok()) << compiled.status();
}

TEST(Quantizer, WeightsAloneNeedNoCalibration) {
  auto quantizer = Quantizer::Create(Mlp(), OnReference("weight_only{bits=8,group=16}"));
  ASSERT_TRUE(quantizer.ok()) << quantizer.status();
  EXPECT_FALSE(quantizer->needs_calibration());
  const auto model = quantizer->Finish();
  ASSERT_TRUE(model.ok()) << model.status();
  const HostTensor fresh = Batches({3, 16}, 1)[0];
  const HostTensor exact = RunOn("reference", *Mlp(), "none", fresh);
  EXPECT_GT(SqnrDb(exact, RunOn("reference", *model->module, "none", fresh)), 35);
}

// Blocks with powers of two for scales, which the file and the text keep.
TEST(Quantizer, MicroscalingFormatsComeNear) {
  const HostTensor fresh = Batches({3, 16}, 1)[0];
  const HostTensor exact = RunOn("reference", *Mlp(), "none", fresh);
  for (const auto& [policy, least] : {std::pair("mxfp4", 12.0), std::pair("mxfp8", 24.0)}) {
    auto quantizer = Quantizer::Create(Mlp(), OnReference(policy));
    ASSERT_TRUE(quantizer.ok()) << quantizer.status();
    EXPECT_FALSE(quantizer->needs_calibration());
    const auto model = quantizer->Finish();
    ASSERT_TRUE(model.ok()) << model.status();
    const std::string text = PrintModule(*model->module);
    EXPECT_THAT(text, HasSubstr("f8e8m0["));
    const HostTensor got = RunOn("reference", *model->module, "none", fresh);
    EXPECT_GT(SqnrDb(exact, got), least) << policy;
    EXPECT_TRUE(got.BitEqual(RunOn("reference", *Parse(text), "none", fresh)));
    EXPECT_GT(SqnrDb(got, RunOn("cpu", *model->module, "", fresh)), 100) << policy;
  }
}

// A constant operand has no frequencies to weigh: it takes its extrema.
TEST(Quantizer, EntropyLeavesConstantsTheirExtrema) {
  const QuantizedModel model = Quantized(Parse(R"(
func @main(%x: f32[4, 16]) {
  %c = constant(dense<0.5>) : f32[4, 16]
  %0 = add(%x, %c)
  return %0
})"),
                                         Batches({4, 16}, 2), OnReference(R"(policy mine "adds"
spec activation = i8 symmetric tensor entropy
op add(activation, activation) -> activation where same_shape)"));
  ASSERT_NE(model.module, nullptr);
  EXPECT_EQ(model.num_quantized(), 1);
}

TEST(Quantizer, ResumedCalibrationEndsWithEqualBytes) {
  const std::vector<HostTensor> batches = Batches({4, 16}, 7);
  const QuantizedModel whole = Quantized(Mlp(), batches, OnReference("x86"));
  ASSERT_NE(whole.module, nullptr);
  auto first = Quantizer::Create(Mlp(), OnReference("x86"));
  ASSERT_TRUE(first.ok()) << first.status();
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(first->Calibrate({batches[i]}).ok());
  auto saved = first->module();
  ASSERT_TRUE(saved.ok()) << saved.status();
  // Through text, as through a file.
  auto second = Quantizer::Resume(Parse(PrintModule(**saved)), OnReference("x86"));
  ASSERT_TRUE(second.ok()) << second.status();
  for (size_t i = 2; i < batches.size(); ++i) ASSERT_TRUE(second->Calibrate({batches[i]}).ok());
  EXPECT_EQ(second->num_batches(), 5);
  const auto resumed = second->Finish();
  ASSERT_TRUE(resumed.ok()) << resumed.status();
  EXPECT_EQ(PrintModule(*resumed->module), PrintModule(*whole.module));
  EXPECT_EQ(resumed->num_quantized(), whole.num_quantized());
}

// Shifting all inputs makes every rounding of the weights count: without correction the mean of the
// results is off.
TEST(Quantizer, CorrectedBiasesBringBackTheMean) {
  QuantizeOptions options = OnReference("weight_only{bits=4,group=16}");
  std::vector<HostTensor> batches;
  std::mt19937 random(13);
  for (int i = 0; i < 4; ++i) batches.push_back(Draw({8, 16}, 0.2, 3, random));
  const HostTensor fresh = Draw({64, 16}, 0.2, 3, random);
  const HostTensor exact = RunOn("reference", *Mlp(), "none", fresh);
  const QuantizedModel corrected = Quantized(Mlp(), batches, options);
  options.bias_correction = false;
  const QuantizedModel plain = Quantized(Mlp(), batches, options);
  ASSERT_NE(corrected.module, nullptr);
  ASSERT_NE(plain.module, nullptr);
  EXPECT_GT(SqnrDb(exact, RunOn("reference", *corrected.module, "none", fresh)),
            SqnrDb(exact, RunOn("reference", *plain.module, "none", fresh)) + 6);
}

TEST(Quantizer, RefusesWhatItCannotDo) {
  const auto message = [](const absl::Status& status) { return std::string(status.message()); };
  auto none = Quantizer::Create(Parse("func @main(%x: i64[4]) { %0 = neg(%x) return %0 }"),
                                OnReference("x86"));
  EXPECT_EQ(none.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(message(none.status()), HasSubstr("nothing can be quantized"));
  EXPECT_FALSE(Quantizer::Create(Mlp(), OnReference("no_such_policy")).ok());
  auto quantizer = Quantizer::Create(Mlp(), OnReference("x86"));
  ASSERT_TRUE(quantizer.ok()) << quantizer.status();
  EXPECT_TRUE(quantizer->needs_calibration());
  const HostTensor batch = Batches({4, 16}, 1)[0];
  EXPECT_THAT(message(quantizer->Calibrate({batch, batch})), HasSubstr("a batch has 1 inputs (x)"));
  EXPECT_EQ(quantizer->num_batches(), 0);
  EXPECT_THAT(message(quantizer->Finish().status()), HasSubstr("no batch was run"));
  EXPECT_THAT(message(Quantizer::Resume(Mlp(), OnReference("x86")).status()),
              HasSubstr("does not come from a quantizer"));
}

}  // namespace
}  // namespace weft
