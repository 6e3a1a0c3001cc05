// Conditions and selections.
#include "passes/canonicalize/match.h"
#include "passes/canonicalize/rules.h"

namespace weft::canonicalize {
namespace {

using namespace pattern;  // NOLINT

// What the branch that goes broadcast is not missed.
bool IsWideWithoutY(const Node& root, Match& m) {
  Value* const operands[] = {m[c], m[x], m[z]};
  return KeepsTypeWith(root, operands);
}
constexpr Guard kWideWithoutY = {"the result is as wide without y", IsWideWithoutY};

constexpr Rule kRules[] = {
    {"not-eq",
     "not (x == y) = x != y",
     kBitExact,
     Op(ops::logical_not, Op(ops::eq, x, y).OneUse()),
     {},
     Op(ops::ne, x, y)},
    {"not-ne",
     "not (x != y) = x == y",
     kBitExact,
     Op(ops::logical_not, Op(ops::ne, x, y).OneUse()),
     {},
     Op(ops::eq, x, y)},
    // Of floats NaN makes neither true.
    {"not-lt",
     "not (x < y) = x >= y for integers",
     kBitExact,
     Op(ops::logical_not, Op(ops::lt, x.If(kInt), y).OneUse()),
     {},
     Op(ops::ge, x, y)},
    {"not-le",
     "not (x <= y) = x > y for integers",
     kBitExact,
     Op(ops::logical_not, Op(ops::le, x.If(kInt), y).OneUse()),
     {},
     Op(ops::gt, x, y)},
    {"not-gt",
     "not (x > y) = x <= y for integers",
     kBitExact,
     Op(ops::logical_not, Op(ops::gt, x.If(kInt), y).OneUse()),
     {},
     Op(ops::le, x, y)},
    {"not-ge",
     "not (x >= y) = x < y for integers",
     kBitExact,
     Op(ops::logical_not, Op(ops::ge, x.If(kInt), y).OneUse()),
     {},
     Op(ops::lt, x, y)},
    {"where-not",
     "where(not c, x, y) = where(c, y, x)",
     kBitExact,
     Op(ops::where, Op(ops::logical_not, c.If(kBool)), x, y),
     {},
     Op(ops::where, c, y, x)},
    // The fold does both when nothing broadcasts.
    {"where-true",
     "where(true, x, y) = expand(x)",
     kBitExact,
     Op(ops::where, Splat(1), x, y),
     {},
     BuildExpand},
    {"where-false",
     "where(false, y, x) = expand(x)",
     kBitExact,
     Op(ops::where, Splat(0), y, x),
     {},
     BuildExpand},
    {"where-then-where",
     "where(c, where(c, x, y), z) = where(c, x, z)",
     kBitExact,
     Op(ops::where, c, Op(ops::where, c, x, y), z),
     {kWideWithoutY},
     Op(ops::where, c, x, z)},
    {"where-else-where",
     "where(c, x, where(c, y, z)) = where(c, x, z)",
     kBitExact,
     Op(ops::where, c, x, Op(ops::where, c, y, z)),
     {kWideWithoutY},
     Op(ops::where, c, x, z)},
};

}  // namespace

absl::Span<const Rule> LogicRules() { return kRules; }

}  // namespace weft::canonicalize
