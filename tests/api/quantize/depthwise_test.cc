// The network that plain rounding breaks: depthwise and pointwise convolutions whose channels have
// ranges far apart, and skewed activations, so that one scale for a tensor leaves small channels
// few steps and shifts their means. Equalisation and corrected biases bring back what is lost. On
// the reference executor, with weights from a seed.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "api/quantize/quantizer.h"
#include "api/session.h"
#include "graph/ir/module.h"
#include "graph/tensor/tensor.h"
#include "gtest/gtest.h"
#include "tests/support/parse.h"

namespace weft {
namespace {

constexpr int kChannels = 8;
constexpr int kClasses = 10;
constexpr int kOctaves = 4;  // Factors of channels lie between 2^-4 and 2^4.

using Random = std::mt19937;

// In [low, high).
double Uniform(Random& random, double low, double high) {
  return low + (high - low) * static_cast<double>(random() % 10000) / 10000;
}

std::vector<double> Draw(Random& random, int count, double low, double high) {
  std::vector<double> values(count);
  for (double& v : values) v = Uniform(random, low, high);
  return values;
}

// Multiplies the slice of each channel, `inner` elements of `outer` blocks, by its factor.
void Scale(std::vector<double>& values, const std::vector<double>& factors, bool inverse = false) {
  const size_t channels = factors.size();
  const size_t inner = std::max<size_t>(1, values.size() / channels);
  for (size_t i = 0; i < values.size(); ++i) {
    const double factor = factors[i / inner % channels];
    values[i] *= inverse ? 1 / factor : factor;
  }
}

// The columns of a matrix that has a row for each result.
void ScaleColumns(std::vector<double>& values, const std::vector<double>& factors) {
  for (size_t i = 0; i < values.size(); ++i) values[i] /= factors[i % factors.size()];
}

std::string Dense(const std::vector<double>& values) {
  return absl::StrCat("dense<[", absl::StrJoin(values, ", "), "]>");
}

constexpr char kNetwork[] = R"(
func @main(%%x: f32[s0, 3, 6, 6]) {
  %%w0 = constant(%s) : f32[24]
  %%b0 = constant(%s) : f32[8]
  %%w1 = constant(%s) : f32[72]
  %%b1 = constant(%s) : f32[8]
  %%w2 = constant(%s) : f32[64]
  %%b2 = constant(%s) : f32[8]
  %%w3 = constant(%s) : f32[80]
  %%b3 = constant(%s) : f32[10]
  %%0 = reshape(%%w0, size=[8, 3, 1, 1])
  %%1 = convolution(%%x, %%0, %%b0, stride=[1, 1], padding=[0, 0], dilation=[1, 1])  loc("stem")
  %%2 = relu(%%1)
  %%3 = reshape(%%w1, size=[8, 1, 3, 3])
  %%4 = convolution(%%2, %%3, %%b1, stride=[1, 1], padding=[1, 1], dilation=[1, 1], groups=8)  loc("depthwise")
  %%5 = relu(%%4)
  %%6 = reshape(%%w2, size=[8, 8, 1, 1])
  %%7 = convolution(%%5, %%6, %%b2, stride=[1, 1], padding=[0, 0], dilation=[1, 1])  loc("pointwise")
  %%8 = relu(%%7)
  %%9 = mean(%%8, dim=[2, 3])
  %%10 = reshape(%%w3, size=[10, 8])
  %%11 = linear(%%9, %%10, %%b3)  loc("head")
  return %%11
})";

// `octaves` of 0 is the same function with channels of equal ranges.
std::unique_ptr<Module> Network(int octaves, const std::vector<double>& b3) {
  Random random(7);
  std::vector<double> w0 = Draw(random, kChannels * 3, -1, 1);
  std::vector<double> b0 = Draw(random, kChannels, -0.2, 0.6);
  std::vector<double> w1 = Draw(random, kChannels * 9, -0.5, 0.5);
  std::vector<double> b1 = Draw(random, kChannels, -0.2, 0.6);
  std::vector<double> w2 = Draw(random, kChannels * kChannels, -0.6, 0.6);
  std::vector<double> b2 = Draw(random, kChannels, -0.2, 0.4);
  std::vector<double> w3 = Draw(random, kClasses * kChannels, -1, 1);
  std::vector<double> factors[3];
  for (std::vector<double>& f : factors) {
    f = Draw(random, kChannels, -octaves, octaves);
    for (double& v : f) v = std::exp2(v);
  }
  Scale(w0, factors[0]);
  Scale(b0, factors[0]);
  Scale(w1, factors[0], /*inverse=*/true);
  Scale(w1, factors[1]);
  Scale(b1, factors[1]);
  ScaleColumns(w2, factors[1]);
  Scale(w2, factors[2]);
  Scale(b2, factors[2]);
  ScaleColumns(w3, factors[2]);
  return Parse(absl::StrFormat(kNetwork, Dense(w0), Dense(b0), Dense(w1), Dense(b1), Dense(w2),
                               Dense(b2), Dense(w3), Dense(b3)));
}

// Skewed: most elements are near 0, few near 1, and each image has a brightness of its own.
HostTensor Images(int64_t count, unsigned seed) {
  Random random(seed);
  std::vector<double> values;
  for (int64_t image = 0; image < count; ++image) {
    for (int channel = 0; channel < 3; ++channel) {
      const double bright = Uniform(random, 0.2, 2);
      for (int i = 0; i < 36; ++i) values.push_back(bright * std::pow(Uniform(random, 0, 1), 3));
    }
  }
  return HostTensor::FromDoubles(DType::kF32, {count, 3, 6, 6}, values);
}

std::vector<double> Logits(const Module& module, const HostTensor& images) {
  auto session = Session::Create(module.Clone(), "reference");
  EXPECT_TRUE(session.ok()) << session.status();
  auto outputs = session->Run({images});
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  return outputs.ok() ? (*outputs)[0].ReadDoubles() : std::vector<double>();
}

// With logits whose means over images are 0, so that every class is an answer.
std::unique_ptr<Module> Network(int octaves) {
  std::vector<double> bias(kClasses);
  constexpr int kImages = 32;
  const std::vector<double> logits = Logits(*Network(0, bias), Images(kImages, 9));
  for (size_t i = 0; i < logits.size(); ++i) bias[i % kClasses] -= logits[i] / kImages;
  return Network(octaves, bias);
}

struct Loss {
  int answers = 0;   // Images whose class is another one.
  double noise = 0;  // The sum of squared errors of the logits.
};

Loss LossOf(const std::vector<double>& exact, const std::vector<double>& other) {
  Loss loss;
  for (size_t i = 0; i + kClasses <= exact.size(); i += kClasses) {
    const auto answer = [i](const std::vector<double>& v) {
      return std::max_element(v.begin() + i, v.begin() + i + kClasses) - v.begin();
    };
    loss.answers += answer(exact) != answer(other);
    for (size_t k = i; k < i + kClasses; ++k) loss.noise += std::pow(exact[k] - other[k], 2);
  }
  return loss;
}

Loss LossOfQuantized(bool equalize, bool bias_correction) {
  QuantizeOptions options;
  options.target = "reference";
  options.equalize = equalize;
  options.bias_correction = bias_correction;
  auto quantizer = Quantizer::Create(Network(kOctaves), options);
  EXPECT_TRUE(quantizer.ok()) << quantizer.status();
  for (unsigned batch = 0; batch < 4; ++batch) {
    const absl::Status status = quantizer->Calibrate({Images(16, 100 + batch)});
    EXPECT_TRUE(status.ok()) << status;
  }
  const auto model = quantizer->Finish();
  EXPECT_TRUE(model.ok()) << model.status();
  const HostTensor fresh = Images(256, 5);
  return LossOf(Logits(*Network(kOctaves), fresh), Logits(*model->module, fresh));
}

// What is measured is rounding: factors that cancel change nothing else.
TEST(Depthwise, SpreadChannelsComputeTheSame) {
  const HostTensor fresh = Images(16, 5);
  const Loss loss = LossOf(Logits(*Network(0), fresh), Logits(*Network(kOctaves), fresh));
  EXPECT_EQ(loss.answers, 0);
  EXPECT_LT(loss.noise, 1e-6);
}

TEST(Depthwise, EqualisationAndBiasCorrectionWinBackNineTenths) {
  const Loss plain = LossOfQuantized(false, false);
  const Loss corrected = LossOfQuantized(false, true);
  const Loss equal = LossOfQuantized(true, false);
  const Loss both = LossOfQuantized(true, true);
  for (const Loss& loss : {plain, corrected, equal, both}) {
    std::printf("%d answers of 256, noise %.4g\n", loss.answers, loss.noise);
  }
  EXPECT_GT(plain.answers, 40);
  EXPECT_LE(both.answers * 10, plain.answers);
  EXPECT_LE(both.noise * 10, plain.noise);
  // Each helps, also beside the other.
  EXPECT_LT(corrected.noise, plain.noise);
  EXPECT_LT(equal.noise, plain.noise);
  EXPECT_LT(both.noise, corrected.noise);
  EXPECT_LT(both.noise, equal.noise);
}

}  // namespace
}  // namespace weft
