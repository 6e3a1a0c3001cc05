#include "serialize/pt2/sympy.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/annotate.h"
#include "base/status_macros.h"
#include "graph/sym/sym_ops.h"
#include "serialize/pt2/rational.h"
#include "serialize/pt2/sympy_functions.h"

namespace weft::pt2 {
namespace {

using SymbolFn = absl::FunctionRef<absl::StatusOr<SymInt>(absl::string_view)>;

bool IsNameChar(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.';
}

class Parser {
 public:
  Parser(absl::string_view text, SymbolFn symbol, const SymbolTable* facts)
      : text_(text), symbol_(symbol), functions_(facts) {}

  absl::StatusOr<SymInt> Run() {
    WEFT_ASSIGN_OR_RETURN(const Rational n, Logic());
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

  // --- Conditions -----------------------------------------------------------------

  bool TakeWord(absl::string_view word) {
    if (!Next(word)) return false;
    const size_t end = at_ + word.size();
    if (absl::ascii_isalpha(word[0]) && end < text_.size() && IsNameChar(text_[end])) return false;
    at_ = end;
    return true;
  }

  // Parses conjunctions with `or` between them.
  absl::StatusOr<Rational> Logic() {
    WEFT_ASSIGN_OR_RETURN(Rational left, Conjunction());
    while (TakeWord("or") || TakeWord("|")) {
      WEFT_ASSIGN_OR_RETURN(const Rational right, Conjunction());
      WEFT_ASSIGN_OR_RETURN(const SymInt a, functions_.Condition(left));
      WEFT_ASSIGN_OR_RETURN(const SymInt b, functions_.Condition(right));
      left.numerator = SympyFunctions::Either(a, b);
    }
    return left;
  }

  absl::StatusOr<Rational> Conjunction() {
    WEFT_ASSIGN_OR_RETURN(Rational left, Negation());
    while (TakeWord("and") || TakeWord("&")) {
      WEFT_ASSIGN_OR_RETURN(const Rational right, Negation());
      WEFT_ASSIGN_OR_RETURN(const SymInt a, functions_.Condition(left));
      WEFT_ASSIGN_OR_RETURN(const SymInt b, functions_.Condition(right));
      left.numerator = SympyFunctions::Both(a, b);
    }
    return left;
  }

  absl::StatusOr<Rational> Negation() {
    bool negate = false;
    while (TakeWord("not") || TakeWord("~")) negate = !negate;
    if (!negate) return Comparison();
    WEFT_ASSIGN_OR_RETURN(const Rational n, Comparison());
    WEFT_ASSIGN_OR_RETURN(const SymInt condition, functions_.Condition(n));
    return Rational{Not(condition), 1};
  }

  CompareFn Sign() {
    if (Take("==")) return Equal;
    if (Take("!=")) return NotEqual;
    if (Take("<=")) return LessEqual;
    if (Take(">=")) return GreaterEqual;
    if (Take("<")) return Less;
    return Take(">") ? Greater : CompareFn{nullptr};
  }

  // Parses a sum, or several with comparisons between neighbours.
  absl::StatusOr<Rational> Comparison() {
    WEFT_ASSIGN_OR_RETURN(Rational left, Sum());
    Rational all = left;
    for (bool first = true;; first = false) {
      const CompareFn compare = Sign();
      if (compare == nullptr) return all;
      WEFT_ASSIGN_OR_RETURN(const Rational right, Sum());
      WEFT_ASSIGN_OR_RETURN(const SymInt one, Compared(left, compare, right));
      all = {first ? one : SympyFunctions::Both(all.numerator, one), 1};
      left = right;
    }
  }

  // --- Infix ------------------------------------------------------------------

  absl::StatusOr<Rational> Sum() {
    WEFT_ASSIGN_OR_RETURN(Rational sum, Term());
    while (true) {
      const bool minus = Next("-");
      if (!Take("+") && !Take("-")) return sum;
      WEFT_ASSIGN_OR_RETURN(const Rational term, Term());
      WEFT_ASSIGN_OR_RETURN(sum, Plus(sum, minus ? Negated(term) : term));
    }
  }

  absl::StatusOr<Rational> Term() {
    WEFT_ASSIGN_OR_RETURN(Rational product, Factor());
    while (true) {
      const bool floor = Next("//");
      const bool divide = !floor && Next("/");
      const bool mod = Next("%");
      if (!Take("//") && !Take("/") && !Take("%") && !Take("*")) return product;
      WEFT_ASSIGN_OR_RETURN(const Rational factor, Factor());
      if (floor || mod) {
        WEFT_ASSIGN_OR_RETURN(const SymInt whole, floor ? SympyFunctions::Divide(product, factor)
                                                        : SympyFunctions::Modulo(product, factor));
        product = {whole, 1};
      } else {
        WEFT_ASSIGN_OR_RETURN(product, divide ? Quotient(product, factor) : Times(product, factor));
      }
    }
  }

  absl::StatusOr<Rational> Factor() {
    if (Take("-")) {
      WEFT_RETURN_IF_ERROR(Enter());
      WEFT_ASSIGN_OR_RETURN(const Rational n, Factor());
      --depth_;
      return Negated(n);
    }
    WEFT_ASSIGN_OR_RETURN(const Rational base, Atom());
    if (!Take("**")) return base;
    WEFT_ASSIGN_OR_RETURN(const Rational exponent, Atom());
    return Power(base, exponent);
  }

  absl::Status Enter() {
    if (++depth_ <= kMaxSympyDepth) return absl::OkStatus();
    return absl::ResourceExhaustedError(
        absl::StrCat("it is nested more than ", kMaxSympyDepth, " deep"));
  }

  absl::StatusOr<Rational> Atom() {
    WEFT_RETURN_IF_ERROR(Enter());
    Skip();
    absl::StatusOr<Rational> result;
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

  // Parses an integer, or a float: "0.5", "1e-05".
  absl::StatusOr<Rational> Literal() {
    const size_t begin = at_;
    while (at_ < text_.size() &&
           (IsNameChar(text_[at_]) || ((text_[at_] == '-' || text_[at_] == '+') &&
                                       absl::ascii_tolower(text_[at_ - 1]) == 'e'))) {
      ++at_;
    }
    int64_t value;
    const absl::string_view digits = text_.substr(begin, at_ - begin);
    if (absl::SimpleAtoi(digits, &value)) return Rational{value, 1};
    if (digits.find_first_of(".eE") != absl::string_view::npos) return Float(digits);
    return absl::UnimplementedError(absl::StrCat("\"", digits, "\" is not a 64-bit integer"));
  }

  static absl::StatusOr<Rational> Float(absl::string_view digits) {
    double value;
    if (absl::SimpleAtod(digits, &value)) return RationalOf(value);
    return absl::InvalidArgumentError(absl::StrCat("\"", digits, "\" is not a number"));
  }

  // --- Names and calls ----------------------------------------------------------

  absl::StatusOr<Rational> Name() {
    const size_t begin = at_;
    while (at_ < text_.size() && IsNameChar(text_[at_])) ++at_;
    absl::string_view name = text_.substr(begin, at_ - begin);
    if (!Take("(")) return Named(name);
    name = name.substr(name.rfind('.') + 1);
    if (name == "Symbol" || name == "Dummy" || name == "Float") return QuotedCall(name);
    if (name == "Piecewise") return Piecewise();
    std::vector<Rational> args;
    while (!Take(")")) {
      if (!args.empty() && !Take(",")) return Unexpected();
      if (Keyword()) continue;
      WEFT_ASSIGN_OR_RETURN(const Rational arg, Logic());
      args.push_back(arg);
    }
    return functions_.Call(name, args);
  }

  absl::StatusOr<Rational> Named(absl::string_view name) {
    if (name == "True" || name == "true") return Rational{1, 1};
    if (name == "False" || name == "false") return Rational{0, 1};
    WEFT_ASSIGN_OR_RETURN(const SymInt value, symbol_(name));
    return Rational{value, 1};
  }

  // Skips `name=True` and the like, which have no effect here.
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

  // Parses Symbol('s0', integer=True), Float('1.5', precision=53): a quoted word with keywords.
  absl::StatusOr<Rational> QuotedCall(absl::string_view function) {
    Skip();
    if (at_ >= text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) {
      return Unexpected();
    }
    const char quote = text_[at_++];
    const size_t end = text_.find(quote, at_);
    if (end == absl::string_view::npos) {
      return absl::InvalidArgumentError("a name has no end");
    }
    const absl::string_view word = text_.substr(at_, end - at_);
    at_ = end + 1;
    while (Take(",")) {
      if (!Keyword()) return Unexpected();
    }
    if (!Take(")")) return Unexpected();
    return function == "Float" ? Float(word) : Named(word);
  }

  // Arguments (value, condition), or ExprCondPair of them; the last condition is true.
  absl::StatusOr<Rational> Piecewise() {
    std::vector<std::pair<SymInt, SymInt>> cases;
    do {
      if (!Take("ExprCondPair(") && !Take("(")) {
        return absl::UnimplementedError("the cases of \"Piecewise\" are no pairs");
      }
      WEFT_ASSIGN_OR_RETURN(const Rational value, Logic());
      if (!Take(",")) return Unexpected();
      WEFT_ASSIGN_OR_RETURN(const Rational when, Logic());
      if (!Take(")")) return Unexpected();
      WEFT_ASSIGN_OR_RETURN(const SymInt whole, Whole(value));
      WEFT_ASSIGN_OR_RETURN(const SymInt condition, functions_.Condition(when));
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
    return Rational{result, 1};
  }

  absl::string_view text_;
  SymbolFn symbol_;
  SympyFunctions functions_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

absl::StatusOr<SymInt> ParseSympy(absl::string_view text, SymbolFn symbol,
                                  const SymbolTable* facts) {
  absl::Status status;
  if (text.size() > kMaxSympyBytes) {
    status = absl::ResourceExhaustedError(absl::StrCat("it has ", text.size(), " bytes"));
  } else {
    auto value = Parser(text, symbol, facts).Run();
    if (value.ok()) return value;
    status = value.status();
  }
  return Annotate(status, absl::StrCat("the expression \"", text.substr(0, 200), "\""));
}

}  // namespace weft::pt2
