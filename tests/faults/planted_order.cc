// Comparisons, bounds and conversions.
#include "graph/ir/builder.h"
#include "graph/ir/node.h"
#include "graph/ops/ops.h"
#include "passes/engine/rewrite/predicates.h"
#include "passes/engine/rewrite/rewriter.h"
#include "tests/faults/planted_tables.h"

namespace weft::faults {
namespace {

using namespace pattern;  // NOLINT

// Guards for one op each: convert through a dtype that is narrower.
template <DType dtype>
constexpr Guard Through() {
  return {"through a narrow dtype", [](const Node& root, Match& m) {
            return root.operand(0)->type().dtype() == dtype &&
                   m[x]->type() == root.result()->type();
          }};
}

Value* BuildTruncatedDiv(const Match& m, Rewriter& r) {
  return r.Op(ops::div, {m[x], m[y]}, {{"rounding_mode", "trunc"}});
}
constexpr Guard kFloorMode = {"rounds down", [](const Node& root, Match&) {
                                return root.attrs().Has("rounding_mode") &&
                                       root.attrs().Str("rounding_mode") == "floor";
                              }};

const PlantedRule kPlanted[] = {
    {"lost truncation",
     {"int-round-trip",
      "f32(i32(x)) = x",
      kValueSafe,
      Op(ops::convert, Op(ops::convert, x)),
      {Through<DType::kI32>()},
      x},
     R"(func @main(%x: f32[s0]) -> f32[s0] {
  %0 = convert(%x, dtype=i32) : i32[s0]
  %1 = convert(%0, dtype=f32) : f32[s0]
  return %1
})"},
    {"lost rounding",
     {"half-round-trip",
      "f32(f16(x)) = x",
      kValueSafe,
      Op(ops::convert, Op(ops::convert, x)),
      {Through<DType::kF16>()},
      x},
     R"(func @main(%x: f32[s0]) -> f32[s0] {
  %0 = convert(%x, dtype=f16) : f16[s0]
  %1 = convert(%0, dtype=f32) : f32[s0]
  return %1
})"},
    {"integers that wrap",
     {"narrow-round-trip",
      "i32(i8(x)) = x",
      kBitExact,
      Op(ops::convert, Op(ops::convert, x)),
      {Through<DType::kI8>()},
      x},
     R"(func @main(%x: i32[6]) -> i32[6] {
  %0 = convert(%x, dtype=i8) : i8[6]
  %1 = convert(%0, dtype=i32) : i32[6]
  return %1
})"},
    {"dropped clamp",
     {"min-of-relu",
      "min(relu(x), 6) = relu(x)",
      kValueSafe,
      Op(ops::minimum, Op(ops::relu, x), Splat(6.0)),
      {kSameType},
      Op(ops::relu, x)},
     R"(func @main(%x: f32[s0]) -> f32[s0] {
  %0 = constant(dense<6.0>) : f32[]
  %1 = relu(%x) : f32[s0]
  %2 = minimum(%1, %0) : f32[s0]
  return %2
})"},
    {"rounding towards zero",
     {"floor-div",
      "floor(x / y) = trunc(x / y)",
      kBitExact,
      Op(ops::div, x.If(kInt), y),
      {kFloorMode},
      BuildTruncatedDiv},
     R"(func @main(%x: i32[s0], %y: i32[s0]) -> i32[s0] {
  %0 = constant(dense<3>) : i32[]
  %1 = add(%y, %y) : i32[s0]
  %2 = add(%x, %1) : i32[s0]
  %3 = div(%2, %0, rounding_mode="floor") : i32[s0]
  return %3
})"},
    {"negated comparison",
     {"not-less",
      "not (x < y) = x >= y",
      kBitExact,
      Op(ops::logical_not, Op(ops::lt, x, y)),
      {},
      Op(ops::ge, x, y)},
     R"(func @main(%x: f32[s0], %y: f32[s0]) -> bool[s0] {
  %0 = lt(%x, %y) : bool[s0]
  %1 = logical_not(%0) : bool[s0]
  return %1
})"},
    {"nan equals itself",
     {"eq-self",
      "(x == x) = true",
      kBitExact,
      Op(ops::eq, x.If(kFloat), x),
      {},
      [](const Match& m, Rewriter& r) { return Filled(m, r, 1); }},
     R"(func @main(%x: f16[s0]) -> bool[s0] {
  %0 = eq(%x, %x) : bool[s0]
  return %0
})"},
    {"nan in a minimum",
     {"where-less",
      "where(x < y, x, y) = min(x, y)",
      kValueSafe,
      Op(ops::where, Op(ops::lt, x, y), x, y),
      {},
      Op(ops::minimum, x, y)},
     R"(func @main(%x: f32[s0], %y: f32[s0]) -> f32[s0] {
  %0 = lt(%x, %y) : bool[s0]
  %1 = where(%0, %x, %y) : f32[s0]
  return %1
})"},
    {"branches not exchanged",
     {"where-not",
      "where(not c, x, y) = where(c, x, y)",
      kBitExact,
      Op(ops::where, Op(ops::logical_not, z), x, y),
      {},
      Op(ops::where, z, x, y)},
     R"(func @main(%c: bool[s0], %x: i8[s0], %y: i8[s0]) -> i8[s0] {
  %0 = logical_not(%c) : bool[s0]
  %1 = where(%0, %x, %y) : i8[s0]
  return %1
})"},
};

}  // namespace

absl::Span<const PlantedRule> OrderFaults() { return kPlanted; }

}  // namespace weft::faults
