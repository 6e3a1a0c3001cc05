// The plain recurrent layer.
#include "graph/ir/numeric_contract.h"
#include "graph/ops/nn/recurrent.h"
#include "graph/ops/nn/recurrent_scan.h"
#include "graph/ops/support/op.h"

namespace weft::ops {
namespace {

Recurrence Op() { return {1, {ActivationFunction::kTanh}}; }

absl::Status Verify(const OpArgs& args) { return VerifyRecurrent(args, Op()); }

absl::StatusOr<Types> Infer(const OpArgs& args) { return RecurrentTypes(args); }

absl::Status Eval(EvalContext& c) {
  RecurrentEval eval(c, Op(), -1);
  return eval.Run([&](const Step& s) {
    const std::vector<double> before = *s.h;
    for (int64_t j = 0; j < eval.hidden(); ++j) {
      (*s.h)[j] = s.activations[0](eval.Clip(s.x[j] + eval.TimesState(s.direction, 0, j, before) +
                                             eval.Bias(s.direction, 0, j)));
    }
  });
}

std::vector<Value*> Decompose(Builder& b, const OpArgs& args) {
  return DecomposeRecurrent(b, args, {Op()}, [](CellNodes& cell) -> CellState {
    Value* v = cell.p().Add(cell.FromInput(0, 1), cell.TimesState(0, 1, cell.h()));
    return {cell.Activate(0, v), nullptr};
  });
}

}  // namespace

WEFT_DEFINE_OP(rnn, OpSpec("rnn(Tensor x, Tensor w, Tensor r, Tensor? b, "
                           "Tensor? sequence_lens, Tensor? initial_h, "
                           "str direction=\"forward\", int hidden_size, "
                           "str[] activations=[], float[] activation_alpha=[], "
                           "float[] activation_beta=[], float clip=0) -> "
                           "(Tensor y, Tensor y_h)",
                           "ONNX: RNN-22 with layout 0, in all of its forms. No activations "
                           "means Tanh. clip bounds the arguments of activations unless it is "
                           "0. What lies after the end of a sequence is 0.")
                        .Verify(Verify)
                        .Infer(Infer)
                        .Decompose(Decompose)
                        .DecomposeContract(NumericContract::kReassociating)
                        .Eval(Eval)
                        .Flops(RecurrentFlops)
                        .Samples(R"(
rnn(f32[3, 2, 4], f32[1, 5, 4], f32[1, 5, 5], none, none, none, hidden_size=5)
rnn(f32[3, 2, 4], f32[1, 5, 4], f32[1, 5, 5], f32[1, 10], i32[2]{3, 1}, f32[1, 2, 5], direction="reverse", hidden_size=5, clip=0.5)
rnn(f32[3, 2, 4], f32[2, 2, 4], f32[2, 2, 2], f32[2, 4], none, none, direction="bidirectional", hidden_size=2, activations=["Softplus", "ThresholdedRelu"], activation_alpha=[0.3])
rnn(f64[2, 1, 3], f64[1, 2, 3], f64[1, 2, 2], none, none, none, hidden_size=2, activations=["softsign"])
rnn(f32[3, 2, 4], f32[1, 5, 4], f32[1, 5, 5], f32[1, 5], none, none, hidden_size=5) ! "b in dim 1: 5 and 10 differ"
rnn(f32[3, 2, 4], f32[1, 5, 4], f32[1, 5, 5], none, i32[3], none, hidden_size=5) ! "sequence_lens in dim 0: 3 and 2 differ"
)"));

WEFT_SHARED_VIEW(Recurrence, rnn);

}  // namespace weft::ops
