// dft and stft: the dims and strides of their operands for fourier_call.h.
#include <algorithm>
#include <utility>

#include "backends/cpu/library/fourier_call.h"
#include "backends/cpu/library/library_internal.h"
#include "backends/cpu/library/routine_ops.h"
#include "base/status_macros.h"

namespace weft::cpu {
namespace {

// The lines along `axis` of a tensor whose last dim has the parts of numbers.
FourierView ViewOf(const RunView& view, int axis) {
  FourierView lines;
  const int last = view.rank() - 1;
  for (int d = 0; d < last; ++d) {
    if (d != axis) lines.strides.push_back(view.strides[d]);
  }
  lines.step = view.strides[axis];
  lines.part = view.dims[last] == 2 ? view.strides[last] : 0;
  lines.count = view.dims[axis];
  return lines;
}

FourierShape DftOf(const LibraryStep& step) {
  const DftAttrs attrs(step.schema, step.attrs);
  const RunView& x = step.args[0];
  const RunView& y = step.result;
  const int64_t given = attrs.axis();
  const int axis = static_cast<int>(given < 0 ? given + x.rank() : given);
  FourierShape s;
  s.inverse = attrs.inverse();
  s.real_inverse = s.inverse && attrs.onesided();
  s.x = ViewOf(x, axis);
  s.y = ViewOf(y, axis);
  for (int d = 0; d + 1 < x.rank(); ++d) {
    if (d != axis) s.dims.push_back(x.dims[d]);
  }
  s.length = s.real_inverse ? y.dims[axis] : attrs.dft_length().value_or(x.dims[axis]);
  s.x.count = std::min(s.x.count, s.real_inverse ? s.length / 2 + 1 : s.length);
  return s;
}

// Frames are lines that overlap in memory.
FourierShape StftOf(const LibraryStep& step) {
  const StftAttrs attrs(step.schema, step.attrs);
  const RunView& x = step.args[0];
  FourierShape s;
  s.length = attrs.frame_length().value();
  s.dims = {step.result.dims[0], step.result.dims[1]};
  s.x.strides = {x.strides[0], x.strides[1] * attrs.frame_step().value()};
  s.x.step = x.strides[1];
  s.x.part = x.dims[2] == 2 ? x.strides[2] : 0;
  s.x.count = s.length;
  s.y = ViewOf(step.result, 2);
  if (step.args[1].present()) s.window = 1;
  return s;
}

// A plan from a file may have other sizes.
bool FitTogether(const LibraryStep& step) {
  const RunView& x = step.args[0];
  const RunView& y = step.result;
  if (step.op == RoutineOp::kStft) {
    const StftAttrs attrs(step.schema, step.attrs);
    const int64_t length = attrs.frame_length().value(), size = x.rank() == 3 ? x.dims[1] : 0;
    return y.rank() == 4 && length >= 1 && length <= size && attrs.frame_step().value() >= 1 &&
           y.dims[0] == x.dims[0] && y.dims[3] == 2 &&
           (y.dims[1] - 1) <= (size - length) / attrs.frame_step().value() &&
           (!step.args[1].present() || step.args[1].numel() == length);
  }
  const DftAttrs attrs(step.schema, step.attrs);
  const int rank = x.rank();
  const int64_t axis = attrs.axis() < 0 ? attrs.axis() + rank : attrs.axis();
  if (y.rank() != rank || axis < 0 || axis >= rank - 1) return false;
  bool fit = y.dims[rank - 1] == (attrs.inverse() && attrs.onesided() ? 1 : 2);
  for (int d = 0; d + 1 < rank; ++d) fit = fit && (d == axis || x.dims[d] == y.dims[d]);
  return fit;
}

}  // namespace

LibraryCallOr MakeFourierTransformCall(const LibraryStep& step, const LibraryContext& context) {
  const RunView& x = step.args[0];
  if (x.dtype != DType::kF32 || !step.epilogue.empty()) {
    return absl::UnimplementedError("such a transform");
  }
  if (!FitTogether(step)) return absl::UnimplementedError("sizes that do not fit");
  FourierShape shape = step.op == RoutineOp::kStft ? StftOf(step) : DftOf(step);
  const bool dense_window = shape.window < 0 || step.args[shape.window].dense();
  if (shape.length < 1 || shape.y.count > shape.length || shape.length > kMostFourierLength ||
      (x.numel() == 0 && step.result.numel() > 0) || !dense_window) {
    return absl::UnimplementedError("such a length");
  }
  shape.name = step.op == RoutineOp::kStft ? "stft" : "dft";
  shape.table = &ForIsa(context.isa, Avx512Fourier, Avx2Fourier);
  return MakeFourierCall(std::move(shape), context.threads);
}

}  // namespace weft::cpu
