// Replaces the symbols of an expression, or gives them values.
#include <optional>
#include <vector>

#include "graph/sym/sym_expr.h"
#include "graph/sym/sym_int.h"
#include "graph/sym/sym_internal.h"
#include "graph/sym/sym_ops.h"

namespace weft {

using internal::FromTerms;
using internal::SortUnique;
using internal::Term;
using internal::Terms;

using Kind = SymInt::Kind;

void ForEachSymbol(SymInt s, absl::FunctionRef<void(SymInt)> fn) {
  std::vector<SymInt> symbols;
  std::vector<SymInt> stack = {s};
  while (!stack.empty()) {
    const SymInt top = stack.back();
    stack.pop_back();
    if (top.is_symbol()) symbols.push_back(top);
    stack.insert(stack.end(), top.args().begin(), top.args().end());
  }
  SortUnique(&symbols);
  for (SymInt symbol : symbols) fn(symbol);
}

bool ContainsSymbol(SymInt s, SymInt symbol) {
  bool found = false;
  ForEachSymbol(s, [&](SymInt x) { found |= x == symbol; });
  return found;
}

namespace {

// Adds all values at once, because partial sums may pass 64 bits.
SymInt SumOf(absl::Span<const SymInt> values, int64_t constant) {
  std::vector<Term> terms = {{SymInt(1), constant}};
  for (SymInt v : values) {
    if (!v.is_valid()) return SymInt::Invalid();
    const std::vector<Term> more = Terms(v);
    terms.insert(terms.end(), more.begin(), more.end());
  }
  return FromTerms(std::move(terms));
}

// The branch that is not taken may be undefined.
SymInt SubstituteSelection(SymInt s, absl::FunctionRef<std::optional<SymInt>(SymInt)> fn) {
  const SymInt condition = Substitute(s.args()[0], fn);
  if (condition.is_constant()) return Substitute(s.args()[condition.Is(0) ? 2 : 1], fn);
  const SymInt a = Substitute(s.args()[1], fn);
  const SymInt b = Substitute(s.args()[2], fn);
  if (condition == s.args()[0] && a == s.args()[1] && b == s.args()[2]) return s;
  return Select(condition, a, b);
}

}  // namespace

SymInt Substitute(SymInt s, absl::FunctionRef<std::optional<SymInt>(SymInt)> fn) {
  if (s.is_symbol()) return fn(s).value_or(s);
  if (s.args().empty()) return s;
  if (s.kind() == Kind::kSelect) return SubstituteSelection(s, fn);
  std::vector<SymInt> args;
  for (SymInt arg : s.args()) args.push_back(Substitute(arg, fn));
  if (absl::MakeConstSpan(args) == s.args()) return s;
  SymInt result = args[0];
  switch (s.kind()) {
    case Kind::kSum:
      return SumOf(args, s.coefficient());
    case Kind::kProduct:
      args.insert(args.begin(), SymInt(s.coefficient()));
      return Product(args);
    case Kind::kFloorDiv:
      return FloorDiv(args[0], args[1]);
    case Kind::kMod:
      return Mod(args[0], args[1]);
    case Kind::kMin:
      for (SymInt arg : args) result = Min(result, arg);
      return result;
    case Kind::kMax:
      for (SymInt arg : args) result = Max(result, arg);
      return result;
    case Kind::kBroadcast:
      for (SymInt arg : args) result = BroadcastSize(result, arg);
      return result;
    case Kind::kPow:
      return Pow(args[0], args[1]);
    case Kind::kNonNegative:
      return GreaterEqual(args[0], 0);
    case Kind::kZero:
      return Equal(args[0], 0);
    case Kind::kSelect:
    case Kind::kConst:
    case Kind::kSymbol:
    case Kind::kInvalid:
      break;
  }
  return s;
}

std::optional<int64_t> Evaluate(SymInt s,
                                absl::FunctionRef<std::optional<int64_t>(SymInt)> value_of) {
  const SymInt result = Substitute(s, [&](SymInt symbol) -> std::optional<SymInt> {
    const std::optional<int64_t> value = value_of(symbol);
    if (!value) return std::nullopt;
    return SymInt(*value);
  });
  return result.constant();
}

std::optional<std::vector<int64_t>> AllConstant(absl::Span<const SymInt> values) {
  std::vector<int64_t> out;
  out.reserve(values.size());
  for (SymInt v : values) {
    if (!v.is_constant()) return std::nullopt;
    out.push_back(v.value());
  }
  return out;
}

std::vector<SymInt> ToSymInts(absl::Span<const int64_t> values) {
  return {values.begin(), values.end()};
}

}  // namespace weft
