#include "tests/faults/planted_rules.h"

#include <vector>

#include "graph/ops/ops.h"
#include "passes/canonicalize.h"
#include "passes/rewrite/constants.h"
#include "passes/rewrite/driver.h"
#include "passes/rewrite/predicates.h"
#include "passes/rewrite/rewriter.h"

namespace weft::faults {
namespace {

using namespace pattern;  // NOLINT

constexpr NumericContract kBitExact = NumericContract::kBitExact;
constexpr NumericContract kValueSafe = NumericContract::kValueSafe;

// `number` in the shape of the root.
Value* Filled(const Match& m, Rewriter& r, double number) {
  const Type type = m.root->result()->type();
  return r.Op(ops::expand, {r.Scalar(type.dtype(), number)}, {{"size", type.dims()}});
}

constexpr Guard kSameType = {"x has the root's type", [](const Node& root, Match& m) {
                               return m[x]->type() == root.result()->type();
                             }};
constexpr Guard kPartsAlike = {"x and y have one type",
                               [](const Node&, Match& m) { return m[x]->type() == m[y]->type(); }};

// Guards for one op each: convert through a dtype that is narrower.
template <DType dtype>
constexpr Guard Through() {
  return {"through a narrow dtype", [](const Node& root, Match& m) {
            return root.operand(0)->type().dtype() == dtype &&
                   m[x]->type() == root.result()->type();
          }};
}

// permute(permute(x, p), q) with the permutations the wrong way round.
Value* BuildPermutation(const Match& m, Rewriter& r) {
  const std::vector<int64_t> outer = m.root->attrs().Ints("dims");
  const std::vector<int64_t> inner = m.root->operand(0)->node()->attrs().Ints("dims");
  std::vector<int64_t> dims;
  for (int64_t d : inner) dims.push_back(outer[d]);
  return r.Op(ops::permute, {m[x]}, {{"dims", dims}});
}

// The second slice's start alone; the length is right.
Value* BuildSlice(const Match& m, Rewriter& r) {
  const Attrs attrs = m.root->attrs();
  const int64_t dim = attrs.Int("dim");
  const SymInt start = attrs.Sym("start");
  const SymInt length = m.root->result()->type().dim(static_cast<int>(dim));
  return r.Op(ops::slice, {m[x]}, {{"dim", dim}, {"start", start}, {"end", start + length}});
}

// The root's op with its attributes, on x.
Value* BuildRootOnX(const Match& m, Rewriter& r) {
  return r.Create(m.root->op(), {m[x]}, m.root->attr_list())[0];
}

// sum(x) / max(number of elements, 1)
Value* BuildMean(const Match& m, Rewriter& r) {
  const Type type = m[x]->type();
  const AttrList* attrs = m.root->attr_list();
  Value* one = r.Scalar(type.dtype(), 1);
  Value* ones = r.Op(ops::expand, {one}, {{"size", type.dims()}});
  Value* count = r.Op(ops::maximum, {r.Create(ops::sum, {ones}, attrs)[0], one});
  return r.Op(ops::div, {r.Create(ops::sum, {m[x]}, attrs)[0], count});
}

Value* BuildTruncatedDiv(const Match& m, Rewriter& r) {
  return r.Op(ops::div, {m[x], m[y]}, {{"rounding_mode", "trunc"}});
}
constexpr Guard kFloorMode = {"rounds down", [](const Node& root, Match&) {
                                return root.attrs().Has("rounding_mode") &&
                                       root.attrs().Str("rounding_mode") == "floor";
                              }};

constexpr Guard kDimZero = {"over dim 0", [](const Node& root, Match&) {
                              return root.attrs().Ints("dim") == std::vector<int64_t>{0};
                            }};
constexpr Guard kEqualDims = {"along one dim", [](const Node& root, Match&) {
                                return root.attrs().Int("dim") ==
                                       root.operand(0)->node()->attrs().Int("dim");
                              }};
constexpr Guard kFirstPart = {"the first part", [](const Node& root, Match& m) {
                                return root.attrs().Sym("start").Is(0) &&
                                       root.result()->type() == m[x]->type();
                              }};

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
    {"lost broadcast",
     {"where-same", "where(c, x, x) = x", kBitExact, Op(ops::where, Any(), x, x), {}, x},
     R"(func @main(%c: bool[s1], %x: f32[s0]) -> f32[broadcast(s0, s1)] {
  %0 = where(%c, %x, %x) : f32[broadcast(s0, s1)]
  return %0
})"},
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
    {"wrong axis",
     {"sum-of-permute",
      "sum(permute(x), d) = sum(x, d)",
      kValueSafe,
      Op(ops::sum, Op(ops::permute, x)),
      {},
      BuildRootOnX},
     R"(func @main(%x: f32[3, 3]) -> f32[3] {
  %0 = permute(%x, dims=[1, 0]) : f32[3, 3]
  %1 = sum(%0, dim=[0]) : f32[3]
  return %1
})"},
    {"wrong reduction dim",
     {"amax-other-dim",
      "amax(tanh(x), 0) = amax(tanh(x), 1)",
      kBitExact,
      Op(ops::amax, Op(ops::tanh, x)),
      {kDimZero},
      [](const Match& m, Rewriter& r) {
        return r.Op(ops::amax, {m.root->operand(0)}, {{"dim", std::vector<int64_t>{1}}});
      }},
     R"(func @main(%x: f32[4, 4]) -> f32[4] {
  %0 = tanh(%x) : f32[4, 4]
  %1 = amax(%0, dim=[0]) : f32[4]
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
    {"wrong slice start",
     {"slice-slice-start",
      "x[a:][b:c] = x[b:c]",
      kBitExact,
      Op(ops::slice, Op(ops::slice, x)),
      {kEqualDims},
      BuildSlice},
     R"(func @main(%x: i64[9, 2]) -> i64[3, 2] {
  %0 = slice(%x, dim=0, start=2) : i64[7, 2]
  %1 = slice(%0, dim=0, start=1, end=4) : i64[3, 2]
  return %1
})"},
    {"wrong part of a concatenation",
     {"slice-of-cat",
      "cat(x, y)[0:n] = y",
      kBitExact,
      Op(ops::slice, Op(ops::cat, x, y)),
      {kPartsAlike, kFirstPart},
      y},
     R"(func @main(%x: f32[2, 3], %y: f32[2, 3]) -> f32[2, 3] {
  %0 = cat(%x, %y, dim=1) : f32[2, 6]
  %1 = slice(%0, dim=1, end=3) : f32[2, 3]
  return %1
})"},
    {"empty sums",
     {"mean-of-empty",
      "mean(x) = sum(x) / max(n, 1)",
      NumericContract::kReassociating,
      Op(ops::mean, x),
      {},
      BuildMean},
     R"(func @main(%x: f32[s0]) -> f32[] {
  %0 = mean(%x, dim=[0]) : f32[]
  return %0
})"},
    {"empty conjunction",
     {"any-not-not",
      "any(not x) = all(not x)",
      kBitExact,
      Op(ops::any, Op(ops::lt, x, x)),
      {},
      [](const Match& m, Rewriter& r) {
        return r.Create(ops::all, {m.root->operand(0)}, m.root->attr_list())[0];
      }},
     R"(func @main(%x: i32[s0]) -> bool[] {
  %0 = lt(%x, %x) : bool[s0]
  %1 = any(%0, dim=[0]) : bool[]
  return %1
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
    {"wrong permutation",
     {"permute-permute-order",
      "permute(permute(x, p), q) = permute(x, q[p])",
      kBitExact,
      Op(ops::permute, Op(ops::permute, x)),
      {},
      BuildPermutation},
     R"(func @main(%x: f32[2, 2, 2]) -> f32[2, 2, 2] {
  %0 = permute(%x, dims=[1, 0, 2]) : f32[2, 2, 2]
  %1 = permute(%0, dims=[0, 2, 1]) : f32[2, 2, 2]
  return %1
})"},
    {"lost permutation",
     {"reshape-of-permute",
      "reshape(permute(x)) = reshape(x)",
      kBitExact,
      Op(ops::reshape, Op(ops::permute, x)),
      {},
      BuildRootOnX},
     R"(func @main(%x: f32[2, 3]) -> f32[6] {
  %0 = permute(%x, dims=[1, 0]) : f32[3, 2]
  %1 = reshape(%0, size=[6]) : f32[6]
  return %1
})"},
    {"factors of a transpose not exchanged",
     {"matmul-of-permutes",
      "x' @ y' = (x @ y)'",
      NumericContract::kReassociating,
      Op(ops::matmul, Op(ops::permute, x), Op(ops::permute, y)),
      {},
      [](const Match& m, Rewriter& r) {
        return r.Op(ops::permute, {r.Op(ops::matmul, {m[x], m[y]})},
                    {{"dims", std::vector<int64_t>{1, 0}}});
      }},
     R"(func @main(%x: f32[3, 3], %y: f32[3, 3]) -> f32[3, 3] {
  %0 = permute(%x, dims=[1, 0]) : f32[3, 3]
  %1 = permute(%y, dims=[1, 0]) : f32[3, 3]
  %2 = matmul(%0, %1) : f32[3, 3]
  return %2
})"},
    {"lost count",
     {"sum-of-expand",
      "sum(expand(x)) = sum(x)",
      NumericContract::kReassociating,
      Op(ops::sum, Op(ops::expand, x)),
      {},
      BuildRootOnX},
     R"(func @main(%x: f32[1, 3]) -> f32[3] {
  %0 = expand(%x, size=[4, 3]) : f32[4, 3]
  %1 = sum(%0, dim=[0]) : f32[3]
  return %1
})"},
};

class PlantedPass : public Pass {
 public:
  absl::string_view name() const override { return "planted"; }
  absl::string_view doc() const override { return "canonicalize with a wrong rule."; }
  void VisitOptions(OptionVisitor& visitor) override {
    visitor.Visit("rule", &rule_, "Name of the rule.");
  }
  absl::Status Run(Module& module, PassContext& context) override {
    std::vector<absl::Span<const Rule>> themes;
    for (const PlantedRule& planted : kPlanted) {
      if (planted.rule.name == rule_) themes.push_back({&planted.rule, 1});
    }
    for (absl::Span<const Rule> theme : CanonicalizeRules()) themes.push_back(theme);
    return ApplyRules(module, context, themes);
  }

 private:
  std::string rule_;
};

}  // namespace

absl::Span<const PlantedRule> PlantedRules() { return kPlanted; }

std::unique_ptr<Pass> CreatePlantedPass() { return std::make_unique<PlantedPass>(); }

}  // namespace weft::faults
