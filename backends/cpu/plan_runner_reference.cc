// Steps on host tensors: reference and control steps, and library steps that no
// routine takes.
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "backends/cpu/copy.h"
#include "backends/cpu/interpreter.h"
#include "backends/cpu/plan_runner.h"
#include "graph/core/status_macros.h"
#include "graph/ops/evaluate.h"
#include "graph/ops/ops.h"

namespace weft::cpu {
namespace {

absl::Status NoRegions(int, absl::Span<const HostTensor>, std::vector<HostTensor>*) {
  return absl::InternalError("the op has no nested graphs");
}

// A vector along the channels of the result: the last dim, or dim 1 of a convolution.
absl::StatusOr<HostTensor> AlongChannels(const HostTensor& bias, const Step& step, int rank) {
  if (step.op != &ops::convolution) return bias;
  std::vector<int64_t> dims(rank - 1, 1);
  dims[0] = bias.numel();
  return bias.Contiguous().Reshaped(dims);
}

// Only optional operands are absent.
absl::Status CheckOperands(const OpDef& op, absl::Span<const HostTensor> operands) {
  const auto& specs = op.schema().operands;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].valid() || (i < specs.size() && specs[i].optional)) continue;
    return absl::InternalError(absl::StrCat("operand ", i, " has no place in the plan"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<HostTensor> PlanRunner::Read(const RunView& view) {
  if (view.symint) return HostTensor::ScalarInt(DType::kI64, view.value);
  if (!view.present()) return HostTensor();
  const std::optional<int64_t> numel = env().Eval(plan_.buffers[view.buffer].numel);
  if (!numel || base_[view.buffer] == nullptr) {
    return absl::InternalError("an operand has no memory");
  }
  return HostTensor::View(
      HostBuffer::Borrow(base_[view.buffer], DTypeBytes(plan_.buffers[view.buffer].dtype, *numel)),
      view.dtype, view.dims, view.strides, view.offset);
}

absl::Status PlanRunner::RunReference(const Step& step, const StepCode& code) {
  WEFT_ASSIGN_OR_RETURN(std::vector<HostTensor> results, EvaluateStep(step, code));
  if (results.size() < step.results.size()) {
    return absl::InternalError(
        absl::StrCat("gave ", results.size(), " results instead of ", step.results.size()));
  }
  for (size_t i = 0; i < step.results.size(); ++i) {
    const View& view = step.results[i];
    if (!view.present() && !view.type.is_symint()) continue;
    if (!results[i].valid()) {
      return absl::InternalError(absl::StrCat("result ", i, " is missing"));
    }
    absl::Status status =
        dynamic_env_ ? dynamic_env_->Unify(view.type, results[i]) : absl::OkStatus();
    if (!status.ok()) {
      return absl::InternalError(
          absl::StrCat("result ", i, " contradicts its type: ", status.message()));
    }
    if (view.present()) WEFT_RETURN_IF_ERROR(Write(view, results[i]));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<HostTensor>> PlanRunner::EvaluateStep(const Step& step,
                                                                 const StepCode& code) {
  std::vector<HostTensor> operands;
  for (const RunView& arg : code.args) {
    WEFT_ASSIGN_OR_RETURN(HostTensor operand, Read(arg));
    operands.push_back(std::move(operand));
  }
  if (step.kind == StepKind::kCopy) return operands;
  if (step.kind == StepKind::kControl) return EvaluateControl(step, code, operands);
  size_t own = operands.size();
  if (!step.epilogue.empty()) {
    // Operands of the epilogue follow those of the op.
    for (const Epilogue& e : step.epilogue) {
      if (e.arg >= 0) own = std::min(own, static_cast<size_t>(e.arg));
    }
  }
  WEFT_RETURN_IF_ERROR(CheckOperands(*step.op, absl::MakeConstSpan(operands).first(own)));
  auto results =
      Evaluate(*step.op, code.attrs, absl::MakeConstSpan(operands).first(own), NoRegions);
  if (!results.ok()) return results.status();
  WEFT_RETURN_IF_ERROR(ApplyEpilogue(step, operands, &(*results)[0]));
  return results;
}

absl::Status PlanRunner::ApplyEpilogue(const Step& step, absl::Span<const HostTensor> operands,
                                       HostTensor* result) {
  for (const Epilogue& e : step.epilogue) {
    std::vector<HostTensor> inputs = {*result};
    const OpDef* op = e.op;
    const AttrList* attrs = e.attrs;
    if (e.kind == Epilogue::Kind::kBias) {
      WEFT_ASSIGN_OR_RETURN(HostTensor bias, AlongChannels(operands[e.arg], step, result->rank()));
      inputs.push_back(std::move(bias));
      op = &ops::add;
      attrs = AttrList::Get({});
    } else if (e.kind == Epilogue::Kind::kBinary) {
      inputs.push_back(operands[e.arg]);
    }
    auto applied = Evaluate(*op, attrs, inputs, NoRegions);
    if (!applied.ok()) return applied.status();
    *result = std::move((*applied)[0]);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<HostTensor>> PlanRunner::EvaluateControl(
    const Step& step, const StepCode& code, absl::Span<const HostTensor> operands) {
  Types types;
  for (const View& view : step.results) {
    types.push_back(view.type.Substitute([&](SymInt s) { return env().Replacement(s); }));
  }
  auto& regions = regions_[&step - plan_.steps.data()];
  const auto run_region = [&](int region, absl::Span<const HostTensor> inputs,
                              std::vector<HostTensor>* outputs) {
    outputs->clear();
    return regions[region]->Run(inputs, &env(), outputs);
  };
  EvalContext context(*step.op, code.attrs, operands, std::move(types), run_region);
  absl::Status status = step.op->eval()(context);
  if (!status.ok()) return status;
  return context.TakeOutputs();
}

absl::Status PlanRunner::Write(const View& view, const HostTensor& tensor) {
  if (!IsKnown(view, env())) return absl::InternalError("a result's size has no value");
  const RunView to = MakeRunView(view, env());
  if (tensor.dims() != absl::MakeConstSpan(to.dims) || tensor.dtype() != to.dtype) {
    return absl::InternalError(
        absl::StrCat("a result of ", tensor.type().ToString(), " contradicts its type"));
  }
  WEFT_RETURN_IF_ERROR(Ensure(to.buffer));
  return CopyTo(tensor.Contiguous(), to);
}

absl::Status PlanRunner::CopyTo(const HostTensor& tensor, const RunView& to) {
  if (tensor.numel() == 0) return absl::OkStatus();
  if (to.dense()) {
    std::memcpy(At(to), tensor.raw(), tensor.bytes());
    return absl::OkStatus();
  }
  WEFT_ASSIGN_OR_RETURN(const TileProgram program,
                        CompileCopy(DenseView(to.dtype, to.dims), to, *runtime_.table));
  WEFT_RETURN_IF_ERROR(runtime_.ReserveScratch(program.workspace_bytes * runtime_.threads));
  void* const memory[] = {tensor.raw(), At(to)};
  return RunTiles(program, memory, runtime_.scratch.data(), runtime_.threads);
}

}  // namespace weft::cpu
