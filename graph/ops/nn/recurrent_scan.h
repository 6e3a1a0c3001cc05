// Decompositions of lstm, gru and rnn: one linear map of all steps' inputs, then a scan over time
// whose body computes a cell from the state. Everything is in f32, or f64 for f64, until the end.
//
// A reverse direction runs over the reversed steps. With sequence_lens, a step after the end of a
// sequence keeps its state and gives 0, in both directions.
#ifndef WEFT_GRAPH_OPS_NN_RECURRENT_SCAN_H_
#define WEFT_GRAPH_OPS_NN_RECURRENT_SCAN_H_

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "graph/ops/nn/recurrent.h"
#include "graph/ops/support/pointwise.h"

namespace weft {
class Builder;
class Value;
struct OpArgs;
}  // namespace weft

namespace weft::ops {

// One step of all sequences of one direction, as nodes of the scan's body.
class CellNodes {
 public:
  // Values of the body. `x` is x_t w^T plus the biases of w, [batch, gates * hidden], `h` and `c`
  // the state [batch, hidden] (c: null without a cell), `r`, `state_bias` (may be null) and
  // `peepholes` (may be null) those of the direction.
  struct Inputs {
    Value* x = nullptr;
    Value* h = nullptr;
    Value* c = nullptr;
    Value* r = nullptr;
    Value* state_bias = nullptr;
    Value* peepholes = nullptr;
  };

  CellNodes(Builder& b, DType dtype, int64_t hidden, double clip,
            absl::Span<const Activation> activations, const Inputs& inputs);

  Pointwise& p() { return p_; }
  Value* h() const { return in_.h; }
  Value* c() const { return in_.c; }
  // Gates [first, first + count) of r times `state`, plus the biases of r.
  Value* TimesState(int64_t first, int64_t count, Value* state);
  // Gates [first, first + count) of x.
  Value* FromInput(int64_t first, int64_t count) { return Gates(in_.x, first, count); }
  // Gate `i` of values that have several gates.
  Value* Gate(Value* gates, int64_t i) { return Gates(gates, i, 1); }
  // Adds peephole weight `i` times `cell`, if there are peepholes.
  Value* AddPeephole(Value* v, int64_t i, Value* cell);
  // Activation `i` of the direction, applied to the clipped value.
  Value* Activate(int i, Value* v);
  // The same without clipping.
  Value* ActivateState(int i, Value* v) { return activations_[i].Build(p_, v); }

 private:
  Value* Gates(Value* v, int64_t first, int64_t count);

  Pointwise p_;
  int64_t hidden_;
  double clip_;
  absl::Span<const Activation> activations_;
  Inputs in_;
};

struct CellState {
  Value* h = nullptr;
  Value* c = nullptr;  // Null without a cell.
};

struct CellSpec {
  Recurrence op;
  int cell = -1;       // The operand of the initial cell state, or -1.
  int peepholes = -1;  // The operand of the peephole weights, or -1.
  // Both biases are added to x; false: those of r are separate.
  bool adds_state_bias = true;
};

// y, y_h and, with a cell, y_c.
std::vector<Value*> DecomposeRecurrent(Builder& b, const OpArgs& args, const CellSpec& spec,
                                       absl::FunctionRef<CellState(CellNodes&)> step);

}  // namespace weft::ops

#endif  // WEFT_GRAPH_OPS_NN_RECURRENT_SCAN_H_
