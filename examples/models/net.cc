#include "examples/models/net.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "examples/models/weights.h"
#include "graph/ir/constant_store.h"
#include "graph/ir/graph.h"
#include "graph/ir/op_def.h"
#include "graph/ir/provenance.h"
#include "graph/ir/value.h"
#include "graph/ops/registry.h"
#include "graph/sym/sym_facts.h"
#include "graph/tensor/tensor.h"
#include "graph/verify/verifier.h"

namespace weft::models {
namespace {

Model NewModel() {
  Model model;
  model.module = std::make_unique<Module>(ops::Registry());
  return model;
}

}  // namespace

Net::Net(const ModelOptions& options)
    : options_(options),
      model_(NewModel()),
      graph_(model_.module->AddFunction("main")),
      b_(graph_) {}

Net::Scope::Scope(Net& net, absl::string_view name) : net_(net), length_(net.scope_.size()) {
  absl::StrAppend(&net_.scope_, name, ".");
}

Net::Scope::~Scope() { net_.scope_.resize(length_); }

SymInt Net::Size(const std::string& name, int64_t usual, int64_t max) {
  symbols_.insert(name);
  const auto given = options_.sizes.find(name);
  if (given != options_.sizes.end()) {
    if (given->second >= 1 && given->second <= max) return given->second;
    b_.Fail(absl::InvalidArgumentError(
        absl::StrCat(name, " = ", given->second, " is not in [1, ", max, "]")));
    return usual;
  }
  if (options_.static_sizes) return usual;
  SymbolInfo info;
  info.symbol = SymInt::Symbol(name);
  info.range = {1, max};
  info.hint = usual;
  model_.module->symbols().Declare(info);
  return info.symbol;
}

Value* Net::Input(absl::string_view name, DType dtype, const Dims& dims, Range range) {
  model_.ranges.push_back(range);
  return graph_->AddInput(Type::Tensor(dtype, dims), name);
}

Value* Net::Parameter(absl::string_view name, const std::vector<int64_t>& dims, Range range) {
  using Weights = ModelOptions::Weights;
  const std::string full = absl::StrCat(scope_, name);
  HostTensor tensor;
  if (options_.weights != Weights::kAbsent) {
    tensor = UniformTensor(dims, range.low, range.high, SeedOf(options_.seed, full));
  }
  if (options_.weights == Weights::kConstants) return b_.Constant(tensor, full);
  Value* input = Input(full, DType::kF32, Dims(dims.begin(), dims.end()), range);
  InputInfo& info = graph_->input_info(input->index());
  info.param = full;
  if (tensor.valid()) {
    info.initial = model_.module->constants().Add(std::move(tensor), full);
  }
  return input;
}

Value* Net::Op(const OpDef& op, absl::Span<Value* const> operands,
               std::initializer_list<NamedAttr> attrs) {
  if (!ok()) return nullptr;
  absl::string_view name = scope_;
  if (!name.empty()) name.remove_suffix(1);
  b_.set_provenance(model_.module->provenance().Leaf(name.empty() ? op.name() : name));
  return b_.Op(op, operands, absl::MakeConstSpan(attrs.begin(), attrs.size()));
}

void Net::Output(absl::string_view name, Value* value) {
  outputs_.push_back(value);
  output_names_.emplace_back(name);
}

void Net::Update(absl::string_view name, int input, Value* value) {
  Output(name, value);
  if (options_.write_back) written_.push_back(input);
}

absl::Status Net::CheckSizes() const {
  for (const auto& [name, size] : options_.sizes) {
    if (symbols_.count(name) != 0) continue;
    return absl::InvalidArgumentError(absl::StrCat("the model has no size \"", name, "\"",
                                                   symbols_.empty() ? "" : "; it has ",
                                                   absl::StrJoin(symbols_, ", ")));
  }
  return absl::OkStatus();
}

absl::StatusOr<Model> Net::Finish() {
  WEFT_RETURN_IF_ERROR(b_.status());
  WEFT_RETURN_IF_ERROR(CheckSizes());
  graph_->SetOutputs(outputs_);
  graph_->output_names() = std::move(output_names_);
  if (!written_.empty()) graph_->SetWriteBacks(std::move(written_));
  WEFT_RETURN_IF_ERROR(Verify(*model_.module));
  return std::move(model_);
}

}  // namespace weft::models
