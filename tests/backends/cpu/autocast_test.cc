// Networks that autocast made bf16 or f16, on the CPU: their error against the f32 program on the
// reference, and the bytes that their steps move.
#include <cmath>
#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "api/compiler.h"
#include "backends/cpu/executable.h"
#include "backends/cpu/target.h"
#include "backends/reference/executor.h"
#include "examples/models/models.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ops/ops.h"
#include "graph/sym/sym_facts.h"
#include "graph/tensor/tensor.h"
#include "gtest/gtest.h"
#include "lowering/lower.h"
#include "lowering/step_cost.h"

namespace weft::cpu {
namespace {

using models::Model;

struct Case {
  const char* model;
  const char* pipeline;
  // Bound of the error's root mean square, relative to that of the outputs: some units of the low
  // dtype.
  double bound;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.model << " " << c.pipeline; }

Model Build(const std::string& name) {
  models::ModelOptions options;
  options.small = true;
  options.static_sizes = true;
  options.sizes = {{"batch", 2}};
  if (name != "resnet50" && name != "mobilenet_v2") options.sizes["sequence"] = 18;
  auto model = models::BuildModel(name, options);
  EXPECT_TRUE(model.ok()) << model.status();
  return *std::move(model);
}

void Apply(Module& module, const std::string& passes) {
  CompileOptions compile;
  compile.passes = passes;
  const auto compiled = Compile(module, compile);
  EXPECT_TRUE(compiled.ok()) << compiled.status();
}

double RootMeanSquare(const HostTensor& tensor) {
  double sum = 0;
  for (const double v : tensor.ReadDoubles()) sum += v * v;
  return std::sqrt(sum / static_cast<double>(tensor.numel()));
}

double ErrorOf(const HostTensor& got, const HostTensor& want) {
  EXPECT_EQ(got.dtype(), want.dtype());
  EXPECT_EQ(got.dims(), want.dims());
  std::vector<double> difference = got.ReadDoubles();
  const std::vector<double> exact = want.ReadDoubles();
  for (size_t i = 0; i < difference.size(); ++i) difference[i] -= exact[i];
  return RootMeanSquare(HostTensor::FromDoubles(DType::kF64, want.dims(), difference)) /
         RootMeanSquare(want);
}

class AutocastNetworks : public testing::TestWithParam<Case> {};

TEST_P(AutocastNetworks, AreAsExactAsTheLowDtype) {
  const Model model = Build(GetParam().model);
  const auto inputs = models::MakeInputs(model);
  ASSERT_TRUE(inputs.ok()) << inputs.status();
  const auto exact = reference::Run(*model.module->main(), *inputs);
  ASSERT_TRUE(exact.ok()) << exact.status();
  Apply(*model.module, GetParam().pipeline);
  const auto want = reference::Run(*model.module->main(), *inputs);
  ASSERT_TRUE(want.ok()) << want.status();
  Apply(*model.module, "cpu");
  auto plan = Lower(*model.module->main(), CpuTarget());
  ASSERT_TRUE(plan.ok()) << plan.status();
  CpuOptions cpu;
  cpu.threads = 2;
  const auto executable = Executable::Create(*std::move(plan), cpu);
  ASSERT_TRUE(executable.ok()) << executable.status();
  const auto got = (*executable)->Run(*inputs);
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ((*executable)->stats().fallbacks, 0);
  EXPECT_EQ((*executable)->stats().slow_primitives, 0);
  for (size_t i = 0; i < got->size(); ++i) {
    const double reference_error = ErrorOf((*want)[i], (*exact)[i]);
    const double error = ErrorOf((*got)[i], (*exact)[i]);
    RecordProperty(absl::StrCat("error_", i), absl::StrCat(error));
    RecordProperty(absl::StrCat("reference_error_", i), absl::StrCat(reference_error));
    // It is not the f32 program, either.
    EXPECT_GT(reference_error, 1e-5);
    EXPECT_LE(reference_error, GetParam().bound) << "output " << i;
    EXPECT_LE(error, GetParam().bound) << "output " << i;
  }
}

constexpr double kBf16 = 1.0 / 32;
constexpr double kF16 = 1.0 / 256;

INSTANTIATE_TEST_SUITE_P(All, AutocastNetworks,
                         testing::Values(Case{"resnet50", "autocast-bf16", kBf16},
                                         Case{"resnet50", "autocast-f16", kF16},
                                         Case{"mobilenet_v2", "autocast-bf16", kBf16},
                                         Case{"minilm", "autocast-bf16", kBf16},
                                         Case{"minilm", "autocast-f16", kF16},
                                         Case{"gpt2", "autocast-bf16", kBf16}));

// Bytes that the steps of the program for the CPU read and write.
int64_t BytesMoved(const std::string& model_name, const std::string& passes) {
  const Model model = Build(model_name);
  Apply(*model.module, passes);
  const auto plan = Lower(*model.module->main(), CpuTarget());
  EXPECT_TRUE(plan.ok()) << plan.status();
  const SymInt bytes = CostOf(*plan).bytes;
  EXPECT_TRUE(bytes.is_valid() && bytes.is_constant());
  return bytes.value();
}

TEST(AutocastPrograms, AConvolutionNetworkMovesHalfTheBytes) {
  const int64_t wide = BytesMoved("resnet50", "cpu");
  const int64_t narrow = BytesMoved("resnet50", "autocast-bf16,cpu");
  // The images are f32, and their cast is a step; the small network has little else.
  EXPECT_LE(narrow, wide * 55 / 100) << wide;
  EXPECT_GE(narrow, wide * 49 / 100) << wide;
}

TEST(AutocastPrograms, AConvolutionNetworkIsCastAtItsEnds) {
  const Model model = Build("resnet50");
  Apply(*model.module, "autocast-bf16");
  int converts = 0;
  for (const Node* node : model.module->main()->nodes()) converts += node->Is(ops::convert);
  EXPECT_EQ(converts, 2);
}

}  // namespace
}  // namespace weft::cpu
