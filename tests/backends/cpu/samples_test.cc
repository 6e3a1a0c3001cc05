// Every op's samples on the CPU executor against Eval: with constant sizes and
// with symbols in their place.
#include "graph/ops/samples.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/cpu/executable.h"
#include "backends/cpu/target.h"
#include "graph/core/builder.h"
#include "graph/ops/evaluate.h"
#include "graph/ops/ops.h"
#include "graph/ops/registry.h"
#include "gtest/gtest.h"
#include "lowering/lower.h"
#include "tests/support/tensor_compare.h"

namespace weft::cpu {
namespace {

class Samples : public testing::TestWithParam<const OpDef*> {};

bool HasSamples(const OpDef& op) {
  return &op != &ops::constant && &op != &ops::return_ && op.schema().regions.empty() &&
         !op.schema().writes;
}

// The sample as a program; sizes above 1 are symbols, equal ones for equal sizes, if
// `symbolic`. Null when the op does not take that.
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

// Routines sum f32 in f32: their errors are in proportion to the largest result.
Tolerance ToleranceFor(const HostTensor& want) {
  Tolerance tolerance = ToleranceOf(want.dtype());
  if (want.dtype() != DType::kF32) return tolerance;
  for (double v : want.ReadDoubles()) {
    if (std::isfinite(v)) {
      tolerance.absolute = std::max(tolerance.absolute, 1e-5 * std::abs(v));
    }
  }
  return tolerance;
}

void CheckSample(const Sample& sample, bool symbolic, const CpuOptions& options) {
  SCOPED_TRACE(absl::StrCat(sample.text, symbolic ? " symbolic" : "", " ", options.isa));
  const auto module = MakeModule(sample, symbolic);
  if (module == nullptr) {
    ASSERT_TRUE(symbolic);
    return;
  }
  auto plan = Lower(*module->main(), CpuLoweringTarget());
  ASSERT_TRUE(plan.ok()) << plan.status();
  auto executable = Executable::Create(*module->main(), *std::move(plan), options);
  ASSERT_TRUE(executable.ok()) << executable.status();
  const std::vector<HostTensor> all = SampleInputs(sample, 7);
  std::vector<HostTensor> inputs;
  for (const HostTensor& t : all) {
    if (t.valid()) inputs.push_back(t);
  }
  const auto want = Evaluate(*sample.op, sample.attrs, all);
  ASSERT_TRUE(want.ok()) << want.status();
  const auto got = (*executable)->Run(inputs);
  ASSERT_TRUE(got.ok()) << got.status();
  ASSERT_EQ(got->size(), want->size());
  for (size_t i = 0; i < got->size(); ++i) {
    EXPECT_EQ(Difference((*got)[i], (*want)[i], ToleranceFor((*want)[i])), "") << "result " << i;
  }
}

TEST_P(Samples, GiveWhatEvalGives) {
  const auto samples = ParseSamples(GetParam()->samples(), ops::Registry());
  ASSERT_TRUE(samples.ok()) << samples.status();
  CpuOptions native;
  native.threads = 2;
  CpuOptions avx2 = native;
  avx2.isa = "avx2";
  for (const Sample& sample : *samples) {
    if (!sample.expected_error.empty()) continue;
    CheckSample(Instantiate(sample), false, native);
    CheckSample(Instantiate(sample), true, native);
    CheckSample(Instantiate(sample), false, avx2);
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

}  // namespace
}  // namespace weft::cpu
