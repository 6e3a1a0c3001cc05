// Proofs of conditions, cheapest first: intervals, intervals with each symbol
// counted from its bound, cases of min, max and broadcasting, division written
// written out, and subtraction of an axiom. Each proof has a budget of steps and a depth, so it
// always ends; the answer may be "unknown".
#include "graph/sym/sym_prove.h"

#include <algorithm>
#include <numeric>

#include "graph/sym/sym_expr.h"
#include "graph/sym/sym_facts.h"
#include "graph/sym/sym_internal.h"
#include "graph/sym/sym_ops.h"

namespace weft::internal {
namespace {

using Kind = SymInt::Kind;

constexpr int kMaxSteps = 128;
constexpr int kMaxDepth = 4;

class Prover {
 public:
  Prover(const SymbolTable& table, const SymKnowledge& knowledge)
      : table_(table), knowledge_(knowledge) {}

  Proof Prove(SymInt condition) {
    if (condition.is_constant()) {
      return condition.Is(0) ? Proof::kNo : Proof::kYes;
    }
    if (knowledge_.Knows(condition)) return Proof::kYes;
    if (knowledge_.Knows(Not(condition))) return Proof::kNo;
    switch (condition.kind()) {
      case Kind::kNonNegative:
        return ProveNonNegative(condition.args()[0]);
      case Kind::kZero:
        return ProveZero(condition.args()[0]);
      case Kind::kProduct: {
        const Proof proof = ProveAll(condition.args());
        return proof != Proof::kUnknown ? proof : ProveByCases(condition);
      }
      default:
        return ProveByCases(condition);
    }
  }

 private:
  // Takes a copy, because proofs below may make nodes.
  Proof ProveAll(absl::Span<const SymInt> parts) {
    Proof all = Proof::kYes;
    for (SymInt part : parts) {
      if (!IsTruth(part)) return Proof::kUnknown;
      const Proof one = Prove(part);
      if (one == Proof::kNo) return Proof::kNo;
      if (one == Proof::kUnknown) all = Proof::kUnknown;
    }
    return all;
  }

  // For a sum of products of comparisons: the common answer of all cases that are possible, else
  // unknown.
  Proof ProveByCases(SymInt condition) {
    const auto table = TruthTable::Of(condition);
    if (!table || !table->IsTruth()) return Proof::kUnknown;
    uint32_t known = 0, value = 0;
    for (size_t i = 0; i < table->conditions().size(); ++i) {
      const Proof proof = Prove(table->conditions()[i]);
      known |= uint32_t{proof != Proof::kUnknown} << i;
      value |= uint32_t{proof == Proof::kYes} << i;
    }
    bool may[2] = {false, false};
    for (uint32_t i = 0; i < table->num_assignments(); ++i) {
      const bool holds = table->ValueAt(i) == 1;
      if ((i & known) != value || may[holds]) continue;
      may[holds] = !IsImpossible(*table, i);
    }
    if (may[0] == may[1]) return Proof::kUnknown;
    return may[1] ? Proof::kYes : Proof::kNo;
  }

  // True if one of the comparisons (or negations) of the case contradicts the others.
  bool IsImpossible(const TruthTable& table, uint32_t assignment) {
    constexpr size_t kMaxLiterals = 3;
    const size_t n = table.conditions().size();
    if (n > kMaxLiterals) return false;
    for (size_t last = 0; last < n; ++last) {
      const size_t before = given_.size();
      for (size_t i = 0; i < n; ++i) {
        if (i != last) Give(table.conditions()[i], assignment >> i & 1);
      }
      const bool impossible =
          given_.size() > before && Contradicts(table.conditions()[last], assignment >> last & 1);
      given_.resize(before);
      if (impossible) return true;
    }
    return false;
  }

  // Assumes for the present case that the comparison holds, or does not.
  void Give(SymInt comparison, bool holds) {
    const SymInt s = comparison.args()[0];
    if (comparison.kind() == Kind::kNonNegative) {
      given_.push_back(holds ? s : -s - 1);
    } else if (holds) {
      given_.push_back(s);
      given_.push_back(-s);
    }
  }

  // True if the comparison is proven to be the opposite of `holds`.
  bool Contradicts(SymInt comparison, bool holds) {
    const SymInt s = comparison.args()[0];
    if (comparison.kind() == Kind::kNonNegative) return IsNonNegative(holds ? -s - 1 : s);
    if (holds) return IsNonNegative(s - 1) || IsNonNegative(-s - 1);
    return IsNonNegative(s) && IsNonNegative(-s);
  }

  Proof ProveNonNegative(SymInt s) {
    if (IsNonNegative(s)) return Proof::kYes;
    return IsNonNegative(-s - 1) ? Proof::kNo : Proof::kUnknown;
  }

  Proof ProveZero(SymInt s) {
    const SymInt counted = FromBounds(s);
    if (Equal(counted, 0).Is(0)) return Proof::kNo;
    if (IsNonNegative(s - 1) || IsNonNegative(-s - 1)) return Proof::kNo;
    return IsNonNegative(s) && IsNonNegative(-s) ? Proof::kYes : Proof::kUnknown;
  }

  bool IsNonNegative(SymInt s) {
    steps_ = kMaxSteps;
    return Holds(s, kMaxDepth);
  }

  // True if s >= 0 is proven.
  bool Holds(SymInt s, int depth) {
    if (!s.is_valid() || --steps_ < 0) return false;
    if (s.is_constant()) return s.value() >= 0;
    if (table_.RangeOf(s).min >= 0 || CountedRange(s).min >= 0) return true;
    if (depth == 0) return false;
    return HoldsWithoutAtom(s, depth - 1) || HoldsByAxiom(s, depth - 1);
  }

  // `s` with each symbol replaced by its least value plus its divisor times the symbol, which now
  // counts from 0.
  SymInt FromBounds(SymInt s) const {
    return Substitute(s, [&](SymInt symbol) -> std::optional<SymInt> {
      const int64_t unit = UnitOf(symbol);
      const SymRange range = table_.RangeOf(symbol);
      if (range.min == SymRange::kMin) {
        if (range.max == SymRange::kMax) return symbol * SymInt(unit);
        return FloorDiv(SymInt(range.max), unit) * SymInt(unit) - symbol * SymInt(unit);
      }
      return CeilDiv(SymInt(range.min), unit) * SymInt(unit) + symbol * SymInt(unit);
    });
  }

  SymRange CountedRange(SymInt s) const {
    return RangeOf(FromBounds(s), [&](SymInt symbol) -> SymRange {
      const int64_t unit = UnitOf(symbol);
      const SymRange range = table_.RangeOf(symbol);
      if (range.min == SymRange::kMin) {
        return range.max == SymRange::kMax ? SymRange{} : SymRange{0, SymRange::kMax};
      }
      if (range.max == SymRange::kMax) return {0, SymRange::kMax};
      const SymInt top = FloorDiv(SymInt(range.max), unit) - CeilDiv(SymInt(range.min), unit);
      return {0, top.is_constant() ? std::max<int64_t>(top.value(), 0) : SymRange::kMax};
    });
  }

  int64_t UnitOf(SymInt symbol) const {
    const SymbolInfo* info = table_.Find(symbol);
    return info != nullptr ? info->divisor : 1;
  }

  // Replaces the first term that is an atom with more structure.
  bool HoldsWithoutAtom(SymInt s, int depth) {
    for (const Term& term : Terms(s)) {
      const SymInt atom = term.monomial;
      if (atom.args().empty() || !FitsInt64(term.coefficient)) continue;
      const SymInt factor(static_cast<int64_t>(term.coefficient));
      const SymInt rest = s - atom * factor;
      const auto args = atom.args();
      switch (atom.kind()) {
        case Kind::kMin:
        case Kind::kMax:
        case Kind::kBroadcast:
          return HoldsForArgs(atom, rest, factor, depth);
        case Kind::kSelect:
          return HoldsForBranches(args, rest, factor, depth);
        case Kind::kPow:
          // a^e >= 1 + (a - 1)*e for a >= 1.
          if (factor.value() < 0 || table_.RangeOf(args[0]).min < 1) break;
          if (table_.RangeOf(args[1]).min < 0) break;
          return Holds(rest + factor * (1 + (args[0] - 1) * args[1]), depth);
        case Kind::kFloorDiv:
          return HoldsWithoutQuotient(args[0], args[1], rest, factor, depth);
        case Kind::kMod:
          if (args[1].is_constant() || table_.RangeOf(args[1]).min < 1) break;
          // 0 <= mod(x, d) <= d - 1.
          return Holds(factor.value() > 0 ? rest : rest + factor * (args[1] - 1), depth);
        default:
          break;
      }
    }
    return false;
  }

  // An extremum equals one of its operands, and bounds all of them.
  bool HoldsForArgs(SymInt atom, SymInt rest, SymInt factor, int depth) {
    const bool any = atom.kind() == Kind::kMax   ? factor.value() > 0
                     : atom.kind() == Kind::kMin ? factor.value() < 0
                                                 : false;
    for (SymInt arg : atom.args()) {
      if (Holds(rest + factor * arg, depth) == any) return any;
    }
    return !any;
  }

  // Proves each branch under its condition.
  bool HoldsForBranches(absl::Span<const SymInt> args, SymInt rest, SymInt factor, int depth) {
    const SymInt parts[] = {args[0], rest + factor * args[1], rest + factor * args[2]};
    for (const bool holds : {true, false}) {
      const size_t before = given_.size();
      if (IsComparison(parts[0])) Give(parts[0], holds);
      const bool proven = Holds(parts[holds ? 1 : 2], depth);
      given_.resize(before);
      if (!proven) return false;
    }
    return true;
  }

  bool HoldsWithoutQuotient(SymInt x, SymInt d, SymInt rest, SymInt factor, int depth) {
    if (d.is_constant()) {
      // d * floor(x / d) = x - mod(x, d).
      return d.value() > 0 && Holds(d * rest + factor * (x - Mod(x, d)), depth);
    }
    if (table_.RangeOf(d).min < 1 || table_.RangeOf(x).min < 0) return false;
    // 0 <= floor(x / d) <= x.
    return Holds(factor.value() > 0 ? rest : rest + factor * x, depth);
  }

  // With a >= 0 known, p*s - q*a >= 0 proves s >= 0 for positive p and q, which are chosen so that
  // a term cancels.
  bool HoldsByAxiom(SymInt s, int depth) {
    const std::vector<Term> terms = Terms(s);
    std::vector<SymInt> axioms = knowledge_.AxiomsAbout(s);
    axioms.insert(axioms.begin(), given_.begin(), given_.end());
    for (SymInt axiom : axioms) {
      if (!axiom.is_valid()) continue;
      for (const Term& theirs : Terms(axiom)) {
        if (theirs.monomial.is_constant()) continue;
        for (const Term& ours : terms) {
          if (ours.monomial != theirs.monomial) continue;
          if ((ours.coefficient > 0) != (theirs.coefficient > 0)) continue;
          if (HoldsWithout(s, ours, axiom, theirs, depth)) return true;
        }
      }
    }
    return false;
  }

  bool HoldsWithout(SymInt s, const Term& ours, SymInt axiom, const Term& theirs, int depth) {
    if (!FitsInt64(ours.coefficient) || !FitsInt64(theirs.coefficient)) {
      return false;
    }
    const SymInt p = SymInt(static_cast<int64_t>(theirs.coefficient));
    const SymInt q = SymInt(static_cast<int64_t>(ours.coefficient));
    return ours.coefficient > 0 ? Holds(p * s - q * axiom, depth) : Holds(q * axiom - p * s, depth);
  }

  const SymbolTable& table_;
  const SymKnowledge& knowledge_;
  std::vector<SymInt> given_;  // Each is >= 0 in the present case.
  int steps_ = 0;
};

}  // namespace

Proof ProveCondition(SymInt condition, const SymbolTable& table, const SymKnowledge& knowledge) {
  return Prover(table, knowledge).Prove(condition);
}

}  // namespace weft::internal
