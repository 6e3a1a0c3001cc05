// Matmuls and convolutions of 8-bit integers by integer_gemm_tile.h and depthwise_tile.h. Sums are
// exact in i32, or wrap as those of the op do.
#include <algorithm>
#include <utility>
#include <vector>

#include "backends/cpu/library/depthwise_call.h"
#include "backends/cpu/library/depthwise_lines_call.h"
#include "backends/cpu/library/integer_batch_call.h"
#include "backends/cpu/library/integer_gemm_call.h"
#include "backends/cpu/library/library_internal.h"
#include "base/status_macros.h"

namespace weft::cpu {
namespace {

constexpr int kZeroPoint = 2;
constexpr int kWeightZeroPoint = 3;

// The second operand: its zero points and, if both are constant, its bytes.
struct SecondOperand {
  IntegerOperand operand;
  bool is_constant = false;
};

SecondOperand DescribeSecond(const LibraryStep& step, IntegerWeightView weights) {
  SecondOperand second;
  weights.is_signed = step.args[1].dtype == DType::kI8;
  const RunView& zero = step.args[kWeightZeroPoint];
  IntegerOperand& operand = second.operand;
  operand.zero_points = zero.present() ? zero.numel() : 0;
  operand.zero_stride = zero.rank() == 0 ? 0 : zero.strides[0];
  const void* zero_points = step.constants[kWeightZeroPoint];
  second.is_constant = step.constants[1] != nullptr && (!zero.present() || zero_points != nullptr);
  if (second.is_constant) {
    weights.data = static_cast<const uint8_t*>(step.constants[1]);
    weights.ReadZeroPoints(zero_points, operand.zero_points, operand.zero_stride);
  }
  operand.view = std::move(weights);
  return second;
}

// Sets what the call stores.
absl::Status DescribeResult(const LibraryStep& step, IntegerGemmShape* shape) {
  if (!step.epilogue.empty()) return absl::UnimplementedError("an epilogue of integers");
  shape->is_signed = step.args[0].dtype == DType::kI8;
  shape->finish = step.finish;
  if (!step.finish || step.finish->addend < 0) return absl::OkStatus();
  int64_t row = 0;
  if (shape->y.step == 1 && IsOneLoop(shape->y.dims, shape->y.strides, &row)) {
    return absl::OkStatus();
  }
  return absl::UnimplementedError("an addend that lies in no rows");
}

const IntegerGemmTable& IntegerGemmFor(const LibraryContext& context) {
  return context.vnni ? ForIsa(context.isa, Avx512VnniIntegerGemm, Avx2VnniIntegerGemm)
                      : ForIsa(context.isa, Avx512IntegerGemm, Avx2IntegerGemm);
}

const DepthwiseTable& DepthwiseFor(const LibraryContext& context) {
  return context.vnni ? ForIsa(context.isa, Avx512VnniDepthwise, Avx2VnniDepthwise)
                      : ForIsa(context.isa, Avx512Depthwise, Avx2Depthwise);
}

LibraryCallOr MakeDepthwise(IntegerGemmShape shape, const IntegerWeightView& weights,
                            const LibraryContext& context, bool has_zero_point) {
  if (context.vnni && context.isa == Isa::kAvx512 && HasKernels("isa", "avx512")) {
    auto call = MakeDepthwiseLinesCall(shape, weights, Avx512VnniDepthwiseLines(), context.threads,
                                       has_zero_point);
    if (call.ok()) return call;
  }
  return MakeDepthwiseCall(std::move(shape), weights, DepthwiseFor(context), context.threads,
                           has_zero_point);
}

LibraryCallOr MakePanelCall(const LibraryStep& step, const LibraryContext& context,
                            IntegerGemmShape shape, IntegerWeightView weights) {
  WEFT_RETURN_IF_ERROR(DescribeResult(step, &shape));
  SecondOperand second = DescribeSecond(step, std::move(weights));
  const IntegerGemmTable& table = IntegerGemmFor(context);
  if (second.is_constant) {
    WEFT_ASSIGN_OR_RETURN(
        second.operand.packed,
        context.integers->Get(step.constant_keys[1], second.operand.view, table, context.threads));
  } else if (step.finish) {
    return absl::UnimplementedError("weights that may not fit");
  }
  return MakeIntegerPanelCall(std::move(shape), std::move(second.operand), table, context.threads,
                              step.args[kZeroPoint].present());
}

// The matrices of an operand or result, as those of a batch with these dims. The last
// `matrix_dims` dims of the view are those of a matrix, or of a vector.
ByteRows MatricesOf(const RunView& view, int matrix_dims, const std::vector<int64_t>& batch) {
  ByteRows rows;
  const int own = view.rank() - matrix_dims;
  for (size_t d = 0; d < batch.size(); ++d) {
    const int at = static_cast<int>(d) + own - static_cast<int>(batch.size());
    rows.dims.push_back(batch[d]);
    rows.strides.push_back(at < 0 || view.dims[at] == 1 ? 0 : view.strides[at]);
  }
  // A vector is a matrix of one row.
  rows.dims.push_back(matrix_dims == 2 ? view.dims[own] : 1);
  rows.strides.push_back(matrix_dims == 2 ? view.strides[own] : 0);
  rows.depth = view.dims.back();
  rows.step = rows.depth == 1 ? 1 : view.strides.back();
  return rows;
}

LibraryCallOr MakeBatchCall(const LibraryStep& step, const LibraryContext& context) {
  const RunView& zero = step.args[kWeightZeroPoint];
  const bool several = zero.present() && zero.numel() != 1;
  if (several && step.finish) return absl::UnimplementedError("several zero points, and a finish");
  if (!step.epilogue.empty()) return absl::UnimplementedError("an epilogue of integers");
  const int matrix_dims = std::min(step.args[0].rank(), 2);
  const std::vector<int64_t> dims(step.result.dims.begin(), step.result.dims.end() - matrix_dims);
  IntegerBatch batch;
  batch.x = MatricesOf(step.args[0], matrix_dims, dims);
  batch.x_signed = step.args[0].dtype == DType::kI8;
  batch.w = MatricesOf(step.args[1], 2, dims);
  batch.w_signed = step.args[1].dtype == DType::kI8;
  batch.several_zero_points = several;
  if (several) batch.zero_stride = zero.strides[0];
  batch.y = MatricesOf(step.result, matrix_dims, dims);
  batch.finish = step.finish;
  if (step.finish && step.finish->addend >= 0 && batch.y.step != 1) {
    return absl::UnimplementedError("an addend that lies in no rows");
  }
  return MakeIntegerBatchCall(std::move(batch), IntegerGemmFor(context), context.threads);
}

LibraryCallOr MakeMatmulInteger(const LibraryStep& step, const LibraryContext& context) {
  const RunView& w = step.args[1];
  if (w.rank() != 2 || step.constants[1] == nullptr) {
    auto call = MakeBatchCall(step, context);
    if (w.rank() != 2 || !absl::IsUnimplemented(call.status())) return call;
  }
  IntegerGemmShape shape;
  shape.x = RowsOf(step.args[0]);
  shape.y = RowsOf(step.result);
  IntegerWeightView weights;
  weights.columns = w.dims[1];
  weights.depth = w.dims[0];
  weights.column = w.strides[1];
  weights.step = w.strides[0];
  weights.tap = {0};
  return MakePanelCall(step, context, std::move(shape), std::move(weights));
}

// Describes the taps of a window, in row-major order of the kernel.
void DescribeWindow(const RunView& w, const ConvolutionAttrs& attrs, ByteWindow* window,
                    IntegerWeightView* weights) {
  weights->tap = {0};
  for (int d = 2; d < w.rank(); ++d) {
    window->kernel.push_back(w.dims[d]);
    window->stride.push_back(attrs.stride()[d - 2].value());
    window->dilation.push_back(attrs.dilation()[d - 2].value());
    window->before.push_back(attrs.padding()[d - 2].value());
    std::vector<int64_t> taps;
    for (const int64_t tap : weights->tap) {
      for (int64_t k = 0; k < w.dims[d]; ++k) taps.push_back(tap + k * w.strides[d]);
    }
    weights->tap = std::move(taps);
  }
}

// With few channels a tap would be one group of bytes: the taps along the last dim become one.
void JoinTaps(const RunView& w, IntegerGemmShape* shape, IntegerWeightView* weights) {
  ByteWindow& window = shape->window;
  const int64_t run = window.kernel.back();
  if (shape->x.depth > kIntegerGroup || run == 1 || window.dilation.back() != 1 ||
      window.before.back() < 0) {
    return;
  }
  const int64_t end = (shape->y.dims.back() - 1) * window.stride.back() + run;
  shape->run = run;
  shape->left = window.before.back();
  shape->right = std::max<int64_t>(0, end - shape->left - shape->x.dims.back());
  window.kernel.back() = 1;
  window.before.back() = 0;
  weights->point = kIntegerGroup;
  weights->point_depth = weights->depth;
  weights->point_stride = w.strides.back();
  weights->depth = run * kIntegerGroup;
  // The first tap of each run.
  std::vector<int64_t> first;
  for (size_t t = 0; t < weights->tap.size(); t += run) first.push_back(weights->tap[t]);
  weights->tap = std::move(first);
}

LibraryCallOr MakeConvolutionInteger(const LibraryStep& step, const LibraryContext& context) {
  const ConvolutionAttrs attrs(step.schema, step.attrs);
  const RunView& w = step.args[1];
  const int64_t groups = attrs.groups().value();
  const bool depthwise = groups > 1 && groups == step.args[0].dims[1] && groups == w.dims[0];
  if (attrs.transposed() || (groups != 1 && !depthwise)) {
    return absl::UnimplementedError("groups of channels");
  }
  IntegerGemmShape shape;
  shape.x = PointsOf(step.args[0]);
  shape.y = PointsOf(step.result);
  IntegerWeightView weights;
  weights.columns = w.dims[0];
  weights.depth = w.dims[1];
  weights.column = w.strides[0];
  weights.step = w.strides[1];
  DescribeWindow(w, attrs, &shape.window, &weights);
  if (!depthwise) {
    JoinTaps(w, &shape, &weights);
    return MakePanelCall(step, context, std::move(shape), std::move(weights));
  }
  WEFT_RETURN_IF_ERROR(DescribeResult(step, &shape));
  const SecondOperand second = DescribeSecond(step, std::move(weights));
  if (!second.is_constant) return absl::UnimplementedError("weights that may change");
  return MakeDepthwise(std::move(shape), second.operand.view, context,
                       step.args[kZeroPoint].present());
}

}  // namespace

LibraryCallOr MakeQuantizedCall(const LibraryStep& step, const LibraryContext& context) {
  if (step.result.numel() == 0 || step.args[0].numel() == 0 || step.args[1].numel() == 0) {
    return absl::UnimplementedError("an empty result or sum");
  }
  if (step.op == RoutineOp::kMatmulInteger) return MakeMatmulInteger(step, context);
  auto call = MakeConvolutionInteger(step, context);
  // The reference executor would be slower still.
  const bool plain = !step.finish && step.epilogue.empty() && absl::IsUnimplemented(call.status());
  if (plain && !ConvolutionAttrs(step.schema, step.attrs).groups().Is(1)) {
    return MakePlainQuantizedCall(step, context.threads);
  }
  return call;
}

}  // namespace weft::cpu
