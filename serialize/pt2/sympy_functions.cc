#include "serialize/pt2/sympy_functions.h"

#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/sym/sym_expr.h"
#include "graph/sym/sym_ops.h"

namespace weft::pt2 {
namespace {

// Names and numbers of arguments; 0: one or more.
struct Arity {
  absl::string_view name;
  size_t args;
};
constexpr Arity kArities[] = {
    {"Add", 0},      {"Mul", 0},          {"Min", 0},          {"Max", 0},
    {"min", 0},      {"max", 0},          {"And", 0},          {"Or", 0},
    {"Not", 1},      {"Integer", 1},      {"Identity", 1},     {"Abs", 1},
    {"ToFloat", 1},  {"sym_float", 1},    {"float", 1},        {"TruncToInt", 1},
    {"trunc", 1},    {"FloorToInt", 1},   {"floor", 1},        {"CeilToInt", 1},
    {"ceil", 1},     {"ceiling", 1},      {"Rational", 2},     {"IntTrueDiv", 2},
    {"Pow", 2},      {"FloatTrueDiv", 2}, {"PowByNatural", 2}, {"FloorDiv", 2},
    {"CleanDiv", 2}, {"CeilDiv", 2},      {"Mod", 2},          {"PythonMod", 2},
    {"LShift", 2},   {"RShift", 2},       {"Where", 3},        {"ModularIndexing", 3},
};

struct Comparison {
  absl::string_view name, other;
  CompareFn compare;
};
constexpr Comparison kComparisons[] = {
    {"Eq", "Equality", Equal},           {"Ne", "Unequality", NotEqual},
    {"Ge", "GreaterThan", GreaterEqual}, {"Gt", "StrictGreaterThan", Greater},
    {"Le", "LessThan", LessEqual},       {"Lt", "StrictLessThan", Less}};

CompareFn NamedComparison(absl::string_view name) {
  for (const Comparison& row : kComparisons) {
    if (name == row.name || name == row.other) return row.compare;
  }
  return nullptr;
}

absl::Status CheckArity(absl::string_view name, size_t args) {
  const auto check = [&](size_t wanted) {
    if (wanted == 0 ? args > 0 : args == wanted) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(name, " has a wrong number of arguments"));
  };
  if (NamedComparison(name) != nullptr) return check(2);
  for (const Arity& row : kArities) {
    if (name == row.name) return check(row.args);
  }
  return absl::UnimplementedError(
      absl::StrCat("the function \"", name.substr(0, 80), "\" is not known"));
}

absl::StatusOr<Rational> Fold(bool add, absl::Span<const Rational> args) {
  Rational result = args[0];
  for (const Rational& arg : args.subspan(1)) {
    WEFT_ASSIGN_OR_RETURN(result, add ? Plus(result, arg) : Times(result, arg));
  }
  return result;
}

absl::StatusOr<Rational> Extremum(bool least, absl::Span<const Rational> args) {
  WEFT_ASSIGN_OR_RETURN(SymInt result, Whole(args[0]));
  for (const Rational& arg : args.subspan(1)) {
    WEFT_ASSIGN_OR_RETURN(const SymInt value, Whole(arg));
    result = least ? Min(result, value) : Max(result, value);
  }
  return Rational{result, 1};
}

Rational AsFloat(Rational a) {
  a.is_float = true;
  return a;
}

}  // namespace

absl::StatusOr<SymInt> SympyFunctions::Condition(const Rational& a) const {
  if (!a.numerator.is_valid()) return a.numerator;
  if (a.denominator == 1 && IsTruth(a.numerator)) return Known(a.numerator);
  return absl::UnimplementedError("it has a size where a condition is wanted");
}

// A sum of products has 2^n terms for n alternatives; an extremum has n.
SymInt SympyFunctions::Both(SymInt a, SymInt b) {
  if (a.Is(0) || b.Is(0)) return 0;
  const SymInt both = And(a, b);
  return IsTruth(both) ? both : GreaterEqual(Min(a, b), 1);
}

SymInt SympyFunctions::Either(SymInt a, SymInt b) {
  if (a.Is(1) || b.Is(1)) return 1;
  const SymInt either = Or(a, b);
  return IsTruth(either) ? either : GreaterEqual(Max(a, b), 1);
}

absl::StatusOr<SymInt> SympyFunctions::Divide(const Rational& a, const Rational& b) {
  WEFT_ASSIGN_OR_RETURN(const SymInt x, Whole(a));
  WEFT_ASSIGN_OR_RETURN(const SymInt y, Whole(b));
  if (y.Is(0)) return absl::InvalidArgumentError("it divides by zero");
  return FloorDiv(x, y);
}

absl::StatusOr<SymInt> SympyFunctions::Modulo(const Rational& a, const Rational& b) {
  WEFT_ASSIGN_OR_RETURN(const SymInt x, Whole(a));
  WEFT_ASSIGN_OR_RETURN(const SymInt y, Whole(b));
  if (y.Is(0)) return absl::InvalidArgumentError("it divides by zero");
  return Mod(x, y);
}

absl::StatusOr<Rational> SympyFunctions::Call(absl::string_view name,
                                              absl::Span<const Rational> args) const {
  WEFT_RETURN_IF_ERROR(CheckArity(name, args.size()));
  if (name == "Add" || name == "Mul") return Fold(name == "Add", args);
  if (absl::EqualsIgnoreCase(name, "Min") || absl::EqualsIgnoreCase(name, "Max")) {
    return Extremum(absl::EndsWith(name, "in"), args);
  }
  if (name == "And" || name == "Or" || name == "Not") return Logic(name, args);
  if (name == "Abs" || name == "Where" || name == "ModularIndexing" ||
      absl::EndsWith(name, "Shift")) {
    return OfWholes(name, args);
  }
  return args.size() == 1 ? OfOne(name, args[0]) : OfTwo(name, args[0], args[1]);
}

absl::StatusOr<Rational> SympyFunctions::OfOne(absl::string_view name, const Rational& a) const {
  if (name == "Integer" || name == "Identity") return a;
  if (name == "ToFloat" || name == "sym_float" || name == "float") return AsFloat(a);
  Rounding rounding = Rounding::kFloor;
  if (absl::StartsWithIgnoreCase(name, "trunc")) rounding = Rounding::kTrunc;
  if (absl::StartsWithIgnoreCase(name, "ceil")) rounding = Rounding::kCeil;
  return Rational{Known(ToInt(a, rounding)), 1};
}

absl::StatusOr<Rational> SympyFunctions::OfTwo(absl::string_view name, const Rational& a,
                                               const Rational& b) const {
  if (const CompareFn compare = NamedComparison(name)) {
    WEFT_ASSIGN_OR_RETURN(const SymInt condition, Compared(a, compare, b));
    return Rational{condition, 1};
  }
  if (name == "Rational") return Quotient(a, b);
  if (name == "IntTrueDiv" || name == "FloatTrueDiv") return Quotient(AsFloat(a), AsFloat(b));
  if (name == "Pow" || name == "PowByNatural") return Power(a, b);
  absl::StatusOr<SymInt> result;
  if (name == "CeilDiv") {
    result = Divide(Negated(a), b);  // -(-a // b)
    if (result.ok()) result = -*result;
  } else {
    result = absl::EndsWith(name, "Div") ? Divide(a, b) : Modulo(a, b);
  }
  WEFT_RETURN_IF_ERROR(result.status());
  return Rational{*result, 1};
}

absl::StatusOr<Rational> SympyFunctions::Logic(absl::string_view name,
                                               absl::Span<const Rational> args) const {
  SymInt result = SymInt(name == "And");
  for (const Rational& arg : args) {
    WEFT_ASSIGN_OR_RETURN(const SymInt condition, Condition(arg));
    result = name == "And"  ? Both(result, condition)
             : name == "Or" ? Either(result, condition)
                            : Not(condition);
  }
  return Rational{result, 1};
}

absl::StatusOr<Rational> SympyFunctions::OfWholes(absl::string_view name,
                                                  absl::Span<const Rational> args) const {
  std::vector<SymInt> v;
  for (const Rational& arg : args) {
    WEFT_ASSIGN_OR_RETURN(const SymInt value, Whole(arg));
    v.push_back(value);
  }
  if (name == "Abs") return Rational{Max(v[0], -v[0]), 1};
  if (name == "LShift") return Rational{v[0] * Pow(2, v[1]), 1};
  if (name == "RShift") return Rational{FloorDiv(v[0], Pow(2, v[1])), 1};
  if (name == "ModularIndexing") return Rational{Mod(FloorDiv(v[0], v[1]), v[2]), 1};
  WEFT_ASSIGN_OR_RETURN(const SymInt condition, Condition(args[0]));
  return Rational{Select(condition, v[1], v[2]), 1};
}

}  // namespace weft::pt2
