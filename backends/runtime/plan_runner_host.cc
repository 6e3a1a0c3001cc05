// Evaluates steps without device code on host tensors.
#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "backends/runtime/plan_runner.h"
#include "backends/runtime/tensor_memory.h"
#include "base/status_macros.h"

namespace weft {
namespace {

bool IsEmpty(const PreparedStep& prepared) {
  return std::all_of(prepared.results.begin(), prepared.results.end(),
                     [](const RunView& view) { return !view.present() || view.numel() == 0; });
}

}  // namespace

absl::StatusOr<HostTensor> PlanRunner::Read(const RunView& view) {
  if (view.symint) return HostTensor::ScalarInt(DType::kI64, view.value);
  if (!view.present()) return HostTensor();
  // A view without elements may begin past the end of its buffer.
  if (view.numel() == 0) return HostTensor(view.dtype, view.dims);
  const Buffer& buffer = plan_.buffers[view.buffer];
  const std::optional<int64_t> numel = env().Eval(buffer.numel);
  char* const base = base_[view.buffer];
  if (!numel || base == nullptr) return absl::InternalError("an operand has no memory");
  const int64_t bytes = DTypeBytes(buffer.dtype, *numel);
  if (host_visible_) {
    return HostTensor::View(HostBuffer::Borrow(base, bytes), view.dtype, view.dims, view.strides,
                            view.offset);
  }
  std::shared_ptr<HostBuffer> copy = runtime_.NewBuffer(bytes);
  if (copy == nullptr) return absl::ResourceExhaustedError("no memory for a copy of an operand");
  WEFT_RETURN_IF_ERROR(runtime_.device.CopyOut(copy->data(), base, bytes));
  return HostTensor::View(std::move(copy), view.dtype, view.dims, view.strides, view.offset);
}

absl::Status PlanRunner::EvaluateOnHost(const Step& step, const PreparedStep& prepared) {
  if (runtime_.evaluator == nullptr && step.kind == StepKind::kLibrary && !step.finds_sizes &&
      IsEmpty(prepared)) {
    // Routines leave results without elements to the evaluator, which would have nothing to write.
    for (const RunView& view : prepared.results) {
      if (view.present()) WEFT_RETURN_IF_ERROR(Ensure(view.buffer));
    }
    return absl::OkStatus();
  }
  // Waits for work that writes the operands.
  if (host_visible_) WEFT_RETURN_IF_ERROR(runtime_.device.Wait());
  WEFT_ASSIGN_OR_RETURN(std::vector<HostTensor> results, Evaluate(step, prepared));
  if (results.size() < step.results.size()) {
    return absl::InternalError(
        absl::StrCat("gave ", results.size(), " results instead of ", step.results.size()));
  }
  for (size_t i = 0; i < step.results.size(); ++i) {
    WEFT_RETURN_IF_ERROR(StoreResult(step, i, results[i]));
  }
  return absl::OkStatus();
}

absl::Status PlanRunner::StoreResult(const Step& step, size_t i, const DeviceTensor& tensor) {
  const View& view = step.results[i];
  if (!view.present() && !view.type.is_symint()) return absl::OkStatus();
  if (!tensor.valid()) return absl::InternalError(absl::StrCat("result ", i, " is missing"));
  const absl::Status compared =
      dynamic_env_ ? dynamic_env_->Unify(view.type, tensor) : absl::OkStatus();
  WEFT_RETURN_IF_ERROR(CheckResult(step, i, compared));
  return view.present() ? Write(view, tensor) : absl::OkStatus();
}

absl::Status PlanRunner::CheckResult(const Step& step, size_t i,
                                     const absl::Status& compared) const {
  if (compared.ok()) return CheckOpenConditions();
  const std::string message =
      absl::StrCat("result ", i, " contradicts its type: ", compared.message());
  // Data-dependent sizes may break a condition.
  if (step.kind == StepKind::kControl || step.finds_sizes ||
      runtime_.evaluator->DependsOnData(step)) {
    return absl::InvalidArgumentError(message);
  }
  return absl::InternalError(message);
}

absl::StatusOr<std::vector<HostTensor>> PlanRunner::Evaluate(const Step& step,
                                                             const PreparedStep& prepared) {
  if (runtime_.evaluator == nullptr) {
    return absl::UnimplementedError("the device has no code for this step");
  }
  std::vector<HostTensor> operands;
  for (const RunView& arg : prepared.args) {
    WEFT_ASSIGN_OR_RETURN(HostTensor operand, Read(arg));
    operands.push_back(std::move(operand));
  }
  return runtime_.evaluator->Evaluate(step, prepared.attrs, operands);
}

absl::Status PlanRunner::Write(const View& view, const DeviceTensor& tensor) {
  if (!IsKnown(view, env())) return absl::InternalError("a result's size has no value");
  const RunView to = MakeRunView(view, env());
  if (tensor.dims() != absl::MakeConstSpan(to.dims) || tensor.dtype() != to.dtype) {
    return absl::InternalError(
        absl::StrCat("a result of ", tensor.type().ToString(), " contradicts its type"));
  }
  WEFT_RETURN_IF_ERROR(Ensure(to.buffer));
  return CopyTo(tensor.on_host() ? DeviceTensor(tensor.host().Contiguous()) : tensor, to);
}

// Copies `tensor`, which must be dense.
absl::Status PlanRunner::CopyTo(const DeviceTensor& tensor, const RunView& to) {
  if (tensor.numel() == 0) return absl::OkStatus();
  TensorMemory memory(runtime_, host_visible_);
  if (to.dense()) return memory.CopyTo(tensor, At(to));
  WEFT_ASSIGN_OR_RETURN(const std::unique_ptr<PreparedStep> copy,
                        PrepareCopy(DenseView(to.dtype, to.dims), to));
  if (copy == nullptr) return absl::UnimplementedError("the device cannot copy to these strides");
  DeviceTensor staged = tensor;
  if (tensor.on_host() && !host_visible_) {
    WEFT_ASSIGN_OR_RETURN(staged, runtime_.ToDevice(tensor.host()));
  }
  WEFT_RETURN_IF_ERROR(LaunchCopy(*copy, TensorMemory::AddressOf(staged), At(to)));
  return runtime_.device.Wait();
}

absl::Status PlanRunner::LaunchCopy(PreparedStep& copy, void* from, void* to) {
  copy.memory = {from, to};
  const auto all = absl::MakeConstSpan(copy.memory);
  return copy.code->Launch({all.first(1), all.subspan(1), all, runtime_.scratch(), {}});
}

}  // namespace weft
