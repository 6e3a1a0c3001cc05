// Every op's samples on the emulated GPU against Eval. All samples of an op are one program, with
// constant sizes and, where the op takes them, with symbols in their place.
#include "graph/ops/samples.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/cuda/backend.h"
#include "backends/runtime/device_run.h"
#include "backends/runtime/device_tensor.h"
#include "graph/ir/builder.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/op_def.h"
#include "graph/ir/op_registry.h"
#include "graph/ir/op_schema.h"
#include "graph/ir/value.h"
#include "graph/ops/evaluate.h"
#include "graph/ops/ops.h"
#include "graph/ops/registry.h"
#include "graph/sym/sym_facts.h"
#include "graph/tensor/tensor.h"
#include "gtest/gtest.h"
#include "lowering/lower.h"
#include "tests/support/tensor_compare.h"

namespace weft::cuda {
namespace {

class SampleProgram {
 public:
  SampleProgram() : module_(std::make_unique<Module>(ops::Registry())) {
    main_ = module_->AddFunction("main");
  }

  // False if the op does not take symbols; the program is then useless.
  bool Add(const Sample& sample, bool symbolic) {
    std::vector<Value*> operands;
    for (Type type : SampleTypes(sample)) {
      if (symbolic && type.is_tensor()) type = WithSymbols(type);
      operands.push_back(type.kind() == Type::Kind::kNone ? nullptr : main_->AddInput(type));
    }
    Builder builder(main_, nullptr, {/*fold=*/false});
    const std::vector<Value*> results = builder.Create(*sample.op, operands, sample.attrs);
    outputs_.insert(outputs_.end(), results.begin(), results.end());
    return builder.status().ok();
  }

  const Graph& Finish() {
    main_->SetOutputs(outputs_);
    return *main_;
  }

 private:
  // Equal sizes above 1 are one symbol.
  Type WithSymbols(const Type& type) {
    std::vector<SymInt> dims(type.dims().begin(), type.dims().end());
    for (SymInt& dim : dims) {
      if (dim.value() <= 1) continue;
      dim = SymInt::Symbol(absl::StrCat("n", dim.value()));
      if (module_->symbols().Find(dim) == nullptr) module_->symbols().Declare({dim, {1, 1000}});
    }
    return type.WithDims(dims);
  }

  std::unique_ptr<Module> module_;
  Graph* main_ = nullptr;
  std::vector<Value*> outputs_;
};

// Sums of f32 are in f32: their errors are in proportion to the largest result.
Tolerance ToleranceFor(const HostTensor& want) {
  Tolerance tolerance = ToleranceOf(want.dtype());
  if (want.dtype() != DType::kF32) return tolerance;
  for (const double value : want.ReadDoubles()) {
    if (std::isfinite(value)) {
      tolerance.absolute = std::max(tolerance.absolute, 1e-5 * std::abs(value));
    }
  }
  return tolerance;
}

struct Variant {
  Sample sample;
  bool symbolic;
};

std::vector<Variant> VariantsOf(const OpDef& op) {
  std::vector<Variant> variants;
  const auto samples = ParseSamples(op.samples(), ops::Registry());
  EXPECT_TRUE(samples.ok()) << samples.status();
  for (const Sample& given : *samples) {
    if (!given.expected_error.empty()) continue;
    const Sample sample = Instantiate(given);
    variants.push_back({sample, false});
    if (SampleProgram().Add(sample, true)) variants.push_back({sample, true});
  }
  return variants;
}

class CudaSamples : public testing::TestWithParam<const OpDef*> {};

TEST_P(CudaSamples, GiveWhatEvalGives) {
  SampleProgram program;
  std::vector<HostTensor> inputs;
  std::vector<HostTensor> want;
  std::vector<std::string> from;  // By result.
  for (const Variant& variant : VariantsOf(*GetParam())) {
    ASSERT_TRUE(program.Add(variant.sample, variant.symbolic)) << variant.sample.text;
    const std::vector<HostTensor> operands = SampleInputs(variant.sample, 7);
    for (const HostTensor& operand : operands) {
      if (operand.valid()) inputs.push_back(operand);
    }
    const auto results = Evaluate(*variant.sample.op, variant.sample.attrs, operands);
    ASSERT_TRUE(results.ok()) << results.status();
    want.insert(want.end(), results->begin(), results->end());
    from.resize(want.size(),
                absl::StrCat(variant.sample.text, variant.symbolic ? " with symbols" : ""));
  }
  const auto backend = MakeBackend();
  const Graph& main = program.Finish();
  auto plan = Lower(main, backend->target());
  ASSERT_TRUE(plan.ok()) << plan.status();
  const auto made = backend->Compile(main, *std::move(plan), {{"cuda-driver", "emulated"}});
  ASSERT_TRUE(made.ok()) << made.status();
  std::vector<HostTensor> got;
  std::vector<HostTensor> written;
  const absl::Status status =
      (*made)->Run(inputs, std::vector<bool>(inputs.size()), &got, &written);
  ASSERT_TRUE(status.ok()) << status;
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) {
    EXPECT_EQ(Difference(got[i], want[i], ToleranceFor(want[i])), "")
        << "result " << i << " of " << from[i];
  }

  std::vector<DeviceTensor> tensors;
  for (const HostTensor& input : inputs) {
    auto tensor = (*made)->ToDevice(input);
    ASSERT_TRUE(tensor.ok()) << tensor.status();
    // Sizes are the host's.
    const bool size = main.input(static_cast<int>(tensors.size()))->type().is_symint();
    tensors.push_back(size ? DeviceTensor(input) : *std::move(tensor));
  }
  std::vector<DeviceTensor> kept;
  std::vector<DeviceTensor> kept_written;
  const absl::Status again =
      (*made)->RunOnDevice(tensors, std::vector<bool>(inputs.size()), {}, &kept, &kept_written);
  ASSERT_TRUE(again.ok()) << again;
  ASSERT_EQ(kept.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) {
    const auto tensor = (*made)->ToHost(kept[i]);
    ASSERT_TRUE(tensor.ok()) << tensor.status();
    EXPECT_TRUE(tensor->BitEqual(got[i]))
        << "result " << i << " of " << from[i] << " on the device";
  }
}

std::vector<const OpDef*> OpsWithSamples() {
  std::vector<const OpDef*> all;
  for (const OpDef* op : ops::Registry().All()) {
    const bool plain = op->schema().regions.empty() && !op->schema().writes;
    if (op != &ops::constant && op != &ops::return_ && plain) all.push_back(op);
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Ops, CudaSamples, testing::ValuesIn(OpsWithSamples()),
                         [](const auto& info) { return std::string(info.param->name()); });

}  // namespace
}  // namespace weft::cuda
