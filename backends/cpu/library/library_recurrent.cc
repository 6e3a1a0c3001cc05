// lstm, gru and rnn: the operands and attributes of ONNX's ops for recurrent_call.h.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "backends/cpu/library/library_internal.h"
#include "backends/cpu/library/recurrent_call.h"
#include "backends/cpu/library/routine_ops.h"
#include "base/status_macros.h"
#include "graph/ops/nn/activations.h"

namespace weft::cpu {
namespace {

// What the operands and attributes of an op mean.
struct RecurrentOp {
  int gates;
  std::vector<ActivationFunction> activations;  // Of one direction, unless named.
};

const RecurrentOp& OpOf(const LibraryStep& step) {
  using Function = ActivationFunction;
  static const auto& lstm =
      *new RecurrentOp{4, {Function::kSigmoid, Function::kTanh, Function::kTanh}};
  static const auto& gru = *new RecurrentOp{3, {Function::kSigmoid, Function::kTanh}};
  static const auto& rnn = *new RecurrentOp{1, {Function::kTanh}};
  return step.op == RoutineOp::kLstm ? lstm : step.op == RoutineOp::kGru ? gru : rnn;
}

// The kernels have ONNX's functions in the same order.
RecurrentActivation ActivationOf(const ActivationParams& params) {
  static_assert(static_cast<int>(RecurrentFunction::kAffine) ==
                    static_cast<int>(ActivationFunction::kAffine) &&
                static_cast<int>(RecurrentFunction::kSoftplus) ==
                    static_cast<int>(ActivationFunction::kSoftplus));
  return {static_cast<RecurrentFunction>(params.function), static_cast<float>(params.alpha),
          static_cast<float>(params.beta)};
}

int SlotOf(const LibraryStep& step, size_t arg) {
  return arg < step.args.size() && step.args[arg].present() ? static_cast<int>(arg) : -1;
}

RecurrentView OperandOf(const LibraryStep& step, size_t arg) {
  const int slot = SlotOf(step, arg);
  return {slot, slot < 0 ? std::vector<int64_t>() : step.args[arg].strides};
}

RecurrentView ResultOf(const LibraryStep& step, size_t result) {
  if (result > step.more_results.size() || !step.more_results[result - 1].present()) return {};
  return {static_cast<int>(result), step.more_results[result - 1].strides};
}

// Flags and activations of each direction.
absl::Status FindSteps(const LibraryStep& step, RecurrentShape* shape) {
  const RecurrentAttrs attrs(step.schema, step.attrs);
  const RecurrentOp& op = OpOf(step);
  WEFT_ASSIGN_OR_RETURN(
      const auto activations,
      FindActivationParams({attrs.activations(), attrs.activation_alpha(), attrs.activation_beta()},
                           op.activations, shape->directions));
  const size_t each = op.activations.size();
  RecurrentStep one;
  const auto clip = static_cast<float>(attrs.clip());
  one.clip = clip == 0 ? std::numeric_limits<float>::infinity() : clip;
  one.input_forget = step.op == RoutineOp::kLstm && attrs.input_forget();
  for (int64_t d = 0; d < shape->directions; ++d) {
    one.plain = clip == 0 && !one.input_forget && shape->peepholes < 0;
    for (size_t i = 0; i < each; ++i) {
      const ActivationParams& given = activations[d * each + i];
      one.activations[i] = ActivationOf(given);
      one.plain = one.plain && given.function == op.activations[i];
    }
    shape->steps.push_back(one);
  }
  return absl::OkStatus();
}

// Packs the gates of operand `arg`, now if it is constant.
absl::StatusOr<RecurrentMatrix> MatrixOf(const LibraryStep& step, const LibraryContext& context,
                                         int arg, GatePacking packing) {
  RecurrentMatrix m;
  m.slot = arg;
  m.rows = step.args[arg].dims[1];
  m.packing = packing;
  if (step.constants[arg] == nullptr) return m;
  const int64_t size = m.rows * packing.depth;
  for (int64_t d = 0; d < step.args[arg].dims[0]; ++d) {
    const float* from = static_cast<const float*>(step.constants[arg]) + d * size;
    auto packed = context.panels->GetPacked(
        {step.constant_keys[arg], d, packing.hidden, packing.depth, packing.lanes, packing.first,
         packing.count, packing.per_panel},
        packing.floats(), [&](float* to) { PackGates(packing, from, to); });
    if (packed == nullptr) return absl::ResourceExhaustedError("no memory for packed weights");
    m.packed.push_back(std::move(packed));
  }
  return m;
}

absl::Status FindMatrices(const LibraryStep& step, const LibraryContext& context,
                          RecurrentShape* shape) {
  GatePacking packing{shape->hidden, shape->input,        shape->table->lanes, 0,
                      shape->gates,  shape->gemm->vectors};
  WEFT_ASSIGN_OR_RETURN(shape->w, MatrixOf(step, context, 1, packing));
  packing.depth = shape->hidden;
  const bool parts = shape->kind == RecurrentKind::kGruGates;
  packing.count = packing.per_panel = parts ? 2 : shape->gates;
  WEFT_ASSIGN_OR_RETURN(shape->r.emplace_back(), MatrixOf(step, context, 2, packing));
  if (!parts) return absl::OkStatus();
  packing.first = 2;
  packing.count = packing.per_panel = 1;
  WEFT_ASSIGN_OR_RETURN(shape->r.emplace_back(), MatrixOf(step, context, 2, packing));
  return absl::OkStatus();
}

RecurrentKind KindOf(const LibraryStep& step) {
  if (step.op == RoutineOp::kLstm) return RecurrentKind::kLstm;
  if (step.op == RoutineOp::kRnn) return RecurrentKind::kRnn;
  const RecurrentAttrs attrs(step.schema, step.attrs);
  return attrs.linear_before_reset() ? RecurrentKind::kGru : RecurrentKind::kGruGates;
}

}  // namespace

LibraryCallOr MakeRecurrentCall(const LibraryStep& step, const LibraryContext& context) {
  const RunView& x = step.args[0];
  if (x.dtype != DType::kF32 || !step.epilogue.empty() || x.dims[2] == 0) {
    return absl::UnimplementedError("such a recurrent layer");
  }
  const RecurrentAttrs attrs(step.schema, step.attrs);
  RecurrentShape shape;
  shape.gemm = &ForIsa(context.isa, Avx512Gemm, Avx2Gemm);
  shape.table = &ForIsa(context.isa, Avx512Recurrent, Avx2Recurrent);
  shape.name = std::string(RoutineOpName(step.op));
  shape.kind = KindOf(step);
  shape.gates = OpOf(step).gates;
  shape.length = x.dims[0];
  shape.batch = x.dims[1];
  shape.input = x.dims[2];
  shape.hidden = attrs.hidden_size();
  shape.directions = attrs.direction() == "bidirectional" ? 2 : 1;
  shape.reverse = attrs.direction() == "reverse";
  shape.x = OperandOf(step, 0);
  shape.bias = SlotOf(step, 3);
  shape.lengths = SlotOf(step, 4);
  shape.initial_h = OperandOf(step, 5);
  if (step.op == RoutineOp::kLstm) {
    shape.initial_c = OperandOf(step, 6);
    shape.peepholes = SlotOf(step, 7);
  }
  shape.y = {0, step.result.strides};
  shape.y_h = ResultOf(step, 1);
  shape.y_c = ResultOf(step, 2);
  WEFT_RETURN_IF_ERROR(FindSteps(step, &shape));
  WEFT_RETURN_IF_ERROR(FindMatrices(step, context, &shape));
  return MakeRecurrentCall(std::move(shape), context.threads);
}

}  // namespace weft::cpu
