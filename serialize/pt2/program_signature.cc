// Imports the inputs and outputs of the program.
#include <algorithm>
#include <set>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/annotate.h"
#include "base/status_macros.h"
#include "graph/ir/builder.h"
#include "graph/ir/constant_store.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/value.h"
#include "graph/tensor/tensor.h"
#include "serialize/pt2/program_importer.h"
#include "serialize/pt2/pytree.h"

namespace weft::pt2 {
namespace {

using Kind = Argument::Kind;

// Sets of names that may share memory.
class Aliases {
 public:
  int Find(const std::string& name) {
    auto [it, added] = ids_.emplace(name, static_cast<int>(parent_.size()));
    if (added) parent_.push_back(it->second);
    int id = it->second;
    while (parent_[id] != id) id = parent_[id] = parent_[parent_[id]];
    return id;
  }
  void Join(const std::string& a, const std::string& b) { parent_[Find(a)] = Find(b); }

 private:
  std::map<std::string, int> ids_;
  std::vector<int> parent_;
};

// Calls `fn` for every name in an argument.
void ForEachName(const Argument& a, const std::function<void(const std::string&)>& fn) {
  if (a.is(Kind::kTensor)) fn(a.name);
  for (const Argument& item : a.items) ForEachName(item, fn);
}

// Calls `fn` for every name that the nodes or the results of the graph read.
void ForEachRead(const GraphDef& graph, const std::function<void(const std::string&)>& fn) {
  for (const NodeDef& node : graph.nodes) {
    for (const NodeDef::Input& input : node.inputs) {
      ForEachName(input.value, fn);
      if (input.value.graph != nullptr) ForEachRead(*input.value.graph, fn);
    }
  }
  for (const Argument& output : graph.outputs) ForEachName(output, fn);
}

// Normalizations that write their running statistics in training.
bool WritesStatistics(const NodeDef& node) {
  static constexpr absl::string_view kNorms[] = {
      "torch.ops.aten._native_batch_norm_legit.default", "torch.ops.aten.batch_norm.default",
      "torch.ops.aten.instance_norm.default", "torch.ops.aten.native_batch_norm.default"};
  if (node.target == "torch.ops.aten._batch_norm_with_update.default") return true;
  if (std::find(std::begin(kNorms), std::end(kNorms), node.target) == std::end(kNorms)) {
    return false;
  }
  bool training = false;
  for (const NodeDef::Input& input : node.inputs) {
    if (input.name == "training" || input.name == "use_input_stats") {
      training = input.value.integer != 0;
    }
  }
  return training;
}

class WriteFinder {
 public:
  void Visit(const GraphDef& graph, const std::string& prefix) {
    for (const NodeDef& node : graph.nodes) VisitNode(node, prefix);
  }
  bool found() const { return !written_.empty(); }
  bool IsWritten(const std::string& name) {
    const int id = aliases_.Find(name);
    return std::any_of(written_.begin(), written_.end(),
                       [&](const std::string& w) { return aliases_.Find(w) == id; });
  }

 private:
  void VisitNode(const NodeDef& node, const std::string& prefix) {
    const KnownOp* op = FindAten(node.target);
    const KnownOp* twin = op == nullptr ? FindWritten(node.target) : nullptr;
    const AtenSchema* schema = op != nullptr     ? &op->schema
                               : twin != nullptr ? &twin->schema
                                                 : nullptr;
    const bool views = schema == nullptr || schema->IsView();
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const NodeDef::Input& input = node.inputs[i];
      if (input.value.graph != nullptr) {
        VisitRegion(node, i, prefix);
        continue;
      }
      const int arg = schema == nullptr ? -1 : schema->Find(input.name);
      const bool first = twin != nullptr && arg == 0;
      const bool writes = (first && !twin->schema.IsView()) ||
                          (op != nullptr && arg >= 0 && schema->args[arg].written) ||
                          (WritesStatistics(node) && absl::StartsWith(input.name, "running_"));
      // Results of unknown operators may share memory with any argument.
      const bool aliased =
          schema == nullptr || first || (views && arg >= 0 && !schema->args[arg].alias.empty());
      ForEachName(input.value, [&](const std::string& name) {
        if (writes) written_.push_back(prefix + name);
        if (!aliased) return;
        for (const Argument& output : node.outputs) {
          ForEachName(output, [&](const std::string& result) {
            aliases_.Join(prefix + name, prefix + result);
          });
        }
      });
    }
  }

  // The inputs of a nested graph are the tensors after it in the argument list, in order.
  void VisitRegion(const NodeDef& node, size_t i, const std::string& prefix) {
    const GraphDef& graph = *node.inputs[i].value.graph;
    const std::string inner = absl::StrCat(prefix, node.inputs[i].value.name, "#", ++regions_, "/");
    std::vector<std::string> operands;
    for (size_t k = i + 1; k < node.inputs.size(); ++k) {
      ForEachName(node.inputs[k].value, [&](const std::string& name) { operands.push_back(name); });
    }
    size_t next = 0;
    for (const Argument& input : graph.inputs) {
      if (input.is(Kind::kTensor) && next < operands.size()) {
        aliases_.Join(prefix + operands[next++], inner + input.name);
      }
    }
    Visit(graph, inner);
  }

  Aliases aliases_;
  std::vector<std::string> written_;
  int regions_ = 0;
};

}  // namespace

void ProgramImporter::FindWritten() {
  WriteFinder finder;
  finder.Visit(program_.graph, "");
  has_writes_ = finder.found();
  std::set<std::string> mutated;
  for (const OutputSpec& spec : program_.outputs) {
    if (spec.kind == OutputSpec::Kind::kBufferMutation) {
      mutated.insert(spec.target);
    }
  }
  for (const InputSpec& spec : program_.inputs) {
    if (spec.kind == InputSpec::Kind::kUser || spec.kind == InputSpec::Kind::kConstantInput) {
      continue;
    }
    if (mutated.count(spec.target) > 0 || (has_writes_ && finder.IsWritten(spec.name))) {
      written_[spec.name] = true;
    }
  }
}

void ProgramImporter::FindRead() {
  ForEachRead(program_.graph, [&](const std::string& name) { read_.insert(name); });
}

// --- Inputs ---------------------------------------------------------------------

absl::Status ProgramImporter::AddInputs(Scope* scope) {
  const GraphDef& def = program_.graph;
  if (program_.inputs.size() != def.inputs.size()) {
    return absl::InvalidArgumentError(absl::StrCat("the signature has ", program_.inputs.size(),
                                                   " inputs, the graph ", def.inputs.size()));
  }
  for (const InputSpec& spec : program_.inputs) {
    absl::Status status;
    switch (spec.kind) {
      case InputSpec::Kind::kUser:
        status = AddUserInput(scope, spec);
        break;
      case InputSpec::Kind::kConstantInput:
        status = AddFixedInput(scope, spec);
        break;
      default:
        status = AddTensor(scope, spec);
        break;
    }
    if (!status.ok()) {
      return Annotate(status, absl::StrCat("input '", spec.name, "'"));
    }
    Advance();
  }
  return CheckCallSpec(program_);
}

absl::Status ProgramImporter::AddUserInput(Scope* scope, const InputSpec& spec) {
  Graph* main = scope->builder->graph();
  switch (spec.value.kind) {
    case Kind::kTensor:
      break;
    case Kind::kSymInt: {
      const auto size = program_.graph.sym_ints.find(spec.value.name);
      if (size == program_.graph.sym_ints.end()) {
        return absl::InvalidArgumentError("the file does not say what it is");
      }
      WEFT_ASSIGN_OR_RETURN(const SymInt value, ParseSize(size->second, true));
      main->AddInput(Type::Symbolic(value), spec.value.name);
      scope->names[spec.value.name] = Arg::Int(value);
      return absl::OkStatus();
    }
    case Kind::kNone:
    case Kind::kString:
      return absl::OkStatus();
    case Kind::kInt:
    case Kind::kFloat:
    case Kind::kBool:
      return AddFixedInput(scope, spec);
    default:
      return absl::UnimplementedError("inputs of this kind are not supported");
  }
  const auto meta = program_.graph.tensors.find(spec.value.name);
  if (meta == program_.graph.tensors.end()) {
    return absl::InvalidArgumentError("the file has no type for it");
  }
  if (!meta->second.dtype || !meta->second.strided) {
    return absl::UnimplementedError(absl::StrCat(DTypeNumberName(meta->second.dtype_number),
                                                 meta->second.strided ? "" : ", not strided,",
                                                 " is not supported"));
  }
  std::vector<SymInt> dims;
  for (const SizeExpr& size : meta->second.sizes) {
    WEFT_ASSIGN_OR_RETURN(const SymInt dim, ParseSize(size, true));
    if (dim.is_constant() && dim.value() < 0) {
      return absl::InvalidArgumentError("a size is negative");
    }
    dims.push_back(dim);
  }
  Value* value = main->AddInput(Type::Tensor(*meta->second.dtype, dims), spec.name);
  scope->names[spec.value.name] = Arg::Tensor(value);
  return absl::OkStatus();
}

// The program is valid only for this value. If the graph input has a name, that becomes a literal.
absl::Status ProgramImporter::AddFixedInput(Scope* scope, const InputSpec& spec) {
  HostTensor tensor;
  switch (spec.value.kind) {
    case Kind::kInt:
      tensor = HostTensor::ScalarInt(DType::kI64, spec.value.integer);
      break;
    case Kind::kBool:
      tensor = HostTensor::ScalarInt(DType::kBool, spec.value.integer);
      break;
    case Kind::kFloat:
      tensor = HostTensor::Scalar(DType::kF64, spec.value.number);
      break;
    default:
      return absl::OkStatus();
  }
  Graph* main = scope->builder->graph();
  const Value* value = main->AddInput(tensor.type(), spec.name);
  main->input_info(value->index()).value = module_->constants().Add(tensor);
  if (!spec.name.empty()) {
    WEFT_ASSIGN_OR_RETURN(scope->names[spec.name], Resolve(scope, spec.value));
  }
  return absl::OkStatus();
}

// --- Outputs --------------------------------------------------------------------

absl::Status ProgramImporter::SetOutputs(Scope* scope) {
  Graph* main = scope->builder->graph();
  std::vector<Value*> outputs;
  std::vector<std::string> names;
  std::map<int, Value*> written;  // By input.
  int position = 0;
  for (const OutputSpec& spec : program_.outputs) {
    WEFT_ASSIGN_OR_RETURN(Arg arg, Resolve(scope, spec.value));
    if (spec.kind == OutputSpec::Kind::kUser) {
      ++position;
      if (!arg.present()) continue;
      WEFT_ASSIGN_OR_RETURN(auto values, TensorsOf(scope, {arg}));
      outputs.push_back(values[0]);
      names.push_back(spec.value.name.empty() ? absl::StrCat("output_", position - 1)
                                              : spec.value.name);
      continue;
    }
    if (!arg.is(Arg::Kind::kTensor)) {
      return absl::InvalidArgumentError(
          absl::StrCat("what is written to '", spec.target, "' is no tensor"));
    }
    WEFT_RETURN_IF_ERROR(AddWriteBack(scope, spec, arg.value, &written));
  }
  FinishState(scope, &written);
  std::vector<int> write_backs;
  for (const auto& [input, value] : written) {
    write_backs.push_back(input);
    outputs.push_back(value);
    const InputInfo& info = main->input_info(input);
    names.push_back(info.param.empty() ? info.name : info.param);
  }
  main->SetOutputs(outputs);
  std::set<std::string> taken;
  for (std::string& name : names) {
    // One value may be several outputs.
    const std::string stem = name;
    for (int n = 1; !taken.insert(name).second; ++n) {
      name = absl::StrCat(stem, "_", n);
    }
  }
  main->output_names() = names;
  main->SetWriteBacks(write_backs);
  return absl::OkStatus();
}

}  // namespace weft::pt2
