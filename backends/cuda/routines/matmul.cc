#include "backends/cuda/routines/matmul.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "backends/cuda/routines/joined_dims.h"
#include "backends/cuda/routines/matmul_unit.h"
#include "backends/cuda/routines/routine_code.h"
#include "backends/runtime/step_names.h"
#include "base/status_macros.h"
#include "graph/ir/op_def.h"

namespace weft::cuda {
namespace {

// The stride of an operand along dim `d` of the result's batch, which has `rank` dims; the operand
// has `own` batch dims, which stand last.
int64_t BatchStride(const RunView& view, int own, int d, int rank) {
  const int at = d - (rank - own);
  return at < 0 || view.dims[at] == 1 ? 0 : view.strides[at];
}

absl::Status SetBatch(std::vector<Dim> dims, MatmulSizes* sizes) {
  dims = Join(dims);
  // With one matrix on the right, rows of neighbouring matrices on the left are more rows.
  while (!dims.empty() && dims.back().strides[1] == 0 &&
         (sizes->m == 1 || (dims.back().strides[0] == sizes->a_row * sizes->m &&
                            dims.back().strides[2] == sizes->c_row * sizes->m))) {
    if (sizes->m == 1) {
      sizes->a_row = dims.back().strides[0];
      sizes->c_row = dims.back().strides[2];
    }
    sizes->m *= dims.back().size;
    dims.pop_back();
  }
  if (dims.size() > kMaxBatchDims) return absl::UnimplementedError("a batch of too many dims");
  sizes->rank = static_cast<int64_t>(dims.size());
  for (size_t d = 0; d < dims.size(); ++d) {
    sizes->batches *= dims[d].size;
    sizes->dims[d] = dims[d].size;
    sizes->a[d] = dims[d].strides[0];
    sizes->b[d] = dims[d].strides[1];
    sizes->c[d] = dims[d].strides[2];
  }
  return absl::OkStatus();
}

// c = a * b with the broadcasts of `matmul`.
absl::StatusOr<MatmulSizes> MatmulOf(const RunView& a, const RunView& b, const RunView& c) {
  MatmulSizes sizes;
  const int rows = a.rank() > 1 ? 1 : 0;
  const int columns = b.rank() > 1 ? 1 : 0;
  const int batch = c.rank() - rows - columns;
  sizes.k = a.dims.back();
  sizes.a_k = a.strides.back();
  sizes.b_k = b.strides[b.rank() - 1 - columns];
  if (rows > 0) {
    sizes.m = a.dims[a.rank() - 2];
    sizes.a_row = a.strides[a.rank() - 2];
    sizes.c_row = c.strides[batch];
  }
  if (columns > 0) {
    sizes.n = b.dims.back();
    sizes.b_column = b.strides.back();
    sizes.c_column = c.strides.back();
  }
  std::vector<Dim> dims;
  for (int d = 0; d < batch; ++d) {
    dims.push_back({c.dims[d],
                    {BatchStride(a, a.rank() - 1 - rows, d, batch),
                     BatchStride(b, b.rank() - 1 - columns, d, batch), c.strides[d]}});
  }
  WEFT_RETURN_IF_ERROR(SetBatch(std::move(dims), &sizes));
  return sizes;
}

// c = a * transpose(b) + bias, as `linear`; an absent bias has no buffer.
absl::StatusOr<MatmulSizes> LinearOf(const RunView& a, const RunView& b, const RunView& bias,
                                     const RunView& c) {
  MatmulSizes sizes;
  sizes.k = a.dims.back();
  sizes.a_k = a.strides.back();
  sizes.n = b.dims[0];
  sizes.b_column = b.strides[0];
  sizes.b_k = b.strides[1];
  sizes.c_column = c.strides.back();
  if (bias.present()) {
    sizes.has_bias = 1;
    sizes.bias = bias.strides[0];
  }
  std::vector<Dim> dims;
  for (int d = 0; d + 1 < a.rank(); ++d) {
    dims.push_back({a.dims[d], {a.strides[d], 0, c.strides[d]}});
  }
  WEFT_RETURN_IF_ERROR(SetBatch(std::move(dims), &sizes));
  return sizes;
}

// Sets what a kernel of that shape can access in groups. The views are those of the call; their
// memory begins at multiples of 16 bytes.
void SetGroups(const MatmulShape& shape, const RunView& a, const RunView& b, const RunView& c,
               MatmulSizes* sizes) {
  if (shape.load_group == 0) return;
  const auto even = [&](const RunView& view, const int64_t* batch, int64_t group) {
    return view.offset % group == 0 && std::all_of(batch, batch + sizes->rank, [&](int64_t stride) {
             return stride % group == 0;
           });
  };
  // Lines are the rows of a or the columns of b.
  const auto groups = [&](const RunView& view, const int64_t* batch, int64_t lines,
                          int64_t line_stride, int64_t k_stride) -> int64_t {
    const int64_t group = shape.load_group;
    if (!even(view, batch, group)) return 0;
    if (k_stride == 1 && sizes->k % group == 0 && (lines == 1 || line_stride % group == 0)) {
      return 1;
    }
    if (line_stride == 1 && lines % group == 0 && (sizes->k == 1 || k_stride % group == 0)) {
      return 2;
    }
    return 0;
  };
  sizes->a_groups = groups(a, sizes->a, sizes->m, sizes->a_row, sizes->a_k);
  sizes->b_groups = groups(b, sizes->b, sizes->n, sizes->b_column, sizes->b_k);
  const int64_t group = shape.store_group;
  sizes->c_groups = even(c, sizes->c, group) && sizes->c_column == 1 && sizes->n % group == 0 &&
                    (sizes->m == 1 || sizes->c_row % group == 0);
}

}  // namespace

absl::StatusOr<std::unique_ptr<StepCode>> MakeMatmul(const RoutineContext& context,
                                                     const StepRequest& request) {
  CudaDevice& device = context.device;
  const bool linear = request.step.op->name() == "linear";
  const RunView& left = request.args[0];
  const RunView& right = request.args[1];
  const RunView& result = request.results[0];
  if (result.dtype != left.dtype || !request.step.epilogue.empty()) {
    return absl::UnimplementedError(
        "the matmul kernel neither accumulates in another dtype nor has an epilogue");
  }
  const RunView absent;
  const RunView& bias = linear && request.args.size() > 2 ? request.args[2] : absent;
  WEFT_ASSIGN_OR_RETURN(MatmulSizes sizes, linear ? LinearOf(left, right, bias, result)
                                                  : MatmulOf(left, right, result));
  const bool tensor = device.has_tensor_cores();
  const MatmulShape shape = ShapeOfMatmul(result.dtype, tensor);
  SetGroups(shape, left, right, result, &sizes);
  WEFT_ASSIGN_OR_RETURN(const auto module, context.units.Find(MatmulUnit(result.dtype, tensor)));
  WEFT_ASSIGN_OR_RETURN(const CuFunction function, module->Find("weft_matmul"));
  const int64_t down = (sizes.m + shape.tile - 1) / shape.tile;
  const int64_t across = (sizes.n + shape.tile - 1) / shape.tile;
  const int last = static_cast<int>(request.args.size());
  const std::vector<int> operands = {0, 1, bias.present() ? 2 : -1, last};
  std::vector<Extent> extents = {ExtentOf(request, left), ExtentOf(request, right),
                                 ExtentOf(request, bias), ExtentOf(request, result)};
  return std::make_unique<RoutineCode>(
      device, module, function, GridOf(down * across * sizes.batches, device.multiprocessors()),
      operands, std::move(extents), BytesOf(sizes), FreshResults(request), "matmul",
      DescribeStep(request.plan, request.step));
}

}  // namespace weft::cuda
