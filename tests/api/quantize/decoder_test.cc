// A decoder with weights of 4 bits, a token a step: the CPU against the reference, and both beside
// the f32 program. The caches of a step are the inputs of the next one.
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "api/backends.h"
#include "api/compiler.h"
#include "api/session.h"
#include "examples/models/models.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ops/quant.h"
#include "graph/tensor/tensor.h"
#include "gtest/gtest.h"
#include "tests/support/tensor_compare.h"

namespace weft {
namespace {

constexpr char kInt4[] =
    "quantize-float,quantize_annotate{policy=\"weight_only{bits=4,group=32}\"},quantize-finish";
constexpr int kSteps = 4;

models::Model Decoder() {
  models::ModelOptions options;
  options.small = true;
  auto model = models::BuildModel("llama", options);
  EXPECT_TRUE(model.ok()) << model.status();
  return model.ok() ? *std::move(model) : models::Model();
}

struct Steps {
  std::vector<HostTensor> logits;
  int packed = 0;  // Matmuls with packed weights that the target was given.
};

// Of the tokens 5, 6, ...; `passes` come before those of the target.
Steps Decode(const std::string& target, const std::string& passes) {
  const models::Model model = Decoder();
  CompileOptions options;
  SetTarget(**BuiltinBackends().Find(target), &options);
  const std::string own = target == "cpu" ? "cpu" : "default";
  options.passes = passes.empty() ? own : absl::StrCat(passes, ",", own);
  const auto compiled = Compile(*model.module, options);
  EXPECT_TRUE(compiled.ok()) << compiled.status();
  Steps steps;
  for (const Node* node : model.module->main()->nodes()) {
    steps.packed += node->Is(ops::matmul_nbits);
  }
  auto session = Session::Create(model.module->Clone(), target);
  EXPECT_TRUE(session.ok()) << session.status();
  auto inputs = models::MakeInputs(model);
  EXPECT_TRUE(inputs.ok()) << inputs.status();
  if (!session.ok() || !inputs.ok()) return steps;
  for (int step = 0; step < kSteps; ++step) {
    (*inputs)[0] = HostTensor::FromInts(DType::kI64, {1, 1}, {5 + step});
    (*inputs)[1] = HostTensor::FromInts(DType::kI64, {1}, {step});
    auto outputs = session->Run(absl::MakeConstSpan(*inputs));
    EXPECT_TRUE(outputs.ok()) << outputs.status();
    if (!outputs.ok()) return steps;
    steps.logits.push_back((*outputs)[0]);
    for (size_t i = 1; i < outputs->size(); ++i) (*inputs)[i + 1] = (*outputs)[i];
  }
  return steps;
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

TEST(Decoder, FourBitsOnTheCpuAreThoseOfTheReference) {
  const Steps exact = Decode("reference", "");
  const Steps want = Decode("reference", kInt4);
  const Steps got = Decode("cpu", kInt4);
  // In each of two layers query, key and value are one, gate and up are one; and the head.
  EXPECT_EQ(got.packed, 9);
  ASSERT_EQ(exact.logits.size(), static_cast<size_t>(kSteps));
  ASSERT_EQ(want.logits.size(), static_cast<size_t>(kSteps));
  ASSERT_EQ(got.logits.size(), static_cast<size_t>(kSteps));
  for (int step = 0; step < kSteps; ++step) {
    SCOPED_TRACE(step);
    EXPECT_EQ(Difference(got.logits[step], want.logits[step], {1e-4, 1e-4}), "");
    EXPECT_GT(SqnrDb(exact.logits[step], want.logits[step]), 12);
    EXPECT_LT(SqnrDb(exact.logits[step], want.logits[step]), 40);
  }
  // Steps read what those before have written.
  EXPECT_NE(Difference(got.logits[0], got.logits[1], {1e-4, 1e-4}), "");
}

}  // namespace
}  // namespace weft
