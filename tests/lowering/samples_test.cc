// Every op's samples through lowering and the plan evaluator, against Eval:
// with constant sizes, and with symbols in their place.
#include "graph/ops/samples.h"

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/ir/builder.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/op_def.h"
#include "graph/ir/op_registry.h"
#include "graph/ir/op_schema.h"
#include "graph/ops/evaluate.h"
#include "graph/ops/ops.h"
#include "graph/ops/registry.h"
#include "graph/sym/sym_facts.h"
#include "graph/tensor/tensor.h"
#include "graph/text/text.h"
#include "graph/verify/verifier.h"
#include "gtest/gtest.h"
#include "lowering/lower.h"
#include "lowering/plan_text.h"
#include "lowering/plan_verifier.h"
#include "lowering/scalar_ops.h"
#include "tests/lowering/plan_evaluator.h"
#include "tests/support/tensor_compare.h"

namespace weft {
namespace {

class Samples : public testing::TestWithParam<const OpDef*> {};

bool HasSamples(const OpDef& op) {
  return &op != &ops::constant && &op != &ops::return_ && op.schema().regions.empty() &&
         !op.schema().writes;
}

// The sample as a program; sizes above 1 are symbols, equal ones for equal
// sizes, if `symbolic`. Null when the op does not take that.
std::unique_ptr<Module> MakeModule(const Sample& sample, bool symbolic) {
  auto module = std::make_unique<Module>(ops::Registry());
  Graph* main = module->AddFunction("main");
  std::vector<Value*> operands;
  for (Type type : SampleTypes(sample)) {
    if (type.kind() == Type::Kind::kNone) {
      operands.push_back(nullptr);
      continue;
    }
    if (symbolic && type.is_tensor()) {
      std::vector<SymInt> dims;
      for (SymInt d : type.dims()) {
        if (d.value() > 1) {
          d = SymInt::Symbol(absl::StrCat("n", d.value()));
          module->symbols().Declare({d, {1, 1000}});
        }
        dims.push_back(d);
      }
      type = type.WithDims(dims);
    }
    operands.push_back(main->AddInput(type));
  }
  Builder b(main, nullptr, {/*fold=*/false});
  const std::vector<Value*> results = b.Create(*sample.op, operands, sample.attrs);
  if (!b.status().ok()) return nullptr;
  main->SetOutputs(results);
  return module;
}

std::vector<HostTensor> PresentInputs(const Sample& sample) {
  std::vector<HostTensor> inputs;
  for (HostTensor& t : SampleInputs(sample, 7)) {
    if (t.valid()) inputs.push_back(t);
  }
  return inputs;
}

void CheckSample(const Sample& sample, bool symbolic) {
  SCOPED_TRACE(absl::StrCat(sample.text, symbolic ? " symbolic" : ""));
  const auto module = MakeModule(sample, symbolic);
  if (module == nullptr) {
    ASSERT_TRUE(symbolic);
    return;
  }
  const auto plan = Lower(*module->main(), Target());
  ASSERT_TRUE(plan.ok()) << plan.status();
  const absl::Status verified = VerifyPlan(*plan);
  ASSERT_TRUE(verified.ok()) << verified << PrintPlan(*plan);
  const std::string text = PrintPlan(*plan);
  const auto parsed = ParsePlan(text, *module);
  ASSERT_TRUE(parsed.ok()) << parsed.status() << "\n" << text;
  EXPECT_EQ(PrintPlan(*parsed), text);
  const std::vector<HostTensor> all = SampleInputs(sample, 7);
  const auto want = Evaluate(*sample.op, sample.attrs, all);
  ASSERT_TRUE(want.ok()) << want.status();
  const auto got = RunPlan(*parsed, PresentInputs(sample));
  ASSERT_TRUE(got.ok()) << got.status();
  ASSERT_EQ(got->size(), want->size());
  for (size_t i = 0; i < got->size(); ++i) {
    EXPECT_EQ(Difference((*got)[i], (*want)[i], ToleranceOf((*want)[i].dtype())), "")
        << "result " << i;
  }
}

TEST_P(Samples, GiveWhatEvalGives) {
  const auto samples = ParseSamples(GetParam()->samples(), ops::Registry());
  ASSERT_TRUE(samples.ok()) << samples.status();
  for (const Sample& sample : *samples) {
    if (!sample.expected_error.empty()) continue;
    CheckSample(Instantiate(sample), false);
    CheckSample(Instantiate(sample), true);
  }
}

std::vector<const OpDef*> OpsWithSamples() {
  std::vector<const OpDef*> all;
  for (const OpDef* op : ops::Registry().All()) {
    if (HasSamples(*op)) all.push_back(op);
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Ops, Samples, testing::ValuesIn(OpsWithSamples()),
                         [](const auto& info) { return std::string(info.param->name()); });

constexpr absl::string_view kNeedReference =
    R"(as_strided_scatter: no kernel has as_strided_scatter
avg_pool: no kernel has avg_pool
bessel_i0: no kernel has bessel_i0
bessel_i0e: no kernel has bessel_i0e
bessel_i1: no kernel has bessel_i1
bessel_i1e: no kernel has bessel_i1e
bessel_j0: no kernel has bessel_j0
bessel_j1: no kernel has bessel_j1
bessel_y0: no kernel has bessel_y0
bessel_y1: no kernel has bessel_y1
cholesky: no kernel has cholesky
col2im: no kernel has col2im
compress: its results depend on data
convolution: no kernel has convolution
convolution_integer: no kernel has convolution
cummax: no kernel has cummax
cummin: no kernel has cummin
cumprod: no kernel has cumprod
cumsum: no kernel has cumsum
deform_conv: no kernel has deform_conv
det: no kernel has det
dft: no kernel has dft
digamma: no kernel has digamma
eigh: no kernel has eigh
erfcx: no kernel has erfcx
erfinv: no kernel has erfinv
grid_sampler: no kernel has grid_sampler
gru: its decomposition has control flow
igamma: no kernel has igamma
igammac: no kernel has igammac
interpolate: no kernel has interpolate
item: its results depend on data
linear: no kernel has matmul
local_response_norm: no kernel has avg_pool
lp_pool: no kernel has lp_pool
lstm: its decomposition has control flow
lu_factor: no kernel has lu_factor
lu_solve: no kernel has lu_solve
matmul: no kernel has matmul
matmul_float8: no kernel has elements of f8e4m3
matmul_integer: no kernel has matmul
matmul_nbits: a constant of a decomposition
matrix_exp: no kernel has matrix_exp
max_pool: no kernel has max_pool
max_roi_pool: no kernel has max_roi_pool
max_unpool: no kernel has max_unpool
mel_weight_matrix: its results depend on data
mode: no kernel has mode
ndtri: no kernel has ndtri
non_max_suppression: its results depend on data
nonzero: its results depend on data
polygamma: no kernel has polygamma
qr: no kernel has qr
range: its results depend on data
rnn: its decomposition has control flow
roi_align: no kernel has roi_align
runtime_assert: it has effects
scaled_dot_product_attention: no kernel has matmul
scatter: no kernel has scatter
scatter_nd: no kernel has scatter_nd
searchsorted: no kernel has searchsorted
solve_triangular: no kernel has solve_triangular
sort: no kernel has sort
stft: no kernel has dft
svd: no kernel has svd
topk: no kernel has topk
unique: its results depend on data
view_as_complex: no kernel has view_as_complex
view_as_real: no kernel has view_as_real
zeta: no kernel has zeta
)";

// Ops whose every sample needs the reference, and those that some samples do:
// what lowering does not know, each for a reason that the step's remark names.
TEST(Completeness, OpsThatNeedTheReference) {
  std::map<std::string, std::pair<int, int>> counts;
  std::map<std::string, std::string> why;
  for (const OpDef* op : OpsWithSamples()) {
    const auto samples = ParseSamples(op->samples(), ops::Registry());
    for (const Sample& sample : *samples) {
      if (!sample.expected_error.empty()) continue;
      const auto module = MakeModule(Instantiate(sample), false);
      const auto plan = Lower(*module->main(), Target());
      ASSERT_TRUE(plan.ok()) << plan.status();
      auto& [reference, all] = counts[std::string(op->name())];
      ++all;
      for (const Step& step : plan->steps) {
        if (step.kind != StepKind::kReference) continue;
        EXPECT_NE(step.remark, "") << op->name();
        ++reference;
        why[std::string(op->name())] = step.remark;
        break;
      }
    }
  }
  std::string never;
  for (const auto& [name, count] : counts) {
    if (count.first == count.second) absl::StrAppend(&never, name, ": ", why[name], "\n");
  }
  EXPECT_EQ(never, std::string(kNeedReference));
}

// Special functions: a series or a recurrence for each element, which their Eval has.
constexpr absl::string_view kNoInstruction = R"(bessel_i0
bessel_i0e
bessel_i1
bessel_i1e
bessel_j0
bessel_j1
bessel_y0
bessel_y1
digamma
erfcx
erfinv
igamma
igammac
ndtri
polygamma
zeta
)";

// Other pointwise ops are instructions, or their decompositions are.
TEST(Completeness, PointwiseOpsAreInstructions) {
  std::string none;
  for (const OpDef* op : ops::Registry().All()) {
    if (!op->has(kPointwise) || op->writes()) continue;
    if (FindScalarOp(*op) != nullptr || op->is_composite()) continue;
    absl::StrAppend(&none, op->name(), "\n");
  }
  EXPECT_EQ(none, std::string(kNoInstruction));
}

}  // namespace
}  // namespace weft
