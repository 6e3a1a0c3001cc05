#include "graph/sym/sym_range.h"

#include <algorithm>

#include "graph/sym/sym_expr.h"

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

bool IsInfinite(int64_t v) { return v == SymRange::kMin || v == SymRange::kMax; }

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

// A lower bound of "unbounded above", or the opposite, would be false, so the bound moves by one.
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
  return Proper({*std::min_element(corners, corners + 4), *std::max_element(corners, corners + 4)});
}

int64_t FloorDivBound(int64_t a, int64_t b) {
  if (IsInfinite(a)) return a;
  if (IsInfinite(b)) return a < 0 ? -1 : 0;
  const int64_t q = a / b;
  return (a % b != 0 && a < 0) ? q - 1 : q;
}

// The range for positive divisors; unbounded for others.
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

// a to the power e, saturating; both are 0 or more.
int64_t PowBound(int64_t a, int64_t e) {
  int64_t power = 1;
  // After 64 factors the power is 0, 1 or unbounded.
  for (int64_t i = 0; i < std::min<int64_t>(e, 64); ++i) power = MulBounds(power, a);
  return power;
}

// A negative exponent is undefined, so the range of exponents begins at 0.
SymRange PowRange(SymRange a, SymRange e) {
  e.min = std::max<int64_t>(e.min, 0);
  if (e.max < 0) return {};
  if (a.min >= 1) return {PowBound(a.min, e.min), PowBound(a.max, e.max)};
  if (a.min >= 0) {
    return {e.min == 0 && a.max == 0 && e.max == 0 ? 1 : 0,
            std::max(PowBound(a.max, e.max), PowBound(a.max, e.min))};
  }
  if (a.min == SymRange::kMin) return {};
  const int64_t size = PowBound(std::max(-a.min, a.max < 0 ? int64_t{0} : a.max), e.max);
  return {size == SymRange::kMax ? SymRange::kMin : -size, std::max<int64_t>(size, 1)};
}

}  // namespace

SymRange Intersect(SymRange a, SymRange b) {
  return {std::max(a.min, b.min), std::min(a.max, b.max)};
}

SymRange RangeOf(SymInt s, absl::FunctionRef<SymRange(SymInt)> range_of_symbol) {
  if (s.is_constant()) return Proper({s.value(), s.value()});
  if (s.is_symbol()) return Proper(range_of_symbol(s));
  if (!s.is_valid()) return {};
  const auto range_of = [&](SymInt part) { return RangeOf(part, range_of_symbol); };
  const auto args = s.args();
  SymRange range = range_of(args[0]);
  switch (s.kind()) {
    case Kind::kSum:
      for (SymInt arg : args.subspan(1)) range = Add(range, range_of(arg));
      return Add(range, range_of(s.coefficient()));
    case Kind::kProduct:
      for (size_t i = 1; i < args.size(); ++i) {
        range = Mul(range, range_of(args[i]));
        // A square is never negative.
        if (i == 1 && args[0] == args[1]) {
          range.min = std::max<int64_t>(range.min, 0);
        }
      }
      return Mul(range, range_of(s.coefficient()));
    case Kind::kFloorDiv:
      return FloorDivRange(range, range_of(args[1]));
    case Kind::kMod:
      return ModRange(range, range_of(args[1]));
    case Kind::kMin:
    case Kind::kMax:
      for (SymInt arg : args.subspan(1)) {
        const SymRange r = range_of(arg);
        range = s.kind() == Kind::kMin
                    ? SymRange{std::min(range.min, r.min), std::min(range.max, r.max)}
                    : SymRange{std::max(range.min, r.min), std::max(range.max, r.max)};
      }
      return range;
    case Kind::kBroadcast:
      for (SymInt arg : args.subspan(1)) {
        const SymRange r = range_of(arg);
        range = {std::min(range.min, r.min), std::max(range.max, r.max)};
      }
      return range;
    case Kind::kPow:
      return Proper(PowRange(range, range_of(args[1])));
    case Kind::kSelect: {
      if (range.min > 0) return range_of(args[1]);
      if (range.max < 1) return range_of(args[2]);
      const SymRange a = range_of(args[1]), b = range_of(args[2]);
      return {std::min(a.min, b.min), std::max(a.max, b.max)};
    }
    case Kind::kNonNegative:
      return {range.min >= 0 ? 1 : 0, range.max < 0 ? 0 : 1};
    case Kind::kZero:
      return {range == SymRange{0, 0} ? 1 : 0, range.min > 0 || range.max < 0 ? 0 : 1};
    case Kind::kConst:
    case Kind::kSymbol:
    case Kind::kInvalid:
      break;
  }
  return {};
}

}  // namespace weft
