#include "backends/cuda/routines/matmul.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "backends/cuda/device/prepared_launch.h"
#include "backends/cuda/routines/cublaslt.h"
#include "backends/cuda/routines/epilogue.h"
#include "backends/cuda/routines/joined_dims.h"
#include "backends/cuda/routines/matmul_choice.h"
#include "backends/cuda/routines/matmul_unit.h"
#include "backends/cuda/routines/routine_code.h"
#include "base/status_macros.h"
#include "graph/ir/op_def.h"

namespace weft::cuda {
namespace {

constexpr int64_t kMaxBlocks = (int64_t{1} << 31) - 1;
// Strides below this, times the 256 lines of the largest tile, fit 32 bits.
constexpr int64_t kFar = int64_t{1} << 23;

// The sizes of a call, with the strides of the epilogue's operands.
struct Sizes {
  MatmulSizes matmul;
  std::vector<MatmulOperand> operands;
};

// The arguments of a step that are no matrices; -1: absent.
struct Others {
  int bias = -1;
  int a_zero = -1, b_zero = -1;  // Zero points.
};

// The stride of an operand along dim `d` of the result's batch, which has `rank` dims; the operand
// has `own` batch dims, which stand last.
int64_t BatchStride(const RunView& view, int own, int d, int rank) {
  const int at = d - (rank - own);
  return at < 0 || view.dims[at] == 1 ? 0 : view.strides[at];
}

// Places of the strides of a dim: those of a, b, c, and the operands of the epilogue.
constexpr size_t kA = 0;
constexpr size_t kB = 1;
constexpr size_t kC = 2;
constexpr size_t kOperands = 3;

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
    sizes.bias_column = bias.strides[0];
  }
  std::vector<Dim> dims;
  for (int d = 0; d + 1 < a.rank(); ++d) {
    dims.push_back(DimOf(d, a.strides[d], 0, c, epilogue));
  }
  WEFT_RETURN_IF_ERROR(SetBatch(std::move(dims), &all));
  return all;
}

// The product of transposed matrices, whose result is that of the product transposed.
void Transpose(Sizes* all) {
  MatmulSizes& sizes = all->matmul;
  std::swap(sizes.m, sizes.n);
  std::swap(sizes.a_row, sizes.b_column);
  std::swap(sizes.a_k, sizes.b_k);
  std::swap(sizes.c_row, sizes.c_column);
  std::swap(sizes.bias_row, sizes.bias_column);
  std::swap(sizes.a_zero_row, sizes.b_zero_column);
  std::swap(sizes.a, sizes.b);
  for (MatmulOperand& operand : all->operands) std::swap(operand.row, operand.column);
}

bool AreMultiples(const RunView& view, const int64_t* batch, int64_t rank, int64_t group) {
  return view.offset % group == 0 &&
         std::all_of(batch, batch + rank, [&](int64_t stride) { return stride % group == 0; });
}

// How a matrix with this view can be read. Its memory begins at a multiple of 16 bytes.
MatmulRead ReadOf(const RunView& view, const int64_t* batch, int64_t rank, int64_t lines, int64_t k,
                  int64_t line_stride, int64_t k_stride) {
  const int64_t group = GroupOf(MatmulRead::kGroupsAlongK, view.dtype);
  const bool even = AreMultiples(view, batch, rank, group);
  if (even && k_stride == 1 && k % group == 0 && (lines == 1 || line_stride % group == 0)) {
    return MatmulRead::kGroupsAlongK;
  }
  if (even && line_stride == 1 && lines % group == 0 && (k == 1 || k_stride % group == 0)) {
    return MatmulRead::kGroupsAlongLines;
  }
  return line_stride == 1 && k_stride != 1 ? MatmulRead::kOneAlongLines : MatmulRead::kOneAlongK;
}

MatmulProblem ProblemOf(const Sizes& all, const RunView& a, const RunView& b, const Others& others,
                        const CudaDevice& device) {
  const MatmulSizes& sizes = all.matmul;
  MatmulProblem problem;
  problem.m = sizes.m;
  problem.n = sizes.n;
  problem.k = sizes.k;
  problem.batches = sizes.batches;
  problem.operands = {a.dtype, b.dtype, others.a_zero >= 0, others.b_zero >= 0};
  problem.tensor_cores = device.has_tensor_cores();
  problem.float8 = device.has_float8();
  problem.f32_products = device.f32_products();
  problem.wgmma = device.has_wgmma();
  for (const int64_t stride : {sizes.a_row, sizes.a_k, sizes.b_k, sizes.b_column}) {
    problem.far = problem.far || stride <= -kFar || stride >= kFar;
  }
  problem.far = problem.far || sizes.k >= kFar * 64;
  problem.a = ReadOf(a, sizes.a, sizes.rank, sizes.m, sizes.k, sizes.a_row, sizes.a_k);
  problem.b = ReadOf(b, sizes.b, sizes.rank, sizes.n, sizes.k, sizes.b_column, sizes.b_k);
  return problem;
}

// The argument that is the bias of `linear`; -1: none. Arguments of the epilogue follow.
int BiasOf(const StepRequest& request) {
  size_t own = request.args.size();
  for (const Epilogue& e : request.step.epilogue) {
    if (e.arg >= 0) own = std::min(own, static_cast<size_t>(e.arg));
  }
  return own > 2 && request.args[2].present() ? 2 : -1;
}

Others OthersOf(const StepRequest& request) {
  Others others;
  const std::string name(request.step.op->name());
  if (name == "linear") others.bias = BiasOf(request);
  if (name == "matmul_integer") {
    if (request.args[2].present()) others.a_zero = 2;
    if (request.args[3].present()) others.b_zero = 3;
  }
  return others;
}

// The distance of zero points of neighbouring channels.
int64_t ZeroStride(const StepRequest& request, int arg) {
  return arg >= 0 && request.args[arg].numel() > 1 ? 1 : 0;
}

// A step that is made.
struct Making {
  const StepRequest& request;
  EpilogueCode epilogue;
  Sizes sizes;
  int a = 0, b = 1;  // Arguments; exchanged if the matrices are transposed.
  Others others;
  MatmulChoice choice;

  bool of_integer_bytes() const { return choice.kernel.operands.integer_bytes(); }
};

absl::StatusOr<Making> Describe(const CudaDevice& device, const StepRequest& request) {
  const RunView& left = request.args[0];
  const RunView& right = request.args[1];
  const RunView& result = request.results[0];
  const RunView absent;
  Making making{request, {}, {}, 0, 1, OthersOf(request), {}};
  Others& others = making.others;
  Sizes& sizes = making.sizes;
  WEFT_ASSIGN_OR_RETURN(making.epilogue, MakeEpilogue(request, result.rank() - 1));
  if (request.step.op->name() == "linear") {
    const RunView& bias = others.bias >= 0 ? request.args[others.bias] : absent;
    WEFT_ASSIGN_OR_RETURN(sizes, LinearOf(left, right, bias, result, making.epilogue));
  } else {
    WEFT_ASSIGN_OR_RETURN(sizes, MatmulOf(left, right, result, making.epilogue));
  }
  MatmulSizes& matmul = sizes.matmul;
  matmul.b_zero_column = ZeroStride(request, others.b_zero);
  if (matmul.n <= kMaxFewRows && matmul.m > matmul.n) {
    Transpose(&sizes);
    std::swap(making.a, making.b);
    std::swap(others.a_zero, others.b_zero);
  }
  making.choice = ChooseMatmul(
      ProblemOf(sizes, request.args[making.a], request.args[making.b], others, device));
  const MatmulChoice& choice = making.choice;
  if (choice.blocks > kMaxBlocks) return absl::UnimplementedError("a product of too many tiles");
  matmul.down = choice.down;
  matmul.across = choice.across;
  matmul.splits = choice.splits;
  matmul.split_k = choice.split_k;
  const int64_t group = StoreGroupOf(choice.kernel);
  matmul.c_groups = AreMultiples(result, matmul.c, matmul.rank, group) && matmul.c_column == 1 &&
                    matmul.n % group == 0 && (matmul.m == 1 || matmul.c_row % group == 0);
  return making;
}

// The parameters of the kernels, but for the sizes.
void AddParameters(const Making& making, int64_t parts_bytes, PreparedLaunch* launch) {
  const StepRequest& request = making.request;
  AddOperand(request, making.a, launch);
  AddOperand(request, making.b, launch);
  AddOperand(request, making.others.bias, launch);
  AddOperand(request, static_cast<int>(request.args.size()), launch);
  if (parts_bytes > 0) {
    launch->AddScratch(parts_bytes);
  } else {
    launch->AddOperand(-1, 0, {});
  }
  making.epilogue.AddOperands(request, launch);
  if (!making.of_integer_bytes()) return;
  AddOperand(request, making.others.a_zero, launch);
  AddOperand(request, making.others.b_zero, launch);
}

std::string SizesText(const Sizes& sizes) {
  std::string bytes = BytesOf(sizes.matmul);
  for (const MatmulOperand& operand : sizes.operands) bytes += BytesOf(operand);
  return bytes + BytesOf(MatmulOperand());
}

absl::Status AddLaunches(const RoutineContext& context, const Making& making, RoutineCode* code) {
  const MatmulChoice& choice = making.choice;
  const MatmulSizes& matmul = making.sizes.matmul;
  WEFT_ASSIGN_OR_RETURN(const auto module,
                        context.units.Find(MatmulUnit(choice.kernel, making.epilogue.text)));
  const int64_t numel = matmul.m * matmul.n * matmul.batches;
  const int64_t sum_bytes = DTypeBits(making.request.args[0].dtype) == 64 ? 8 : 4;
  const int64_t parts_bytes = choice.splits > 1 ? numel * choice.splits * sum_bytes : 0;
  code->ReserveScratch(parts_bytes);
  const auto add = [&](PreparedLaunch* launch) { AddParameters(making, parts_bytes, launch); };
  const std::string sizes = SizesText(making.sizes);
  LaunchShape shape = GridOf(choice.blocks, context.device.multiprocessors());
  shape.threads = static_cast<unsigned>(choice.kernel.threads());
  shape.shared_bytes = static_cast<unsigned>(choice.kernel.shared_bytes());
  WEFT_RETURN_IF_ERROR(code->AddKernel(module, "weft_matmul", shape, add, sizes));
  if (choice.blocks == 0 || parts_bytes == 0) return absl::OkStatus();
  return code->AddKernel(module, "weft_matmul_finish",
                         GridOfElements(numel, context.device.multiprocessors()), add, sizes);
}

}  // namespace

absl::StatusOr<std::unique_ptr<StepCode>> MakeMatmul(const RoutineContext& context,
                                                     const StepRequest& request) {
  CudaDevice& device = context.device;
  const DType dtype = request.args[0].dtype;
  // Sums of elements of 8 bits are wider.
  const bool bytes = DTypeBits(dtype) == 8;
  // The library reads all bits of f32 or 11.
  if (!bytes && (dtype != DType::kF32 || device.f32_products() != 3)) {
    auto library = MakeLtMatmul(context, request);
    if (!absl::IsUnimplemented(library.status())) return library;
  }
  if (!bytes && request.results[0].dtype != dtype) {
    return absl::UnimplementedError("the matmul kernel does not accumulate in another dtype");
  }
  WEFT_ASSIGN_OR_RETURN(const Making making, Describe(device, request));
  auto code = std::make_unique<RoutineCode>(device, request, "matmul");
  if (making.choice.kernel.form == MatmulForm::kTf32) {
    code->set_operand_error(making.choice.kernel.products == 3 ? 0x1p-21 : 0x1p-11);
  }
  WEFT_RETURN_IF_ERROR(AddLaunches(context, making, code.get()));
  return code;
}

}  // namespace weft::cuda
