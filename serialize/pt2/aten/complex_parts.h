// Complex arithmetic composed of real ops, because Weft's pointwise ops do not support complex
// dtypes. Add, Sub, Mul, Div and Number of build.h use it.
#ifndef WEFT_SERIALIZE_PT2_ATEN_COMPLEX_PARTS_H_
#define WEFT_SERIALIZE_PT2_ATEN_COMPLEX_PARTS_H_

#include "serialize/pt2/aten_call.h"

namespace weft {
class OpDef;
class Value;
}  // namespace weft

namespace weft::pt2 {

struct ComplexParts {
  Value* real = nullptr;
  Value* imag = nullptr;
};

// The parts of a value; the imaginary part of a real value is zeros.
ComplexParts PartsOf(AtenCall& c, Value* v);
Value* JoinParts(AtenCall& c, ComplexParts parts);
// The argument, a tensor or a number, as parts of the real dtype `dtype`.
ComplexParts PartsAs(AtenCall& c, absl::string_view name, DType dtype);

ComplexParts MulParts(AtenCall& c, ComplexParts a, ComplexParts b);
ComplexParts DivParts(AtenCall& c, ComplexParts a, ComplexParts b);

// The complex version of the real function `op`.
Value* ComplexFunction(AtenCall& c, const OpDef& op, Value* v);
Value* ComplexModulus(AtenCall& c, Value* v);
// A complex constant.
Value* ComplexNumber(AtenCall& c, DType dtype, double real, double imag);

// The n real numbers [.., n, .., 1] whose spectrum begins with [.., n / 2 + 1, .., 2].
Value* RealInverse(AtenCall& c, Value* pairs, int64_t dim, SymInt n);

}  // namespace weft::pt2

#endif  // WEFT_SERIALIZE_PT2_ATEN_COMPLEX_PARTS_H_
