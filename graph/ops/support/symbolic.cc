#include "graph/ops/support/symbolic.h"

#include "graph/sym/sym_facts.h"

namespace weft::ops {

SymInt KnownTruth(Proof proof) {
  if (proof == Proof::kUnknown) return SymInt::Invalid();
  return proof == Proof::kYes ? 1 : 0;
}

SymInt KnownNot(SymInt condition) {
  return condition.is_constant() ? SymInt(condition.value() == 0) : SymInt::Invalid();
}

bool IsNotNegative(const SymbolicEvalContext& c, SymInt a) {
  return c.symbols().RangeOf(a).min >= 0;
}

bool SymbolicUnary(SymbolicEvalContext& c, absl::FunctionRef<SymInt(SymInt)> fn) {
  for (size_t i = 0; i < c.out().size(); ++i) {
    const SymInt x = c.in(0)[i];
    if (x.is_valid()) c.out()[i] = fn(x);
  }
  return true;
}

bool SymbolicBinary(SymbolicEvalContext& c, absl::FunctionRef<SymInt(SymInt, SymInt)> fn) {
  return SymbolicPointwise<2>(c, [&](const std::array<SymInt, 2>& x) {
    return x[0].is_valid() && x[1].is_valid() ? fn(x[0], x[1]) : SymInt::Invalid();
  });
}

bool SymbolicReduction(SymbolicEvalContext& c, absl::FunctionRef<SymInt(SymInt, SymInt)> fn) {
  const SymbolicEvalContext::Elements& in = c.in(0);
  if (c.out().size() != 1 || in.empty()) return false;
  SymInt total = in[0];
  for (size_t i = 1; i < in.size(); ++i) total = fn(total, in[i]);
  c.out()[0] = total;
  return true;
}

}  // namespace weft::ops
