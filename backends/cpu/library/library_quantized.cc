// Matmuls and convolutions of 8-bit integers by integer_gemm_tile.h. Sums are exact in i32, or wrap
// as those of the op do.
#include <utility>
#include <vector>

#include "backends/cpu/library/integer_gemm_call.h"
#include "backends/cpu/library/library_internal.h"
#include "base/status_macros.h"
#include "graph/ir/attrs.h"
#include "graph/ir/op_def.h"
#include "graph/ops/ops.h"
#include "graph/ops/quant.h"

namespace weft::cpu {
namespace {

constexpr int kZeroPoint = 2;
constexpr int kWeightZeroPoint = 3;

// The rows of a matmul operand, or of its result: all dims but the last.
ByteRows RowsOf(const RunView& view) {
  ByteRows rows;
  rows.dims.assign(view.dims.begin(), view.dims.end() - 1);
  rows.strides.assign(view.strides.begin(), view.strides.end() - 1);
  rows.depth = view.dims.back();
  rows.step = rows.depth == 1 ? 1 : view.strides.back();
  return rows;
}

// The points of an image, or of the result: all dims but the channels.
ByteRows PointsOf(const RunView& view) {
  ByteRows rows;
  for (int d = 0; d < view.rank(); ++d) {
    if (d == 1) continue;
    rows.dims.push_back(view.dims[d]);
    rows.strides.push_back(view.strides[d]);
  }
  rows.depth = view.dims[1];
  rows.step = rows.depth == 1 ? 1 : view.strides[1];
  return rows;
}

LibraryCallOr Assemble(const LibraryStep& step, const LibraryContext& context,
                       IntegerGemmShape shape, IntegerWeightView weights) {
  if (!step.epilogue.empty()) return absl::UnimplementedError("an epilogue of integers");
  shape.is_signed = step.args[0].dtype == DType::kI8;
  weights.is_signed = step.args[1].dtype == DType::kI8;
  const RunView& zero = step.args[kWeightZeroPoint];
  IntegerOperand operand;
  operand.zero_points = zero.present() ? zero.numel() : 0;
  operand.zero_stride = zero.rank() == 0 ? 0 : zero.strides[0];
  const IntegerGemmTable& table =
      context.isa == Isa::kAvx512 ? Avx512IntegerGemm() : Avx2IntegerGemm();
  const void* zero_points = step.constants[kWeightZeroPoint];
  if (step.constants[1] != nullptr && (!zero.present() || zero_points != nullptr)) {
    weights.data = static_cast<const uint8_t*>(step.constants[1]);
    weights.ReadZeroPoints(zero_points, operand.zero_points, operand.zero_stride);
    WEFT_ASSIGN_OR_RETURN(operand.packed, context.integers->Get(step.constant_keys[1], weights,
                                                                table, context.threads));
  }
  operand.view = std::move(weights);
  return MakeIntegerPanelCall(std::move(shape), std::move(operand), table, context.threads,
                              step.args[kZeroPoint].present());
}

LibraryCallOr MakeMatmulInteger(const LibraryStep& step, const LibraryContext& context) {
  const RunView& w = step.args[1];
  if (w.rank() != 2) return absl::UnimplementedError("a batch of weights");
  IntegerGemmShape shape;
  shape.x = RowsOf(step.args[0]);
  shape.y = RowsOf(step.result);
  IntegerWeightView weights;
  weights.columns = w.dims[1];
  weights.depth = w.dims[0];
  weights.column = w.strides[1];
  weights.step = w.strides[0];
  weights.tap = {0};
  return Assemble(step, context, std::move(shape), std::move(weights));
}

LibraryCallOr MakeConvolutionInteger(const LibraryStep& step, const LibraryContext& context) {
  const ops::ConvolutionIntegerAttrView attrs(Attrs(&step.op->schema(), step.attrs));
  if (attrs.transposed() || !attrs.groups().Is(1)) {
    return absl::UnimplementedError("groups of channels");
  }
  const RunView& w = step.args[1];
  IntegerGemmShape shape;
  shape.x = PointsOf(step.args[0]);
  shape.y = PointsOf(step.result);
  IntegerWeightView weights;
  weights.columns = w.dims[0];
  weights.depth = w.dims[1];
  weights.column = w.strides[0];
  weights.step = w.strides[1];
  weights.tap = {0};
  for (int d = 2; d < w.rank(); ++d) {
    shape.window.kernel.push_back(w.dims[d]);
    shape.window.stride.push_back(attrs.stride()[d - 2].value());
    shape.window.dilation.push_back(attrs.dilation()[d - 2].value());
    shape.window.before.push_back(attrs.padding()[d - 2].value());
    // Taps in row-major order of the kernel.
    std::vector<int64_t> taps;
    for (const int64_t tap : weights.tap) {
      for (int64_t k = 0; k < w.dims[d]; ++k) taps.push_back(tap + k * w.strides[d]);
    }
    weights.tap = std::move(taps);
  }
  return Assemble(step, context, std::move(shape), std::move(weights));
}

}  // namespace

LibraryCallOr MakeQuantizedCall(const LibraryStep& step, const LibraryContext& context) {
  if (step.result.numel() == 0 || step.args[0].numel() == 0) {
    return absl::UnimplementedError("an empty result or sum");
  }
  return step.op == &ops::matmul_integer ? MakeMatmulInteger(step, context)
                                         : MakeConvolutionInteger(step, context);
}

}  // namespace weft::cpu
