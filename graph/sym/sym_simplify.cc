// Simplifies expressions under the facts.
#include <optional>
#include <vector>

#include "graph/sym/sym_expr.h"
#include "graph/sym/sym_facts.h"
#include "graph/sym/sym_internal.h"
#include "graph/sym/sym_ops.h"
#include "graph/sym/sym_prove.h"

namespace weft::internal {
namespace {

using Kind = SymInt::Kind;

class Simplifier {
 public:
  Simplifier(const SymbolTable& table, const SymKnowledge& knowledge)
      : table_(table), knowledge_(knowledge) {}

  // Recursion follows the depth of the expression, which is bounded.
  SymInt Run(SymInt s) {
    if (s.is_constant() || !s.is_valid()) return s;
    if (s.is_symbol()) return SinglePoint(s);
    if (s.kind() == Kind::kSelect) return Selection(s.args());
    std::vector<SymInt> args;
    for (SymInt arg : s.args()) args.push_back(Run(arg));
    SymInt whole = Rebuild(s, args);
    return whole.is_valid() ? SinglePoint(whole) : s;
  }

 private:
  SymInt Rebuild(SymInt s, const std::vector<SymInt>& args) {
    switch (s.kind()) {
      case Kind::kSum: {
        SymInt sum = SymInt(s.coefficient());
        for (SymInt arg : args) sum = sum + arg;
        return sum;
      }
      case Kind::kProduct:
        return SymInt(s.coefficient()) * Product(args);
      case Kind::kFloorDiv:
        return Quotient(args[0], args[1]);
      case Kind::kMod:
        return Remainder(args[0], args[1]);
      case Kind::kMin:
      case Kind::kMax:
        return Extremum(s.kind(), args);
      case Kind::kBroadcast:
        return Broadcast(args);
      case Kind::kPow:
        return Pow(args[0], args[1]);
      case Kind::kNonNegative:
        return GreaterEqual(args[0], 0);
      case Kind::kZero:
        return Equal(args[0], 0);
      default:
        return s;
    }
  }

  // One branch alone if the condition is decided.
  SymInt Selection(absl::Span<const SymInt> args) {
    SymInt condition = Run(args[0]);
    if (knowledge_.Knows(condition)) condition = 1;
    if (knowledge_.Knows(Not(condition))) condition = 0;
    if (condition.is_constant()) return Run(args[condition.Is(0) ? 2 : 1]);
    const SymInt whole = Select(condition, Run(args[1]), Run(args[2]));
    return whole.is_valid() ? SinglePoint(whole) : Select(args[0], args[1], args[2]);
  }

  SymInt SinglePoint(SymInt s) {
    const SymRange range = table_.RangeOf(s);
    return range.min == range.max ? SymInt(range.min) : s;
  }

  // floor(a / b) if it is the same number for all values.
  std::optional<SymInt> OneQuotient(SymInt a, SymInt b) {
    const SymRange x = table_.RangeOf(a);
    const SymRange y = table_.RangeOf(b);
    if (x.min >= 0 && table_.RangeOf(b - a).min > 0) return SymInt(0);
    if (y.min != y.max || y.min <= 0) return std::nullopt;
    if (x.min == SymRange::kMin || x.max == SymRange::kMax) return std::nullopt;
    const SymInt low = FloorDiv(SymInt(x.min), b);
    if (low != FloorDiv(SymInt(x.max), b)) return std::nullopt;
    return low;
  }

  SymInt Quotient(SymInt a, SymInt b) {
    if (auto one = OneQuotient(a, b)) return *one;
    return FloorDiv(a, b);
  }

  SymInt Remainder(SymInt a, SymInt b) {
    if (b.is_constant() && b.value() > 0 && table_.IsMultipleOf(a, b.value())) {
      return SymInt(0);
    }
    if (auto one = OneQuotient(a, b)) return a - *one * b;
    return Mod(a, b);
  }

  SymInt Extremum(Kind kind, const std::vector<SymInt>& args) {
    SymInt result = args[0];
    for (size_t i = 1; i < args.size(); ++i) {
      const SymRange gap = table_.RangeOf(args[i] - result);
      if (gap.min >= 0) {
        if (kind == Kind::kMax) result = args[i];
      } else if (gap.max <= 0) {
        if (kind == Kind::kMin) result = args[i];
      } else {
        result = kind == Kind::kMin ? Min(result, args[i]) : Max(result, args[i]);
      }
    }
    return result;
  }

  // A size that cannot be 1 is the result of the broadcast.
  SymInt Broadcast(const std::vector<SymInt>& args) {
    SymInt result = 1;
    for (SymInt arg : args) {
      const SymRange range = table_.RangeOf(arg);
      if (range.min > 1 || range.max < 1) return arg;
      result = BroadcastSize(result, arg);
    }
    return result;
  }

  const SymbolTable& table_;
  const SymKnowledge& knowledge_;
};

}  // namespace

SymInt SimplifySym(SymInt s, const SymbolTable& table, const SymKnowledge& knowledge) {
  const SymInt replaced = knowledge.Replace(s);
  return Simplifier(table, knowledge).Run(replaced.is_valid() ? replaced : s);
}

}  // namespace weft::internal
