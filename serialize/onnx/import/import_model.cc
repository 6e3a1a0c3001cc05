// The model as a whole: header, inputs, nodes in order, outputs.
#include "serialize/onnx/import/import_model.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/annotate.h"
#include "graph/ir/op_registry.h"
#include "graph/ir/provenance.h"
#include "graph/ir/value.h"
#include "graph/ops/registry.h"
#include "graph/sym/sym_facts.h"
#include "graph/tensor/type.h"
#include "serialize/onnx/import/import_own_op.h"
#include "serialize/onnx/import/import_tables.h"

namespace weft::onnx_import {

std::string NormalizeDomain(absl::string_view domain) {
  return domain == "ai.onnx" ? "" : std::string(domain);
}

int OpsetOf(const Opsets& opsets, const std::string& domain) {
  auto it = opsets.find(domain);
  if (it != opsets.end()) return it->second;
  return domain.empty() ? 0 : 1;
}

std::string NodeName(const ::onnx::NodeProto& node) {
  if (!node.name().empty()) return node.name();
  for (const std::string& output : node.output()) {
    if (!output.empty()) return output;
  }
  return node.op_type();
}

std::string OperatorName(const ::onnx::NodeProto& node) {
  const std::string domain = NormalizeDomain(node.domain());
  return domain.empty() ? node.op_type() : absl::StrCat(domain, "::", node.op_type());
}

std::string DescribeNode(const ::onnx::NodeProto& node) {
  return absl::StrCat(OperatorName(node), " node '", NodeName(node), "'");
}

namespace {

// A name that the text form accepts as a symbol.
std::string SymbolName(absl::string_view dim_param) {
  constexpr size_t kMaxLength = 64;
  std::string name;
  for (char c : dim_param.substr(0, kMaxLength)) {
    name += absl::ascii_isalnum(static_cast<unsigned char>(c)) ? c : '_';
  }
  if (name.empty() || !absl::ascii_isalpha(name[0])) name = "d_" + name;
  // Renames keywords of the text form and names like u0, which are those of unbacked symbols.
  for (absl::string_view word : {"min", "max", "broadcast", "inf", "nan", "true", "false", "none",
                                 "where", "floordiv", "mod", "ceildiv"}) {
    if (name == word) return name + "_";
  }
  return name;
}

}  // namespace

ModelImporter::ModelImporter(::onnx::ModelProto* model, std::string base_dir,
                             const OnnxImportOptions& options)
    : model_(model),
      options_(options),
      loader_(std::move(base_dir), options.max_tensor_bytes),
      module_(std::make_unique<Module>(options.registry == nullptr ? ops::Registry()
                                                                   : *options.registry)),
      symbolic_(*module_) {}

absl::Status ModelImporter::CheckHeader() {
  if (!model_->has_graph()) {
    return absl::InvalidArgumentError("the model has no graph");
  }
  for (const auto& import : model_->opset_import()) {
    const std::string domain = NormalizeDomain(import.domain());
    const int64_t version = import.version();
    if (version < 1 || version > (1 << 30)) {
      return absl::InvalidArgumentError(
          absl::StrCat("opset ", version, " of domain '", domain, "' is not a version"));
    }
    if (domain.empty() && version > kMaxOpset) {
      return absl::UnimplementedError(absl::StrCat(
          "opset ", version, " of ai.onnx is newer than the last one known, ", kMaxOpset));
    }
    opsets_[domain] = static_cast<int>(version);
  }
  if (opsets_.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the model imports no opset (IR version ", model_->ir_version(), ")"));
  }
  for (const ::onnx::FunctionProto& function : model_->functions()) {
    WEFT_RETURN_IF_ERROR(functions_.Add(function));
  }
  return absl::OkStatus();
}

absl::Status ModelImporter::DeclareDimParams() {
  std::map<std::string, int> taken;
  for (const auto& input : model_->graph().input()) {
    for (const auto& dim : input.type().tensor_type().shape().dim()) {
      if (dim.dim_param().empty() || dim_params_.count(dim.dim_param())) {
        continue;
      }
      std::string name = SymbolName(dim.dim_param());
      // "a b" and "a_b" become different symbols.
      const int before = taken[name]++;
      if (before > 0) name = absl::StrCat(name, "__", before);
      SymbolInfo info;
      info.symbol = SymInt::Symbol(name);
      module_->symbols().Declare(info);
      dim_params_[dim.dim_param()] = std::move(name);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Type> ModelImporter::InputType(const ::onnx::ValueInfoProto& info) {
  const auto& proto = info.type();
  if (!proto.has_tensor_type()) {
    return absl::UnimplementedError(
        proto.value_case() == ::onnx::TypeProto::VALUE_NOT_SET
            ? "it declares no type"
            : "only tensors are supported, not sequences, optionals, maps or "
              "sparse tensors");
  }
  WEFT_ASSIGN_OR_RETURN(const DType dtype, HeldDType(proto.tensor_type().elem_type()));
  std::vector<SymInt> dims;
  if (proto.tensor_type().shape().dim_size() > Type::kMaxRank) {
    return absl::InvalidArgumentError(absl::StrCat(
        "it has ", proto.tensor_type().shape().dim_size(), " dims; the limit is ", Type::kMaxRank));
  }
  if (!proto.tensor_type().has_shape()) {
    const HostTensor* given = GivenValue(info);
    if (given == nullptr) {
      return absl::InvalidArgumentError(
          "it declares no shape; pass a value, whose rank it then has");
    }
    for (int64_t size : given->dims()) {
      SymbolInfo symbol;
      symbol.hint = size;
      dims.push_back(module_->symbols().Fresh("s", symbol));
    }
    return Type::Tensor(dtype, dims);
  }
  for (const auto& dim : proto.tensor_type().shape().dim()) {
    dims.push_back(InputDim(dim));
  }
  return Type::Tensor(dtype, dims);
}

SymInt ModelImporter::InputDim(const ::onnx::TensorShapeProto::Dimension& dim) {
  if (dim.has_dim_value() && dim.dim_value() >= 0) return dim.dim_value();
  if (dim.dim_param().empty()) return module_->symbols().Fresh("s");
  return SymInt::Symbol(dim_params_[dim.dim_param()]);
}

const HostTensor* ModelImporter::GivenValue(const ::onnx::ValueInfoProto& info) const {
  auto given = input_values_.find(info.name());
  return given == input_values_.end() ? nullptr : &given->second;
}

void ModelImporter::NameValues(absl::Span<const ::onnx::ValueInfoProto* const> inputs) {
  input_values_ = options_.input_values;
  const auto& values = options_.positional_values;
  for (size_t i = 0; i < std::min(inputs.size(), values.size()); ++i) {
    const auto& declared = inputs[i]->type().tensor_type();
    auto dtype = HeldDType(declared.elem_type());
    const bool fits = dtype.ok() && *dtype == values[i].dtype() &&
                      (!declared.has_shape() || declared.shape().dim_size() == values[i].rank());
    if (fits) input_values_.emplace(inputs[i]->name(), values[i]);
  }
}

namespace {

int NarrowOrZero(int data_type) { return FindNarrowType(data_type) == nullptr ? 0 : data_type; }

}  // namespace

absl::Status ModelImporter::AddInputs(Scope* scope) {
  absl::flat_hash_map<absl::string_view, bool> initialized;
  for (const auto& tensor : model_->graph().initializer()) {
    initialized[tensor.name()] = true;
  }
  std::vector<const ::onnx::ValueInfoProto*> inputs;
  for (const auto& info : model_->graph().input()) {
    if (!initialized.contains(info.name())) inputs.push_back(&info);
  }
  NameValues(inputs);
  for (const ::onnx::ValueInfoProto* input : inputs) {
    const ::onnx::ValueInfoProto& info = *input;
    const std::string what = absl::StrCat("input '", info.name(), "'");
    auto type = InputType(info);
    if (!type.ok()) return Annotate(type.status(), what);
    if (!type->numel().is_valid()) {
      return absl::InvalidArgumentError(
          absl::StrCat(what, ": the size of ", type->ToString(), " overflows"));
    }
    Value* value = scope->graph->AddInput(*type, info.name());
    WEFT_RETURN_IF_ERROR(
        Define(scope, info.name(), value, NarrowOrZero(info.type().tensor_type().elem_type())));
    const HostTensor* given = GivenValue(info);
    if (given == nullptr) continue;
    const Type actual = given->type();
    if (actual.dtype() != type->dtype() || actual.rank() != type->rank()) {
      return absl::InvalidArgumentError(absl::StrCat(what, " is ", type->ToString(),
                                                     ", but the value given ", "for it is ",
                                                     actual.ToString()));
    }
    given_[value] = given;
    for (int d = 0; d < type->rank(); ++d) {
      if (type->dim(d).is_symbol()) given_sizes_.emplace(type->dim(d), given->dim(d));
    }
  }
  return absl::OkStatus();
}

namespace {

// Compares the declared element type of an output with the computed one. Declared shapes of outputs
// are hints that many exporters get wrong; runtimes ignore them.
absl::Status CheckDeclared(const ::onnx::ValueInfoProto& info, Type type, int narrow_type) {
  const int declared = info.type().tensor_type().elem_type();
  if (declared == 0) return absl::OkStatus();
  auto dtype = HeldDType(declared);
  if (dtype.ok() && *dtype == type.dtype() && NarrowOrZero(declared) == narrow_type) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("output '", info.name(), "' is declared as ", OnnxTypeName(declared),
                   ", but the graph computes ", type.ToString(), narrow_type == 0 ? "" : " of ",
                   narrow_type == 0 ? "" : OnnxTypeName(narrow_type)));
}

}  // namespace

absl::Status ModelImporter::SetMainOutputs(Scope* scope) {
  WEFT_ASSIGN_OR_RETURN(const std::vector<Value*> values, Outputs(scope, model_->graph()));
  std::vector<std::string> names;
  for (size_t i = 0; i < values.size(); ++i) {
    const auto& info = model_->graph().output(static_cast<int>(i));
    WEFT_RETURN_IF_ERROR(CheckDeclared(info, values[i]->type(), NarrowTypeOf(scope, info.name())));
    names.push_back(info.name());
  }
  scope->graph->SetOutputs(values);
  scope->graph->output_names() = std::move(names);
  return absl::OkStatus();
}

absl::Status ModelImporter::ImportNodes(Scope* scope, const NodeProtos& nodes) {
  WEFT_ASSIGN_OR_RETURN(const std::vector<int> order, OrderNodes(nodes));
  const bool reports = options_.progress && scope->parent == nullptr && scope->frame == nullptr;
  int64_t done = 0;
  for (int i : order) {
    absl::Status status = ImportNode(scope, nodes[i]);
    if (!status.ok()) return Annotate(status, DescribeNode(nodes[i]));
    if (!reports) continue;
    const int64_t units = kImportUnits / 2 * ++done / static_cast<int64_t>(order.size());
    options_.progress(kImportUnits / 2 + units, kImportUnits);
  }
  return absl::OkStatus();
}

absl::Status ModelImporter::PassNarrowTypes(NodeContext& c) {
  const NarrowUse use = NarrowUseOf(c.op_type());
  for (int i = 0; i < c.num_inputs(); ++i) {
    const int type = c.narrow_type(i);
    if (type == 0) continue;
    if (use == NarrowUse::kNone || !NormalizeDomain(c.node().domain()).empty()) {
      return c.Unsupported(absl::StrCat(c.InputText(i), " is of ", OnnxTypeName(type),
                                        ", which the operator does not take"));
    }
    if (use == NarrowUse::kMoves && i == 0 && c.num_outputs() > 0) c.SetNarrowType(0, type);
  }
  return absl::OkStatus();
}

namespace {

// Bytes of a node that count as much as one node.
constexpr int64_t kBytesPerNode = 1024;

// Nodes of functions and nested graphs may be imported many times, so their bytes count too.
int64_t CostOf(const Scope& scope, const ::onnx::NodeProto& node) {
  if (scope.frame == nullptr && scope.parent == nullptr) return 1;
  return 1 + static_cast<int64_t>(node.ByteSizeLong()) / kBytesPerNode;
}

// Nodes of the file, including functions and nested graphs.
int64_t CountNodes(const ::onnx::ModelProto& model) {
  int64_t count = 0;
  std::vector<const NodeProtos*> pending = {&model.graph().node()};
  for (const auto& function : model.functions()) pending.push_back(&function.node());
  while (!pending.empty()) {
    const NodeProtos& nodes = *pending.back();
    pending.pop_back();
    count += nodes.size();
    for (const auto& node : nodes) {
      for (const auto& attr : node.attribute()) {
        if (attr.has_g()) pending.push_back(&attr.g().node());
        for (const auto& graph : attr.graphs()) pending.push_back(&graph.node());
      }
    }
  }
  return count;
}

// Limit of nodes after inlining: functions that call functions grow exponentially with their depth;
// real models are far below the limit.
int64_t MaxNodes(const ::onnx::ModelProto& model) {
  constexpr int64_t kFloor = int64_t{1} << 18;
  constexpr int64_t kGrowth = 256;
  const auto bytes = static_cast<int64_t>(model.ByteSizeLong());
  return std::max(kFloor, kGrowth * (CountNodes(model) + bytes / kBytesPerNode));
}

}  // namespace

absl::Status ModelImporter::TooLarge(const Scope& scope) const {
  const auto* function = scope.frame == nullptr ? nullptr : scope.frame->function;
  return absl::ResourceExhaustedError(absl::StrCat(
      "the model has more than ", options_.max_nodes, " nodes once its functions are inlined",
      function == nullptr ? std::string()
                          : absl::StrCat("; function ", function->domain(), "::", function->name(),
                                         " is one that is called too often")));
}

absl::Status ModelImporter::ImportNode(Scope* scope, const ::onnx::NodeProto& node) {
  nodes_imported_ += CostOf(*scope, node);
  if (nodes_imported_ > options_.max_nodes) return TooLarge(*scope);
  const std::string domain = NormalizeDomain(node.domain());
  const int opset = OpsetOf(*scope->opsets, domain);
  NodeContext c(this, scope, node, opset);
  scope->builder.set_provenance(
      module_->provenance().Leaf(InlinedName(scope->frame, NodeName(node))));
  for (const std::string& name : node.input()) {
    Value* value = nullptr;
    if (!name.empty()) {
      WEFT_ASSIGN_OR_RETURN(value, Lookup(scope, name));
    }
    c.inputs_.push_back(value);
    c.narrow_inputs_.push_back(NarrowTypeOf(scope, name));
  }
  absl::Status status;
  if (const OpDef* own = module_->registry().FindInOnnx(domain, node.op_type())) {
    WEFT_RETURN_IF_ERROR(PassNarrowTypes(c));
    status = ImportOwnOp(c, *own);
  } else if (const auto* function = functions_.Find(node)) {
    status = CallFunction(c, *function);
  } else {
    const FoundOp found = FindOp(domain, node.op_type(), opset);
    if (found.op == nullptr) {
      return absl::UnimplementedError("the operator is not supported");
    }
    WEFT_RETURN_IF_ERROR(PassNarrowTypes(c));
    status = found.op->fn(c);
  }
  WEFT_RETURN_IF_ERROR(c.Finish(std::move(status)));
  for (int i = 0; i < node.output_size(); ++i) {
    WEFT_RETURN_IF_ERROR(Define(scope, node.output(i), c.outputs_[i], c.narrow_outputs_[i]));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Module>> ModelImporter::Run() {
  WEFT_RETURN_IF_ERROR(CheckHeader());
  WEFT_RETURN_IF_ERROR(CheckOperators(*model_, opsets_, functions_, module_->registry()));
  options_.max_nodes = std::min(options_.max_nodes, MaxNodes(*model_));
  WEFT_RETURN_IF_ERROR(DeclareDimParams());
  Scope scope(nullptr, module_->AddFunction("main"));
  scope.opsets = &opsets_;
  WEFT_RETURN_IF_ERROR(AddInputs(&scope));
  WEFT_RETURN_IF_ERROR(ImportBody(&scope, model_->graph()));
  WEFT_RETURN_IF_ERROR(SetMainOutputs(&scope));
  return std::move(module_);
}

}  // namespace weft::onnx_import
