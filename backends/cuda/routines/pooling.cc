#include "backends/cuda/routines/pooling.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "backends/cuda/routines/pooling_unit.h"
#include "backends/cuda/routines/routine_code.h"
#include "base/status_macros.h"
#include "graph/ir/attrs.h"

namespace weft::cuda {
namespace {

// Positions within a dim are computed in 32 bits.
constexpr int64_t kMaxPosition = int64_t{1} << 29;

absl::StatusOr<PoolingSizes> SizesOf(const Attrs& attrs, const RunView& x, const RunView& y) {
  PoolingSizes sizes;
  const std::vector<int64_t> taps = attrs.Ints("kernel_size");
  const std::vector<int64_t> stride = attrs.Ints("stride");
  const std::vector<int64_t> padding = attrs.Ints("padding");
  const std::vector<int64_t> dilation = attrs.Ints("dilation");
  const int n = y.rank() - 2;
  if (n > 3) return absl::UnimplementedError("pooling of more than three dims");
  for (int i = 0; i < n; ++i) {
    const int d = 3 - n + i;
    sizes.in[d] = x.dims[2 + i];
    sizes.out[d] = y.dims[2 + i];
    sizes.taps[d] = taps[i];
    sizes.stride[d] = stride[i];
    sizes.before[d] = padding[i];
    sizes.after[d] = padding[n + i];
    sizes.dilation[d] = dilation[i];
    sizes.x[d] = x.strides[2 + i];
    sizes.y[d] = y.strides[2 + i];
    if (sizes.in[d] + padding[i] + padding[n + i] > kMaxPosition ||
        sizes.out[d] * stride[i] > kMaxPosition || taps[i] * dilation[i] > kMaxPosition) {
      return absl::UnimplementedError("pooling of so large dims");
    }
  }
  sizes.images = y.dims[0];
  sizes.channels = y.dims[1];
  sizes.x_image = x.strides[0];
  sizes.x_channel = x.strides[1];
  sizes.y_image = y.strides[0];
  sizes.y_channel = y.strides[1];
  sizes.channels_last = y.strides[1] == 1 && y.dims[1] > 1;
  return sizes;
}

void AddIndices(const RunView& indices, PoolingSizes* sizes) {
  sizes->has_indices = 1;
  sizes->index_image = indices.strides[0];
  sizes->index_channel = indices.strides[1];
  const int n = indices.rank() - 2;
  for (int i = 0; i < n; ++i) sizes->index[3 - n + i] = indices.strides[2 + i];
}

}  // namespace

absl::StatusOr<std::unique_ptr<StepCode>> MakePooling(const RoutineContext& context,
                                                      const StepRequest& request) {
  const RunView& x = request.args[0];
  const RunView& y = request.results[0];
  if (!request.step.epilogue.empty()) return absl::UnimplementedError("pooling with an epilogue");
  const Attrs attrs(request.step.schema, request.attrs);
  WEFT_ASSIGN_OR_RETURN(PoolingSizes sizes, SizesOf(attrs, x, y));
  const bool maxima = request.step.op_name == "max_pool";
  const bool indices = request.results.size() > 1 && request.results[1].present();
  if (indices) AddIndices(request.results[1], &sizes);
  if (!maxima) sizes.counts_padding = attrs.Bool("count_include_pad");
  WEFT_ASSIGN_OR_RETURN(const auto module, context.units.Find(maxima ? MaxPoolingUnit(x.dtype)
                                                                     : AvgPoolingUnit(x.dtype)));
  auto code = std::make_unique<RoutineCode>(context.device, request, "pooling");
  WEFT_RETURN_IF_ERROR(code->AddKernel(
      module, "weft_pooling", GridOfElements(y.numel(), context.device.multiprocessors()),
      [&](PreparedLaunch* launch) {
        const int result = static_cast<int>(request.args.size());
        AddOperand(request, 0, launch);
        AddOperand(request, result, launch);
        AddOperand(request, indices ? result + 1 : -1, launch);
      },
      BytesOf(sizes)));
  return code;
}

}  // namespace weft::cuda
