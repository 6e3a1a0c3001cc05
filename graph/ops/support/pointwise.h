// Decompositions of pointwise composites.
#ifndef WEFT_GRAPH_OPS_SUPPORT_POINTWISE_H_
#define WEFT_GRAPH_OPS_SUPPORT_POINTWISE_H_

#include "graph/tensor/dtype.h"

namespace weft {
class Builder;
class OpDef;
class Value;
}  // namespace weft

namespace weft::ops {

// Builds pointwise expressions. Narrow floats (f16, bf16, f8) are computed in f32, as in ATen, and
// rounded once by Done:
//
//   Pointwise p(b, x->type().dtype());
//   Value* wide = p.Wide(x);
//   return {p.Done(p.Mul(wide, p.Sigmoid(wide)))};
class Pointwise {
 public:
  // A value, or a number that stands for a scalar constant.
  struct Term {
    Value* value = nullptr;
    double number = 0;
    Term(Value* v) : value(v) {}   // NOLINT
    Term(double v) : number(v) {}  // NOLINT
    Term(int v) : number(v) {}     // NOLINT
  };

  Pointwise(Builder& b, DType dtype);

  Value* Wide(Value* x);
  Value* Done(Value* x);

  Value* Add(Term a, Term b);
  Value* Sub(Term a, Term b);
  Value* Mul(Term a, Term b);
  Value* Div(Term a, Term b);
  Value* Maximum(Term a, Term b);
  Value* Minimum(Term a, Term b);
  Value* Less(Term a, Term b);
  Value* Greater(Term a, Term b);
  Value* Where(Value* condition, Term a, Term b);

  Value* Abs(Value* x);
  Value* Erf(Value* x);
  Value* Exp(Value* x);
  Value* Expm1(Value* x);
  Value* Log1p(Value* x);
  Value* Sigmoid(Value* x);
  Value* Sqrt(Value* x);
  Value* Tanh(Value* x);

  Builder& builder() { return b_; }
  // The dtype of Wide values.
  DType dtype() const { return wide_; }

 private:
  Value* Get(Term t);
  Value* Binary(const OpDef& op, Term a, Term b);

  Builder& b_;
  const DType dtype_;
  const DType wide_;
};

// f32 for narrower floats, else the dtype itself.
DType WideDType(DType dtype);

}  // namespace weft::ops

#endif  // WEFT_GRAPH_OPS_SUPPORT_POINTWISE_H_
