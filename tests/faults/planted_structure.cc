// Dims, parts and reductions.
#include <vector>

#include "graph/ir/builder.h"
#include "graph/ir/node.h"
#include "graph/ops/ops.h"
#include "passes/engine/rewrite/rewriter.h"
#include "tests/faults/planted_tables.h"

namespace weft::faults {
namespace {

using namespace pattern;  // NOLINT

constexpr Guard kPartsAlike = {"x and y have one type",
                               [](const Node&, Match& m) { return m[x]->type() == m[y]->type(); }};

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
    {"lost broadcast",
     {"where-same", "where(c, x, x) = x", kBitExact, Op(ops::where, Any(), x, x), {}, x},
     R"(func @main(%c: bool[s1], %x: f32[s0]) -> f32[broadcast(s0, s1)] {
  %0 = where(%c, %x, %x) : f32[broadcast(s0, s1)]
  return %0
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

}  // namespace

absl::Span<const PlantedRule> StructureFaults() { return kPlanted; }

}  // namespace weft::faults
