#include "backends/cuda/device/operands.h"

#include <algorithm>
#include <optional>

#include "graph/tensor/dtype.h"

namespace weft::cuda {

Extent ExtentOf(const RunView& view) {
  Extent extent;
  if (view.symint) return extent;
  int64_t low = 0;
  int64_t high = 0;
  for (int d = 0; d < view.rank(); ++d) {
    if (view.dims[d] == 0) return extent;
    const int64_t last = view.strides[d] * (view.dims[d] - 1);
    low += std::min<int64_t>(last, 0);
    high += std::max<int64_t>(last, 0);
  }
  const int64_t bits = DTypeBits(view.dtype);
  extent.before = (-low * bits + 7) / 8;
  extent.after = ((high + 1) * bits + 7) / 8;
  return extent;
}

Extent ExtentOf(const StepRequest& request, const RunView& view) {
  if (!view.present()) return {};
  const Buffer& buffer = request.plan.buffers[view.buffer];
  const std::optional<int64_t> numel = request.env.Eval(buffer.numel);
  if (!numel) return ExtentOf(view);
  Extent extent;
  extent.before = view.offset * DTypeBits(view.dtype) / 8;
  extent.after = DTypeBytes(buffer.dtype, *numel) - extent.before;
  // A view without elements may begin past the end of its buffer.
  return extent.before < 0 || extent.after < 0 ? ExtentOf(view) : extent;
}

OperandRange RangeOf(const void* address, const Extent& extent, bool written) {
  const auto first = reinterpret_cast<CuAddress>(address);
  if (first == 0) return {};
  return {first - static_cast<CuAddress>(extent.before), extent.before + extent.after, written};
}

FreshResults::FreshResults(const StepRequest& request) {
  for (const RunView& view : request.args) args_.push_back(ExtentOf(request, view));
  for (const RunView& view : request.results) {
    const bool whole = view.present() && view.dense();
    bytes_.push_back(whole ? DTypeBytes(view.dtype, view.numel()) : 0);
  }
}

void FreshResults::Forget(CudaDevice& device, const LaunchMemory& memory) const {
  if (!device.emulated()) return;
  std::vector<OperandRange> read;
  for (size_t a = 0; a < args_.size(); ++a) read.push_back(RangeOf(memory.args[a], args_[a]));
  for (size_t r = 0; r < bytes_.size(); ++r) {
    const OperandRange result = RangeOf(memory.results[r], {0, bytes_[r]});
    const bool also_read = std::any_of(read.begin(), read.end(), [&](const OperandRange& range) {
      return range.begin < result.begin + result.bytes && result.begin < range.begin + range.bytes;
    });
    if (!also_read) device.Forget(result);
  }
}

}  // namespace weft::cuda
