// Imports the program as a whole, and its nodes.
#include "serialize/pt2/program_importer.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/annotate.h"
#include "base/status_macros.h"
#include "graph/ir/provenance.h"
#include "graph/ir/value.h"
#include "graph/ops/elementwise.h"
#include "graph/ops/ops.h"
#include "graph/ops/registry.h"
#include "serialize/pt2/autocast.h"
#include "serialize/pt2/build.h"
#include "serialize/pt2/memory_layout.h"

namespace weft::pt2 {
namespace {

using Kind = Argument::Kind;

bool IsHigherOrder(absl::string_view target) {
  return absl::StartsWith(target, "torch.ops.higher_order.") || target == kVmapTarget;
}

bool IsScalarTarget(absl::string_view target) {
  return absl::StartsWith(target, "_operator.") || absl::StartsWith(target, "torch.sym_") ||
         absl::StartsWith(target, "math.");
}

// The last line of the stack trace that names a file.
std::string SourceLine(const std::string& trace) {
  std::string found;
  for (absl::string_view line : absl::StrSplit(trace, '\n')) {
    line = absl::StripAsciiWhitespace(line);
    if (absl::StartsWith(line, "File ")) found = std::string(line);
  }
  return found.empty() ? "" : absl::StrCat(", ", found);
}

std::string NodeName(const NodeDef& node) {
  if (!node.name.empty()) return node.name;
  for (const Argument& output : node.outputs) {
    if (!output.name.empty()) return output.name;
  }
  return node.target;
}

// The module path of the node: "encoder/layer.0/attn/" for the stack
// "L__self__,,Net;...;L__self___encoder_layer_0_attn,encoder.layer.0.attn,Attention", whose entries
// are a key, the module's path and its class. "" if there is none. Malformed paths are ignored,
// because the text is not trusted.
std::string ModulePath(absl::string_view stack) {
  constexpr size_t kMaxPath = 400;
  const size_t begin = stack.rfind(';');
  const absl::string_view last = begin == absl::string_view::npos ? stack : stack.substr(begin + 1);
  std::vector<absl::string_view> parts = absl::StrSplit(last, absl::MaxSplits(',', 2));
  if (parts.size() < 2 || parts[1].size() > kMaxPath) return "";
  absl::ConsumePrefix(&parts[1], "L['self'].");
  std::string path;
  for (absl::string_view part : absl::StrSplit(parts[1], '.', absl::SkipEmpty())) {
    if (absl::StrContains(part, '/')) return "";
    // A number is an index of the list before it.
    if (!path.empty()) {
      path += std::all_of(part.begin(), part.end(), absl::ascii_isdigit) ? '.' : '/';
    }
    absl::StrAppend(&path, part);
  }
  return path.empty() ? "" : path + "/";
}

// The result is a view of the first argument, whose name refers to the view from then on.
bool ResizesItsArgument(const AtenSchema& schema) {
  return schema.name == "resize_.default" || schema.name == "resize_as_.default";
}

}  // namespace

std::string DescribeNode(const NodeDef& node) {
  return absl::StrCat("node '", NodeName(node), "' (", node.target, ")");
}

ProgramImporter::ProgramImporter(const ExportedProgram* program, Weights* weights,
                                 const Pt2ImportOptions& options)
    : program_(*program),
      weights_(*weights),
      options_(options),
      module_(std::make_unique<Module>(options.registry == nullptr ? ops::Registry()
                                                                   : *options.registry)) {}

absl::StatusOr<std::unique_ptr<Module>> ProgramImporter::Run() {
  std::vector<std::string> unknown;
  WEFT_RETURN_IF_ERROR(CheckTargets(program_.graph, &unknown));
  if (!unknown.empty()) {
    return absl::UnimplementedError(
        absl::StrCat("operators that are not supported: ", absl::StrJoin(unknown, "; ")));
  }
  FindWritten();
  FindRead();
  WEFT_RETURN_IF_ERROR(FindShared());
  WEFT_RETURN_IF_ERROR(DeclareSymbols());
  Builder builder(module_->AddFunction("main"), nullptr, BuilderOptions());
  Scope scope(&program_.graph, &builder, &random_);
  WEFT_RETURN_IF_ERROR(AddInputs(&scope));
  WEFT_RETURN_IF_ERROR(AssumeGuards(*builder.graph()));
  WEFT_RETURN_IF_ERROR(ImportBody(&scope));
  try {
    WEFT_RETURN_IF_ERROR(SetOutputs(&scope));
  } catch (const AtenCall::Stop&) {
  }
  WEFT_RETURN_IF_ERROR(builder.status());
  return std::move(module_);
}

// Folding is off if there are writes: a later write may distinguish a view or copy from its
// operand.
Builder::Options ProgramImporter::BuilderOptions() const {
  Builder::Options options;
  options.fold = !has_writes_;
  return options;
}

absl::Status ProgramImporter::CheckTargets(const GraphDef& graph,
                                           std::vector<std::string>* unknown) {
  constexpr size_t kMaxListed = 200;
  for (const NodeDef& node : graph.nodes) {
    for (const NodeDef::Input& input : node.inputs) {
      if (input.value.graph == nullptr) continue;
      WEFT_RETURN_IF_ERROR(CheckTargets(*input.value.graph, unknown));
    }
    if (IsHigherOrder(node.target) || IsScalarTarget(node.target) ||
        FindAten(node.target) != nullptr || pt2::FindWritten(node.target) != nullptr ||
        unknown->size() >= kMaxListed) {
      continue;
    }
    const absl::string_view reason = ReasonForAbsence(node.target);
    unknown->push_back(absl::StrCat(node.target, " (node '", NodeName(node), "'",
                                    reason.empty() ? "" : ": ", reason, ")"));
  }
  return absl::OkStatus();
}

absl::Status ProgramImporter::ImportBody(Scope* scope) {
  for (const NodeDef& node : scope->def->nodes) {
    if (++nodes_ > options_.max_nodes) {
      return absl::ResourceExhaustedError(
          absl::StrCat("the program has more than ", options_.max_nodes, " nodes"));
    }
    absl::Status status;
    try {
      status = ImportNode(scope, node);
    } catch (const AtenCall::Stop&) {
    }
    if (status.ok()) status = scope->builder->status();
    if (!status.ok()) {
      return Annotate(status, absl::StrCat(DescribeNode(node), SourceLine(node.stack_trace)));
    }
    if (scope->def == &program_.graph) Advance();
  }
  return absl::OkStatus();
}

void ProgramImporter::Advance() {
  if (!options_.progress) return;
  options_.progress(++done_,
                    static_cast<int64_t>(program_.inputs.size() + program_.graph.nodes.size()));
}

absl::Status ProgramImporter::ImportNode(Scope* scope, const NodeDef& node) {
  scope->builder->set_provenance(module_->provenance().Leaf(
      absl::StrCat(scope->prefix, ModulePath(node.module_stack), NodeName(node))));
  if (const KnownOp* op = FindAten(node.target)) {
    return ImportAten(scope, node, *op);
  }
  if (const KnownOp* op = pt2::FindWritten(node.target)) {
    return ImportWritten(scope, node, *op);
  }
  bool done = false;
  WEFT_RETURN_IF_ERROR(ImportHigherOrder(scope, node, &done));
  if (!done) {
    WEFT_RETURN_IF_ERROR(ImportScalar(scope, node, &done));
  }
  if (done) return absl::OkStatus();
  return absl::UnimplementedError("the operator is not supported");
}

absl::Status ProgramImporter::ImportAten(Scope* scope, const NodeDef& node, const KnownOp& op) {
  WEFT_ASSIGN_OR_RETURN(Args args, PlaceArguments(scope, node, op.schema));
  ApplyAutocast(scope, node.target, &args);
  AtenCall call(op.schema, args, scope->builder);
  std::vector<std::optional<AtenCall::Layout>> layouts(args.size());
  for (const NodeDef::Input& input : node.inputs) {
    const int i = op.schema.Find(input.name);
    if (i >= 0) layouts[i] = LayoutOf(*scope, input.value);
  }
  call.set_layouts(std::move(layouts));
  call.set_draws([=] { return NextDraw(scope); });
  if (node.outputs.size() == 1 && node.outputs[0].is(Kind::kList)) {
    call.set_list_size(static_cast<int64_t>(node.outputs[0].items.size()));
  }
  op.fn(call);
  WEFT_RETURN_IF_ERROR(call.status());
  Args results = std::move(call.results());
  const bool resizes = ResizesItsArgument(op.schema);
  const bool copies = !op.schema.IsView() || CopiesByLayout(node, *scope->def);
  if (has_writes_ && copies && !resizes) CloneViews(scope, args, &results);
  for (const auto& [arg, value] : call.writes()) {
    WEFT_ASSIGN_OR_RETURN(Value * written, Write(scope, args[arg], value));
    // The result is the argument itself.
    for (size_t i = 0; i < results.size() && i < op.schema.results.size(); ++i) {
      const AtenResult& result = op.schema.results[i];
      if (result.written && result.alias == op.schema.args[arg].alias) {
        results[i] = Arg::Tensor(written);
      }
    }
  }
  if (resizes) Rename(scope, node, op.schema, results[0]);
  return SetResults(scope, node, std::move(results));
}

// The name of the first argument refers to `value` from now on.
void ProgramImporter::Rename(Scope* scope, const NodeDef& node, const AtenSchema& schema,
                             const Arg& value) {
  for (const NodeDef::Input& input : node.inputs) {
    if (input.name == schema.args[0].name) scope->names[input.value.name] = value;
  }
}

// `add_` is add, whose result is written to the first argument. For a view op (`unsqueeze_`) the
// name refers to the view from then on.
absl::Status ProgramImporter::ImportWritten(Scope* scope, const NodeDef& node, const KnownOp& op) {
  WEFT_ASSIGN_OR_RETURN(Args args, PlaceArguments(scope, node, op.schema));
  if (args.empty() || !args[0].is(Arg::Kind::kTensor)) {
    return absl::InvalidArgumentError("its first argument is no tensor");
  }
  AtenCall call(op.schema, args, scope->builder);
  call.set_draws([=] { return NextDraw(scope); });
  op.fn(call);
  WEFT_RETURN_IF_ERROR(call.status());
  if (call.results().empty() || call.results()[0].value == nullptr) {
    return absl::InternalError("the import function gave no result");
  }
  Value* value = call.results()[0].value;
  if (!op.schema.IsView()) {
    WEFT_ASSIGN_OR_RETURN(value, Write(scope, args[0], value));
  }
  Rename(scope, node, op.schema, Arg::Tensor(value));
  return SetResults(scope, node, {Arg::Tensor(value)});
}

absl::StatusOr<Value*> ProgramImporter::Write(Scope* scope, const Arg& target, Value* value) {
  if (!target.is(Arg::Kind::kTensor) || target.value == nullptr) {
    return absl::InvalidArgumentError("what it writes is no tensor");
  }
  const DType dtype = target.value->type().dtype();
  Builder& b = *scope->builder;
  if (value != nullptr && value->type().dtype() != dtype) {
    value = ops::BuildConvert(b, value, dtype, /*saturate=*/false);
  }
  Value* written = b.Op(ops::copy_, {target.value, value});
  if (written == nullptr) return b.status();
  return written;
}

// PyTorch's result is new memory, but ours is the operand, a view, or a constant that may be
// shared.
void ProgramImporter::CloneViews(Scope* scope, const Args& args, Args* results) {
  const auto is_operand = [&](const Value* v) {
    return std::any_of(args.begin(), args.end(), [&](const Arg& a) { return a.value == v; });
  };
  const auto clone = [&](Arg* result) {
    Value* v = result->value;
    if (!result->is(Arg::Kind::kTensor) || v == nullptr) return;
    if (!is_operand(v) && ViewedBy(v) == nullptr && LiteralOf(v) == nullptr) {
      return;
    }
    result->value = scope->builder->Op(ops::clone, {v});
  };
  for (Arg& result : *results) {
    clone(&result);
    for (Arg& item : result.items) clone(&item);
  }
}

// --- Arguments ------------------------------------------------------------------

absl::StatusOr<ProgramImporter::Args> ProgramImporter::PlaceArguments(Scope* scope,
                                                                      const NodeDef& node,
                                                                      const AtenSchema& schema) {
  Args args(schema.args.size());
  std::vector<bool> given(schema.args.size());
  for (const NodeDef::Input& input : node.inputs) {
    const int i = schema.Find(input.name);
    if (i < 0 || given[i]) {
      return absl::InvalidArgumentError(
          absl::StrCat("argument \"", input.name, "\" is ",
                       i < 0 ? "not one of the operator's" : "given twice"));
    }
    auto arg = Resolve(scope, input.value);
    if (!arg.ok()) {
      return Annotate(arg.status(), absl::StrCat("argument \"", input.name, "\""));
    }
    args[i] = *std::move(arg);
    given[i] = true;
  }
  for (size_t i = 0; i < args.size(); ++i) {
    const AtenArg& spec = schema.args[i];
    if (given[i]) continue;
    if (spec.default_value) {
      WEFT_ASSIGN_OR_RETURN(args[i], Resolve(scope, *spec.default_value));
    } else if (!absl::EndsWith(spec.type, "?")) {
      return absl::InvalidArgumentError(absl::StrCat("argument \"", spec.name, "\" is missing"));
    }
  }
  return args;
}

void ProgramImporter::ApplyAutocast(Scope* scope, absl::string_view target, Args* args) {
  if (!scope->autocast) return;
  const auto to = AutocastDType(target, *scope->autocast, *args);
  if (!to) return;
  const auto cast = [&](Arg* arg) {
    if (!arg->is(Arg::Kind::kTensor) || arg->value == nullptr) return;
    const DType dtype = arg->value->type().dtype();
    if (!IsFloat(dtype) || dtype == DType::kF64 || dtype == *to) return;
    arg->value = ops::BuildConvert(*scope->builder, arg->value, *to, /*saturate=*/false);
  };
  for (Arg& arg : *args) {
    cast(&arg);
    for (Arg& item : arg.items) cast(&item);
  }
}

absl::StatusOr<ProgramImporter::Args> ProgramImporter::ResolveAll(
    Scope* scope, const std::vector<Argument>& arguments) {
  Args args;
  for (const Argument& argument : arguments) {
    WEFT_ASSIGN_OR_RETURN(Arg arg, Resolve(scope, argument));
    args.push_back(std::move(arg));
  }
  return args;
}

absl::StatusOr<Arg> ProgramImporter::Resolve(Scope* scope, const Argument& argument) {
  Arg arg;
  switch (argument.kind) {
    case Kind::kNone:
      return arg;
    case Kind::kTensor:
    case Kind::kSymInt:
    case Kind::kSymFloat:
    case Kind::kSymBool: {
      const auto found = scope->names.find(argument.name);
      if (found != scope->names.end()) return found->second;
      return absl::InvalidArgumentError(
          absl::StrCat("nothing before it defines '", argument.name, "'"));
    }
    case Kind::kInt:
      return Arg::Int(argument.integer);
    case Kind::kBool:
      arg.kind = Arg::Kind::kBool;
      arg.integer = argument.integer;
      return arg;
    case Kind::kFloat:
      arg.kind = Arg::Kind::kFloat;
      arg.number = argument.number;
      return arg;
    case Kind::kComplex:
      arg.kind = Arg::Kind::kComplex;
      arg.number = argument.number;
      arg.imaginary = argument.imaginary;
      return arg;
    case Kind::kString:
      arg.kind = Arg::Kind::kString;
      arg.text = argument.name;
      return arg;
    case Kind::kDType:
      arg.kind = Arg::Kind::kDType;
      arg.dtype = DTypeFromNumber(argument.integer);
      return arg;
    case Kind::kMemoryFormat:
    case Kind::kLayout:
    case Kind::kDevice:
      arg.kind = Arg::Kind::kOpaque;
      return arg;
    case Kind::kGraph:
      arg.kind = Arg::Kind::kGraph;
      arg.graph = argument.graph.get();
      return arg;
    case Kind::kList: {
      WEFT_ASSIGN_OR_RETURN(Args items, ResolveAll(scope, argument.items));
      return Arg::List(std::move(items));
    }
    case Kind::kOther:
      break;
  }
  return absl::UnimplementedError(
      absl::StrCat("arguments of kind ", argument.name, " are not supported"));
}

// --- Results --------------------------------------------------------------------

// A result that the import function does not return must be unnamed in the file.
absl::Status ProgramImporter::SetResults(Scope* scope, const NodeDef& node, Args results) {
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    const Argument& output = node.outputs[i];
    if (output.is(Kind::kNone)) continue;
    if (i >= results.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("it has ", node.outputs.size(), " results instead of ", results.size()));
    }
    WEFT_RETURN_IF_ERROR(Define(scope, output, std::move(results[i])));
  }
  return absl::OkStatus();
}

absl::Status ProgramImporter::Define(Scope* scope, const Argument& output, Arg value) {
  if (output.is(Kind::kList)) {
    if (value.items.size() != output.items.size()) {
      return absl::InvalidArgumentError(absl::StrCat("it gives a list of ", value.items.size(),
                                                     " values, the file names ",
                                                     output.items.size()));
    }
    for (size_t i = 0; i < output.items.size(); ++i) {
      WEFT_RETURN_IF_ERROR(Define(scope, output.items[i], std::move(value.items[i])));
    }
    return absl::OkStatus();
  }
  // A result without a value must be unused.
  if (!value.present() || output.name.empty()) return absl::OkStatus();
  WEFT_RETURN_IF_ERROR(CheckValue(scope, output.name, &value));
  scope->names[output.name] = std::move(value);
  return absl::OkStatus();
}

}  // namespace weft::pt2
