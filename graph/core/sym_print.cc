// Expressions as text.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/core/attr.h"
#include "graph/core/sym.h"
#include "graph/core/sym_internal.h"

namespace weft {
namespace {

using internal::IsComparison;
using Kind = SymInt::Kind;

std::string Parenthesized(SymInt s) {
  const bool atom = (s.is_constant() && s.value() >= 0) || s.is_symbol() ||
                    s.kind() == Kind::kMin || s.kind() == Kind::kMax ||
                    s.kind() == Kind::kBroadcast;
  return atom ? s.ToString() : absl::StrCat("(", s.ToString(), ")");
}

std::string ProductToString(int64_t coefficient, absl::Span<const SymInt> factors) {
  std::vector<std::string> parts;
  if (coefficient != 1) parts.push_back(absl::StrCat(coefficient));
  for (SymInt f : factors) parts.push_back(Parenthesized(f));
  return absl::StrJoin(parts, "*");
}

std::string ComparisonToString(SymInt s, bool negated);

std::string SumToString(SymInt s) {
  if (s.coefficient() == 1 && s.args().size() == 1) {
    const SymInt negated = SymInt(1) - s;
    if (negated.kind() == Kind::kZero) return ComparisonToString(negated, true);
  }
  std::string out;
  for (SymInt arg : s.args()) {
    std::string term = IsComparison(arg) ? Parenthesized(arg) : arg.ToString();
    if (out.empty()) {
      out = term;
    } else if (term[0] == '-') {
      absl::StrAppend(&out, " - ", term.substr(1));
    } else {
      absl::StrAppend(&out, " + ", term);
    }
  }
  const int64_t k = s.coefficient();
  if (k > 0) absl::StrAppend(&out, " + ", k);
  if (k < 0) absl::StrAppend(&out, " - ", absl::StrCat(k).substr(1));
  return out;
}

std::string SideToString(SymInt s) { return IsComparison(s) ? Parenthesized(s) : s.ToString(); }

// "s0 >= s1 + 3": each term on the side where it is positive, a constant on the
// right; "s0 <= 3" when no other term is positive.
// Of an equality also the negation.
std::string ComparisonToString(SymInt s, bool negated) {
  const absl::string_view equals = negated ? " != " : " == ";
  const bool is_equality = s.kind() == Kind::kZero;
  std::vector<internal::Term> positive, negative, constant;
  for (internal::Term term : internal::Terms(s.args()[0])) {
    const bool moves = term.coefficient < 0;
    if (term.monomial.is_constant()) {
      constant.push_back(term);
      continue;
    }
    if (moves) term.coefficient = -term.coefficient;
    (moves ? negative : positive).push_back(term);
  }
  const bool flip = positive.empty();
  for (internal::Term term : constant) {
    if (!flip) term.coefficient = -term.coefficient;
    (flip ? positive : negative).push_back(term);
  }
  const SymInt left = internal::FromTerms(flip ? negative : positive);
  const SymInt right = internal::FromTerms(flip ? positive : negative);
  // Negated, the lowest coefficient leaves 64 bits.
  if (!left.is_valid() || !right.is_valid()) {
    return absl::StrCat(s.args()[0].ToString(), is_equality ? absl::StrCat(equals, "0") : " >= 0");
  }
  return absl::StrCat(SideToString(left),
                      is_equality ? equals
                      : flip      ? " <= "
                                  : " >= ",
                      SideToString(right));
}

}  // namespace

bool IsPlainSymbolName(absl::string_view name) {
  for (absl::string_view reserved :
       {"min", "max", "broadcast", "invalid", "inf", "nan", "none", "hint", "unbacked"}) {
    if (name == reserved) return false;
  }
  for (char c : name) {
    if (!absl::ascii_isalnum(c) && c != '_' && c != '.') return false;
  }
  return !name.empty() && (absl::ascii_isalpha(name[0]) || name[0] == '_');
}

std::string SymInt::ToString() const {
  switch (kind()) {
    case Kind::kConst:
      return absl::StrCat(value());
    case Kind::kSymbol:
      return IsPlainSymbolName(name()) ? std::string(name()) : Quote(name());
    case Kind::kProduct:
      return coefficient() == -1 ? absl::StrCat("-", ProductToString(1, args()))
                                 : ProductToString(coefficient(), args());
    case Kind::kSum:
      return SumToString(*this);
    case Kind::kFloorDiv:
      return absl::StrCat(Parenthesized(args()[0]), " // ", Parenthesized(args()[1]));
    case Kind::kMod:
      return absl::StrCat(Parenthesized(args()[0]), " % ", Parenthesized(args()[1]));
    case Kind::kMin:
      return absl::StrCat("min(", absl::StrJoin(args(), ", ", absl::StreamFormatter()), ")");
    case Kind::kMax:
      return absl::StrCat("max(", absl::StrJoin(args(), ", ", absl::StreamFormatter()), ")");
    case Kind::kBroadcast:
      return absl::StrCat("broadcast(", absl::StrJoin(args(), ", ", absl::StreamFormatter()), ")");
    case Kind::kNonNegative:
    case Kind::kZero:
      return ComparisonToString(*this, false);
    case Kind::kInvalid:
      break;
  }
  return "invalid";
}

std::string ToString(absl::Span<const SymInt> values) {
  return absl::StrCat("[", absl::StrJoin(values, ", ", absl::StreamFormatter()), "]");
}

}  // namespace weft
