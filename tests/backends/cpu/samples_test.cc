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

// Programs that take samples; sizes above 1 are symbols, equal ones for equal sizes, if
// `symbolic`.
class Program {
 public:
  explicit Program(bool symbolic)
      : symbolic_(symbolic), module_(std::make_unique<Module>(ops::Registry())) {
    main_ = module_->AddFunction("main");
  }

  // False when the op does not take symbols.
  bool Add(const Sample& sample) {
    std::vector<Value*> operands;
    for (Type type : SampleTypes(sample)) {
      operands.push_back(type.kind() == Type::Kind::kNone ? nullptr : main_->AddInput(Wide(type)));
    }
    Builder b(main_, nullptr, {/*fold=*/false});
    const std::vector<Value*> results = b.Create(*sample.op, operands, sample.attrs);
    if (!b.status().ok()) return false;
    outputs_.insert(outputs_.end(), results.begin(), results.end());
    return true;
  }
  const Graph& Finish() {
    main_->SetOutputs(outputs_);
    return *main_;
  }

 private:
  Type Wide(Type type) {
    if (!symbolic_ || !type.is_tensor()) return type;
    std::vector<SymInt> dims;
    for (SymInt d : type.dims()) {
      if (d.value() > 1) {
        d = SymInt::Symbol(absl::StrCat("n", d.value()));
        if (module_->symbols().Find(d) == nullptr) module_->symbols().Declare({d, {1, 1000}});
      }
      dims.push_back(d);
    }
    return type.WithDims(dims);
  }

  const bool symbolic_;
  std::unique_ptr<Module> module_;
  Graph* main_ = nullptr;
  std::vector<Value*> outputs_;
};

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

void CheckSamples(const std::vector<Sample>& samples, bool symbolic, const CpuOptions& options) {
  Program program(symbolic);
  std::vector<HostTensor> inputs, want;
  std::vector<std::string> from;  // By result.
  for (const Sample& sample : samples) {
    // Constant sizes are what the sample was checked with.
    if (!program.Add(sample)) {
      ASSERT_TRUE(symbolic) << sample.text;
      return;
    }
    const std::vector<HostTensor> all = SampleInputs(sample, 7);
    for (const HostTensor& t : all) {
      if (t.valid()) inputs.push_back(t);
    }
    auto results = Evaluate(*sample.op, sample.attrs, all);
    ASSERT_TRUE(results.ok()) << results.status();
    want.insert(want.end(), results->begin(), results->end());
    from.resize(want.size(), sample.text);
  }
  const Graph& main = program.Finish();
  auto plan = Lower(main, CpuTarget());
  ASSERT_TRUE(plan.ok()) << plan.status();
  auto executable = Executable::Create(*std::move(plan), options);
  ASSERT_TRUE(executable.ok()) << executable.status();
  const absl::Status code = (*executable)->WaitForCode();
  ASSERT_TRUE(code.ok()) << code;
  const auto got = (*executable)->Run(inputs);
  ASSERT_TRUE(got.ok()) << got.status();
  ASSERT_EQ(got->size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) {
    EXPECT_EQ(Difference((*got)[i], want[i], ToleranceFor(want[i])), "")
        << "result " << i << " of " << from[i];
  }
}

std::vector<Sample> ValidSamples(const OpDef& op) {
  const auto samples = ParseSamples(op.samples(), ops::Registry());
  EXPECT_TRUE(samples.ok()) << samples.status();
  std::vector<Sample> valid;
  for (const Sample& sample : *samples) {
    if (sample.expected_error.empty()) valid.push_back(Instantiate(sample));
  }
  return valid;
}

TEST_P(Samples, GiveWhatEvalGives) {
  CpuOptions native;
  native.threads = 2;
  CpuOptions avx2 = native;
  avx2.isa = "avx2";
  for (const Sample& sample : ValidSamples(*GetParam())) {
    SCOPED_TRACE(sample.text);
    CheckSamples({sample}, false, native);
    CheckSamples({sample}, true, native);
    CheckSamples({sample}, false, avx2);
  }
}

// All samples of an op are one program, which is compiled once.
TEST_P(Samples, GiveTheSameInGeneratedCode) {
  CpuOptions options;
  options.threads = 2;
  options.code = CpuOptions::Code::kBeforeCreation;
  std::vector<Sample> samples;
  for (Sample& sample : ValidSamples(*GetParam())) {
    if (Program(/*symbolic=*/true).Add(sample)) {
      samples.push_back(std::move(sample));
    } else {
      SCOPED_TRACE(sample.text);
      CheckSamples({sample}, false, options);
    }
  }
  CheckSamples(samples, true, options);
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
