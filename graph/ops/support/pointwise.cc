#include "graph/ops/support/pointwise.h"

#include "graph/ir/builder.h"
#include "graph/ops/ops.h"

namespace weft::ops {

DType WideDType(DType dtype) {
  return IsFloat(dtype) && DTypeBits(dtype) < 32 ? DType::kF32 : dtype;
}

Pointwise::Pointwise(Builder& b, DType dtype) : b_(b), dtype_(dtype), wide_(WideDType(dtype)) {}

Value* Pointwise::Wide(Value* x) {
  return dtype_ == wide_ ? x : b_.Op(convert, {x}, {{"dtype", wide_}});
}

// Overflow rounds as in an ordinary store.
Value* Pointwise::Done(Value* x) {
  if (dtype_ == wide_) return x;
  return b_.Op(convert, {x}, {{"dtype", dtype_}, {"saturate", false}});
}

Value* Pointwise::Get(Term t) { return t.value != nullptr ? t.value : b_.Scalar(wide_, t.number); }

Value* Pointwise::Binary(const OpDef& op, Term a, Term b) {
  Value* left = Get(a);
  return b_.Op(op, {left, Get(b)});
}

Value* Pointwise::Add(Term a, Term b) { return Binary(add, a, b); }
Value* Pointwise::Sub(Term a, Term b) { return Binary(sub, a, b); }
Value* Pointwise::Mul(Term a, Term b) { return Binary(mul, a, b); }
Value* Pointwise::Div(Term a, Term b) { return Binary(div, a, b); }
Value* Pointwise::Maximum(Term a, Term b) { return Binary(maximum, a, b); }
Value* Pointwise::Minimum(Term a, Term b) { return Binary(minimum, a, b); }
Value* Pointwise::Less(Term a, Term b) { return Binary(lt, a, b); }
Value* Pointwise::Greater(Term a, Term b) { return Binary(gt, a, b); }

Value* Pointwise::Where(Value* condition, Term a, Term b) {
  Value* left = Get(a);
  return b_.Op(where, {condition, left, Get(b)});
}

Value* Pointwise::Abs(Value* x) { return b_.Op(abs, {x}); }
Value* Pointwise::Erf(Value* x) { return b_.Op(erf, {x}); }
Value* Pointwise::Exp(Value* x) { return b_.Op(exp, {x}); }
Value* Pointwise::Expm1(Value* x) { return b_.Op(expm1, {x}); }
Value* Pointwise::Log1p(Value* x) { return b_.Op(log1p, {x}); }
Value* Pointwise::Sigmoid(Value* x) { return b_.Op(sigmoid, {x}); }
Value* Pointwise::Sqrt(Value* x) { return b_.Op(sqrt, {x}); }
Value* Pointwise::Tanh(Value* x) { return b_.Op(tanh, {x}); }

}  // namespace weft::ops
