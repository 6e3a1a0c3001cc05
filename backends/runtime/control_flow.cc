#include "backends/runtime/control_flow.h"

#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/ir/op_schema.h"

namespace weft {
namespace {

using Tensors = std::vector<DeviceTensor>;

absl::Status Malformed(const ControlFlow& flow) {
  return absl::InvalidArgumentError(absl::StrCat(
      "a ", flow.step.op_name, " with ", flow.operands.size(), " operands, ", flow.types.size(),
      " results and ", flow.step.regions.size(), " nested plans does not fit its attributes"));
}

// An attribute that counts operands. The schema may come from a file; -1 if it, or the attribute,
// is not that of the op.
int64_t CountOf(const ControlFlow& flow, absl::string_view name) {
  const int i = flow.step.schema == nullptr ? -1 : flow.step.schema->FindAttr(name);
  if (i < 0 || flow.attrs == nullptr || i >= static_cast<int>(flow.attrs->size())) return -1;
  const SymInt* count = (*flow.attrs)[i].get_if<SymInt>();
  return count == nullptr ? -1 : count->constant().value_or(-1);
}

// Results that are stacked, which are the last ones of a step.
class Stacks {
 public:
  // `flow` outlives it. `length`: rows that there will be; -1: unknown.
  static absl::StatusOr<Stacks> Create(const ControlFlow& flow, size_t first, int64_t length) {
    Stacks stacks(flow, first);
    for (size_t i = first; i < flow.types.size(); ++i) {
      TensorStack stack(flow.memory);
      const auto dims = flow.types[i].static_dims();
      if (length > 0 && dims && !dims->empty() && (*dims)[0] == length) {
        WEFT_ASSIGN_OR_RETURN(DeviceTensor all, flow.result_memory(static_cast<int>(i)));
        if (!all.valid()) {
          WEFT_ASSIGN_OR_RETURN(all, flow.memory.New(flow.types[i].dtype(), *dims));
        }
        stack.Reserve(std::move(all));
      }
      stacks.stacks_.push_back(std::move(stack));
    }
    return stacks;
  }

  // Offers memory for rows to the last outputs of a nested plan.
  absl::Status Offer(Tensors* outputs) {
    for (size_t i = 0; i < stacks_.size(); ++i) {
      WEFT_ASSIGN_OR_RETURN((*outputs)[Output(*outputs, i)], stacks_[i].Next());
    }
    return absl::OkStatus();
  }

  absl::Status Add(const Tensors& outputs) {
    for (size_t i = 0; i < stacks_.size(); ++i) {
      const absl::Status status = stacks_[i].Add(outputs[Output(outputs, i)]);
      if (status.ok()) continue;
      return absl::Status(status.code(),
                          absl::StrCat("result ", first_ + i, " ", status.message()));
    }
    return absl::OkStatus();
  }

  absl::Status Append(Tensors* results) const {
    for (size_t i = 0; i < stacks_.size(); ++i) {
      if (stacks_[i].rows() > 0) {
        WEFT_ASSIGN_OR_RETURN(DeviceTensor all, stacks_[i].Take());
        results->push_back(std::move(all));
        continue;
      }
      // Sizes that no step has decided are 0.
      const Type type = flow_->types[first_ + i];
      std::vector<int64_t> dims = {0};
      for (int d = 1; d < type.rank(); ++d) dims.push_back(type.dim(d).constant().value_or(0));
      WEFT_ASSIGN_OR_RETURN(DeviceTensor none, flow_->memory.New(type.dtype(), dims));
      results->push_back(std::move(none));
    }
    return absl::OkStatus();
  }

 private:
  Stacks(const ControlFlow& flow, size_t first) : flow_(&flow), first_(first) {}
  size_t Output(const Tensors& outputs, size_t i) const {
    return outputs.size() - stacks_.size() + i;
  }

  const ControlFlow* flow_;
  size_t first_;
  std::vector<TensorStack> stacks_;
};

absl::StatusOr<Tensors> RunCond(const ControlFlow& flow) {
  if (flow.operands.empty() || flow.step.regions.size() != 2) return Malformed(flow);
  WEFT_ASSIGN_OR_RETURN(const int64_t pred, flow.memory.ReadInt(flow.operands[0]));
  Tensors outputs(flow.types.size());
  WEFT_RETURN_IF_ERROR(flow.run_region(pred != 0 ? 0 : 1, flow.operands.subspan(1), &outputs));
  return outputs;
}

// Runs the one nested plan once. Its outputs are `fixed` ones, carried values, and rows.
absl::Status RunBody(const ControlFlow& flow, absl::Span<const DeviceTensor> inputs, size_t fixed,
                     Stacks* stacks, Tensors* outputs) {
  outputs->assign(fixed + flow.types.size(), DeviceTensor());
  WEFT_RETURN_IF_ERROR(stacks->Offer(outputs));
  WEFT_RETURN_IF_ERROR(flow.run_region(0, inputs, outputs));
  if (outputs->size() != fixed + flow.types.size()) return Malformed(flow);
  return stacks->Add(*outputs);
}

absl::StatusOr<Tensors> RunLoop(const ControlFlow& flow) {
  constexpr size_t kFixed = 2;         // The first operands and inputs; iteration and condition.
  constexpr size_t kFixedOutputs = 1;  // The condition.
  const int64_t carried = CountOf(flow, "num_carried");
  const auto most = static_cast<int64_t>(flow.types.size());
  if (flow.step.regions.size() != 1 || carried < 0 || carried > most ||
      carried + static_cast<int64_t>(kFixed) > static_cast<int64_t>(flow.operands.size())) {
    return Malformed(flow);
  }
  WEFT_ASSIGN_OR_RETURN(const int64_t max_steps, flow.memory.ReadInt(flow.operands[0]));
  WEFT_ASSIGN_OR_RETURN(int64_t go_on, flow.memory.ReadInt(flow.operands[1]));
  WEFT_ASSIGN_OR_RETURN(Stacks stacks, Stacks::Create(flow, carried, /*length=*/-1));
  Tensors inputs(flow.operands.begin(), flow.operands.end());
  Tensors outputs;
  for (int64_t i = 0; i < max_steps && go_on != 0; ++i) {
    inputs[0] = HostTensor::ScalarInt(DType::kI64, i);
    WEFT_RETURN_IF_ERROR(RunBody(flow, inputs, kFixedOutputs, &stacks, &outputs));
    WEFT_ASSIGN_OR_RETURN(go_on, flow.memory.ReadInt(outputs[0]));
    for (int64_t k = 0; k <= carried; ++k) inputs[kFixed - 1 + k] = std::move(outputs[k]);
  }
  Tensors results(inputs.begin() + kFixed, inputs.begin() + kFixed + carried);
  WEFT_RETURN_IF_ERROR(stacks.Append(&results));
  return results;
}

absl::StatusOr<Tensors> RunScan(const ControlFlow& flow) {
  const int64_t carried = CountOf(flow, "num_carried");
  const int64_t scanned = CountOf(flow, "num_scanned");
  const auto operands = static_cast<int64_t>(flow.operands.size());
  if (flow.step.regions.size() != 1 || carried < 0 || scanned < 1 || carried > operands ||
      scanned > operands - carried || carried > static_cast<int64_t>(flow.types.size())) {
    return Malformed(flow);
  }
  const auto lists = flow.operands.subspan(carried, scanned);
  const int64_t length = lists[0].valid() && lists[0].rank() > 0 ? lists[0].dims()[0] : 0;
  for (const DeviceTensor& list : lists) {
    if (!list.valid() || list.rank() == 0) return Malformed(flow);
    if (list.dims()[0] == length) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("scanned operands have lengths ", length, " and ", list.dims()[0]));
  }
  WEFT_ASSIGN_OR_RETURN(Stacks stacks, Stacks::Create(flow, carried, length));
  Tensors inputs(flow.operands.begin(), flow.operands.end());
  Tensors outputs;
  for (int64_t i = 0; i < length; ++i) {
    for (int64_t k = 0; k < scanned; ++k) {
      WEFT_ASSIGN_OR_RETURN(DeviceTensor row, TensorMemory::Row(lists[k], i));
      WEFT_ASSIGN_OR_RETURN(inputs[carried + k], flow.memory.Aligned(std::move(row)));
    }
    WEFT_RETURN_IF_ERROR(RunBody(flow, inputs, 0, &stacks, &outputs));
    for (int64_t k = 0; k < carried; ++k) inputs[k] = std::move(outputs[k]);
  }
  Tensors results(inputs.begin(), inputs.begin() + carried);
  WEFT_RETURN_IF_ERROR(stacks.Append(&results));
  return results;
}

}  // namespace

absl::StatusOr<std::vector<DeviceTensor>> ControlFlow::Run() const {
  for (const Type type : types) {
    if (!type.is_tensor()) return Malformed(*this);
  }
  if (step.op_name == "cond") return RunCond(*this);
  if (step.op_name == "loop") return RunLoop(*this);
  if (step.op_name == "scan") return RunScan(*this);
  return absl::UnimplementedError(absl::StrCat("there is no control flow \"", step.op_name, "\""));
}

}  // namespace weft
