#include "graph/text/parts/text_facts.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "graph/sym/sym_expr.h"
#include "graph/sym/sym_facts.h"

namespace weft::text {
namespace {

std::string RangeToString(const std::string& name, SymRange range) {
  const SymRange all = SymbolInfo().range;
  if (range == all) return "";
  std::string out;
  if (range.min == SymRange::kMin) {
    out = "-inf <= ";
  } else if (range.min != all.min) {
    out = absl::StrCat(range.min, " <= ");
  }
  out += name;
  if (range.max != all.max) absl::StrAppend(&out, " <= ", range.max);
  return out;
}

// The facts about a symbol that the clause has given so far.
struct Fact {
  SymbolInfo info;
  bool has_min = false;
  size_t begin = 0;  // Offset in the text.
};

// True if some multiple of the divisor is in the range.
bool HasValues(const SymbolInfo& info) {
  const __int128 max = info.range.max, divisor = info.divisor;
  const __int128 rest = (max % divisor + divisor) % divisor;
  return max - rest >= info.range.min;
}

class FactParser {
 public:
  FactParser(TextReader* reader, StatedFacts* stated, SymbolTable* table)
      : reader_(*reader), stated_(*stated), table_(*table) {}

  bool Run() {
    do {
      if (!ParseFact()) return false;
    } while (reader_.Accept(','));
    for (const Fact& fact : facts_) {
      table_.Declare(fact.info);
      if (!stated_.Declare(&reader_, fact.info, fact.begin)) return false;
    }
    for (const Condition& c : conditions_) {
      if (!stated_.Add(&reader_, c.condition, c.begin)) return false;
    }
    for (const Condition& c : conditions_) {
      if (!stated_.Check(&reader_, c.condition, c.begin)) return false;
    }
    for (const Condition& c : conditions_) {
      const Proof known = table_.Assume(c.condition, kOrigin);
      if (known == Proof::kNo) table_.Restore(c.condition, kOrigin);
    }
    return true;
  }

 private:
  Fact* FactOf(SymInt symbol) {
    auto [it, inserted] = index_.emplace(symbol, facts_.size());
    if (inserted) {
      facts_.emplace_back();
      facts_.back().info.symbol = symbol;
      facts_.back().begin = reader_.position();
    }
    return &facts_[it->second];
  }

  bool ParseFact() {
    SymInt symbol;
    if (reader_.AcceptWord("unbacked")) {
      return ParseUnbacked();
    }
    if (reader_.AcceptWord("hint")) return ParseHint();
    const size_t begin = reader_.position();
    if (reader_.At(kInteger) || reader_.At('-')) {
      if (AtRange()) return ParseRange();
      return ParseCondition(begin);
    }
    if (reader_.At('(') || reader_.AtFunction() || reader_.AtWord("not")) {
      return ParseCondition(begin);
    }
    if (!reader_.At(kIdentifier) && !reader_.At(kString)) {
      return reader_.Expected("a fact about symbols, such as 1 <= s0 <= 64");
    }
    if (!reader_.ParseSymbol(&symbol)) return false;
    if (AtMax()) return ParseMax(symbol, /*required=*/true);
    if (AtDivisor()) return ParseDivisor(symbol);
    return ParseCondition(begin);
  }

  // Rejects symbols that earlier nodes use: those nodes were made as if the symbol were backed.
  bool ParseUnbacked() {
    const size_t begin = reader_.position();
    SymInt symbol;
    if (!reader_.ParseSymbol(&symbol)) return false;
    const SymbolInfo* known = table_.Find(symbol);
    if (known != nullptr && !known->unbacked) {
      return reader_.Fail(
          begin, absl::StrCat("the text above has ", symbol.ToString(), " as a backed symbol"));
    }
    FactOf(symbol)->info.unbacked = true;
    return true;
  }

  // Reads any comparison of sizes.
  bool ParseCondition(size_t begin) {
    reader_.Seek(begin);
    SymInt condition;
    if (!reader_.ParseSymInt(&condition)) return false;
    if (!IsTruth(condition)) {
      return reader_.Fail(begin, absl::StrCat(condition.ToString(), " is a size, not a condition"));
    }
    conditions_.push_back({condition, begin});
    return true;
  }

  // True if `parse` reads the text up to the end of the fact; the position does not change.
  template <typename Fn>
  bool LooksLike(Fn parse) {
    const size_t begin = reader_.position();
    const bool yes = parse() && !reader_.At('+') && !reader_.At('-') && !reader_.At('*') &&
                     !reader_.At(kFloorDiv) && !reader_.At('%') && !reader_.At(kValue) &&
                     !reader_.AtWord("and") && !reader_.AtWord("or");
    reader_.Seek(begin);
    return yes;
  }
  bool SkipNumber() {
    reader_.Accept('-');
    return reader_.Accept(kInteger) || reader_.AcceptWord("inf");
  }
  bool SkipSymbol() { return reader_.Accept(kIdentifier) || reader_.Accept(kString); }
  // At a fact such as `-3 <= s0`.
  bool AtRange() {
    return LooksLike([this] { return SkipNumber() && reader_.Accept(kLessEqual) && SkipSymbol(); });
  }
  // At `<= 64`.
  bool AtMax() {
    return LooksLike([this] { return reader_.Accept(kLessEqual) && SkipNumber(); });
  }
  // At `% 8 == 0`; `s0 %8` lexes as a value.
  bool AtDivisor() {
    return LooksLike([this] {
      const bool modulo =
          reader_.Accept(kValue) || (reader_.Accept('%') && reader_.Accept(kInteger));
      return modulo && reader_.Accept(kEqual) && reader_.Accept(kInteger);
    });
  }

  bool ParseHint() {
    SymInt symbol;
    int64_t value;
    if (!reader_.Expect('(') || !reader_.ParseSymbol(&symbol) || !reader_.Expect(')') ||
        !reader_.Expect('=') || !reader_.ParseInt(&value)) {
      return false;
    }
    FactOf(symbol)->info.hint = value;
    return true;
  }

  bool ParseRange() {
    const size_t begin = reader_.position();
    int64_t min = SymRange::kMin;
    const bool negative = reader_.Accept('-');
    if (!negative || !reader_.AcceptWord("inf")) {
      reader_.Seek(begin);
      if (!reader_.ParseInt(&min)) return false;
    }
    SymInt symbol;
    if (!reader_.Expect(kLessEqual) || !reader_.ParseSymbol(&symbol)) {
      return false;
    }
    Fact* fact = FactOf(symbol);
    fact->info.range.min = fact->has_min ? std::max(fact->info.range.min, min) : min;
    fact->has_min = true;
    return ParseMax(symbol, /*required=*/false);
  }

  bool ParseMax(SymInt symbol, bool required) {
    if (!required && !reader_.At(kLessEqual)) return true;
    int64_t max;
    if (!reader_.Expect(kLessEqual) || !reader_.ParseInt(&max)) return false;
    SymRange& range = FactOf(symbol)->info.range;
    range.max = std::min(range.max, max);
    return true;
  }

  bool ParseDivisor(SymInt symbol) {
    const size_t begin = reader_.position();
    // `s0 %8` lexes as a value.
    if (!reader_.Accept('%')) reader_.Seek(begin + 1);
    int64_t divisor, zero;
    if (!reader_.ParseInt(&divisor) || !reader_.Expect(kEqual) || !reader_.ParseInt(&zero)) {
      return false;
    }
    if (divisor <= 0 || zero != 0) {
      return reader_.Fail(begin, "expected % <positive integer> == 0");
    }
    Fact* fact = FactOf(symbol);
    const SymbolInfo* known = table_.Find(symbol);
    const auto common = CommonMultiple(divisor, known != nullptr ? known->divisor : 1);
    const auto own = CommonMultiple(divisor, fact->info.divisor);
    const auto both = common && own ? CommonMultiple(*common, *own) : std::optional<int64_t>();
    if (!both) return reader_.Fail(begin, "the divisors pass 64 bits");
    fact->info.divisor = *own;
    return true;
  }

  static std::optional<int64_t> CommonMultiple(int64_t a, int64_t b) {
    int64_t product;
    if (__builtin_mul_overflow(a / std::gcd(a, b), b, &product)) {
      return std::nullopt;
    }
    return product;
  }

  static constexpr absl::string_view kOrigin = "the where clause";

  TextReader& reader_;
  StatedFacts& stated_;
  SymbolTable& table_;
  struct Condition {
    SymInt condition;
    size_t begin;
  };
  std::vector<Fact> facts_;
  absl::flat_hash_map<SymInt, size_t> index_;
  std::vector<Condition> conditions_;
};

}  // namespace

std::string FactsToString(const SymbolTable& table, absl::Span<const SymInt> symbols) {
  std::string out;
  const auto add = [&out](absl::string_view fact) {
    absl::StrAppend(&out, out.empty() ? "" : ", ", fact);
  };
  for (SymInt symbol : symbols) {
    const SymbolInfo* info = table.Find(symbol);
    if (info == nullptr) continue;
    const std::string name = symbol.ToString();
    if (info->unbacked) add(absl::StrCat("unbacked ", name));
    const std::string range = RangeToString(name, info->range);
    if (!range.empty()) add(range);
    if (info->divisor != 1) {
      add(absl::StrCat(name, " % ", info->divisor, " == 0"));
    }
    if (info->hint) add(absl::StrCat("hint(", name, ") = ", *info->hint));
  }
  return out;
}

std::string ConditionsToString(const SymbolTable& table, absl::FunctionRef<bool(SymInt)> admits,
                               absl::flat_hash_set<SymInt>* printed) {
  std::string out;
  for (const SymCondition& c : table.conditions()) {
    bool admitted = !c.is_range;
    ForEachSymbol(c.condition, [&](SymInt symbol) { admitted &= admits(symbol); });
    if (!admitted || !printed->insert(c.condition).second) continue;
    const std::string text = c.condition.ToString();
    // Outside of parentheses `//` begins a comment.
    const bool divides = text.find("//") != std::string::npos;
    absl::StrAppend(&out, out.empty() ? "" : ", ", divides ? absl::StrCat("(", text, ")") : text);
  }
  return out;
}

bool StatedFacts::Parse(TextReader* reader, SymbolTable* table) {
  return FactParser(reader, this, table).Run();
}

bool StatedFacts::Declare(TextReader* reader, const SymbolInfo& info, size_t position) {
  symbols_.Declare(info);
  if (HasValues(*symbols_.Find(info.symbol))) return true;
  return reader->Fail(position,
                      absl::StrCat("the facts leave no value for ", info.symbol.ToString()));
}

bool StatedFacts::Add(TextReader* reader, SymInt condition, size_t position) {
  SymbolTable alone;
  ForEachSymbol(condition, [&](SymInt symbol) {
    SymbolInfo any;
    any.symbol = symbol;
    if (symbols_.Find(symbol) == nullptr) symbols_.Declare(any);
    any.range = {};
    alone.Declare(any);
  });
  alone.Assume(condition);
  for (const SymbolInfo& info : alone.symbols()) {
    if (!Declare(reader, info, position)) return false;
  }
  conditions_.push_back({condition, position});
  return true;
}

bool StatedFacts::Check(TextReader* reader, SymInt condition, size_t position) const {
  if (symbols_.Prove(condition) != Proof::kNo) return true;
  // The text of a condition without symbols is that of its value.
  if (condition.is_constant()) return reader->Fail(position, "the condition holds for no sizes");
  return reader->Fail(position, absl::StrCat(condition.ToString(), " contradicts other facts"));
}

bool StatedFacts::CheckAll(TextReader* reader) const {
  for (const Stated& c : conditions_) {
    if (!Check(reader, c.condition, c.position)) return false;
  }
  return true;
}

}  // namespace weft::text
