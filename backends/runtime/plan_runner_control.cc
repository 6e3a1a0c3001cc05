// Steps of control flow.
//
// Their tensors stay in the device's memory, and the nested plans' work is submitted behind that of
// the steps before; a loop waits where it reads its condition. Observed runs keep them on the host.
#include <utility>

#include "backends/runtime/control_flow.h"
#include "backends/runtime/plan_runner.h"
#include "backends/runtime/tensor_memory.h"
#include "base/status_macros.h"

namespace weft {

absl::Status PlanRunner::RunControl(const Step& step, const PreparedStep& prepared) {
  // Waits for work that writes the operands.
  if (host_visible_) WEFT_RETURN_IF_ERROR(runtime_.device.Wait());
  TensorMemory memory(runtime_, NestsOnHost());
  std::vector<DeviceTensor> operands;
  for (const RunView& view : prepared.args) {
    WEFT_ASSIGN_OR_RETURN(DeviceTensor operand, ControlOperand(view, memory));
    operands.push_back(std::move(operand));
  }
  std::vector<Type> types;
  for (const View& view : step.results) {
    types.push_back(view.type.Substitute([&](SymInt s) { return env().Replacement(s); }));
  }
  const auto& regions = regions_[&step - plan_.steps.data()];
  const auto run_region = [&](int region, absl::Span<const DeviceTensor> inputs,
                              std::vector<DeviceTensor>* outputs) {
    return regions[region]->RunRegion(inputs, env(), outputs);
  };
  const auto result_memory = [&](int result) -> absl::StatusOr<DeviceTensor> {
    const View& view = step.results[result];
    if (!view.present()) return DeviceTensor();
    const RunView to = MakeRunView(view, env());
    WEFT_RETURN_IF_ERROR(Ensure(to.buffer));
    if (!to.dense() || (NestsOnHost() && !host_visible_)) return DeviceTensor();
    return memory.Borrow(At(to), to.dtype, to.dims);
  };
  const ControlFlow flow{step, prepared.attrs, operands, types, memory, run_region, result_memory};
  WEFT_ASSIGN_OR_RETURN(const std::vector<DeviceTensor> results, flow.Run());
  for (size_t i = 0; i < results.size(); ++i) {
    WEFT_RETURN_IF_ERROR(StoreResult(step, i, results[i]));
  }
  return absl::OkStatus();
}

absl::StatusOr<DeviceTensor> PlanRunner::ControlOperand(const RunView& view, TensorMemory& memory) {
  if (view.symint || !view.present() || NestsOnHost() || !view.dense()) {
    WEFT_ASSIGN_OR_RETURN(const HostTensor operand, Read(view));
    return operand.valid() ? DeviceTensor(operand.Contiguous()) : DeviceTensor();
  }
  WEFT_ASSIGN_OR_RETURN(DeviceTensor operand, memory.Borrow(At(view), view.dtype, view.dims));
  return memory.Aligned(std::move(operand));
}

absl::Status PlanRunner::RunRegion(absl::Span<const DeviceTensor> inputs, const SymbolEnv& outer,
                                   std::vector<DeviceTensor>* outputs) {
  if (!NestsOnHost()) return RunKept(inputs, &outer, outputs);
  std::vector<HostTensor> given;
  for (const DeviceTensor& input : inputs) given.push_back(input.host());
  std::vector<HostTensor> made;
  for (const DeviceTensor& output : *outputs) made.push_back(output.host());
  WEFT_RETURN_IF_ERROR(RunNested(given, &outer, &made));
  outputs->clear();
  for (HostTensor& output : made) outputs->emplace_back(std::move(output));
  return absl::OkStatus();
}

}  // namespace weft
