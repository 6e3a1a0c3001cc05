// Long short-term memory.
#include <tuple>

#include "graph/ir/numeric_contract.h"
#include "graph/ops/nn/recurrent.h"
#include "graph/ops/nn/recurrent_scan.h"
#include "graph/ops/support/op.h"

namespace weft::ops {
namespace {

// Gates in ONNX's order.
enum Gate { kInput, kOutput, kForget, kCell };

Recurrence Op() {
  return {4, {ActivationFunction::kSigmoid, ActivationFunction::kTanh, ActivationFunction::kTanh}};
}

absl::Status Verify(const OpArgs& args) {
  WEFT_RETURN_IF_ERROR(VerifyRecurrent(args, Op()));
  const SymInt directions = Directions(args);
  const SymInt hidden(args.attrs().Int("hidden_size"));
  WEFT_RETURN_IF_ERROR(CheckDims(args, 6, {directions, args.type(0).dim(1), hidden}));
  return CheckDims(args, 7, {directions, 3 * hidden});
}

absl::StatusOr<Types> Infer(const OpArgs& args) {
  Types types = RecurrentTypes(args);
  types.push_back(types[1]);
  return types;
}

absl::Status Eval(EvalContext& c) {
  RecurrentEval eval(c, Op(), 6);
  const int64_t n = eval.hidden();
  const bool input_forget = c.attrs().Bool("input_forget");
  std::vector<double> peepholes(c.in(1).dim(0) * 3 * n, 0);
  if (c.has(7)) peepholes = Read<double>(c.in(7));
  return eval.Run([&](const Step& s) {
    const auto [f, g, h] = std::tie(s.activations[0], s.activations[1], s.activations[2]);
    const double* peephole = &peepholes[s.direction * 3 * n];
    const std::vector<double> before = *s.h;
    for (int64_t j = 0; j < n; ++j) {
      // The argument of a gate's activation; the cell gate has no peephole.
      const auto gate = [&](Gate k, double cell) {
        double v = s.x[k * n + j] + eval.TimesState(s.direction, k, j, before) +
                   eval.Bias(s.direction, k, j);
        if (k != kCell) v += peephole[k * n + j] * cell;
        return eval.Clip(v);
      };
      double& cell = (*s.c)[j];
      const double input = f(gate(kInput, cell));
      const double forget = input_forget ? 1 - input : f(gate(kForget, cell));
      cell = forget * cell + input * g(gate(kCell, 0));
      (*s.h)[j] = f(gate(kOutput, cell)) * h(cell);
    }
  });
}

CellState StepNodes(CellNodes& cell, bool input_forget) {
  Pointwise& p = cell.p();
  Value* gates = p.Add(cell.FromInput(0, 4), cell.TimesState(0, 4, cell.h()));
  const auto gate = [&](Gate k, Value* state) {
    return cell.Activate(0, cell.AddPeephole(cell.Gate(gates, k), k, state));
  };
  Value* input = gate(kInput, cell.c());
  Value* forget = input_forget ? p.Sub(1, input) : gate(kForget, cell.c());
  Value* g = cell.Activate(1, cell.Gate(gates, kCell));
  Value* c = p.Add(p.Mul(forget, cell.c()), p.Mul(input, g));
  return {p.Mul(gate(kOutput, c), cell.ActivateState(2, c)), c};
}

std::vector<Value*> Decompose(Builder& b, const OpArgs& args) {
  CellSpec spec{Op()};
  spec.cell = 6;
  spec.peepholes = 7;
  const bool input_forget = args.attrs().Bool("input_forget");
  return DecomposeRecurrent(b, args, spec,
                            [&](CellNodes& cell) { return StepNodes(cell, input_forget); });
}

}  // namespace

WEFT_DEFINE_OP(lstm, OpSpec("lstm(Tensor x, Tensor w, Tensor r, Tensor? b, "
                            "Tensor? sequence_lens, Tensor? initial_h, Tensor? initial_c, "
                            "Tensor? p, str direction=\"forward\", int hidden_size, "
                            "str[] activations=[], float[] activation_alpha=[], "
                            "float[] activation_beta=[], float clip=0, "
                            "bool input_forget=False) -> (Tensor y, Tensor y_h, Tensor y_c)",
                            "ONNX: LSTM-22 with layout 0, in all of its forms. No activations "
                            "means Sigmoid, Tanh, Tanh. clip bounds the sums that gates "
                            "apply their activations to, unless it is 0 (not the cell state); "
                            "input_forget makes the forget gate one "
                            "minus the input gate. What lies after the end of a sequence is 0.")
                         .Verify(Verify)
                         .Infer(Infer)
                         .Decompose(Decompose)
                         .DecomposeContract(NumericContract::kReassociating)
                         .Eval(Eval)
                         .Flops(RecurrentFlops)
                         .Samples(R"(
lstm(f32[3, 2, 4], f32[1, 20, 4], f32[1, 20, 5], none, none, none, none, none, hidden_size=5)
lstm(f32[3, 2, 4], f32[1, 20, 4], f32[1, 20, 5], f32[1, 40], i32[2]{3, 1}, f32[1, 2, 5], f32[1, 2, 5], f32[1, 15], direction="reverse", hidden_size=5, clip=0.5)
lstm(f32[3, 2, 4], f32[2, 8, 4], f32[2, 8, 2], f32[2, 16], none, none, f32[2, 2, 2], none, direction="bidirectional", hidden_size=2, input_forget=true)
lstm(f32[2, 1, 3], f32[1, 8, 3], f32[1, 8, 2], none, none, none, none, none, hidden_size=2, activations=["HardSigmoid", "ScaledTanh", "LeakyRelu"], activation_alpha=[0.3, 1.5, 0.2], activation_beta=[0.4, 0.6])
lstm(f16[2, 1, 3], f16[1, 8, 3], f16[1, 8, 2], none, none, none, none, none, hidden_size=2)
lstm(f32[0, 2, 4], f32[1, 20, 4], f32[1, 20, 5], none, none, none, none, none, hidden_size=5)
lstm(f32[3, 2, 4], f32[1, 20, 4], f32[1, 20, 6], none, none, none, none, none, hidden_size=5) ! "r in dim 2: 6 and 5 differ"
lstm(f32[3, 2, 4], f32[2, 20, 4], f32[1, 20, 5], none, none, none, none, none, hidden_size=5) ! "w in dim 0: 2 and 1 differ"
lstm(f32[3, 2, 4], f32[1, 20, 4], f32[1, 20, 5], none, none, none, none, f32[1, 10], hidden_size=5) ! "p in dim 1: 10 and 15 differ"
lstm(f32[3, 2, 4], f32[1, 20, 4], f32[1, 20, 5], none, i64[2], none, none, none, hidden_size=5) ! "sequence_lens must have dtype i32"
lstm(f32[3, 2, 4], f32[1, 20, 4], f32[1, 20, 5], none, none, none, none, none, hidden_size=5, activations=["Tanh"]) ! "activations must have 3 entries, got 1"
lstm(f32[3, 2, 4], f32[1, 20, 4], f32[1, 20, 5], none, none, none, none, none, hidden_size=5, activations=["Tanh", "Tan", "Tanh"]) ! "there is no activation"
lstm(f32[3, 2, 4], f32[1, 20, 4], f32[1, 20, 5], none, none, none, none, none, hidden_size=5, direction="both") ! "direction must be forward"
lstm(f32[2, 4], f32[1, 20, 4], f32[1, 20, 5], none, none, none, none, none, hidden_size=5) ! "x must have rank 3"
lstm(f32[3, 2, 4], f64[1, 20, 4], f32[1, 20, 5], none, none, none, none, none, hidden_size=5) ! "different dtypes"
lstm(i32[3, 2, 4], i32[1, 20, 4], i32[1, 20, 5], none, none, none, none, none, hidden_size=5) ! "a float dtype"
)"));

WEFT_SHARED_VIEW(Recurrence, lstm);

}  // namespace weft::ops
