#include "graph/core/sym_facts.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "graph/core/check.h"

namespace weft {
namespace {

using Kind = SymInt::Kind;
using Wide = __int128;

// Bounds widen to "unbounded" as soon as 64 bits do not hold them.
int64_t Clamp(Wide v) {
  if (v >= SymRange::kMax) return SymRange::kMax;
  if (v <= SymRange::kMin) return SymRange::kMin;
  return static_cast<int64_t>(v);
}

bool IsInfinite(int64_t v) {
  return v == SymRange::kMin || v == SymRange::kMax;
}

int64_t AddBounds(int64_t a, int64_t b) {
  if (IsInfinite(a)) return a;
  if (IsInfinite(b)) return b;
  return Clamp(static_cast<Wide>(a) + b);
}

int64_t MulBounds(int64_t a, int64_t b) {
  if (a == 0 || b == 0) return 0;
  if (IsInfinite(a) || IsInfinite(b)) {
    return (a < 0) == (b < 0) ? SymRange::kMax : SymRange::kMin;
  }
  return Clamp(static_cast<Wide>(a) * b);
}

// A lower bound of "unbounded above" would say nothing true, and so would the
// opposite: the limits themselves are given up.
SymRange Proper(SymRange r) {
  if (r.min == SymRange::kMax) --r.min;
  if (r.max == SymRange::kMin) ++r.max;
  return r;
}

SymRange Add(SymRange a, SymRange b) {
  return Proper({AddBounds(a.min, b.min), AddBounds(a.max, b.max)});
}

SymRange Mul(SymRange a, SymRange b) {
  const int64_t corners[] = {MulBounds(a.min, b.min), MulBounds(a.min, b.max),
                             MulBounds(a.max, b.min), MulBounds(a.max, b.max)};
  return Proper({*std::min_element(corners, corners + 4),
                 *std::max_element(corners, corners + 4)});
}

int64_t FloorDivBound(int64_t a, int64_t b) {
  if (IsInfinite(a)) return a;
  if (IsInfinite(b)) return a < 0 ? -1 : 0;
  const int64_t q = a / b;
  return (a % b != 0 && a < 0) ? q - 1 : q;
}

// For positive divisors; unbounded otherwise.
SymRange FloorDivRange(SymRange a, SymRange b) {
  if (b.min <= 0) {
    if (a.min >= 0 && b.min >= 0) return {0, a.max};
    return {};
  }
  return {FloorDivBound(a.min, a.min < 0 ? b.min : b.max),
          FloorDivBound(a.max, a.max < 0 ? b.max : b.min)};
}

SymRange ModRange(SymRange a, SymRange b) {
  if (b.min <= 0) {
    if (a.min >= 0 && b.min >= 0) return {0, a.max};
    return {};
  }
  const int64_t top = IsInfinite(b.max) ? b.max : b.max - 1;
  if (a.min >= 0 && a.max < b.min) return a;
  return {0, a.min >= 0 ? std::min(top, a.max) : top};
}

}  // namespace

void SymbolTable::Declare(const SymbolInfo& info) {
  WEFT_CHECK(info.symbol.is_symbol()) << info.symbol;
  WEFT_CHECK(info.divisor > 0) << info.symbol << ": " << info.divisor;
  auto [it, inserted] = index_.emplace(info.symbol, symbols_.size());
  if (inserted) {
    symbols_.push_back(info);
    ++version_;
    return;
  }
  SymbolInfo& known = symbols_[it->second];
  const SymbolInfo before = known;
  known.range.min = std::max(known.range.min, info.range.min);
  known.range.max = std::min(known.range.max, info.range.max);
  // A common multiple past 64 bits is not kept; each divisor alone is true.
  const Wide common = static_cast<Wide>(known.divisor) /
                      std::gcd(known.divisor, info.divisor) * info.divisor;
  if (common <= SymRange::kMax) known.divisor = static_cast<int64_t>(common);
  if (!known.hint) known.hint = info.hint;
  known.unbacked |= info.unbacked;
  version_ += !(known.range == before.range) ||
              known.divisor != before.divisor ||
              known.unbacked != before.unbacked;
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

void SymbolTable::Remove(absl::Span<const SymInt> symbols) {
  if (!symbols.empty()) ++version_;
  for (SymInt symbol : symbols) index_.erase(symbol);
  size_t kept = 0;
  for (SymbolInfo& info : symbols_) {
    auto it = index_.find(info.symbol);
    if (it == index_.end()) continue;
    it->second = static_cast<int>(kept);
    symbols_[kept++] = std::move(info);
  }
  symbols_.resize(kept);
}

const SymbolInfo* SymbolTable::Find(SymInt symbol) const {
  auto it = index_.find(symbol);
  return it == index_.end() ? nullptr : &symbols_[it->second];
}

bool SymbolTable::IsUnbacked(SymInt symbol) const {
  const SymbolInfo* info = Find(symbol);
  return info != nullptr && info->unbacked;
}

SymRange SymbolTable::RangeOf(SymInt s) const {
  if (s.is_constant()) return Proper({s.value(), s.value()});
  if (s.is_symbol()) {
    const SymbolInfo* info = Find(s);
    return info != nullptr ? Proper(info->range) : SymbolInfo{}.range;
  }
  if (!s.is_valid()) return {};
  const auto args = s.args();
  SymRange range = RangeOf(args[0]);
  switch (s.kind()) {
    case Kind::kSum:
      for (SymInt arg : args.subspan(1)) range = Add(range, RangeOf(arg));
      return Add(range, RangeOf(s.coefficient()));
    case Kind::kProduct:
      for (size_t i = 1; i < args.size(); ++i) {
        range = Mul(range, RangeOf(args[i]));
        // A square is never negative.
        if (i == 1 && args[0] == args[1]) {
          range.min = std::max<int64_t>(range.min, 0);
        }
      }
      return Mul(range, RangeOf(s.coefficient()));
    case Kind::kFloorDiv:
      return FloorDivRange(range, RangeOf(args[1]));
    case Kind::kMod:
      return ModRange(range, RangeOf(args[1]));
    case Kind::kMin:
    case Kind::kMax:
      for (SymInt arg : args.subspan(1)) {
        const SymRange r = RangeOf(arg);
        range = s.kind() == Kind::kMin
                    ? SymRange{std::min(range.min, r.min),
                               std::min(range.max, r.max)}
                    : SymRange{std::max(range.min, r.min),
                               std::max(range.max, r.max)};
      }
      return range;
    case Kind::kBroadcast:
      for (SymInt arg : args.subspan(1)) {
        const SymRange r = RangeOf(arg);
        range = {std::min(range.min, r.min), std::max(range.max, r.max)};
      }
      return range;
    case Kind::kConst:
    case Kind::kSymbol:
    case Kind::kInvalid:
      break;
  }
  return {};
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
      // Each factor takes what it can of the divisor.
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
    default:
      return false;
  }
}

Proof SymbolTable::ProveEq(SymInt a, SymInt b) const {
  if (a == b) return a.is_valid() ? Proof::kYes : Proof::kUnknown;
  const SymInt difference = a - b;
  if (!difference.is_valid()) return Proof::kUnknown;
  const SymRange range = RangeOf(difference);
  if (range == SymRange{0, 0}) return Proof::kYes;
  if (range.min > 0 || range.max < 0) return Proof::kNo;
  return Proof::kUnknown;
}

Proof SymbolTable::ProveLe(SymInt a, SymInt b) const {
  const SymInt difference = b - a;
  if (!difference.is_valid()) return Proof::kUnknown;
  const SymRange range = RangeOf(difference);
  if (range.min >= 0) return Proof::kYes;
  if (range.max < 0) return Proof::kNo;
  return Proof::kUnknown;
}

}  // namespace weft
