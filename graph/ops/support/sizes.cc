#include "graph/ops/support/sizes.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "graph/ir/op_args.h"
#include "graph/ops/support/infer.h"
#include "graph/sym/sym_expr.h"
#include "graph/sym/sym_facts.h"
#include "graph/sym/sym_ops.h"

namespace weft::ops {
namespace {

bool IsExtremum(SymInt s) {
  return s.kind() == SymInt::Kind::kMin || s.kind() == SymInt::Kind::kMax;
}

// a - b, distributed over a Min or Max if exactly one of them is one: n - max(x, y) = min(n - x, n
// - y).
template <typename MinFn, typename MaxFn>
SymInt Distribute(SymInt a, SymInt b, MinFn min, MaxFn max) {
  if (IsExtremum(a) == IsExtremum(b)) return a - b;
  const bool left = IsExtremum(a);
  const SymInt extremum = left ? a : b;
  const bool smallest = (extremum.kind() == SymInt::Kind::kMin) == left;
  const auto args = extremum.args();
  const auto difference = [&](SymInt x) { return left ? x - b : a - x; };
  SymInt result = difference(args[0]);
  for (SymInt x : args.subspan(1)) {
    result = smallest ? min(result, difference(x)) : max(result, difference(x));
  }
  return result;
}

bool ProvablyLe(const SymbolTable& symbols, SymInt a, SymInt b) {
  if (symbols.ProveLe(a, b) == Proof::kYes) return true;
  const SymInt d = Distribute(b, a, Min, Max);
  return d.is_valid() && symbols.RangeOf(d).min >= 0;
}

}  // namespace

SymInt KnownMin(const SymbolTable& symbols, SymInt a, SymInt b) {
  if (ProvablyLe(symbols, a, b)) return a;
  if (ProvablyLe(symbols, b, a)) return b;
  return Min(a, b);
}

SymInt KnownMax(const SymbolTable& symbols, SymInt a, SymInt b) {
  if (ProvablyLe(symbols, a, b)) return b;
  if (ProvablyLe(symbols, b, a)) return a;
  return Max(a, b);
}

SymInt Difference(const SymbolTable& symbols, SymInt a, SymInt b) {
  return Distribute(
      a, b, [&](SymInt x, SymInt y) { return KnownMin(symbols, x, y); },
      [&](SymInt x, SymInt y) { return KnownMax(symbols, x, y); });
}

SymInt StepsBetween(const SymbolTable& symbols, SymInt start, SymInt end, SymInt step) {
  const SymInt distance = Difference(symbols, end, start);
  SymInt count = CeilDiv(distance, step);
  // The form that window sizes have, so that the two compare equal. A huge
  // step would overflow it.
  constexpr int64_t kMaxStep = int64_t{1} << 32;
  if (!count.is_constant() && step.is_constant() && step.value() > 0 && step.value() <= kMaxStep) {
    count = FloorDiv(distance + (step - 1), step);
  }
  return KnownMax(symbols, count, 0);
}

SymInt FromEnd(const SymbolTable& symbols, SymInt position, SymInt n) {
  if (position.Is(SymRange::kMin)) return 0;
  if (position.Is(SymRange::kMax)) return n;
  const SymRange range = symbols.RangeOf(position);
  if (range.min >= 0) return position;
  if (range.max < 0) return position + n;
  return position + n * Less(position, 0);
}

SymInt SliceStart(const SymbolTable& symbols, SymInt start, SymInt n) {
  return KnownMin(symbols, KnownMax(symbols, FromEnd(symbols, start, n), 0), n);
}

SymInt JoinSizes(SymInt a, SymInt b) { return b.is_constant() ? b : a; }

absl::Status JoinDims(const OpArgs& args, Type other, int skip, absl::string_view what,
                      std::vector<SymInt>* dims) {
  for (int i = 0; i < other.rank(); ++i) {
    if (i == skip) continue;
    SymInt& d = (*dims)[i];
    if (!MayBeEqual(args, d, other.dim(i))) {
      return Invalid(what, ": sizes ", d.ToString(), " and ", other.dim(i).ToString(), " of dim ",
                     i, " differ");
    }
    d = JoinSizes(d, other.dim(i));
  }
  return absl::OkStatus();
}

absl::Status CheckSizesNotNegative(const OpArgs& args, absl::Span<const SymInt> sizes,
                                   absl::string_view what) {
  for (size_t i = 0; i < sizes.size(); ++i) {
    const bool open = !sizes[i].is_constant() && args.symbols->RangeOf(sizes[i]).min < 0;
    const bool fits =
        open ? args.MayHold(GreaterEqual(sizes[i], 0)) : args.symbols->RangeOf(sizes[i]).max >= 0;
    if (!fits) {
      return Invalid(what, "[", i, "] is negative: ", sizes[i].ToString());
    }
  }
  return absl::OkStatus();
}

SymInt FreshSize(const OpArgs& args, int64_t min, int64_t max) {
  SymbolInfo info;
  info.range = {min, max};
  info.unbacked = true;
  return args.symbols->Fresh("u", info);
}

Split SplitAt(absl::Span<const int64_t> dims, int dim) {
  Split s;
  s.size = dims[dim];
  if (std::find(dims.begin(), dims.end(), 0) != dims.end()) {
    s.outer = s.inner = 0;
    return s;
  }
  for (int i = 0; i < dim; ++i) s.outer *= dims[i];
  for (size_t i = dim + 1; i < dims.size(); ++i) s.inner *= dims[i];
  return s;
}

int64_t Dot(absl::Span<const int64_t> a, absl::Span<const int64_t> b) {
  int64_t sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

}  // namespace weft::ops
