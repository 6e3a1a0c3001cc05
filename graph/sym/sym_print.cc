// Expressions as text.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/quote.h"
#include "graph/sym/sym_expr.h"
#include "graph/sym/sym_int.h"
#include "graph/sym/sym_internal.h"
#include "graph/sym/sym_ops.h"

namespace weft {
namespace {

using Kind = SymInt::Kind;

std::string Parenthesized(SymInt s) {
  const bool atom = (s.is_constant() && s.value() >= 0) || s.is_symbol() ||
                    s.kind() == Kind::kMin || s.kind() == Kind::kMax ||
                    s.kind() == Kind::kBroadcast || s.kind() == Kind::kPow ||
                    s.kind() == Kind::kSelect;
  return atom ? s.ToString() : absl::StrCat("(", s.ToString(), ")");
}

std::string ProductToString(int64_t coefficient, absl::Span<const SymInt> factors) {
  std::vector<std::string> parts;
  if (coefficient != 1) parts.push_back(absl::StrCat(coefficient));
  for (SymInt f : factors) parts.push_back(Parenthesized(f));
  return absl::StrJoin(parts, "*");
}

std::string ComparisonToString(SymInt s, bool negated);

// The text of an operand whose operator binds closer than a comparison.
std::string SideToString(SymInt s) {
  return !s.is_constant() && IsTruth(s) ? Parenthesized(s) : s.ToString();
}

// "a and b" or "a or b"; nullopt if the expression has another form or would read back differently.
std::optional<std::string> LogicToString(SymInt s) {
  const auto table = internal::TruthTable::Of(s);
  if (!table || table->conditions().size() < 2 || !table->IsTruth()) return std::nullopt;
  std::vector<uint32_t> cases[2];
  for (uint32_t i = 0; i < table->num_assignments(); ++i) cases[table->ValueAt(i)].push_back(i);
  const bool all = cases[1].size() == 1;
  if (!all && cases[0].size() != 1) return std::nullopt;
  SymInt whole = SymInt(all);
  std::vector<std::string> parts;
  for (size_t i = 0; i < table->conditions().size(); ++i) {
    const SymInt condition = table->conditions()[i];
    const bool holds = (cases[all][0] >> i & 1) == all;
    const SymInt part = holds ? condition : Not(condition);
    whole = all ? And(whole, part) : Or(whole, part);
    parts.push_back(part.ToString());
  }
  if (whole != s) return std::nullopt;
  return absl::StrJoin(parts, all ? " and " : " or ");
}

std::string SumToString(SymInt s) {
  if (s.coefficient() == 1 && s.args().size() == 1) {
    const SymInt negated = SymInt(1) - s;
    if (negated.kind() == Kind::kZero) return ComparisonToString(negated, true);
  }
  if (auto logic = LogicToString(s)) return *logic;
  std::string out;
  for (SymInt arg : s.args()) {
    std::string term = SideToString(arg);
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

// "s0 >= s1 + 3": each term is on the side where it is positive, a constant on the right; "s0 <= 3"
// if no other term is positive. An equality may also be printed negated.
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
  // Negating the lowest coefficient overflows 64 bits.
  if (!left.is_valid() || !right.is_valid()) {
    return absl::StrCat(s.args()[0].ToString(), is_equality ? absl::StrCat(equals, "0") : " >= 0");
  }
  return absl::StrCat(SideToString(left),
                      is_equality ? equals
                      : flip      ? " <= "
                                  : " >= ",
                      SideToString(right));
}

std::string CallToString(absl::string_view name, absl::Span<const SymInt> args) {
  return absl::StrCat(name, "(", absl::StrJoin(args, ", ", absl::StreamFormatter()), ")");
}

}  // namespace

bool IsPlainSymbolName(absl::string_view name) {
  for (absl::string_view reserved : {"min", "max", "broadcast", "pow", "select", "and", "or", "not",
                                     "invalid", "inf", "nan", "none", "hint", "unbacked"}) {
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
      if (IsTruth(*this)) {
        return absl::StrJoin(args(), " and ", absl::StreamFormatter());
      }
      return coefficient() == -1 ? absl::StrCat("-", ProductToString(1, args()))
                                 : ProductToString(coefficient(), args());
    case Kind::kSum:
      return SumToString(*this);
    case Kind::kFloorDiv:
      return absl::StrCat(Parenthesized(args()[0]), " // ", Parenthesized(args()[1]));
    case Kind::kMod:
      return absl::StrCat(Parenthesized(args()[0]), " % ", Parenthesized(args()[1]));
    case Kind::kMin:
      return CallToString("min", args());
    case Kind::kMax:
      return CallToString("max", args());
    case Kind::kBroadcast:
      return CallToString("broadcast", args());
    case Kind::kPow:
      return CallToString("pow", args());
    case Kind::kSelect:
      return CallToString("select", args());
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
