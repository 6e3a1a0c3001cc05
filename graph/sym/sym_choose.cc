// Min, Max and BroadcastSize: one of several expressions.
#include <optional>
#include <utility>

#include "graph/sym/sym_expr.h"
#include "graph/sym/sym_int.h"
#include "graph/sym/sym_internal.h"
#include "graph/sym/sym_ops.h"

namespace weft {

using internal::InternSym;
using internal::SortUnique;

namespace {

using Kind = SymInt::Kind;

void FlattenInto(SymInt s, Kind kind, std::vector<SymInt>* out) {
  if (s.kind() == kind) {
    out->insert(out->end(), s.args().begin(), s.args().end());
  } else {
    out->push_back(s);
  }
}

// a - b when it is a constant; limited to the sign when 64 bits do not hold it.
std::optional<int64_t> ConstantDifference(SymInt a, SymInt b) {
  if (a.is_constant() && b.is_constant()) {
    return a.value() < b.value() ? -1 : a.value() > b.value();
  }
  return (a - b).constant();
}

// Drops each operand that differs from another by a constant and cannot be the extremum.
SymInt MakeExtremum(Kind kind, SymInt a, SymInt b) {
  if (!a.is_valid() || !b.is_valid()) return SymInt::Invalid();
  std::vector<SymInt> all;
  FlattenInto(a, kind, &all);
  FlattenInto(b, kind, &all);
  SortUnique(&all);
  std::vector<SymInt> kept;
  for (size_t i = 0; i < all.size(); ++i) {
    bool beaten = false;
    for (size_t j = 0; j < all.size() && !beaten; ++j) {
      if (i == j) continue;
      const std::optional<int64_t> d = ConstantDifference(all[j], all[i]);
      if (!d) continue;
      beaten = kind == Kind::kMin ? *d < 0 : *d > 0;
    }
    if (!beaten) kept.push_back(all[i]);
  }
  if (kept.size() == 1) return kept[0];
  return InternSym(kind, 0, std::move(kept));
}

}  // namespace

SymInt Min(SymInt a, SymInt b) { return MakeExtremum(Kind::kMin, a, b); }
SymInt Max(SymInt a, SymInt b) { return MakeExtremum(Kind::kMax, a, b); }

SymInt BroadcastSize(SymInt a, SymInt b) {
  if (a == b) return a;
  if (!a.is_valid() || !b.is_valid()) return SymInt::Invalid();
  std::vector<SymInt> sizes;
  FlattenInto(a, Kind::kBroadcast, &sizes);
  FlattenInto(b, Kind::kBroadcast, &sizes);
  SortUnique(&sizes);
  std::vector<SymInt> kept;
  std::optional<SymInt> constant;
  for (SymInt s : sizes) {
    if (s.Is(1)) continue;
    if (s.is_constant()) {
      if (constant) return SymInt::Invalid();
      constant = s;
    } else {
      kept.push_back(s);
    }
  }
  if (constant) return *constant;
  if (kept.empty()) return SymInt(1);
  if (kept.size() == 1) return kept[0];
  return InternSym(Kind::kBroadcast, 0, std::move(kept));
}

}  // namespace weft
