#include "serialize/pt2/sympy.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "graph/core/status_macros.h"

namespace weft::pt2 {
namespace {

using SymbolFn = absl::FunctionRef<absl::StatusOr<SymInt>(absl::string_view)>;

// numerator / denominator, the latter positive. Sympy keeps rationals within
// products whose value is an integer.
struct Number {
  SymInt numerator;
  int64_t denominator = 1;
};

bool IsNameChar(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.';
}

class Parser {
 public:
  Parser(absl::string_view text, SymbolFn symbol) : text_(text), symbol_(symbol) {}

  absl::StatusOr<SymInt> Run() {
    WEFT_ASSIGN_OR_RETURN(const Number n, Logic());
    Skip();
    if (at_ != text_.size()) return Unexpected();
    return Whole(n);
  }

 private:
  absl::Status Unexpected() const {
    if (at_ >= text_.size()) return absl::InvalidArgumentError("it ends early");
    return absl::InvalidArgumentError(
        absl::StrCat("unexpected '", text_.substr(at_, 1), "' at position ", at_));
  }

  void Skip() {
    while (at_ < text_.size() && absl::ascii_isspace(text_[at_])) ++at_;
  }

  bool Take(absl::string_view token) {
    Skip();
    if (!absl::StartsWith(text_.substr(at_), token)) return false;
    at_ += token.size();
    return true;
  }

  bool Next(absl::string_view token) {
    Skip();
    return absl::StartsWith(text_.substr(at_), token);
  }

  static absl::StatusOr<SymInt> Whole(const Number& n) {
    if (!n.numerator.is_valid()) {
      return absl::InvalidArgumentError("it does not fit in 64 bits");
    }
    return FloorDiv(n.numerator, n.denominator);
  }

  static Number Plus(const Number& a, const Number& b) {
    if (a.denominator == b.denominator) {
      return {a.numerator + b.numerator, a.denominator};
    }
    // Denominators stay far below the limit of Literal.
    return {a.numerator * b.denominator + b.numerator * a.denominator,
            a.denominator * b.denominator};
  }

  static Number Times(const Number& a, const Number& b) {
    return {a.numerator * b.numerator, a.denominator * b.denominator};
  }

  absl::Status CheckDenominator(const Number& n) const {
    constexpr int64_t kLimit = 1 << 20;
    if (n.denominator <= kLimit) return absl::OkStatus();
    return absl::UnimplementedError("its denominators are too large");
  }

  // --- Conditions -----------------------------------------------------------------

  bool TakeWord(absl::string_view word) {
    if (!Next(word)) return false;
    const size_t end = at_ + word.size();
    if (absl::ascii_isalpha(word[0]) && end < text_.size() && IsNameChar(text_[end])) return false;
    at_ = end;
    return true;
  }

  static absl::StatusOr<SymInt> Condition(const Number& n) {
    if (n.denominator == 1 && IsTruth(n.numerator)) return n.numerator;
    return absl::UnimplementedError("it has a size where a condition is wanted");
  }

  // Conjunctions with `or` between them.
  absl::StatusOr<Number> Logic() {
    WEFT_ASSIGN_OR_RETURN(Number left, Conjunction());
    while (TakeWord("or") || TakeWord("|")) {
      WEFT_ASSIGN_OR_RETURN(const Number right, Conjunction());
      WEFT_ASSIGN_OR_RETURN(const SymInt a, Condition(left));
      WEFT_ASSIGN_OR_RETURN(const SymInt b, Condition(right));
      left.numerator = Or(a, b);
    }
    return left;
  }

  absl::StatusOr<Number> Conjunction() {
    WEFT_ASSIGN_OR_RETURN(Number left, Negation());
    while (TakeWord("and") || TakeWord("&")) {
      WEFT_ASSIGN_OR_RETURN(const Number right, Negation());
      WEFT_ASSIGN_OR_RETURN(const SymInt a, Condition(left));
      WEFT_ASSIGN_OR_RETURN(const SymInt b, Condition(right));
      left.numerator = And(a, b);
    }
    return left;
  }

  absl::StatusOr<Number> Negation() {
    bool negate = false;
    while (TakeWord("not") || TakeWord("~")) negate = !negate;
    if (!negate) return Comparison();
    WEFT_ASSIGN_OR_RETURN(const Number n, Comparison());
    WEFT_ASSIGN_OR_RETURN(const SymInt condition, Condition(n));
    return Number{Not(condition), 1};
  }

  using CompareFn = SymInt (*)(SymInt, SymInt);

  CompareFn Sign() {
    if (Take("==")) return Equal;
    if (Take("!=")) return NotEqual;
    if (Take("<=")) return LessEqual;
    if (Take(">=")) return GreaterEqual;
    if (Take("<")) return Less;
    return Take(">") ? Greater : CompareFn{nullptr};
  }

  static Number Compared(const Number& a, CompareFn compare, const Number& b) {
    return {compare(a.numerator * b.denominator, b.numerator * a.denominator), 1};
  }

  // A sum, or some with comparisons between neighbours.
  absl::StatusOr<Number> Comparison() {
    WEFT_ASSIGN_OR_RETURN(Number left, Sum());
    Number all = left;
    for (bool first = true;; first = false) {
      const CompareFn compare = Sign();
      if (compare == nullptr) return all;
      WEFT_ASSIGN_OR_RETURN(const Number right, Sum());
      const Number one = Compared(left, compare, right);
      all = first ? one : Number{And(all.numerator, one.numerator), 1};
      left = right;
    }
  }

  // --- Infix ------------------------------------------------------------------

  absl::StatusOr<Number> Sum() {
    WEFT_ASSIGN_OR_RETURN(Number sum, Term());
    while (true) {
      const bool minus = Next("-");
      if (!Take("+") && !Take("-")) return sum;
      WEFT_ASSIGN_OR_RETURN(Number term, Term());
      if (minus) term.numerator = -term.numerator;
      sum = Plus(sum, term);
      WEFT_RETURN_IF_ERROR(CheckDenominator(sum));
    }
  }

  absl::StatusOr<Number> Term() {
    WEFT_ASSIGN_OR_RETURN(Number product, Factor());
    while (true) {
      const bool floor = Next("//");
      const bool divide = !floor && Next("/");
      const bool mod = Next("%");
      if (!Take("//") && !Take("/") && !Take("%") && !Take("*")) return product;
      WEFT_ASSIGN_OR_RETURN(const Number factor, Factor());
      if (floor || mod) {
        WEFT_ASSIGN_OR_RETURN(product.numerator,
                              floor ? Divide(product, factor) : Modulo(product, factor));
        product.denominator = 1;
      } else if (divide) {
        WEFT_ASSIGN_OR_RETURN(product, Quotient(product, factor));
      } else {
        product = Times(product, factor);
      }
      WEFT_RETURN_IF_ERROR(CheckDenominator(product));
    }
  }

  static absl::StatusOr<SymInt> Divide(const Number& a, const Number& b) {
    WEFT_ASSIGN_OR_RETURN(const SymInt x, Whole(a));
    WEFT_ASSIGN_OR_RETURN(const SymInt y, Whole(b));
    if (y.Is(0)) return absl::InvalidArgumentError("it divides by zero");
    return FloorDiv(x, y);
  }

  static absl::StatusOr<SymInt> Modulo(const Number& a, const Number& b) {
    WEFT_ASSIGN_OR_RETURN(const SymInt x, Whole(a));
    WEFT_ASSIGN_OR_RETURN(const SymInt y, Whole(b));
    if (y.Is(0)) return absl::InvalidArgumentError("it divides by zero");
    return Mod(x, y);
  }

  static absl::StatusOr<Number> Quotient(const Number& a, const Number& b) {
    const auto divisor = b.numerator.constant();
    if (!divisor || *divisor <= 0 || b.denominator != 1 || *divisor > (1 << 20)) {
      return absl::UnimplementedError("it divides by what is no constant");
    }
    return Number{a.numerator, a.denominator * *divisor};
  }

  absl::StatusOr<Number> Factor() {
    if (Take("-")) {
      WEFT_RETURN_IF_ERROR(Enter());
      WEFT_ASSIGN_OR_RETURN(Number n, Factor());
      --depth_;
      n.numerator = -n.numerator;
      return n;
    }
    WEFT_ASSIGN_OR_RETURN(const Number base, Atom());
    if (!Take("**")) return base;
    WEFT_ASSIGN_OR_RETURN(const Number exponent, Atom());
    return Power(base, exponent);
  }

  absl::StatusOr<Number> Power(const Number& base, const Number& exponent) {
    constexpr int64_t kMaxExponent = 16;
    const auto n = exponent.numerator.constant();
    if (exponent.denominator != 1 || (n && *n < 0)) {
      return absl::UnimplementedError("it has a power that is not natural");
    }
    if (!n || *n > kMaxExponent) {
      if (base.denominator != 1) return absl::UnimplementedError("it has a power of a fraction");
      return Number{Pow(base.numerator, exponent.numerator), 1};
    }
    Number power = {1, 1};
    for (int64_t i = 0; i < *n; ++i) {
      power = Times(power, base);
      WEFT_RETURN_IF_ERROR(CheckDenominator(power));
    }
    return power;
  }

  absl::Status Enter() {
    if (++depth_ <= kMaxSympyDepth) return absl::OkStatus();
    return absl::ResourceExhaustedError(
        absl::StrCat("it is nested more than ", kMaxSympyDepth, " deep"));
  }

  absl::StatusOr<Number> Atom() {
    WEFT_RETURN_IF_ERROR(Enter());
    Skip();
    absl::StatusOr<Number> result;
    if (at_ < text_.size() && absl::ascii_isdigit(text_[at_])) {
      result = Literal();
    } else if (Take("(")) {
      result = Logic();
      if (result.ok() && !Take(")")) result = Unexpected();
    } else if (at_ < text_.size() && IsNameChar(text_[at_])) {
      result = Name();
    } else {
      result = Unexpected();
    }
    --depth_;
    return result;
  }

  absl::StatusOr<Number> Literal() {
    const size_t begin = at_;
    while (at_ < text_.size() && IsNameChar(text_[at_])) ++at_;
    int64_t value;
    const absl::string_view digits = text_.substr(begin, at_ - begin);
    if (absl::SimpleAtoi(digits, &value)) return Number{SymInt(value), 1};
    return absl::UnimplementedError(absl::StrCat("\"", digits, "\" is not a 64-bit integer"));
  }

  // --- Names and calls ----------------------------------------------------------

  absl::StatusOr<Number> Name() {
    const size_t begin = at_;
    while (at_ < text_.size() && IsNameChar(text_[at_])) ++at_;
    absl::string_view name = text_.substr(begin, at_ - begin);
    if (!Take("(")) return Named(name);
    name = name.substr(name.rfind('.') + 1);
    if (name == "Symbol" || name == "Dummy") return SymbolCall();
    if (name == "Piecewise") return Piecewise();
    std::vector<Number> args;
    while (!Take(")")) {
      if (!args.empty() && !Take(",")) return Unexpected();
      if (Keyword()) continue;
      WEFT_ASSIGN_OR_RETURN(Number arg, Logic());
      args.push_back(arg);
    }
    return Call(name, args);
  }

  absl::StatusOr<Number> Named(absl::string_view name) {
    if (name == "True" || name == "true") return Number{1, 1};
    if (name == "False" || name == "false") return Number{0, 1};
    WEFT_ASSIGN_OR_RETURN(const SymInt value, symbol_(name));
    return Number{value, 1};
  }

  // `name=True` and the like, which say nothing that matters here.
  bool Keyword() {
    const size_t begin = at_;
    Skip();
    while (at_ < text_.size() && IsNameChar(text_[at_])) ++at_;
    if (at_ > begin && !Next("==") && Take("=")) {
      while (at_ < text_.size() && text_[at_] != ',' && text_[at_] != ')') {
        ++at_;
      }
      return true;
    }
    at_ = begin;
    return false;
  }

  absl::StatusOr<Number> SymbolCall() {
    Skip();
    if (at_ >= text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) {
      return Unexpected();
    }
    const char quote = text_[at_++];
    const size_t end = text_.find(quote, at_);
    if (end == absl::string_view::npos) {
      return absl::InvalidArgumentError("a name has no end");
    }
    const absl::string_view name = text_.substr(at_, end - at_);
    at_ = end + 1;
    while (Take(",")) {
      if (!Keyword()) return Unexpected();
    }
    if (!Take(")")) return Unexpected();
    return Named(name);
  }

  absl::StatusOr<Number> Call(absl::string_view name, const std::vector<Number>& args) {
    if (args.empty()) return Arity(name);
    if (name == "Add" || name == "Mul") return Fold(name == "Add", args);
    if (name == "Integer" || name == "Identity") {
      return args.size() == 1 ? args[0] : Arity(name);
    }
    if (name == "Min" || name == "Max" || name == "min" || name == "max") {
      return Extremum(absl::EndsWith(name, "in"), args);
    }
    if (name == "And" || name == "Or" || name == "Not") return LogicCall(name, args);
    if (const CompareFn compare = NamedComparison(name)) {
      if (args.size() != 2) return Arity(name);
      return Compared(args[0], compare, args[1]);
    }
    if (name == "Abs" || name == "Where" || name == "ModularIndexing") {
      return OfWholes(name, args);
    }
    if (args.size() != 2) return Arity(name);
    if (name == "Rational") return Quotient(args[0], args[1]);
    if (name == "Pow" || name == "PowByNatural") return Power(args[0], args[1]);
    if (name == "LShift" || name == "RShift") return OfWholes(name, args);
    absl::StatusOr<SymInt> result;
    if (name == "FloorDiv" || name == "CleanDiv") {
      result = Divide(args[0], args[1]);
    } else if (name == "CeilDiv") {
      // -(-a // b)
      Number negative = args[0];
      negative.numerator = -negative.numerator;
      result = Divide(negative, args[1]);
      if (result.ok()) result = -*result;
    } else if (name == "Mod" || name == "PythonMod") {
      result = Modulo(args[0], args[1]);
    } else {
      return absl::UnimplementedError(
          absl::StrCat("the function \"", name.substr(0, 80), "\" is not known"));
    }
    if (!result.ok()) return result.status();
    return Number{*result, 1};
  }

  absl::StatusOr<Number> Arity(absl::string_view name) const {
    constexpr absl::string_view kKnown[] = {"Add",       "Mul",
                                            "Integer",   "Identity",
                                            "Min",       "Max",
                                            "Pow",       "Rational",
                                            "FloorDiv",  "CleanDiv",
                                            "Mod",       "CeilDiv",
                                            "And",       "Or",
                                            "PythonMod", "PowByNatural",
                                            "LShift",    "RShift",
                                            "Not",       "Abs",
                                            "Where",     "ModularIndexing",
                                            "Eq",        "Ne",
                                            "Ge",        "Gt",
                                            "Le",        "Lt"};
    for (absl::string_view known : kKnown) {
      if (name != known) continue;
      return absl::InvalidArgumentError(absl::StrCat(name, " has a wrong number of arguments"));
    }
    return absl::UnimplementedError(
        absl::StrCat("the function \"", name.substr(0, 80), "\" is not known"));
  }

  absl::StatusOr<Number> Fold(bool add, const std::vector<Number>& args) {
    Number result = args[0];
    for (size_t i = 1; i < args.size(); ++i) {
      result = add ? Plus(result, args[i]) : Times(result, args[i]);
      WEFT_RETURN_IF_ERROR(CheckDenominator(result));
    }
    return result;
  }

  static CompareFn NamedComparison(absl::string_view name) {
    struct Row {
      absl::string_view name, other;
      CompareFn compare;
    };
    constexpr Row kRows[] = {
        {"Eq", "Equality", Equal},           {"Ne", "Unequality", NotEqual},
        {"Ge", "GreaterThan", GreaterEqual}, {"Gt", "StrictGreaterThan", Greater},
        {"Le", "LessThan", LessEqual},       {"Lt", "StrictLessThan", Less}};
    for (const Row& row : kRows) {
      if (name == row.name || name == row.other) return row.compare;
    }
    return nullptr;
  }

  absl::StatusOr<Number> LogicCall(absl::string_view name, const std::vector<Number>& args) const {
    if (name == "Not" && args.size() != 1) return Arity(name);
    SymInt result = SymInt(name == "And");
    for (const Number& arg : args) {
      WEFT_ASSIGN_OR_RETURN(const SymInt condition, Condition(arg));
      result = name == "And"  ? And(result, condition)
               : name == "Or" ? Or(result, condition)
                              : Not(condition);
    }
    return Number{result, 1};
  }

  absl::StatusOr<Number> OfWholes(absl::string_view name, const std::vector<Number>& args) const {
    const size_t wanted = name == "Abs" ? 1 : absl::EndsWith(name, "Shift") ? 2 : 3;
    if (args.size() != wanted) return Arity(name);
    std::vector<SymInt> v;
    for (const Number& arg : args) {
      WEFT_ASSIGN_OR_RETURN(const SymInt value, Whole(arg));
      v.push_back(value);
    }
    if (name == "Abs") return Number{Max(v[0], -v[0]), 1};
    if (name == "LShift") return Number{v[0] * Pow(2, v[1]), 1};
    if (name == "RShift") return Number{FloorDiv(v[0], Pow(2, v[1])), 1};
    if (name == "ModularIndexing") return Number{Mod(FloorDiv(v[0], v[1]), v[2]), 1};
    WEFT_ASSIGN_OR_RETURN(const SymInt condition, Condition(args[0]));
    return Number{Select(condition, v[1], v[2]), 1};
  }

  // (value, condition), or ExprCondPair of them; the last condition is true.
  absl::StatusOr<Number> Piecewise() {
    std::vector<std::pair<SymInt, SymInt>> cases;
    do {
      if (!Take("ExprCondPair(") && !Take("(")) {
        return absl::UnimplementedError("the cases of \"Piecewise\" are no pairs");
      }
      WEFT_ASSIGN_OR_RETURN(const Number value, Logic());
      if (!Take(",")) return Unexpected();
      WEFT_ASSIGN_OR_RETURN(const Number when, Logic());
      if (!Take(")")) return Unexpected();
      WEFT_ASSIGN_OR_RETURN(const SymInt whole, Whole(value));
      WEFT_ASSIGN_OR_RETURN(const SymInt condition, Condition(when));
      cases.emplace_back(whole, condition);
    } while (Take(","));
    if (!Take(")")) return Unexpected();
    if (!cases.back().second.Is(1)) {
      return absl::UnimplementedError("\"Piecewise\" has no case for everything else");
    }
    SymInt result = cases.back().first;
    for (size_t i = cases.size() - 1; i-- > 0;) {
      result = Select(cases[i].second, cases[i].first, result);
    }
    return Number{result, 1};
  }

  static absl::StatusOr<Number> Extremum(bool least, const std::vector<Number>& args) {
    WEFT_ASSIGN_OR_RETURN(SymInt result, Whole(args[0]));
    for (size_t i = 1; i < args.size(); ++i) {
      WEFT_ASSIGN_OR_RETURN(const SymInt arg, Whole(args[i]));
      result = least ? Min(result, arg) : Max(result, arg);
    }
    return Number{result, 1};
  }

  absl::string_view text_;
  SymbolFn symbol_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

absl::StatusOr<SymInt> ParseSympy(absl::string_view text, SymbolFn symbol) {
  absl::Status status;
  if (text.size() > kMaxSympyBytes) {
    status = absl::ResourceExhaustedError(absl::StrCat("it has ", text.size(), " bytes"));
  } else {
    auto value = Parser(text, symbol).Run();
    if (value.ok() && value->is_valid()) return value;
    status = value.ok() ? absl::InvalidArgumentError("it does not fit in 64 bits, or is too large")
                        : value.status();
  }
  return absl::Status(status.code(), absl::StrCat("the expression \"", text.substr(0, 200),
                                                  "\": ", status.message()));
}

}  // namespace weft::pt2
