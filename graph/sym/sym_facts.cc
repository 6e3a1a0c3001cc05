#include "graph/sym/sym_facts.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "graph/sym/sym_expr.h"
#include "graph/sym/sym_internal.h"
#include "graph/sym/sym_ops.h"

namespace weft {
namespace {

using Kind = SymInt::Kind;
using internal::Wide;

}  // namespace

void SymbolTable::Declare(const SymbolInfo& info) {
  WEFT_CHECK(info.symbol.is_symbol()) << info.symbol;
  WEFT_CHECK(info.divisor > 0) << info.symbol << ": " << info.divisor;
  auto [it, inserted] = index_.emplace(info.symbol, symbols_.size());
  if (inserted) {
    symbols_.push_back(info);
    ++version_;
    // The symbol was a size until now.
    const bool narrower =
        info.range.min > 0 || info.range.max != SymRange::kMax || info.divisor != 1;
    if (info.range.min < 0) memo_.Clear();
    proofs_version_ += narrower;
    return;
  }
  SymbolInfo& known = symbols_[it->second];
  const SymbolInfo before = known;
  known.range.min = std::max(known.range.min, info.range.min);
  known.range.max = std::min(known.range.max, info.range.max);
  // The common multiple is dropped if it passes 64 bits; each divisor alone stays true.
  const Wide common =
      static_cast<Wide>(known.divisor) / std::gcd(known.divisor, info.divisor) * info.divisor;
  if (common <= SymRange::kMax) known.divisor = static_cast<int64_t>(common);
  if (!known.hint) known.hint = info.hint;
  known.unbacked |= info.unbacked;
  const bool narrowed = !(known.range == before.range) || known.divisor != before.divisor;
  version_ += narrowed || known.unbacked != before.unbacked;
  proofs_version_ += narrowed;
  if (narrowed) LearnReplaced(known);
}

// Moves the facts about a symbol that an equality replaces to its replacement.
void SymbolTable::LearnReplaced(const SymbolInfo& info) {
  const SymInt value = knowledge_.Replace(info.symbol);
  if (value == info.symbol) return;
  const auto [min, max] = info.range;
  if (min != SymRange::kMin) Learn(GreaterEqual(value, min));
  if (max != SymRange::kMax) Learn(LessEqual(value, max));
  Learn(Equal(Mod(value, info.divisor), 0));
}

SymInt SymbolTable::Fresh(absl::string_view prefix, const SymbolInfo& info) {
  int64_t& next = next_[std::string(prefix)];
  SymInt symbol;
  do {
    symbol = SymInt::Symbol(absl::StrCat(prefix, next++));
  } while (index_.contains(symbol));
  SymbolInfo fresh = info;
  fresh.symbol = symbol;
  Declare(fresh);
  return symbol;
}

// All other conditions are learnt again: a removed symbol may have been part of a proof.
void SymbolTable::Remove(absl::Span<const SymInt> symbols) {
  if (symbols.empty()) return;
  ++version_;
  ++proofs_version_;
  for (SymInt symbol : symbols) index_.erase(symbol);
  size_t kept = 0;
  for (SymbolInfo& info : symbols_) {
    auto it = index_.find(info.symbol);
    if (it == index_.end()) continue;
    it->second = static_cast<int>(kept);
    symbols_[kept++] = std::move(info);
  }
  symbols_.resize(kept);
  memo_.Clear();
  if (conditions_.empty()) return;
  const absl::flat_hash_set<SymInt> removed(symbols.begin(), symbols.end());
  std::vector<SymCondition> conditions = std::move(conditions_);
  conditions_.clear();
  conditions_of_.clear();
  knowledge_ = {};
  for (const SymCondition& c : conditions) {
    bool mentions = false;
    ForEachSymbol(c.condition, [&](SymInt symbol) { mentions |= removed.contains(symbol); });
    if (mentions) continue;
    if (c.is_range) {
      AddCondition(c);
    } else {
      Assume(c.condition, c.origin);
    }
  }
}

const SymbolInfo* SymbolTable::Find(SymInt symbol) const {
  auto it = index_.find(symbol);
  return it == index_.end() ? nullptr : &symbols_[it->second];
}

bool SymbolTable::IsUnbacked(SymInt symbol) const {
  const SymbolInfo* info = Find(symbol);
  return info != nullptr && info->unbacked;
}

int64_t SymbolTable::IndexOf(SymInt symbol) const {
  auto it = index_.find(symbol);
  return it == index_.end() ? -1 : it->second;
}

SymRange SymbolTable::RangeOf(SymInt s) const {
  return weft::RangeOf(s, [this](SymInt symbol) {
    const SymbolInfo* info = Find(symbol);
    const SymRange declared = info != nullptr ? info->range : SymbolInfo{}.range;
    const SymRange* narrowed = knowledge_.RangeOf(symbol);
    return narrowed != nullptr ? Intersect(declared, *narrowed) : declared;
  });
}

bool SymbolTable::IsMultipleOf(SymInt s, int64_t divisor) const {
  if (divisor <= 0) return s.Is(0);
  if (divisor == 1) return true;
  if (s.is_constant()) return s.value() % divisor == 0;
  switch (s.kind()) {
    case Kind::kSymbol: {
      const SymbolInfo* info = Find(s);
      return info != nullptr && info->divisor % divisor == 0;
    }
    case Kind::kSum:
      if (s.coefficient() % divisor != 0) return false;
      for (SymInt arg : s.args()) {
        if (!IsMultipleOf(arg, divisor)) return false;
      }
      return true;
    case Kind::kProduct: {
      // Divides the divisor by what each factor is known to be a multiple of.
      int64_t left = divisor / std::gcd(divisor, s.coefficient());
      for (SymInt arg : s.args()) {
        if (left == 1) break;
        const SymbolInfo* info = arg.is_symbol() ? Find(arg) : nullptr;
        if (info != nullptr) {
          left /= std::gcd(left, info->divisor);
        } else if (IsMultipleOf(arg, left)) {
          left = 1;
        }
      }
      return left == 1;
    }
    case Kind::kPow:
      return RangeOf(s.args()[1]).min >= 1 && IsMultipleOf(s.args()[0], divisor);
    case Kind::kSelect:
      return IsMultipleOf(s.args()[1], divisor) && IsMultipleOf(s.args()[2], divisor);
    default:
      return false;
  }
}

Proof SymbolTable::ProveEq(SymInt a, SymInt b) const {
  if (a == b) return a.is_valid() ? Proof::kYes : Proof::kUnknown;
  if (a.is_constant() && b.is_constant()) return Proof::kNo;
  const SymInt difference = a - b;
  if (!difference.is_valid()) return Proof::kUnknown;
  const SymRange range = RangeOf(difference);
  if (range == SymRange{0, 0}) return Proof::kYes;
  if (range.min > 0 || range.max < 0) return Proof::kNo;
  return Prove(Equal(a, b));
}

Proof SymbolTable::ProveLe(SymInt a, SymInt b) const {
  const SymInt difference = b - a;
  if (!difference.is_valid()) return Proof::kUnknown;
  const SymRange range = RangeOf(difference);
  if (range.min >= 0) return Proof::kYes;
  if (range.max < 0) return Proof::kNo;
  return Prove(LessEqual(a, b));
}

Proof SymbolTable::Prove(SymInt condition) const {
  if (!condition.is_valid()) return Proof::kUnknown;
  if (knowledge_.Knows(condition)) return Proof::kYes;
  if (const auto known = memo_.Find(condition, proofs_version_)) return *known;
  const SymInt simple = Simplify(condition);
  const Proof proof =
      IsTruth(simple) ? internal::ProveCondition(simple, *this, knowledge_) : Proof::kUnknown;
  memo_.Insert(condition, proofs_version_, proof);
  return proof;
}

SymInt SymbolTable::Simplify(SymInt s) const { return internal::SimplifySym(s, *this, knowledge_); }

Proof SymbolTable::Assume(SymInt condition, absl::string_view origin) {
  const Proof before = Prove(condition);
  if (before != Proof::kUnknown || !IsTruth(condition)) return before;
  if (!AssumeParts(condition, origin)) Restore(condition, origin);
  return before;
}

void SymbolTable::Restore(SymInt condition, absl::string_view origin) {
  const bool is_range = DeclareRange(condition);
  AddCondition({condition, std::string(origin), is_range});
  if (is_range) return;
  ++version_;
  ++proofs_version_;
  Learn(condition);
  knowledge_.Note(condition);
}

void SymbolTable::AddCondition(SymCondition condition) {
  const int place = static_cast<int>(conditions_.size());
  ForEachSymbol(condition.condition,
                [&](SymInt symbol) { conditions_of_[symbol].push_back(place); });
  conditions_.push_back(std::move(condition));
}

absl::Span<const int> SymbolTable::ConditionsAbout(SymInt symbol) const {
  auto it = conditions_of_.find(symbol);
  if (it == conditions_of_.end()) return {};
  return it->second;
}

// Takes over the conditions whose conjunction `condition` is, or that follow from it; false if it
// says more than these.
bool SymbolTable::AssumeParts(SymInt condition, absl::string_view origin) {
  if (condition.kind() == Kind::kProduct) {
    for (SymInt part : condition.args()) Assume(part, origin);
    return true;
  }
  if (condition.kind() != Kind::kSum) return false;
  const auto table = internal::TruthTable::Of(condition);
  if (!table || table->conditions().size() < 2) return false;
  uint32_t always = ~uint32_t{0}, never = ~uint32_t{0};
  int cases = 0;
  for (uint32_t i = 0; i < table->num_assignments(); ++i) {
    if (table->ValueAt(i) == 0) continue;
    ++cases;
    always &= i;
    never &= ~i;
  }
  for (size_t i = 0; i < table->conditions().size(); ++i) {
    const SymInt part = table->conditions()[i];
    if (always >> i & 1) Assume(part, origin);
    if (never >> i & 1) Assume(Not(part), origin);
  }
  return cases == 1;
}

// Declares the range or divisor of a condition s >= k, s <= k or s % k == 0; false for others.
bool SymbolTable::DeclareRange(SymInt condition) {
  if (condition.args().empty()) return false;
  const SymInt s = condition.args()[0];
  SymbolInfo info;
  info.range = {};
  if (condition.kind() == Kind::kNonNegative) {
    const auto [variable, constant] = internal::SplitConstant(s);
    if (variable.is_symbol() && constant != SymRange::kMin) {
      info.symbol = variable;
      info.range.min = -constant;
    } else if ((-variable).is_symbol()) {
      info.symbol = -variable;
      info.range.max = constant;
    }
  } else if (condition.kind() == Kind::kZero && s.kind() == Kind::kMod && s.args()[0].is_symbol() &&
             s.args()[1].is_constant() && s.args()[1].value() > 0) {
    info.symbol = s.args()[0];
    info.divisor = s.args()[1].value();
  }
  if (!info.symbol.is_symbol() || Find(info.symbol) == nullptr) return false;
  Declare(info);
  return true;
}

}  // namespace weft
