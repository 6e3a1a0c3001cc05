// Steps on host tensors: reference and control steps, and library steps that no
// routine takes.
#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "backends/cpu/interpreter/copy.h"
#include "backends/cpu/interpreter/interpreter.h"
#include "backends/cpu/plan_runner.h"
#include "backends/step_reference.h"
#include "base/status_macros.h"

namespace weft::cpu {

absl::StatusOr<HostTensor> PlanRunner::Read(const RunView& view) {
  if (view.symint) return HostTensor::ScalarInt(DType::kI64, view.value);
  if (!view.present()) return HostTensor();
  // A view without elements may begin behind the end of its buffer.
  if (view.numel() == 0) return HostTensor(view.dtype, view.dims);
  const std::optional<int64_t> numel = env().Eval(plan_.buffers[view.buffer].numel);
  if (!numel || base_[view.buffer] == nullptr) {
    return absl::InternalError("an operand has no memory");
  }
  // A view without elements may start behind its buffer: a slice of an empty tensor does.
  const int64_t offset = view.numel() == 0 ? 0 : view.offset;
  return HostTensor::View(
      HostBuffer::Borrow(base_[view.buffer], DTypeBytes(plan_.buffers[view.buffer].dtype, *numel)),
      view.dtype, view.dims, view.strides, offset);
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
      const std::string message =
          absl::StrCat("result ", i, " contradicts its type: ", status.message());
      // What data decides may break a condition.
      if (step.op->has(kDataDependent)) return absl::InvalidArgumentError(message);
      return absl::InternalError(message);
    }
    WEFT_RETURN_IF_ERROR(CheckOpenConditions());
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
  if (step.kind == StepKind::kControl) return EvaluateControl(step, code, operands);
  return weft::EvaluateStep(step, code.attrs, operands);
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
  return RunTiles(program, memory, runtime_.ScratchData(), runtime_.threads);
}

}  // namespace weft::cpu
