// Symbolic sizes and types of the text form.
//
//   size    = conj { "or" conj }
//   conj    = { "not" } comp { "and" { "not" } comp }
//   comp    = sum [ ("<=" | ">=" | "==" | "!=" | "<" | ">") sum ]
//   sum     = term { ("+" | "-") term }
//   term    = factor { ("*" | "//" | "%") factor }
//   factor  = "-" factor | primary
//   primary = integer | symbol | "(" size ")"
//           | ("min" | "max" | "broadcast" | "pow" | "select")
//             "(" size { "," size } ")"
#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/sym/sym_expr.h"
#include "graph/sym/sym_ops.h"
#include "graph/text/parts/text_parts.h"
#include "graph/text/parts/text_reader.h"

namespace weft {
namespace text {
namespace {

constexpr uint64_t kTwoTo63 = uint64_t{1} << 63;

}  // namespace

bool TextReader::Valid(size_t position, SymInt value) {
  return value.is_valid() || Fail(position,
                                  "the size passes 64 bits, divides by zero or is too "
                                  "large an expression");
}

bool TextReader::ParseSymbol(SymInt* out) {
  std::string name;
  if (At(kString)) {
    if (!ParseString(&name)) return false;
    *out = SymInt::Symbol(name);
    new_symbols_.push_back(*out);
    return true;
  }
  if (!At(kIdentifier)) return Expected("a symbol");
  if (!IsPlainSymbolName(token_.text)) {
    return Fail(position(), absl::StrCat("\"", token_.text,
                                         "\" is reserved: a symbol of that "
                                         "name is written in quotes"));
  }
  auto it = symbols_.find(token_.text);
  if (it == symbols_.end()) {
    *out = SymInt::Symbol(token_.text);
    symbols_.emplace(token_.text, *out);
    new_symbols_.push_back(*out);
  } else {
    *out = it->second;
  }
  Advance();
  return true;
}

bool TextReader::ParseSymInt(SymInt* out) {
  if (At(kInteger)) {  // The common case.
    const Token first = token_;
    Advance();
    if (At(',') || At(']') || At(')')) {
      const auto value = DigitsToUint64(first.text);
      if (!value || *value >= kTwoTo63) {
        return Fail(first.begin, "the integer passes 64 bits");
      }
      *out = SymInt(static_cast<int64_t>(*value));
      return true;
    }
    Seek(first.begin);
  }
  return ParseCondition(out, 0);
}

bool TextReader::CheckCondition(size_t position, SymInt value) {
  return IsTruth(value) ||
         Fail(position, absl::StrCat(value.ToString(), " is a size, not a condition"));
}

// Reads conjunctions with `or` between them.
bool TextReader::ParseCondition(SymInt* out, int depth) {
  size_t begin = position();
  if (!ParseConjunction(out, depth)) return false;
  while (AtWord("or")) {
    if (!CheckCondition(begin, *out)) return false;
    Advance();
    begin = position();
    SymInt right;
    if (!ParseConjunction(&right, depth) || !CheckCondition(begin, right)) return false;
    *out = Or(*out, right);
    if (!Valid(begin, *out)) return false;
  }
  return true;
}

// Reads comparisons with `and` between them, each perhaps after `not`.
bool TextReader::ParseConjunction(SymInt* out, int depth) {
  bool first = true;
  do {
    bool negate = false;
    while (AcceptWord("not")) negate = !negate;
    const size_t begin = position();
    SymInt part;
    if (!ParseComparison(&part, depth)) return false;
    const bool is_logic = negate || !first || AtWord("and");
    if (is_logic && !CheckCondition(begin, part)) return false;
    if (negate) part = Not(part);
    *out = first ? part : And(*out, part);
    if (!Valid(begin, *out)) return false;
    first = false;
  } while (AcceptWord("and"));
  return true;
}

// Reads a sum, or a comparison of two.
bool TextReader::ParseComparison(SymInt* out, int depth) {
  const size_t begin = position();
  if (!ParseSum(out, depth)) return false;
  struct Comparison {
    int token;
    SymInt (*make)(SymInt, SymInt);
  };
  static constexpr Comparison kComparisons[] = {{kLessEqual, LessEqual},
                                                {kGreaterEqual, GreaterEqual},
                                                {kEqual, Equal},
                                                {kNotEqual, NotEqual},
                                                {'<', Less},
                                                {'>', Greater}};
  for (const Comparison& comparison : kComparisons) {
    if (!Accept(comparison.token)) continue;
    SymInt right;
    if (!ParseSum(&right, depth)) return false;
    *out = comparison.make(*out, right);
    return Valid(begin, *out);
  }
  return true;
}

bool TextReader::ParseSum(SymInt* out, int depth) {
  if (depth > kMaxNesting) {
    return Fail(position(), absl::StrCat("more than ", kMaxNesting, " nested parentheses"));
  }
  const size_t begin = position();
  if (!ParseTerm(false, out, depth)) return false;
  while (At('+') || At('-')) {
    const bool negate = At('-');
    Advance();
    SymInt term;
    if (!ParseTerm(negate, &term, depth)) return false;
    *out = *out + term;
    if (!Valid(begin, *out)) return false;
  }
  return true;
}

bool TextReader::ParseTerm(bool negate, SymInt* out, int depth) {
  const size_t begin = position();
  // -2^63 fits into 64 bits although 2^63 does not.
  const bool lowest = negate && At(kInteger) && DigitsToUint64(token_.text) == kTwoTo63;
  if (lowest) {
    *out = SymInt(std::numeric_limits<int64_t>::min());
    Advance();
  } else if (!ParseFactor(out, depth)) {
    return false;
  }
  // `s0 %8` lexes as a value; in a size it is modulo.
  while (At('*') || (!lowest && (At(kFloorDiv) || At('%') || At(kValue)))) {
    const int op = token_.kind;
    if (op == kValue) {
      Seek(token_.begin + 1);
    } else {
      Advance();
    }
    SymInt factor;
    if (!ParseFactor(&factor, depth)) return false;
    *out = op == '*' ? *out * factor : op == kFloorDiv ? FloorDiv(*out, factor) : Mod(*out, factor);
    if (!Valid(begin, *out)) return false;
  }
  if (negate && !lowest) *out = -*out;
  return Valid(begin, *out);
}

bool TextReader::ParseFactor(SymInt* out, int depth) {
  const size_t begin = position();
  bool negate = false;
  while (Accept('-')) negate = !negate;
  if (negate && At(kInteger) && DigitsToUint64(token_.text) == kTwoTo63) {
    *out = SymInt(std::numeric_limits<int64_t>::min());
    Advance();
    return true;
  }
  if (!ParsePrimary(out, depth)) return false;
  if (negate) *out = -*out;
  return Valid(begin, *out);
}

bool TextReader::ParsePrimary(SymInt* out, int depth) {
  const size_t begin = position();
  if (At(kInteger)) {
    uint64_t value;
    if (!ParseUnsigned(&value)) return false;
    if (value >= kTwoTo63) return Fail(begin, "the integer passes 64 bits");
    *out = SymInt(static_cast<int64_t>(value));
    return true;
  }
  if (Accept('(')) return ParseCondition(out, depth + 1) && Expect(')');
  if (AtFunction()) return ParseFunction(out, depth);
  if (At(kIdentifier) || At(kString)) return ParseSymbol(out);
  return Expected("a size");
}

bool TextReader::AtFunction() const {
  for (absl::string_view name : {"min", "max", "broadcast", "pow", "select"}) {
    if (AtWord(name)) return true;
  }
  return false;
}

bool TextReader::ParseFunction(SymInt* out, int depth) {
  const size_t begin = position();
  const absl::string_view name = token_.text;
  Advance();
  if (!Expect('(')) return false;
  std::vector<SymInt> args;
  do {
    SymInt arg;
    if (!ParseCondition(&arg, depth + 1)) return false;
    args.push_back(arg);
  } while (Accept(','));
  if (!Expect(')')) return false;
  if (name == "pow" || name == "select") {
    const size_t wanted = name == "pow" ? 2 : 3;
    if (args.size() != wanted) {
      return Fail(begin, absl::StrCat(name, " takes ", wanted, " sizes, not ", args.size()));
    }
    if (name == "select" && !CheckCondition(begin, args[0])) return false;
    *out = name == "pow" ? Pow(args[0], args[1]) : Select(args[0], args[1], args[2]);
    return Valid(begin, *out);
  }
  *out = args[0];
  for (size_t i = 1; i < args.size(); ++i) {
    *out = name == "min"   ? Min(*out, args[i])
           : name == "max" ? Max(*out, args[i])
                           : BroadcastSize(*out, args[i]);
    if (!Valid(begin, *out)) return false;
  }
  return true;
}

bool TextReader::ParseTensorType(DType dtype, Type* out) {
  const size_t begin = position();
  std::vector<SymInt> dims;
  if (!Expect('[')) return false;
  while (!At(']')) {
    const size_t at = position();
    SymInt dim;
    if (!dims.empty() && !Expect(',')) return false;
    if (!ParseSymInt(&dim)) return false;
    if (dim.is_constant() && dim.value() < 0) {
      return Fail(at, absl::StrCat("negative size ", dim.value()));
    }
    if (dims.size() == Type::kMaxRank) {
      return Fail(at, absl::StrCat("more than ", Type::kMaxRank, " dims"));
    }
    dims.push_back(dim);
  }
  Advance();
  *out = Type::Tensor(dtype, dims);
  return out->numel().is_valid() || Fail(begin, "the number of elements passes 64 bits");
}

bool TextReader::ParseType(Type* out) {
  const Token first = token_;
  if (!At(kIdentifier)) return Expected("a type");
  // Most types of a text are repeated in the same spelling.
  const size_t close = text().find_first_of("]\"\n", first.end);
  const bool plain = close != absl::string_view::npos && text()[close] == ']';
  const absl::string_view spelling =
      plain ? text().substr(first.begin, close + 1 - first.begin) : absl::string_view();
  if (plain) {
    auto it = types_.find(spelling);
    if (it != types_.end()) {
      *out = it->second;
      Seek(close + 1);
      return true;
    }
  }
  if (first.text == "symint") {
    SymInt value;
    Advance();
    if (!Expect('[') || !ParseSymInt(&value) || !Expect(']')) return false;
    *out = Type::Symbolic(value);
  } else {
    const auto dtype = ParseDType(first.text);
    if (!dtype) return Expected("a type such as f32[2, 3]");
    Advance();
    if (!ParseTensorType(*dtype, out)) return false;
  }
  // The cached spelling must end where the type ends.
  if (plain && text()[close] == ']' && token_.begin > close) {
    types_.emplace(spelling, *out);
  }
  return true;
}

}  // namespace text

absl::StatusOr<SymInt> ParseSymInt(absl::string_view text) {
  text::TextReader reader(text, "<size>", /*depth=*/1);
  SymInt value;
  if (!reader.ParseSymInt(&value)) return reader.status();
  if (!reader.At(text::kEnd)) {
    reader.Expected("the end of the size");
    return reader.status();
  }
  return value;
}

absl::StatusOr<Type> ParseType(absl::string_view text) {
  text::TextReader reader(text, "<type>");
  Type type;
  if (!reader.ParseType(&type)) return reader.status();
  if (!reader.At(text::kEnd)) {
    reader.Expected("the end of the type");
    return reader.status();
  }
  return type;
}

}  // namespace weft
