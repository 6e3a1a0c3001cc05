#include "tests/serialize/onnx/export/export_cases.h"

#include <map>

#include "absl/strings/str_cat.h"
#include "backends/reference/executor.h"
#include "base/status_macros.h"
#include "graph/ir/builder.h"
#include "graph/ir/graph.h"
#include "graph/ir/op_def.h"
#include "graph/ir/value.h"
#include "graph/ops/evaluate.h"
#include "graph/ops/registry.h"
#include "graph/ops/samples.h"
#include "graph/sym/sym_facts.h"

namespace weft {
namespace {

constexpr uint64_t kSeed = 7;

// One node; nothing when it cannot be made of operands of these types.
std::unique_ptr<Module> OneNode(const Sample& sample, const std::vector<Type>& types) {
  auto module = std::make_unique<Module>(ops::Registry());
  Graph* graph = module->AddFunction("main");
  std::vector<Value*> operands;
  for (Type type : types) {
    if (type.kind() == Type::Kind::kNone) {
      operands.push_back(nullptr);
      continue;
    }
    if (type.is_tensor()) {
      for (SymInt dim : type.dims()) {
        if (dim.is_symbol()) module->symbols().Declare({dim});
      }
    }
    operands.push_back(graph->AddInput(type, absl::StrCat("in", operands.size())));
  }
  Builder b(graph, nullptr, {/*fold=*/false});
  const std::vector<Value*> results = b.Create(*sample.op, operands, sample.attrs);
  if (!b.status().ok()) return nullptr;
  graph->SetOutputs(results);
  return module;
}

absl::StatusOr<std::vector<ExportCase>> Cases(const OpDef& op, bool symbolic) {
  std::vector<ExportCase> cases;
  WEFT_ASSIGN_OR_RETURN(const std::vector<Sample> samples,
                        ParseSamples(op.samples(), ops::Registry()));
  for (const Sample& raw : samples) {
    if (!raw.expected_error.empty()) continue;
    const Sample sample = Instantiate(raw);
    std::vector<Type> types = SampleTypes(sample);
    ExportCase c;
    c.name = absl::StrCat(symbolic ? "symbolic " : "", sample.text);
    for (HostTensor& t : SampleInputs(sample, kSeed)) {
      if (t.valid()) c.inputs.push_back(std::move(t));
    }
    bool changed = false;
    for (Type& type : types) {
      if (!symbolic || !type.is_tensor()) continue;
      std::vector<SymInt> dims(type.dims().begin(), type.dims().end());
      for (SymInt& dim : dims) {
        if (dim.value() <= 1) continue;
        dim = SymInt::Symbol(absl::StrCat("n", dim.value()));
        changed = true;
      }
      type = type.WithDims(dims);
    }
    if (symbolic && !changed) continue;
    c.module = OneNode(sample, types);
    // Attributes need not fit symbols.
    if (c.module == nullptr && symbolic) continue;
    if (c.module == nullptr) return absl::InternalError(c.name);
    auto outputs = reference::Run(*c.module->main(), c.inputs);
    if (!outputs.ok() && symbolic) continue;
    if (!outputs.ok()) return outputs.status();
    c.outputs = *std::move(outputs);
    cases.push_back(std::move(c));
  }
  return cases;
}

}  // namespace

absl::StatusOr<std::vector<ExportCase>> SampleCases(const OpDef& op) { return Cases(op, false); }
absl::StatusOr<std::vector<ExportCase>> SymbolicSampleCases(const OpDef& op) {
  return Cases(op, true);
}

absl::StatusOr<ExportCase> TextCase(const std::string& name, const std::string& text) {
  ExportCase c;
  c.name = name;
  WEFT_ASSIGN_OR_RETURN(c.module, ParseModule(text, ops::Registry()));
  const Graph& graph = *c.module->main();
  std::map<std::string, int64_t> sizes;
  Sample sample;
  for (const Value* input : graph.inputs()) {
    const Type type = input->type().Substitute([&](SymInt symbol) -> std::optional<SymInt> {
      const auto at =
          sizes.emplace(std::string(symbol.name()), 3 + static_cast<int64_t>(sizes.size()));
      return SymInt(at.first->second);
    });
    SampleOperand operand;
    operand.type = type;
    if (type.is_tensor() && IsInt(type.dtype())) {
      operand.min = 0;
      operand.max = 3;
    }
    sample.operands.push_back(operand);
  }
  c.inputs = SampleInputs(sample, kSeed);
  WEFT_ASSIGN_OR_RETURN(c.outputs, reference::Run(graph, c.inputs));
  return c;
}

}  // namespace weft
