// Parameters, buffers and constants: values, inputs, and write-backs.
#include <algorithm>
#include <set>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/ir/builder.h"
#include "graph/ir/constant_store.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ir/op_args.h"
#include "graph/ir/op_def.h"
#include "graph/ops/ops.h"
#include "graph/tensor/tensor.h"
#include "serialize/pt2/program_importer.h"

namespace weft::pt2 {
namespace {

// The base of the view that `node` makes, with the viewed elements replaced by `update`.
Value* Inverted(Builder* builder, const Node& node, Value* update) {
  Value* const none = nullptr;
  const Type type = node.operand(0)->type();
  OpArgs args;
  args.op = &node.op();
  args.operands = {&none, 1};
  args.types = {&type, 1};
  args.attr_list = node.attr_list();
  args.symbols = &builder->module().symbols();
  return node.op().invert_view()(*builder, args, 0, node.operand(0), update);
}

}  // namespace

absl::Status ProgramImporter::FindShared() {
  std::map<std::string, const InputSpec*> specs;
  for (const InputSpec& spec : program_.inputs) {
    const bool user =
        spec.kind == InputSpec::Kind::kUser || spec.kind == InputSpec::Kind::kConstantInput;
    if (!user) specs[spec.target] = &spec;
  }
  for (const auto& [name, spec] : specs) {
    if (written_.count(spec->name) == 0 || shared_.count(name) > 0) continue;
    std::map<std::string, HostTensor> tensors;
    std::set<std::string> written;
    std::vector<std::string> names = weights_.SharedWith(name);
    names.push_back(name);
    for (const std::string& other : names) {
      const auto found = specs.find(other);
      if (found == specs.end()) continue;
      WEFT_ASSIGN_OR_RETURN(tensors[other], weights_.Load(other));
      if (written_.count(found->second->name) > 0) written.insert(other);
    }
    if (tensors.size() < 2) continue;
    WEFT_RETURN_IF_ERROR(FindSharedViews(tensors, written, &shared_));
  }
  return absl::OkStatus();
}

absl::StatusOr<Value*> ProgramImporter::InputOf(Scope* scope, const std::string& name) {
  Value*& value = state_[name];
  if (value != nullptr) return value;
  WEFT_ASSIGN_OR_RETURN(HostTensor tensor, weights_.Load(name));
  Graph* main = scope->builder->graph();
  const auto spec =
      std::find_if(program_.inputs.begin(), program_.inputs.end(), [&](const InputSpec& s) {
        return s.target == name && s.kind != InputSpec::Kind::kUser &&
               s.kind != InputSpec::Kind::kConstantInput;
      });
  value = main->AddInput(tensor.type(), spec == program_.inputs.end() ? name : spec->name);
  InputInfo& info = main->input_info(value->index());
  info.param = name;
  info.initial = module_->constants().Add(tensor, name);
  return value;
}

// A parameter or buffer that shares its memory with others.
absl::StatusOr<Value*> ProgramImporter::ViewOf(Scope* scope, const std::string& name) {
  const SharedView& view = shared_.at(name);
  WEFT_ASSIGN_OR_RETURN(Value * root, InputOf(scope, view.root));
  if (view.whole) return root;
  Value* value = scope->builder->Op(ops::as_strided, {root},
                                    {{"size", ToSymInts(view.size)},
                                     {"stride", ToSymInts(view.stride)},
                                     {"storage_offset", view.offset}});
  if (value == nullptr) return scope->builder->status();
  return value;
}

absl::Status ProgramImporter::AddTensor(Scope* scope, const InputSpec& spec) {
  if (shared_.count(spec.target) > 0) {
    WEFT_ASSIGN_OR_RETURN(Value * view, ViewOf(scope, spec.target));
    return Define(scope, spec.value, Arg::Tensor(view));
  }
  if (written_.count(spec.name) > 0 || options_.parameters_as_inputs) {
    WEFT_ASSIGN_OR_RETURN(Value * input, InputOf(scope, spec.target));
    return Define(scope, spec.value, Arg::Tensor(input));
  }
  WEFT_ASSIGN_OR_RETURN(HostTensor tensor, weights_.Load(spec.target));
  // A quantized program keeps the float weights that it was made from, and never reads them.
  if (!read_.contains(spec.name)) return absl::OkStatus();
  Value* value = scope->builder->Constant(tensor, spec.target);
  if (value == nullptr) return scope->builder->status();
  return Define(scope, spec.value, Arg::Tensor(value));
}

absl::Status ProgramImporter::AddWriteBack(Scope* scope, const OutputSpec& spec, Value* value,
                                           std::map<int, Value*>* written) {
  const Graph& main = *scope->builder->graph();
  const bool buffer = spec.kind == OutputSpec::Kind::kBufferMutation;
  const auto shared = shared_.find(spec.target);
  const bool view = buffer && shared != shared_.end();
  const std::string& target = view ? shared->second.root : spec.target;
  int input = -1;
  for (int i = 0; i < main.num_inputs(); ++i) {
    const InputInfo& info = main.input_info(i);
    if ((buffer ? info.param : info.name) == target && (buffer || info.param.empty())) input = i;
  }
  if (input < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("the program writes '", spec.target, "', which is no input"));
  }
  if (view && written->count(input) > 0) {
    return absl::UnimplementedError(absl::StrCat(
        "\"", spec.target, "\" is written, and so is a tensor that shares its memory"));
  }
  if (view && !shared->second.whole) {
    WEFT_ASSIGN_OR_RETURN(Value * shown, ViewOf(scope, spec.target));
    value = Inverted(scope->builder, *shown->node(), value);
    if (value == nullptr) return scope->builder->status();
  }
  (*written)[input] = value;
  return absl::OkStatus();
}

}  // namespace weft::pt2
