// Gated recurrent unit.
#include "graph/ir/numeric_contract.h"
#include "graph/ops/nn/recurrent.h"
#include "graph/ops/nn/recurrent_scan.h"
#include "graph/ops/support/op.h"

namespace weft::ops {
namespace {

// Gates in ONNX's order.
enum Gate { kUpdate, kReset, kHidden };

Recurrence Op() { return {3, {ActivationFunction::kSigmoid, ActivationFunction::kTanh}}; }

absl::Status Verify(const OpArgs& args) { return VerifyRecurrent(args, Op()); }

absl::StatusOr<Types> Infer(const OpArgs& args) { return RecurrentTypes(args); }

absl::Status Eval(EvalContext& c) {
  RecurrentEval eval(c, Op(), -1);
  const int64_t n = eval.hidden();
  const bool linear_before_reset = c.attrs().Bool("linear_before_reset");
  return eval.Run([&](const Step& s) {
    const int64_t d = s.direction;
    const Activation& f = s.activations[0];
    const Activation& g = s.activations[1];
    const std::vector<double> before = *s.h;
    const auto gate = [&](Gate k, int64_t j) {
      return f(eval.Clip(s.x[k * n + j] + eval.TimesState(d, k, j, before) + eval.Bias(d, k, j)));
    };
    std::vector<double> reset(n);
    std::vector<double> kept(n);  // The state that the reset gate lets through.
    for (int64_t j = 0; j < n; ++j) {
      reset[j] = gate(kReset, j);
      kept[j] = reset[j] * before[j];
    }
    for (int64_t j = 0; j < n; ++j) {
      double state = eval.TimesState(d, kHidden, j, linear_before_reset ? before : kept) +
                     eval.StateBias(d, kHidden, j);
      if (linear_before_reset) state *= reset[j];
      const double hidden =
          g(eval.Clip(s.x[kHidden * n + j] + state + eval.InputBias(d, kHidden, j)));
      const double update = gate(kUpdate, j);
      (*s.h)[j] = (1 - update) * hidden + update * before[j];
    }
  });
}

CellState StepNodes(CellNodes& cell, bool linear_before_reset) {
  Pointwise& p = cell.p();
  Value* h = cell.h();
  // All three gates of the state at once, unless the reset gate is applied before.
  Value* state = cell.TimesState(0, linear_before_reset ? 3 : 2, h);
  const auto gate = [&](Gate k) {
    return cell.Activate(0, p.Add(cell.FromInput(k, 1), cell.Gate(state, k)));
  };
  Value* reset = gate(kReset);
  Value* update = gate(kUpdate);
  Value* kept = linear_before_reset ? p.Mul(cell.Gate(state, kHidden), reset)
                                    : cell.TimesState(kHidden, 1, p.Mul(reset, h));
  Value* hidden = cell.Activate(1, p.Add(cell.FromInput(kHidden, 1), kept));
  return {p.Add(p.Mul(p.Sub(1, update), hidden), p.Mul(update, h)), nullptr};
}

std::vector<Value*> Decompose(Builder& b, const OpArgs& args) {
  CellSpec spec{Op()};
  spec.adds_state_bias = false;
  const bool before = args.attrs().Bool("linear_before_reset");
  return DecomposeRecurrent(b, args, spec,
                            [&](CellNodes& cell) { return StepNodes(cell, before); });
}

}  // namespace

WEFT_DEFINE_OP(gru, OpSpec("gru(Tensor x, Tensor w, Tensor r, Tensor? b, "
                           "Tensor? sequence_lens, Tensor? initial_h, "
                           "str direction=\"forward\", int hidden_size, "
                           "str[] activations=[], float[] activation_alpha=[], "
                           "float[] activation_beta=[], float clip=0, "
                           "bool linear_before_reset=False) -> (Tensor y, Tensor y_h)",
                           "ONNX: GRU-22 with layout 0, in all of its forms. No activations "
                           "means Sigmoid, Tanh. clip bounds the arguments of activations "
                           "unless it is 0; linear_before_reset applies the reset gate after "
                           "the product with r. What lies after the end of a sequence is 0.")
                        .Verify(Verify)
                        .Infer(Infer)
                        .Decompose(Decompose)
                        .DecomposeContract(NumericContract::kReassociating)
                        .Eval(Eval)
                        .Flops(RecurrentFlops)
                        .Samples(R"(
gru(f32[3, 2, 4], f32[1, 15, 4], f32[1, 15, 5], none, none, none, hidden_size=5)
gru(f32[3, 2, 4], f32[1, 15, 4], f32[1, 15, 5], f32[1, 30], i32[2]{3, 1}, f32[1, 2, 5], direction="reverse", hidden_size=5, clip=0.5)
gru(f32[3, 2, 4], f32[2, 6, 4], f32[2, 6, 2], f32[2, 12], i32[2]{0, 2}, none, direction="bidirectional", hidden_size=2, linear_before_reset=true)
gru(f32[2, 1, 3], f32[1, 6, 3], f32[1, 6, 2], none, none, none, hidden_size=2, activations=["Affine", "Elu"], activation_alpha=[0.3, 1.5], activation_beta=[0.4])
gru(bf16[2, 1, 3], bf16[1, 6, 3], bf16[1, 6, 2], none, none, none, hidden_size=2)
gru(f32[3, 0, 4], f32[1, 15, 4], f32[1, 15, 5], none, none, none, hidden_size=5)
gru(f32[3, 2, 4], f32[1, 20, 4], f32[1, 15, 5], none, none, none, hidden_size=5) ! "w in dim 1: 20 and 15 differ"
gru(f32[3, 2, 4], f32[1, 15, 4], f32[1, 15, 5], none, none, f32[1, 3, 5], hidden_size=5) ! "initial_h in dim 1: 3 and 2 differ"
gru(f32[3, 2, 4], f32[1, 15, 4], f32[1, 15, 5], none, none, none, hidden_size=5, clip=-1.0) ! "clip must not be negative"
gru(f32[3, 2, 4], f32[1, 15, 4], f32[1, 15, 5], none, none, none, hidden_size=0) ! "hidden_size must be positive"
)"));

WEFT_SHARED_VIEW(Recurrence, gru);

}  // namespace weft::ops
