// Prints symbolic integers as SymPy expressions.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/sym/sym_expr.h"
#include "graph/sym/sym_ops.h"
#include "serialize/pt2/sympy.h"

namespace weft::pt2 {
namespace {

using Kind = SymInt::Kind;

std::string NameOf(SymInt symbol) {
  const absl::string_view name = symbol.name();
  const bool plain = !name.empty() && !absl::ascii_isdigit(name[0]) &&
                     std::all_of(name.begin(), name.end(),
                                 [](char c) { return absl::ascii_isalnum(c) || c == '_'; });
  return plain ? std::string(name) : absl::StrCat("Symbol('", name, "')");
}

std::string Value(SymInt s);

std::string Call(absl::string_view name, absl::Span<const SymInt> args) {
  return absl::StrCat(
      name, "(",
      absl::StrJoin(args, ", ",
                    [](std::string* out, SymInt arg) { absl::StrAppend(out, Value(arg)); }),
      ")");
}

// A truth value as a relation.
std::string Condition(SymInt s) {
  if (s.is_constant()) return s.Is(0) ? "False" : "True";
  if (s.kind() == Kind::kNonNegative) return absl::StrCat("Ge(", Value(s.args()[0]), ", 0)");
  if (s.kind() == Kind::kZero) return absl::StrCat("Eq(", Value(s.args()[0]), ", 0)");
  const auto all_of = [](SymInt product) {
    return absl::StrCat(
        "And(",
        absl::StrJoin(product.args(), ", ",
                      [](std::string* out, SymInt arg) { absl::StrAppend(out, Condition(arg)); }),
        ")");
  };
  if (s.kind() == Kind::kProduct && IsTruth(s)) return all_of(s);
  const SymInt negated = Not(s);
  if (negated.kind() == Kind::kZero) return absl::StrCat("Ne(", Value(negated.args()[0]), ", 0)");
  if (negated.kind() == Kind::kProduct && IsTruth(negated)) {
    return absl::StrCat("Not(", all_of(negated), ")");
  }
  return absl::StrCat("Ne(", Value(s), ", 0)");
}

std::string ProductOf(int64_t coefficient, absl::Span<const SymInt> factors) {
  std::vector<std::string> parts;
  if (coefficient != 1) parts.push_back(absl::StrCat(coefficient));
  for (SymInt factor : factors) parts.push_back(absl::StrCat("(", Value(factor), ")"));
  return absl::StrJoin(parts, "*");
}

// Recursion follows the depth of the expression, which is bounded.
std::string Value(SymInt s) {
  const auto args = s.args();
  switch (s.kind()) {
    case Kind::kConst:
      return absl::StrCat(s.value());
    case Kind::kSymbol:
      return NameOf(s);
    case Kind::kProduct:
      return ProductOf(s.coefficient(), args);
    case Kind::kSum: {
      const std::string terms = absl::StrJoin(args, " + ", [](std::string* out, SymInt term) {
        absl::StrAppend(out, "(", Value(term), ")");
      });
      return s.coefficient() == 0 ? terms : absl::StrCat(terms, " + (", s.coefficient(), ")");
    }
    case Kind::kFloorDiv:
      return Call("FloorDiv", args);
    case Kind::kMod:
      return Call("PythonMod", args);
    case Kind::kMin:
      return Call("Min", args);
    case Kind::kMax:
      return Call("Max", args);
    case Kind::kPow:
      return Call("PowByNatural", args);
    case Kind::kBroadcast: {
      std::string rest = Value(args.back());
      for (size_t i = args.size() - 1; i-- > 0;) {
        const std::string size = Value(args[i]);
        rest = absl::StrCat("Piecewise((", rest, ", Eq(", size, ", 1)), (", size, ", True))");
      }
      return rest;
    }
    case Kind::kSelect:
      return absl::StrCat("Piecewise((", Value(args[1]), ", ", Condition(args[0]), "), (",
                          Value(args[2]), ", True))");
    case Kind::kNonNegative:
    case Kind::kZero:
      return absl::StrCat("Piecewise((1, ", Condition(s), "), (0, True))");
    case Kind::kInvalid:
      break;
  }
  return "nan";
}

}  // namespace

std::string ToSympy(SymInt s) { return IsTruth(s) && !s.is_constant() ? Condition(s) : Value(s); }

}  // namespace weft::pt2
