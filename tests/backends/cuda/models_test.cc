// Plans of the example models for a GPU: their steps, and the bytes that these move over those of
// the inputs, weights and outputs; once over whole weights, and once over what is read of them
// (tables are gathered from). The table is a golden one with counts, not times.
#include "examples/models/models.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "api/compiler.h"
#include "backends/cuda/backend.h"
#include "graph/ir/module.h"
#include "graph/sym/sym_expr.h"
#include "graph/sym/sym_facts.h"
#include "gtest/gtest.h"
#include "lowering/lower.h"
#include "lowering/plan_verifier.h"
#include "lowering/step_cost.h"
#include "tests/support/step_counts.h"

namespace weft::cuda {
namespace {

constexpr char kTable[] =
    R"(resnet50         2 kernels  55 library  0 copies  0 reference, bytes 2.10, 2.10
mobilenet_v2     2 kernels  53 library  0 copies  0 reference, bytes 4.69, 4.69
bert            28 kernels  85 library  0 copies  0 reference, bytes 1.09, 1.39
minilm          16 kernels  43 library  0 copies  0 reference, bytes 0.85, 1.78
gpt2            26 kernels  61 library  0 copies  0 reference, bytes 1.23, 1.24
llama          125 kernels 301 library  0 copies  0 reference, bytes 1.03, 1.03
mlp              0 kernels   2 library  0 copies  0 reference, bytes 1.06, 1.06
dlrm             1 kernels   6 library  0 copies  0 reference, bytes 0.16, 1.41
norm_chain       1 kernels   0 library  0 copies  0 reference, bytes 1.00, 1.00
softmax          1 kernels   0 library  0 copies  0 reference, bytes 1.00, 1.00
adamw            3 kernels   0 library  0 copies  0 reference, bytes 1.00, 1.00
stack299         1 kernels   0 library  0 copies  0 reference, bytes 1.00, 1.00
four_linears     0 kernels   4 library  0 copies  0 reference, bytes 1.04, 1.04
)";

// Bytes of the inputs, constants and outputs: all of them, and those that steps access.
struct LeastBytes {
  double whole = 0, accessed = 0;
};

LeastBytes FindLeastBytes(Plan& plan, absl::FunctionRef<double(SymInt)> value) {
  std::vector<double> moved(plan.buffers.size());
  const auto bytes_of = [&](const View& view) {
    return value(view.type.numel()) * static_cast<double>(DTypeBits(view.type.dtype())) / 8;
  };
  for (Step& step : plan.steps) {
    const double all = value(CostOf(plan, step).bytes);
    for (View& arg : step.args) {
      if (!arg.present() || !arg.type.is_tensor()) continue;
      if (step.kind != StepKind::kKernel) {
        moved[arg.buffer] += bytes_of(arg);
        continue;
      }
      const View read = std::exchange(arg, View());
      moved[read.buffer] += all - value(CostOf(plan, step).bytes);
      arg = read;
    }
    for (const View& result : step.results) {
      if (result.present() && result.type.is_tensor()) moved[result.buffer] += bytes_of(result);
    }
  }
  LeastBytes least;
  for (size_t b = 0; b < plan.buffers.size(); ++b) {
    const Buffer& buffer = plan.buffers[b];
    if (buffer.kind == BufferKind::kTemporary) continue;
    const double whole = value(buffer.numel) * static_cast<double>(DTypeBits(buffer.dtype)) / 8;
    least.whole += whole;
    least.accessed += std::min(whole, moved[b]);
  }
  return least;
}

TEST(CudaModels, PlansAreAsCounted) {
  const std::unique_ptr<const Backend> backend = MakeBackend();
  std::string table;
  for (const models::ModelEntry& entry : models::AllModels()) {
    SCOPED_TRACE(entry.name);
    models::ModelOptions options;
    options.weights = models::ModelOptions::Weights::kAbsent;
    const auto model = models::BuildModel(entry.name, options);
    ASSERT_TRUE(model.ok()) << model.status();
    CompileOptions compile;
    compile.passes.clear();
    compile.verify = VerifyLevel::kNone;
    SetTarget(*backend, &compile);
    const auto compiled = Compile(*model->module, compile);
    ASSERT_TRUE(compiled.ok()) << compiled.status();
    auto plan = Lower(*model->module->main(), backend->target());
    ASSERT_TRUE(plan.ok()) << plan.status();
    ASSERT_TRUE(VerifyPlan(*plan).ok()) << VerifyPlan(*plan);
    const auto hint = [&](SymInt s) {
      const SymbolInfo* info = model->module->symbols().Find(s);
      return info == nullptr ? std::nullopt : info->hint;
    };
    const auto value = [&](SymInt s) {
      const std::optional<int64_t> v = Evaluate(s, hint);
      EXPECT_TRUE(v.has_value());
      return static_cast<double>(v.value_or(1));
    };
    const StepCounts c = CountSteps(*plan);
    const double bytes = value(CostOf(*plan).bytes);
    const LeastBytes least = FindLeastBytes(*plan, value);
    absl::StrAppend(&table, absl::StrFormat("%-14s %3d kernels %3d library %2d copies %2d "
                                            "reference, bytes %.2f, %.2f\n",
                                            entry.name, c.kernels, c.library, c.copies, c.reference,
                                            bytes / least.whole, bytes / least.accessed));
  }
  EXPECT_EQ(table, kTable);
}

}  // namespace
}  // namespace weft::cuda
