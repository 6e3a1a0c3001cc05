// Complex arithmetic out of real ops: Weft's pointwise ops take no complex
// numbers. Add, Sub, Mul, Div and Number of build.h do by these.
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

// Of a real value the imaginary part is zeros.
ComplexParts PartsOf(AtenCall& c, Value* v);
Value* JoinParts(AtenCall& c, ComplexParts parts);
// The argument, a tensor or a number, with parts of `dtype` (a real one).
ComplexParts PartsAs(AtenCall& c, absl::string_view name, DType dtype);

ComplexParts MulParts(AtenCall& c, ComplexParts a, ComplexParts b);
ComplexParts DivParts(AtenCall& c, ComplexParts a, ComplexParts b);

// The function that `op` computes of real numbers, of complex ones.
Value* ComplexFunction(AtenCall& c, const OpDef& op, Value* v);
Value* ComplexModulus(AtenCall& c, Value* v);
// A constant.
Value* ComplexNumber(AtenCall& c, DType dtype, double real, double imag);

// [.., n / 2 + 1, .., 2] to the n numbers that it is one half of: the others are
// the conjugates, backwards.
Value* WholeSpectrum(AtenCall& c, Value* pairs, int64_t dim, SymInt n);

}  // namespace weft::pt2

#endif  // WEFT_SERIALIZE_PT2_ATEN_COMPLEX_PARTS_H_
