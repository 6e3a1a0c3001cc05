// Tensors of the caller in the memory of the device: inputs that steps cannot read where they lie,
// and memory for outputs.
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/runtime/plan_runner.h"
#include "backends/runtime/tensor_memory.h"
#include "base/status_macros.h"

namespace weft {
namespace {

// The bytes of a tensor, which is an input or the memory of an output.
struct Extent {
  const char* begin = nullptr;
  const char* end = nullptr;
  int output = -1;  // -1: an input.
};

Extent ExtentOf(const DeviceTensor& tensor, int output) {
  const char* const begin = tensor.device_address();
  return {begin, begin + tensor.bytes(), output};
}

}  // namespace

// Tensors in `placed` share the memory of inputs, so it stays empty if that is possible.
absl::Status PlanRunner::Place(absl::Span<const DeviceTensor> inputs,
                               std::vector<DeviceTensor>* placed) {
  const auto lies_well = [](const DeviceTensor& input) {
    return input.on_host() || (input.device_address() != nullptr && TensorMemory::IsAligned(input));
  };
  if (std::all_of(inputs.begin(), inputs.end(), lies_well)) return absl::OkStatus();
  TensorMemory memory(runtime_, /*on_host=*/false);
  placed->assign(inputs.begin(), inputs.end());
  for (DeviceTensor& input : *placed) {
    if (lies_well(input)) continue;
    WEFT_ASSIGN_OR_RETURN(DeviceTensor copy, memory.New(input.dtype(), input.dims()));
    WEFT_RETURN_IF_ERROR(memory.Copy(input, copy));
    input = std::move(copy);
  }
  return absl::OkStatus();
}

const DeviceTensor* PlanRunner::Bound(int i) const {
  const auto output = static_cast<size_t>(i);
  return output < bound_.size() && bound_[output].valid() ? &bound_[output] : nullptr;
}

absl::Status PlanRunner::CheckBound(int i, absl::Span<const int64_t> dims) const {
  const DType dtype = plan_.outputs[i].dtype();
  const DeviceTensor& bound = *Bound(i);
  if (bound.dtype() == dtype && bound.dims() == dims) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("output ", i, " is ", Type::Tensor(dtype, ToSymInts(dims)).ToString(),
                   ", and the memory for it ", bound.type().ToString()));
}

absl::Status PlanRunner::SetBound(absl::Span<const DeviceTensor> inputs,
                                  absl::Span<const DeviceTensor> bound) {
  const size_t own = plan_.outputs.size() - plan_.write_backs.size();
  if (bound.size() > own) {
    return absl::InvalidArgumentError(
        absl::StrCat("there is memory for ", bound.size(), " outputs, and the program has ", own));
  }
  bound_apart_.assign(bound.size(), true);
  std::vector<Extent> extents;
  for (size_t i = 0; i < bound.size(); ++i) {
    const DeviceTensor& output = bound[i];
    if (!output.valid()) continue;
    if (plan_.outputs[i].is_symint()) {
      return absl::InvalidArgumentError(
          absl::StrCat("output ", i, " is a size, which stays in the host's memory"));
    }
    if (output.on_host() || output.memory_space() != runtime_.device.memory_space()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the memory for output ", i, " is not that of the device"));
    }
    bound_apart_[i] = output.device_address() != nullptr && TensorMemory::IsAligned(output);
    if (output.numel() > 0) extents.push_back(ExtentOf(output, static_cast<int>(i)));
  }
  if (extents.empty()) {
    bound_ = bound;
    return absl::OkStatus();
  }
  for (const DeviceTensor& input : inputs) {
    if (!input.on_host() && input.numel() > 0) extents.push_back(ExtentOf(input, -1));
  }
  std::sort(extents.begin(), extents.end(), [](const Extent& a, const Extent& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.output < b.output;
  });
  // The ends of the inputs so far, and the last output, behind which no output before it ends.
  const char* inputs_end = nullptr;
  const Extent* last = nullptr;
  for (const Extent& extent : extents) {
    const bool meets = last != nullptr && extent.begin < last->end;
    if (extent.output < 0) {
      if (meets) bound_apart_[last->output] = false;
      inputs_end = std::max(inputs_end, extent.end);
      continue;
    }
    if (meets) {
      return absl::InvalidArgumentError(absl::StrCat("the memory for outputs ", last->output,
                                                     " and ", extent.output, " overlaps"));
    }
    if (inputs_end != nullptr && extent.begin < inputs_end) bound_apart_[extent.output] = false;
    last = &extent;
  }
  bound_ = bound;
  return absl::OkStatus();
}

}  // namespace weft
