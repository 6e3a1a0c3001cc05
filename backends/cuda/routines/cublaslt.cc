#include "backends/cuda/routines/cublaslt.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/cuda/device/operands.h"
#include "backends/cuda/routines/finish.h"
#include "backends/cuda/routines/joined_dims.h"
#include "backends/runtime/step_names.h"
#include "base/status_macros.h"
#include "graph/ir/op_def.h"
#include "lowering/plan_ops.h"

namespace weft::cuda {
namespace {

// Memory begins at multiples of this, in bytes (device.h).
constexpr int64_t kMemoryAlignment = 64;
constexpr int64_t kMaxSize = std::numeric_limits<int32_t>::max();

// A matrix of `rows` and `columns` with any strides.
struct Strided {
  int64_t rows = 1, columns = 1;
  int64_t row_stride = 0, column_stride = 0;
  int64_t batch_stride = 0;

  Strided Transposed() const { return {columns, rows, column_stride, row_stride, batch_stride}; }
};

struct Gemm {
  Strided a, b, c;
  int64_t batches = 1;
};

// --- Sizes and strides -------------------------------------------------------------------

int64_t BatchStride(const RunView& view, int own, int d, int rank) {
  const int at = d - (rank - own);
  return at < 0 || view.dims[at] == 1 ? 0 : view.strides[at];
}

// Adds the dims of a batch: rows of several left matrices that meet one right matrix are rows of
// one, and at most one dim is left.
absl::Status SetBatch(std::vector<Dim> dims, Gemm* gemm) {
  dims = Join(dims);
  Strided& a = gemm->a;
  Strided& c = gemm->c;
  while (!dims.empty() && dims.back().strides[1] == 0 &&
         (a.rows == 1 || (dims.back().strides[0] == a.row_stride * a.rows &&
                          dims.back().strides[2] == c.row_stride * a.rows))) {
    if (a.rows == 1) {
      a.row_stride = dims.back().strides[0];
      c.row_stride = dims.back().strides[2];
    }
    a.rows = c.rows = a.rows * dims.back().size;
    dims.pop_back();
  }
  if (dims.size() > 1) return absl::UnimplementedError("a batch of several dims");
  if (!dims.empty()) {
    gemm->batches = dims[0].size;
    a.batch_stride = dims[0].strides[0];
    gemm->b.batch_stride = dims[0].strides[1];
    c.batch_stride = dims[0].strides[2];
  }
  return absl::OkStatus();
}

absl::StatusOr<Gemm> MatmulOf(const RunView& a, const RunView& b, const RunView& c) {
  Gemm gemm;
  const int rows = a.rank() > 1 ? 1 : 0;
  const int columns = b.rank() > 1 ? 1 : 0;
  const int batch = c.rank() - rows - columns;
  gemm.a.columns = gemm.b.rows = a.dims.back();
  gemm.a.column_stride = a.strides.back();
  gemm.b.row_stride = b.strides[b.rank() - 1 - columns];
  if (rows > 0) {
    gemm.a.rows = gemm.c.rows = a.dims[a.rank() - 2];
    gemm.a.row_stride = a.strides[a.rank() - 2];
    gemm.c.row_stride = c.strides[batch];
  }
  if (columns > 0) {
    gemm.b.columns = gemm.c.columns = b.dims.back();
    gemm.b.column_stride = b.strides.back();
    gemm.c.column_stride = c.strides.back();
  }
  std::vector<Dim> dims;
  for (int d = 0; d < batch; ++d) {
    dims.push_back({c.dims[d],
                    {BatchStride(a, a.rank() - 1 - rows, d, batch),
                     BatchStride(b, b.rank() - 1 - columns, d, batch), c.strides[d]}});
  }
  WEFT_RETURN_IF_ERROR(SetBatch(std::move(dims), &gemm));
  return gemm;
}

// a * transpose(b).
absl::StatusOr<Gemm> LinearOf(const RunView& a, const RunView& b, const RunView& c) {
  Gemm gemm;
  gemm.a.columns = gemm.b.rows = a.dims.back();
  gemm.a.column_stride = a.strides.back();
  gemm.b.columns = gemm.c.columns = b.dims[0];
  gemm.b.column_stride = b.strides[0];
  gemm.b.row_stride = b.strides[1];
  gemm.c.column_stride = c.strides.back();
  std::vector<Dim> dims;
  for (int d = 0; d + 1 < a.rank(); ++d) {
    dims.push_back({a.dims[d], {a.strides[d], 0, c.strides[d]}});
  }
  WEFT_RETURN_IF_ERROR(SetBatch(std::move(dims), &gemm));
  return gemm;
}

// --- Layouts -----------------------------------------------------------------------------

// Sets the layout of a column-major matrix; false if its strides do not allow it.
bool SetColumnMajor(const Strided& matrix, LtMatrix* layout) {
  if (matrix.rows > 1 && matrix.row_stride != 1) return false;
  layout->rows = matrix.rows;
  layout->columns = matrix.columns;
  layout->ld = matrix.columns > 1 ? matrix.column_stride : matrix.rows;
  layout->batch_offset = matrix.batch_stride;
  return layout->ld >= matrix.rows && layout->batch_offset >= 0;
}

// Sets the layout of a matrix, or of its transpose. Of two possible ones it is the one in which
// neighbours of a column are neighbours in memory.
bool SetLayout(const Strided& matrix, LtMatrix* layout, bool* transpose) {
  const bool transposed_first = matrix.rows == 1;
  for (const bool transposed : {transposed_first, !transposed_first}) {
    *transpose = transposed;
    if (SetColumnMajor(transposed ? matrix.Transposed() : matrix, layout)) return true;
  }
  return false;
}

int64_t AlignmentOf(const RunView& view) {
  const int64_t offset = view.offset * DTypeBits(view.dtype) / 8;
  const int64_t power = offset & -offset;
  return power == 0 ? kMemoryAlignment : std::min(power, kMemoryAlignment);
}

bool SetTypes(DType dtype, LtProblem* problem) {
  problem->compute = dtype == DType::kF64 ? kCublas64F : kCublas32F;
  switch (dtype) {
    case DType::kF32:
      problem->type = kCublasF32;
      return true;
    case DType::kF64:
      problem->type = kCublasF64;
      return true;
    case DType::kF16:
      problem->type = kCublasF16;
      return true;
    case DType::kBF16:
      problem->type = kCublasBF16;
      return true;
    default:
      return false;
  }
}

// --- Epilogues ---------------------------------------------------------------------------

// A vector along the last dim of `result`, with stride 1.
bool IsRow(const RunView& view, const RunView& result) {
  if (view.rank() == 0 || view.rank() > result.rank() || view.dims.back() != result.dims.back()) {
    return false;
  }
  return view.numel() == view.dims.back() && (view.dims.back() == 1 || view.strides.back() == 1);
}

// Takes the ops of the epilogue that the library applies, from the first one on.
absl::Status SetEpilogue(const StepRequest& request, LtStep* step) {
  const RunView& result = request.results[0];
  const auto& epilogue = request.step.epilogue;
  const auto applied = [&](int arg) {
    return std::any_of(epilogue.begin(), epilogue.end(),
                       [arg](const Epilogue& e) { return e.arg == arg; });
  };
  if (request.step.op_name == "linear" && request.args.size() > 2 && !applied(2) &&
      request.args[2].present()) {
    if (!IsRow(request.args[2], result)) return absl::UnimplementedError("a bias with gaps");
    step->bias = 2;
  }
  for (const Epilogue& e : epilogue) {
    if (Applies(e, "relu")) {
      step->problem.epilogue |= kLtEpilogueRelu;
      ++step->taken;
      break;
    }
    // The sum would be rounded before the addition.
    if (DTypeBits(result.dtype) == 16) break;
    const bool added =
        e.kind == Epilogue::Kind::kBias || (e.kind == Epilogue::Kind::kBinary && Applies(e, "add"));
    if (!added || !request.args[e.arg].present()) break;
    const RunView& other = request.args[e.arg];
    if (other.dtype != result.dtype) break;
    if (step->c < 0 && other.dims == result.dims) {
      step->c = e.arg;
    } else if (step->bias < 0 && IsRow(other, result)) {
      step->bias = e.arg;
    } else {
      break;
    }
    ++step->taken;
  }
  if (step->bias >= 0) {
    step->problem.epilogue |= kLtEpilogueBias;
    step->problem.bias_alignment = AlignmentOf(request.args[step->bias]);
  }
  return absl::OkStatus();
}

absl::StatusOr<Gemm> GemmOf(const StepRequest& request, const RunView& result) {
  const RunView& left = request.args[0];
  const RunView& right = request.args[1];
  return request.step.op_name == "linear" ? LinearOf(left, right, result)
                                          : MatmulOf(left, right, result);
}

// --- Code --------------------------------------------------------------------------------

class LtCode : public StepCode {
 public:
  // `finish`: what follows the call, if there is something.
  LtCode(CudaDevice& device, std::unique_ptr<LtCall> call, const LtStep& step,
         std::optional<Finish> finish, const StepRequest& request)
      : device_(device),
        call_(std::move(call)),
        step_(step),
        finish_(std::move(finish)),
        fresh_(request),
        label_(DescribeStep(request.plan, request.step)) {
    for (const absl::Span<const RunView> views : {request.args, request.results}) {
      for (const RunView& view : views) extents_.push_back(ExtentOf(request, view));
    }
    if (step.apart) {
      const RunView& result = request.results[0];
      sum_bytes_ = DTypeBytes(result.dtype, result.numel());
    }
  }

  absl::Status Launch(const LaunchMemory& memory) override;
  int64_t scratch_bytes() const override {
    const int64_t bytes = call_->workspace_bytes();
    return sum_bytes_ + (bytes == 0 ? 0 : bytes + kLtWorkspaceAlignment - 1);
  }
  const char* runner() const override { return "library"; }
  double operand_error() const override {
    // TF32 has 10 bits of mantissa.
    return step_.problem.compute == kCublas32FFastTF32 ? std::ldexp(1.0, -10) : 0;
  }
  std::string routine() const override { return finish_ ? "cublaslt, kernel" : "cublaslt"; }

 private:
  CudaDevice& device_;
  const std::unique_ptr<LtCall> call_;
  const LtStep step_;
  std::optional<Finish> finish_;
  const FreshResults fresh_;
  const std::string label_;
  int64_t sum_bytes_ = 0;        // Of sums at the begin of the scratch memory.
  std::vector<Extent> extents_;  // By operand.
};

absl::Status LtCode::Launch(const LaunchMemory& memory) {
  fresh_.Forget(device_, memory);
  device_.Forget(RangeOf(memory.scratch, {0, scratch_bytes()}));
  std::vector<OperandRange> ranges;
  absl::Status status;
  const auto check = [&](const void* address, int64_t alignment) {
    if (reinterpret_cast<uintptr_t>(address) % static_cast<uintptr_t>(alignment) != 0) {
      status = absl::InternalError(absl::StrCat(label_, ": memory is not aligned"));
    }
  };
  const auto place = [&](int operand, int64_t alignment) -> void* {
    void* const address = operand < 0 ? nullptr : memory.all[operand];
    ranges.push_back(operand < 0 ? OperandRange()
                                 : RangeOf(address, extents_[operand], operand == step_.d));
    check(address, alignment);
    return address;
  };
  LtMemory at;
  at.a = place(step_.a, step_.problem.a.alignment);
  at.b = place(step_.b, step_.problem.b.alignment);
  at.c = place(step_.c, step_.problem.c.alignment);
  if (step_.apart) {
    at.d = memory.scratch;
    ranges.push_back(RangeOf(at.d, {0, sum_bytes_}));
    check(at.d, step_.problem.d.alignment);
  } else {
    at.d = place(step_.d, step_.problem.d.alignment);
  }
  at.bias = place(step_.bias, step_.problem.bias_alignment);
  WEFT_RETURN_IF_ERROR(status);
  const int64_t bytes = call_->workspace_bytes();
  if (bytes > 0) {
    const auto begin = reinterpret_cast<uintptr_t>(memory.scratch + sum_bytes_);
    const auto aligned = (begin + kLtWorkspaceAlignment - 1) / kLtWorkspaceAlignment *
                         static_cast<uintptr_t>(kLtWorkspaceAlignment);
    at.workspace = reinterpret_cast<void*>(aligned);
    ranges.push_back(RangeOf(at.workspace, {0, bytes}));
  }
  WEFT_RETURN_IF_ERROR(
      device_.Submit(ranges, label_, [&](CuStream stream) { return call_->Submit(at, stream); }));
  return finish_ ? finish_->launch.Submit(device_, memory, label_) : absl::OkStatus();
}

}  // namespace

absl::StatusOr<LtStep> DescribeLt(const StepRequest& request) {
  const RunView& left = request.args[0];
  const RunView& right = request.args[1];
  RunView result = request.results[0];
  LtStep step;
  LtProblem& problem = step.problem;
  if (left.dtype != right.dtype || left.dtype != result.dtype ||
      !SetTypes(result.dtype, &problem)) {
    return absl::UnimplementedError("dtypes");
  }
  step.d = static_cast<int>(request.args.size());
  WEFT_RETURN_IF_ERROR(SetEpilogue(request, &step));
  step.apart = request.step.accumulates >= 0 && request.step.accumulates != step.c;
  if (step.apart) result = DenseView(result.dtype, result.dims);
  WEFT_ASSIGN_OR_RETURN(const Gemm gemm, GemmOf(request, result));
  problem.batches = gemm.batches;
  const int64_t inner = gemm.a.columns;
  for (const int64_t size : {gemm.c.rows, gemm.c.columns, inner, gemm.batches}) {
    if (size < 1 || size > kMaxSize) return absl::UnimplementedError("sizes");
  }
  // Row-major results are computed as their transposes.
  const bool swapped = SetColumnMajor(gemm.c.Transposed(), &problem.d);
  if (!swapped && (step.bias >= 0 || !SetColumnMajor(gemm.c, &problem.d))) {
    return absl::UnimplementedError("strides of the result");
  }
  if (problem.batches > 1 && problem.d.batch_offset == 0) {
    return absl::UnimplementedError("results over each other");
  }
  step.a = swapped ? 1 : 0;
  step.b = swapped ? 0 : 1;
  if (!SetLayout(swapped ? gemm.b.Transposed() : gemm.a, &problem.a, &problem.transpose_a) ||
      !SetLayout(swapped ? gemm.a.Transposed() : gemm.b, &problem.b, &problem.transpose_b)) {
    return absl::UnimplementedError("strides");
  }
  problem.c = problem.d;
  if (step.c >= 0) {
    // Its batch must be one of the result's dims, which the result's strides say.
    RunView added = request.args[step.c];
    WEFT_ASSIGN_OR_RETURN(const Gemm sum, GemmOf(request, added));
    if (sum.batches != gemm.batches || sum.c.rows != gemm.c.rows ||
        !SetColumnMajor(swapped ? sum.c.Transposed() : sum.c, &problem.c)) {
      return absl::UnimplementedError("strides of an added tensor");
    }
    problem.beta = 1;
    problem.c.alignment = AlignmentOf(added);
  }
  problem.a.alignment = AlignmentOf(request.args[step.a]);
  problem.b.alignment = AlignmentOf(request.args[step.b]);
  problem.d.alignment = AlignmentOf(result);
  if (step.c < 0) problem.c.alignment = problem.d.alignment;
  return step;
}

absl::StatusOr<std::unique_ptr<StepCode>> MakeLtMatmul(const RoutineContext& context,
                                                       const StepRequest& request) {
  WEFT_ASSIGN_OR_RETURN(LtStep step, DescribeLt(request));
  if (context.cublaslt.tf32() && step.problem.type == kCublasF32) {
    step.problem.compute = kCublas32FFastTF32;
  }
  WEFT_ASSIGN_OR_RETURN(const bool present, context.cublaslt.Open());
  if (!present) return absl::UnimplementedError("cuBLASLt is not used");
  // Its unit may not be loaded yet; the call is prepared once it is.
  std::optional<Finish> finish;
  if (step.taken < request.step.epilogue.size()) {
    WEFT_ASSIGN_OR_RETURN(Finish made, MakeFinish(context, request, step.taken, step.apart));
    finish.emplace(std::move(made));
  }
  WEFT_ASSIGN_OR_RETURN(std::unique_ptr<LtCall> call, context.cublaslt.Prepare(step.problem));
  return std::make_unique<LtCode>(context.device, std::move(call), step, std::move(finish),
                                  request);
}

}  // namespace weft::cuda
