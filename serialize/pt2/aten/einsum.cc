// Einsum. Complex operands are contracted two at a time, each pair as einsums of real and imaginary
// parts.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "graph/ir/builder.h"
#include "graph/ops/ops.h"
#include "serialize/pt2/aten/complex_parts.h"
#include "serialize/pt2/aten/tables.h"
#include "serialize/pt2/build.h"

namespace weft::pt2 {
namespace {

constexpr char kDots[] = "...";

// "ij,jk->ik" without blanks and with an explicit result.
struct Terms {
  std::vector<std::string> operands;
  std::string result;
};

// Without "->" the result is the ellipsis, followed by the letters that occur once, in order.
std::string ImplicitResult(const std::string& terms) {
  std::string result = absl::StrContains(terms, kDots) ? kDots : "";
  std::string letters = absl::StrReplaceAll(terms, {{kDots, ""}, {",", ""}});
  std::sort(letters.begin(), letters.end());
  for (char c : letters) {
    if (std::count(letters.begin(), letters.end(), c) == 1) result += c;
  }
  return result;
}

Terms TermsOf(absl::string_view equation) {
  const std::string text = absl::StrReplaceAll(equation, {{" ", ""}});
  const std::vector<std::string> sides = absl::StrSplit(text, absl::MaxSplits("->", 1));
  return {absl::StrSplit(sides[0], ','), sides.size() == 2 ? sides[1] : ImplicitResult(sides[0])};
}

// The result of the first two operands: labels that other operands, or the result, have.
std::string PairResult(const Terms& terms) {
  const std::string pair = terms.operands[0] + terms.operands[1];
  std::string others = terms.result;
  for (size_t i = 2; i < terms.operands.size(); ++i) others += terms.operands[i];
  std::string result = absl::StrContains(pair, kDots) ? kDots : "";
  for (char c : absl::StrReplaceAll(pair, {{kDots, ""}})) {
    if (absl::StrContains(others, c) && !absl::StrContains(result, c)) result += c;
  }
  return result;
}

Value* RealEinsum(AtenCall& c, const std::string& equation, const std::vector<Value*>& operands) {
  const std::vector<NamedAttr> attrs = {{"equation", equation}};
  Value* v = c.b().Op(ops::einsum, operands, attrs);
  if (v == nullptr) throw AtenCall::Stop();
  return v;
}

// One operand: each part separately. Two: (a + bi) (c + di) for any contraction. A real operand has
// no imaginary part.
Value* ComplexEinsum(AtenCall& c, const Terms& terms, const std::vector<Value*>& operands,
                     DType real) {
  const std::string equation = absl::StrCat(absl::StrJoin(terms.operands, ","), "->", terms.result);
  std::vector<ComplexParts> parts;
  for (Value* v : operands) {
    ComplexParts p = {v, nullptr};
    if (IsComplex(DTypeOf(v))) p = PartsOf(c, v);
    parts.push_back({Convert(c, p.real, real), Convert(c, p.imag, real)});
  }
  const auto part = [&](Value* x, Value* y) -> Value* {
    return x == nullptr || y == nullptr ? nullptr : RealEinsum(c, equation, {x, y});
  };
  if (parts.size() == 1) {
    return JoinParts(
        c, {RealEinsum(c, equation, {parts[0].real}), RealEinsum(c, equation, {parts[0].imag})});
  }
  const ComplexParts& x = parts[0];
  const ComplexParts& y = parts[1];
  Value* re = part(x.real, y.real);
  if (Value* both = part(x.imag, y.imag)) re = Sub(c, re, both);
  Value* im = part(x.real, y.imag);
  Value* other = part(x.imag, y.real);
  if (im == nullptr || other == nullptr) {
    im = im == nullptr ? other : im;
  } else {
    im = Add(c, im, other);
  }
  return im == nullptr ? re : JoinParts(c, {re, im});
}

void Einsum(AtenCall& c) {
  std::vector<Value*> operands = c.Ts("tensors");
  if (operands.empty()) return c.Return(c.Fail("no operands"));
  DType dtype = DTypeOf(operands[0]);
  for (Value* v : operands) dtype = PromoteTypes(dtype, DTypeOf(v));
  if (dtype == DType::kBool) return c.Return(c.Unsupported("the operands are bools"));
  if (!IsComplex(dtype)) {
    for (Value*& v : operands) v = Convert(c, v, dtype);
    return c.Return(RealEinsum(c, c.Str("equation"), operands));
  }
  Terms terms = TermsOf(c.Str("equation"));
  if (terms.operands.size() != operands.size()) {
    return c.Return(c.Fail("the equation has another number of operands"));
  }
  while (operands.size() > 2) {
    const Terms pair = {{terms.operands[0], terms.operands[1]}, PairResult(terms)};
    operands[1] = ComplexEinsum(c, pair, {operands[0], operands[1]}, RealDType(dtype));
    terms.operands[1] = pair.result;
    operands.erase(operands.begin());
    terms.operands.erase(terms.operands.begin());
  }
  c.Return(ComplexEinsum(c, terms, operands, RealDType(dtype)));
}

constexpr AtenOp kTable[] = {
    {"einsum(str equation, Tensor[] tensors, *, int[]? path=None) -> Tensor", Einsum},
};

}  // namespace

absl::Span<const AtenOp> EinsumTable() { return kTable; }

}  // namespace weft::pt2
