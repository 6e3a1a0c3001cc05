// Sums, products and functions of numbers.
#include "graph/ops/ops.h"
#include "passes/engine/rewrite/predicates.h"
#include "passes/engine/rewrite/rewriter.h"
#include "tests/faults/planted_tables.h"

namespace weft::faults {
namespace {

using namespace pattern;  // NOLINT

const PlantedRule kPlanted[] = {
    {"swapped operands",
     {"swapped-sub",
      "tanh(x) - y = y - tanh(x)",
      kValueSafe,
      Op(ops::sub, Op(ops::tanh, x), y),
      {},
      Op(ops::sub, y, Op(ops::tanh, x))},
     R"(func @main(%x: f32[s0, 3], %y: f32[s0, 3]) -> f32[s0, 3] {
  %0 = tanh(%x) : f32[s0, 3]
  %1 = sub(%0, %y) : f32[s0, 3]
  return %1
})"},
    {"wrong constant in the guard",
     {"add-one", "x + 1 = x", kValueSafe, Op(ops::add, x, Splat(1.0)), {kSameType}, x},
     R"(func @main(%x: f32[s0]) -> f32[s0] {
  %0 = constant(dense<1.0>) : f32[]
  %1 = add(%x, %0) : f32[s0]
  return %1
})"},
    {"nan and infinity dropped",
     {"float-mul-zero",
      "x * 0 = 0",
      kValueSafe,
      Op(ops::mul, x.If(kFloat), Splat(0.0)),
      {},
      [](const Match& m, Rewriter& r) { return Filled(m, r, 0); }},
     R"(func @main(%x: f32[s0, 4]) -> f32[s0, 4] {
  %0 = constant(dense<0.0>) : f32[]
  %1 = mul(%x, %0) : f32[s0, 4]
  return %1
})"},
    {"nan dropped",
     {"float-sub-self",
      "x - x = 0",
      kValueSafe,
      Op(ops::sub, x.If(kFloat), x),
      {},
      [](const Match& m, Rewriter& r) { return Filled(m, r, 0); }},
     R"(func @main(%x: f64[5]) -> f64[5] {
  %0 = sub(%x, %x) : f64[5]
  return %0
})"},
    {"division by zero",
     {"div-self",
      "x / x = 1",
      kValueSafe,
      Op(ops::div, x.If(kFloat), x),
      {},
      [](const Match& m, Rewriter& r) { return Filled(m, r, 1); }},
     R"(func @main(%x: f32[s0]) -> f32[s0] {
  %0 = div(%x, %x) : f32[s0]
  return %0
})"},
    {"overflow",
     {"halve-double",
      "(x * 2) / 2 = x",
      kBitExact,
      Op(ops::div, Op(ops::mul, x.If(kInt), Splat(2.0)), Splat(2.0)),
      {kSameType},
      x},
     R"(func @main(%x: i32[s0]) -> i32[s0] {
  %0 = constant(dense<2>) : i32[]
  %1 = mul(%x, %0) : i32[s0]
  %2 = div(%1, %0, rounding_mode="floor") : i32[s0]
  return %2
})"},
    {"overflow of a difference",
     {"sign-of-difference",
      "x - y > 0 = x > y",
      kBitExact,
      Op(ops::gt, Op(ops::sub, x.If(kInt), y), Splat(0.0)),
      {},
      Op(ops::gt, x, y)},
     R"(func @main(%x: i16[s0], %y: i16[s0]) -> bool[s0] {
  %0 = constant(dense<0>) : i16[]
  %1 = sub(%x, %y) : i16[s0]
  %2 = gt(%1, %0) : bool[s0]
  return %2
})"},
    {"domain of the logarithm",
     {"exp-log", "exp(log(x)) = x", kValueSafe, Op(ops::exp, Op(ops::log, x)), {}, x},
     R"(func @main(%x: f32[s0]) -> f32[s0] {
  %0 = log(%x) : f32[s0]
  %1 = exp(%0) : f32[s0]
  return %1
})"},
    {"lost sign",
     {"sqrt-square",
      "sqrt(x * x) = x",
      NumericContract::kApproximate,
      Op(ops::sqrt, Op(ops::mul, x, x)),
      {},
      x},
     R"(func @main(%x: f32[s0]) -> f32[s0] {
  %0 = mul(%x, %x) : f32[s0]
  %1 = sqrt(%0) : f32[s0]
  return %1
})"},
    {"sign of zero",
     {"exact-zero-sub",
      "0 - x = -x",
      kBitExact,
      Op(ops::sub, Splat(0.0), x.If(kFloat)),
      {kSameType},
      Op(ops::neg, x)},
     R"(func @main(%x: f32[s0]) -> f32[s0] {
  %0 = constant(dense<0.0>) : f32[]
  %1 = sub(%0, %x) : f32[s0]
  return %1
})"},
    {"sign of zero of a root",
     {"pow-half",
      "pow(x, 0.5) = sqrt(x)",
      kValueSafe,
      Op(ops::pow, x, Splat(0.5)),
      {kSameType},
      Op(ops::sqrt, x)},
     R"(func @main(%x: f32[s0]) -> f32[s0] {
  %0 = constant(dense<0.5>) : f32[]
  %1 = pow(%x, %0) : f32[s0]
  return %1
})"},
    {"reassociation called bit-exact",
     {"add-add-constant",
      "(x + c) + d = x + (c + d)",
      kBitExact,
      Op(ops::add, Op(ops::add, x.If(kFloat), Constant(y)), Constant(z)),
      {},
      Op(ops::add, x, Op(ops::add, y, z))},
     R"(func @main(%x: f32[s0]) -> f32[s0] {
  %0 = constant(dense<0.1>) : f32[]
  %1 = constant(dense<0.7>) : f32[]
  %2 = add(%x, %0) : f32[s0]
  %3 = add(%2, %1) : f32[s0]
  return %3
})"},
    {"distribution called value-safe",
     {"factor-out",
      "x * z + y * z = (x + y) * z",
      kValueSafe,
      Op(ops::add, Op(ops::mul, x.If(kFloat), z), Op(ops::mul, y, z)),
      {},
      Op(ops::mul, Op(ops::add, x, y), z)},
     R"(func @main(%x: f32[s0], %y: f32[s0], %z: f32[s0]) -> f32[s0] {
  %0 = mul(%x, %z) : f32[s0]
  %1 = mul(%y, %z) : f32[s0]
  %2 = add(%0, %1) : f32[s0]
  return %2
})"},
};

}  // namespace

absl::Span<const PlantedRule> ArithmeticFaults() { return kPlanted; }

}  // namespace weft::faults
