#include "backends/cuda/routines/grid_sampler.h"

#include <cstdint>
#include <string>

#include "backends/cuda/routines/grid_sampler_unit.h"
#include "backends/cuda/routines/routine_code.h"
#include "base/status_macros.h"
#include "graph/ir/attrs.h"

namespace weft::cuda {
namespace {

GridMode ModeOf(const std::string& mode) {
  if (mode == "nearest") return GridMode::kNearest;
  return mode == "bilinear" ? GridMode::kBilinear : GridMode::kBicubic;
}

GridPadding PaddingOf(const std::string& padding) {
  if (padding == "zeros") return GridPadding::kZeros;
  return padding == "border" ? GridPadding::kBorder : GridPadding::kReflection;
}

GridSizes SizesOf(const RunView& x, const RunView& grid, const RunView& y) {
  GridSizes sizes;
  sizes.images = y.dims[0];
  sizes.channels = y.dims[1];
  sizes.dims = y.rank() - 2;
  sizes.x_image = x.strides[0];
  sizes.x_channel = x.strides[1];
  sizes.y_image = y.strides[0];
  sizes.y_channel = y.strides[1];
  sizes.grid_image = grid.strides[0];
  sizes.grid_coordinate = grid.strides.back();
  for (int i = 2; i < y.rank(); ++i) {
    const int d = 3 - y.rank() + i;
    sizes.in[d] = x.dims[i];
    sizes.out[d] = y.dims[i];
    sizes.x[d] = x.strides[i];
    sizes.y[d] = y.strides[i];
    sizes.grid[d] = grid.strides[i - 1];
  }
  return sizes;
}

}  // namespace

absl::StatusOr<std::unique_ptr<StepCode>> MakeGridSampler(const RoutineContext& context,
                                                          const StepRequest& request) {
  const RunView& x = request.args[0];
  const RunView& grid = request.args[1];
  const RunView& y = request.results[0];
  if (y.numel() >= kMaxElements) return absl::UnimplementedError("2^31 elements or more");
  const Attrs attrs(request.step.schema, request.attrs);
  GridSizes sizes = SizesOf(x, grid, y);
  sizes.align_corners = attrs.Bool("align_corners");
  sizes.padding = static_cast<int64_t>(PaddingOf(attrs.Str("padding_mode")));
  WEFT_ASSIGN_OR_RETURN(const auto module, context.units.Find(GridSamplerUnit(
                                               ModeOf(attrs.Str("mode")), x.dtype, grid.dtype)));
  auto code = std::make_unique<RoutineCode>(context.device, request, "grid_sampler");
  WEFT_RETURN_IF_ERROR(code->AddKernel(
      module, "weft_grid_sampler", GridOfElements(y.numel(), context.device.multiprocessors()),
      [&](PreparedLaunch* launch) {
        AddOperand(request, 0, launch);
        AddOperand(request, 1, launch);
        AddOperand(request, static_cast<int>(request.args.size()), launch);
      },
      BytesOf(sizes)));
  return code;
}

}  // namespace weft::cuda
