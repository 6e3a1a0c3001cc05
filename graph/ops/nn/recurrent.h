// Shared by lstm, gru and rnn: operands (x, w, r, b, sequence_lens, initial_h, ...) and attributes
// of ONNX's recurrent operators with layout 0.
//
//   x [length, batch, input]       w [directions, gates * hidden, input]
//   r [directions, gates * hidden, hidden]
//   b [directions, 2 * gates * hidden]: the biases of w, then those of r
//   initial_h [directions, batch, hidden]
//   y [length, directions, batch, hidden]     y_h as initial_h
#ifndef WEFT_GRAPH_OPS_NN_RECURRENT_H_
#define WEFT_GRAPH_OPS_NN_RECURRENT_H_

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/ir/op_flops.h"
#include "graph/ops/nn/activations.h"
#include "graph/ops/support/pointwise.h"
#include "graph/tensor/type.h"

namespace weft {
class Attrs;
class EvalContext;
class Value;
struct OpArgs;
}  // namespace weft

namespace weft::ops {

// The properties that differ between the ops.
struct Recurrence {
  int gates;
  // Activations of one direction, unless the attribute names others.
  std::vector<ActivationFunction> activations;
};

absl::Status VerifyRecurrent(const OpArgs& args, const Recurrence& op);
// Checks the dims of operand i; errors are "initial_h in dim 1: 2 and 3 differ".
absl::Status CheckDims(const OpArgs& args, int i, absl::Span<const SymInt> dims);
SymInt Directions(const OpArgs& args);
// The types of y and y_h.
Types RecurrentTypes(const OpArgs& args);

int64_t NumDirections(const Attrs& attrs);

// An activation of one gate.
class Activation {
 public:
  explicit Activation(const ActivationParams& params) : params_(params) {}
  double operator()(double x) const;
  // The function as nodes, on wide values.
  Value* Build(Pointwise& p, Value* x) const;

 private:
  ActivationParams params_;
};

// The activations of all directions.
absl::StatusOr<std::vector<Activation>> FindActivations(const Attrs& attrs, const Recurrence& op);

// One step of one sequence, in double.
struct Step {
  int64_t direction;
  // x_t w^T, of gates * hidden elements.
  const double* x;
  // The previous state, which the step overwrites.
  std::vector<double>* h;
  std::vector<double>* c;  // Null without a cell state.
  // Activations of this direction.
  const Activation* activations;
};

// The operands of one evaluation, as doubles.
class RecurrentEval {
 public:
  // `cell` is the operand of the initial cell state, or -1.
  RecurrentEval(EvalContext& c, const Recurrence& op, int cell);

  int64_t hidden() const { return hidden_; }
  // Sum of both biases of a gate.
  double Bias(int64_t direction, int64_t gate, int64_t j) const {
    return InputBias(direction, gate, j) + StateBias(direction, gate, j);
  }
  double InputBias(int64_t direction, int64_t gate, int64_t j) const;
  double StateBias(int64_t direction, int64_t gate, int64_t j) const;
  // Row (gate, j) of r times `h`.
  double TimesState(int64_t direction, int64_t gate, int64_t j, const std::vector<double>& h) const;
  double Clip(double v) const;

  // Runs `step` over all sequences and writes y, y_h and, with a cell, y_c.
  absl::Status Run(absl::FunctionRef<void(const Step&)> step);

 private:
  absl::StatusOr<std::vector<int64_t>> Lengths() const;
  std::vector<double> InputProducts() const;
  std::vector<double> State(int operand, int64_t direction, int64_t sequence) const;

  EvalContext& c_;
  int cell_;
  int64_t directions_, gates_, length_, batch_, input_, hidden_;
  double clip_;
  std::vector<double> r_, b_;
  std::vector<Activation> activations_;
};

// Both products in every step, and some operations for each gate, of x [length, batch, in],
// w [directions, gates * hidden, in] and r [directions, gates * hidden, hidden].
SymInt RecurrentFlops(const FlopsArgs& args);

}  // namespace weft::ops

#endif  // WEFT_GRAPH_OPS_NN_RECURRENT_H_
