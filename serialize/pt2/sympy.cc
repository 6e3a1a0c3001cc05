#include "serialize/pt2/sympy.h"

#include <string>
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
    WEFT_ASSIGN_OR_RETURN(const Number n, Sum());
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
    if (!n || exponent.denominator != 1 || *n < 0 || *n > kMaxExponent) {
      return absl::UnimplementedError("it has a power that is not natural");
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
      result = Sum();
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
    std::vector<Number> args;
    while (!Take(")")) {
      if (!args.empty() && !Take(",")) return Unexpected();
      if (Keyword()) continue;
      WEFT_ASSIGN_OR_RETURN(Number arg, Sum());
      args.push_back(arg);
    }
    return Call(name, args);
  }

  absl::StatusOr<Number> Named(absl::string_view name) {
    WEFT_ASSIGN_OR_RETURN(const SymInt value, symbol_(name));
    return Number{value, 1};
  }

  // `name=True` and the like, which say nothing that matters here.
  bool Keyword() {
    const size_t begin = at_;
    Skip();
    while (at_ < text_.size() && IsNameChar(text_[at_])) ++at_;
    if (Take("=")) {
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
    if (args.size() != 2) return Arity(name);
    if (name == "Rational") return Quotient(args[0], args[1]);
    if (name == "Pow") return Power(args[0], args[1]);
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
    constexpr absl::string_view kKnown[] = {
        "Add", "Mul", "Integer",  "Identity", "Min",     "Max",      "Rational",
        "Pow", "Mod", "FloorDiv", "CleanDiv", "CeilDiv", "PythonMod"};
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
