#include "backends/cuda/routines/matmul.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "backends/cuda/routines/cublaslt.h"
#include "backends/cuda/routines/epilogue.h"
#include "backends/cuda/routines/joined_dims.h"
#include "backends/cuda/routines/matmul_unit.h"
#include "backends/cuda/routines/routine_code.h"
#include "backends/runtime/step_names.h"
#include "base/status_macros.h"
#include "graph/ir/op_def.h"

namespace weft::cuda {
namespace {

// The sizes of a call, with the strides of the epilogue's operands.
struct Sizes {
  MatmulSizes matmul;
  std::vector<MatmulOperand> operands;
};

// The stride of an operand along dim `d` of the result's batch, which has `rank` dims; the operand
// has `own` batch dims, which stand last.
int64_t BatchStride(const RunView& view, int own, int d, int rank) {
  const int at = d - (rank - own);
  return at < 0 || view.dims[at] == 1 ? 0 : view.strides[at];
}

// Places of the strides of a dim: those of a, b, c, and the operands of the epilogue.
constexpr size_t kA = 0, kB = 1, kC = 2, kOperands = 3;

// A dim of the result with its strides in a and b.
Dim DimOf(int d, int64_t a, int64_t b, const RunView& c, const EpilogueCode& epilogue) {
  Dim dim = {c.dims[d], {a, b, c.strides[d]}};
  for (const EpilogueOperand& operand : epilogue.operands) {
    dim.strides.push_back(operand.strides[d]);
  }
  return dim;
}

// Calls `work` with the stride of the rows of each matrix that has rows of the result, and its
// stride along `dim`.
template <typename Work>
void ForRows(const Dim& dim, Sizes* sizes, const Work& work) {
  work(&sizes->matmul.a_row, dim.strides[kA]);
  work(&sizes->matmul.c_row, dim.strides[kC]);
  for (size_t o = 0; o < sizes->operands.size(); ++o) {
    work(&sizes->operands[o].row, dim.strides[kOperands + o]);
  }
}

// True if neighbouring matrices along the dim, with one matrix on the right, are more rows.
bool ContinuesRows(const Dim& dim, Sizes* sizes) {
  bool continues = dim.strides[kB] == 0;
  const int64_t m = sizes->matmul.m;
  ForRows(dim, sizes, [&](const int64_t* row, int64_t stride) {
    continues = continues && (m == 1 || stride == *row * m);
  });
  return continues;
}

absl::Status SetBatch(std::vector<Dim> dims, Sizes* all) {
  MatmulSizes& sizes = all->matmul;
  dims = Join(dims);
  while (!dims.empty() && ContinuesRows(dims.back(), all)) {
    if (sizes.m == 1) {
      ForRows(dims.back(), all, [](int64_t* row, int64_t stride) { *row = stride; });
    }
    sizes.m *= dims.back().size;
    dims.pop_back();
  }
  if (dims.size() > kMaxBatchDims) return absl::UnimplementedError("a batch of too many dims");
  sizes.rank = static_cast<int64_t>(dims.size());
  for (size_t d = 0; d < dims.size(); ++d) {
    sizes.batches *= dims[d].size;
    sizes.dims[d] = dims[d].size;
    sizes.a[d] = dims[d].strides[kA];
    sizes.b[d] = dims[d].strides[kB];
    sizes.c[d] = dims[d].strides[kC];
    for (size_t o = 0; o < all->operands.size(); ++o) {
      all->operands[o].batch[d] = dims[d].strides[kOperands + o];
    }
  }
  return absl::OkStatus();
}

// c = a * b with the broadcasts of `matmul`.
absl::StatusOr<Sizes> MatmulOf(const RunView& a, const RunView& b, const RunView& c,
                               const EpilogueCode& epilogue) {
  Sizes all;
  all.operands.resize(epilogue.operands.size());
  MatmulSizes& sizes = all.matmul;
  const int rows = a.rank() > 1 ? 1 : 0;
  const int columns = b.rank() > 1 ? 1 : 0;
  const int batch = c.rank() - rows - columns;
  sizes.k = a.dims.back();
  sizes.a_k = a.strides.back();
  sizes.b_k = b.strides[b.rank() - 1 - columns];
  if (rows > 0) {
    sizes.m = a.dims[a.rank() - 2];
    ForRows(DimOf(batch, a.strides[a.rank() - 2], 0, c, epilogue), &all,
            [](int64_t* row, int64_t stride) { *row = stride; });
  }
  if (columns > 0) {
    sizes.n = b.dims.back();
    sizes.b_column = b.strides.back();
    sizes.c_column = c.strides.back();
    for (size_t o = 0; o < all.operands.size(); ++o) {
      all.operands[o].column = epilogue.operands[o].strides.back();
    }
  }
  std::vector<Dim> dims;
  for (int d = 0; d < batch; ++d) {
    dims.push_back(DimOf(d, BatchStride(a, a.rank() - 1 - rows, d, batch),
                         BatchStride(b, b.rank() - 1 - columns, d, batch), c, epilogue));
  }
  WEFT_RETURN_IF_ERROR(SetBatch(std::move(dims), &all));
  return all;
}

// c = a * transpose(b) + bias, as `linear`; an absent bias has no buffer.
absl::StatusOr<Sizes> LinearOf(const RunView& a, const RunView& b, const RunView& bias,
                               const RunView& c, const EpilogueCode& epilogue) {
  Sizes all;
  MatmulSizes& sizes = all.matmul;
  sizes.k = a.dims.back();
  sizes.a_k = a.strides.back();
  sizes.n = b.dims[0];
  sizes.b_column = b.strides[0];
  sizes.b_k = b.strides[1];
  sizes.c_column = c.strides.back();
  for (const EpilogueOperand& operand : epilogue.operands) {
    all.operands.emplace_back().column = operand.strides.back();
  }
  if (bias.present()) {
    sizes.has_bias = 1;
    sizes.bias = bias.strides[0];
  }
  std::vector<Dim> dims;
  for (int d = 0; d + 1 < a.rank(); ++d) {
    dims.push_back(DimOf(d, a.strides[d], 0, c, epilogue));
  }
  WEFT_RETURN_IF_ERROR(SetBatch(std::move(dims), &all));
  return all;
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

// The argument that is the bias of `linear`; -1: none. Arguments of the epilogue follow.
int BiasOf(const StepRequest& request) {
  size_t own = request.args.size();
  for (const Epilogue& e : request.step.epilogue) {
    if (e.arg >= 0) own = std::min(own, static_cast<size_t>(e.arg));
  }
  return own > 2 && request.args[2].present() ? 2 : -1;
}

}  // namespace

absl::StatusOr<std::unique_ptr<StepCode>> MakeMatmul(const RoutineContext& context,
                                                     const StepRequest& request) {
  auto library = MakeLtMatmul(context, request);
  if (!absl::IsUnimplemented(library.status())) return library;
  CudaDevice& device = context.device;
  const bool linear = request.step.op->name() == "linear";
  const RunView& left = request.args[0];
  const RunView& right = request.args[1];
  const RunView& result = request.results[0];
  if (result.dtype != left.dtype) {
    return absl::UnimplementedError("the matmul kernel does not accumulate in another dtype");
  }
  const RunView absent;
  const bool has_bias = linear && BiasOf(request) >= 0;
  const RunView& bias = has_bias ? request.args[2] : absent;
  WEFT_ASSIGN_OR_RETURN(const EpilogueCode epilogue, MakeEpilogue(request, result.rank() - 1));
  WEFT_ASSIGN_OR_RETURN(Sizes sizes, linear ? LinearOf(left, right, bias, result, epilogue)
                                            : MatmulOf(left, right, result, epilogue));
  const bool tensor = device.has_tensor_cores();
  const MatmulShape shape = ShapeOfMatmul(result.dtype, tensor);
  SetGroups(shape, left, right, result, &sizes.matmul);
  WEFT_ASSIGN_OR_RETURN(const auto module,
                        context.units.Find(MatmulUnit(result.dtype, tensor, epilogue.text)));
  WEFT_ASSIGN_OR_RETURN(const CuFunction function, module->Find("weft_matmul"));
  const int64_t down = (sizes.matmul.m + shape.tile - 1) / shape.tile;
  const int64_t across = (sizes.matmul.n + shape.tile - 1) / shape.tile;
  const int last = static_cast<int>(request.args.size());
  std::vector<int> operands = {0, 1, has_bias ? 2 : -1, last};
  std::vector<Extent> extents = {ExtentOf(request, left), ExtentOf(request, right),
                                 ExtentOf(request, bias), ExtentOf(request, result)};
  std::string bytes = BytesOf(sizes.matmul);
  for (size_t o = 0; o < sizes.operands.size(); ++o) {
    operands.push_back(epilogue.operands[o].arg);
    extents.push_back(ExtentOf(request, request.args[epilogue.operands[o].arg]));
    bytes += BytesOf(sizes.operands[o]);
  }
  bytes += BytesOf(MatmulOperand());
  return std::make_unique<RoutineCode>(
      device, module, function,
      GridOf(down * across * sizes.matmul.batches, device.multiprocessors()), operands,
      std::move(extents), std::move(bytes), FreshResults(request), "matmul",
      DescribeStep(request.plan, request.step));
}

}  // namespace weft::cuda
