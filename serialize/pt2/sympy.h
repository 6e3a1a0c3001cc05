// Converts SymPy expressions in text form, srepr (`Add(Mul(Integer(2), Symbol('s0')), ...)`) and
// infix (`2*s0 + 1`), to symbolic integers and back.
//
// Supported: symbols, integers, sums, products, powers, floor and ceiling division, mod, min, max,
// rationals if a product divides by one, comparisons (infix ones may be chained), And, Or, Not,
// Piecewise with a default case, PyTorch's integer functions, and the floats of rational.h. Other
// functions (logarithms, bit patterns) are Unimplemented, and an expression that is too large for a
// SymInt is ResourceExhausted: the caller may ignore it. Nesting is bounded by kMaxSympyDepth.
#ifndef WEFT_SERIALIZE_PT2_SYMPY_H_
#define WEFT_SERIALIZE_PT2_SYMPY_H_

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/sym/sym_int.h"

namespace weft {
class SymbolTable;
}  // namespace weft

namespace weft::pt2 {

inline constexpr int kMaxSympyDepth = 64;
inline constexpr int kMaxSympyBytes = 1 << 16;

// `symbol` gives the value of a name. Conditions that `facts` decide are evaluated, which keeps the
// expression small. The error contains the text.
absl::StatusOr<SymInt> ParseSympy(
    absl::string_view text, absl::FunctionRef<absl::StatusOr<SymInt>(absl::string_view)> symbol,
    const SymbolTable* facts = nullptr);

// Text that ParseSympy reads back as the same expression, with the functions of torch.utils._sympy.
// A broadcast size is written as a selection.
std::string ToSympy(SymInt s);

}  // namespace weft::pt2

#endif  // WEFT_SERIALIZE_PT2_SYMPY_H_
