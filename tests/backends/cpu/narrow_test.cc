// Programs of bf16 and f16: the example models with their floats narrowed. Every step
// has a routine or a kernel, and results are as near to those of the f32 program as
// those of the reference, which rounds after each op.
#include <algorithm>
#include <cctype>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "api/compiler.h"
#include "backends/cpu/executable.h"
#include "backends/cpu/target.h"
#include "backends/reference/executor.h"
#include "examples/models/models.h"
#include "graph/ir/builder.h"
#include "graph/ir/constant_store.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ir/node_view.h"
#include "graph/ops/ops.h"
#include "graph/ops/registry.h"
#include "graph/sym/sym_facts.h"
#include "graph/tensor/tensor.h"
#include "gtest/gtest.h"
#include "lowering/lower.h"

namespace weft::cpu {
namespace {

using models::Model;

HostTensor Narrowed(const HostTensor& t, DType dtype) {
  if (t.dtype() != DType::kF32) return t;
  const double most = dtype == DType::kF16 ? 60000 : 3e38;
  std::vector<double> values = t.ReadDoubles();
  for (double& v : values) v = std::clamp(v, -most, most);
  return HostTensor::FromDoubles(dtype, t.dims(), values);
}

Type Narrowed(Type type, DType dtype) {
  return type.is_tensor() && type.dtype() == DType::kF32 ? type.WithDType(dtype) : type;
}

// The program with `dtype` for f32.
std::unique_ptr<Module> Narrowed(const Module& from, DType dtype) {
  auto to = std::make_unique<Module>(ops::Registry());
  to->symbols() = from.symbols();
  Graph* main = to->AddFunction("main");
  Builder b(main, nullptr, {/*fold=*/false});
  absl::flat_hash_map<const Value*, Value*> values = {{nullptr, nullptr}};
  for (int i = 0; i < from.main()->num_inputs(); ++i) {
    const Value* input = from.main()->input(i);
    values[input] = main->AddInput(Narrowed(input->type(), dtype));
  }
  for (const Node* node : from.main()->nodes()) {
    if (node->Is(ops::constant)) {
      const HostTensor& t = from.constants().tensor(ops::ConstantView(*node).id());
      values[node->result()] = b.Constant(Narrowed(t, dtype));
      continue;
    }
    std::vector<Value*> operands;
    for (int i = 0; i < node->num_operands(); ++i) operands.push_back(values[node->operand(i)]);
    std::vector<AttrValue> attrs(node->attr_list()->values().begin(),
                                 node->attr_list()->values().end());
    for (AttrValue& attr : attrs) {
      const DType* given = attr.get_if<DType>();
      if (given != nullptr && *given == DType::kF32) attr = dtype;
    }
    const auto results = b.Create(node->op(), operands, AttrList::Get(std::move(attrs)));
    EXPECT_TRUE(b.status().ok()) << b.status();
    for (int r = 0; r < node->num_results(); ++r) values[node->result(r)] = results[r];
  }
  std::vector<Value*> outputs;
  for (int i = 0; i < from.main()->num_outputs(); ++i) {
    outputs.push_back(values[from.main()->output(i)]);
  }
  main->SetOutputs(outputs);
  return to;
}

double RootMeanSquare(const HostTensor& a, const HostTensor& b) {
  const std::vector<double> x = a.ReadDoubles();
  const std::vector<double> y = b.ReadDoubles();
  EXPECT_EQ(x.size(), y.size());
  double sum = 0;
  for (size_t i = 0; i < x.size(); ++i) sum += (x[i] - y[i]) * (x[i] - y[i]);
  return std::sqrt(sum / static_cast<double>(x.size()));
}

struct Case {
  const char* model;
  DType dtype;
};

class NarrowModels : public testing::TestWithParam<Case> {};

TEST_P(NarrowModels, RunOnRoutinesAndKernels) {
  models::ModelOptions options;
  options.small = true;
  const auto model = models::BuildModel(GetParam().model, options);
  ASSERT_TRUE(model.ok()) << model.status();
  models::Sizes sizes;
  for (const SymbolInfo& info : model->module->symbols().symbols()) {
    sizes[std::string(info.symbol.name())] = info.symbol.name() == "batch" ? 2 : 18;
  }
  const auto wide_inputs = models::MakeInputs(*model, sizes);
  ASSERT_TRUE(wide_inputs.ok()) << wide_inputs.status();
  std::vector<HostTensor> inputs;
  for (const HostTensor& t : *wide_inputs) inputs.push_back(Narrowed(t, GetParam().dtype));
  const auto exact = reference::Run(*model->module->main(), *wide_inputs);
  const auto module = Narrowed(*model->module, GetParam().dtype);
  const auto want = reference::Run(*module->main(), inputs);
  ASSERT_TRUE(exact.ok() && want.ok()) << want.status();

  CompileOptions compile;
  compile.passes = "cpu";
  ASSERT_TRUE(Compile(*module, compile).ok());
  auto plan = Lower(*module->main(), CpuTarget());
  ASSERT_TRUE(plan.ok()) << plan.status();
  for (const Step& step : plan->steps) {
    EXPECT_NE(step.kind, StepKind::kReference) << step.remark;
  }
  CpuOptions cpu;
  cpu.threads = 2;
  cpu.isa = WEFT_TEST_ISA;
  const auto executable = Executable::Create(*std::move(plan), cpu);
  ASSERT_TRUE(executable.ok()) << executable.status();
  const auto got = (*executable)->Run(inputs);
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ((*executable)->stats().fallbacks, 0);
  EXPECT_EQ((*executable)->stats().slow_primitives, 0);
  for (size_t i = 0; i < got->size(); ++i) {
    const double given = RootMeanSquare((*want)[i], (*exact)[i]);
    EXPECT_GT(given, 0);
    EXPECT_LE(RootMeanSquare((*got)[i], (*exact)[i]), 1.5 * given) << "output " << i;
    EXPECT_LE(RootMeanSquare((*got)[i], (*want)[i]), 1.5 * given) << "output " << i;
  }
}

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const char* model : {"resnet50", "mobilenet_v2", "minilm", "gpt2", "mlp"}) {
    for (DType dtype : {DType::kBF16, DType::kF16}) cases.push_back({model, dtype});
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(All, NarrowModels, testing::ValuesIn(Cases()), [](const auto& info) {
  std::string name = absl::StrCat(info.param.model, "_", DTypeName(info.param.dtype));
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
});

}  // namespace
}  // namespace weft::cpu
