// Attention.
#include <limits>

#include "absl/strings/str_cat.h"
#include "graph/ir/builder.h"
#include "graph/ops/ops.h"
#include "graph/sym/sym_ops.h"
#include "serialize/pt2/aten/attention_parts.h"
#include "serialize/pt2/aten/random_numbers.h"
#include "serialize/pt2/aten/tables.h"
#include "serialize/pt2/build.h"

namespace weft::pt2 {
namespace {

bool HasArg(AtenCall& c, absl::string_view name) { return c.schema().Find(name) >= 0; }

// [.., H, L, E] as [B, H, L, E]: joins leading dims, or adds one.
Value* FourDims(AtenCall& c, Value* v) {
  if (v == nullptr) return nullptr;
  const SymInts size = DimsOf(v);
  if (size.size() == 4) return v;
  if (size.size() == 3) {
    // The input has one head.
    return Reshape(c, v, {size[0], SymInt(1), size[1], size[2]});
  }
  if (size.size() == 2) {
    return Reshape(c, v, {SymInt(1), SymInt(1), size[0], size[1]});
  }
  return Flatten(c, v, 0, static_cast<int>(size.size()) - 4);
}

Value* MaskFor(AtenCall& c, Value* mask, Value* query) {
  if (mask == nullptr) return nullptr;
  if (DTypeOf(mask) != DType::kBool) mask = Convert(c, mask, DTypeOf(query));
  const int rank = RankOf(query);
  if (rank == 4 || rank == 2) return mask;
  // A mask over [N, L, S] broadcasts to the one head.
  if (rank == 3 && RankOf(mask) == 3) return Unsqueeze(c, mask, 1);
  if (rank > 4 && RankOf(mask) > 4) {
    SymInts lead = DimsOf(query);
    const SymInts have = DimsOf(mask);
    SymInts size(lead.begin(), lead.end() - 3);
    size.insert(size.end(), have.end() - 3, have.end());
    return Flatten(c, Expand(c, mask, size), 0, rank - 4);
  }
  return mask;
}

// Repeats heads of key or value that several heads of query share.
Value* RepeatHeads(AtenCall& c, Value* v, const Value* query) {
  const int dim = RankOf(v) - 3;
  if (dim < 0 || DimOf(v, dim) == DimOf(query, RankOf(query) - 3)) return v;
  const SymInt times = FloorDiv(DimOf(query, RankOf(query) - 3), DimOf(v, dim));
  SymInts size = DimsOf(v);
  Value* y = Unsqueeze(c, v, dim + 1);
  size.insert(size.begin() + dim + 1, times);
  return Flatten(c, Expand(c, y, size), dim, dim + 1);
}

// Hides scores where a bool mask, or the causal one, is false.
Value* Masked(AtenCall& c, Value* scores, Value* keep) {
  constexpr double kHidden = -std::numeric_limits<double>::infinity();
  return Where(c, keep, scores, NumberLike(c, scores, kHidden));
}

Value* CausalMask(AtenCall& c, const Value* query, const Value* key) {
  Value* row = Unsqueeze(c, Iota(c, DimOf(query, RankOf(query) - 2)), 1);
  return c.Op(ops::ge, {row, Iota(c, DimOf(key, RankOf(key) - 2))});
}

}  // namespace

Value* AttentionScale(AtenCall& c, const Value* query) {
  if (c.Has("scale")) return NumberLike(c, query, c.Float("scale"));
  Value* e = SymScalar(c, DimOf(query, RankOf(query) - 1), Wide(DTypeOf(query)));
  return Convert(c, c.Op(ops::rsqrt, {e}), DTypeOf(query));
}

Value* AttentionScores(AtenCall& c, Value* query, Value* key, Value* mask) {
  const int rank = RankOf(query);
  Value* scores = c.Op(ops::matmul, {query, Permute(c, key, MoveDim(rank, rank - 1, rank - 2))});
  scores = Mul(c, scores, AttentionScale(c, query));
  if (c.Bool("is_causal")) scores = Masked(c, scores, CausalMask(c, query, key));
  if (mask != nullptr && DTypeOf(mask) == DType::kBool) return Masked(c, scores, mask);
  return mask == nullptr ? scores : Add(c, scores, Convert(c, mask, DTypeOf(scores)));
}

namespace {

// Attention step by step, because dropout applies to the weights of the softmax.
Value* AttendWithDropout(AtenCall& c, Value* query, Value* key, Value* value, Value* mask) {
  const double p = c.Float("dropout_p");
  if (HasArg(c, "enable_gqa") && c.Bool("enable_gqa")) {
    key = RepeatHeads(c, key, query);
    value = RepeatHeads(c, value, query);
  }
  Value* scores = AttentionScores(c, query, key, mask);
  Value* weights = c.Op(ops::softmax, {scores}, {{"dim", -1}});
  weights = Dropped(c, weights, KeepMask(c, DimsOf(weights), p), p);
  return c.Op(ops::matmul, {weights, value});
}

}  // namespace

Value* Attend(AtenCall& c, Value* mask) {
  Value* query = c.T("query");
  Value* key = c.T("key");
  Value* value = c.T("value");
  if (RankOf(query) < 2) return c.Fail("query has too few dims");
  if (HasArg(c, "dropout_p") && c.Float("dropout_p") != 0) {
    return AttendWithDropout(c, query, key, value, mask);
  }
  std::vector<NamedAttr> attrs = {{"is_causal", c.Bool("is_causal")}};
  if (c.Has("scale")) attrs.push_back({"scale", c.Float("scale")});
  if (HasArg(c, "enable_gqa")) {
    attrs.push_back({"enable_gqa", c.Bool("enable_gqa")});
  }
  const std::vector<Value*> operands = {FourDims(c, query), FourDims(c, key), FourDims(c, value),
                                        MaskFor(c, mask, query)};
  if (!c.ok()) return nullptr;
  Value* y = c.b().Op(ops::scaled_dot_product_attention, operands, attrs);
  SymInts size = DimsOf(query);
  if (value == nullptr) return nullptr;
  size.back() = DimOf(value, RankOf(value) - 1);
  return Reshape(c, y, size);
}

namespace {

void Sdpa(AtenCall& c) { c.Return(Attend(c, c.OptT("attn_mask"))); }

constexpr AtenOp kTable[] = {
    {"scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, "
     "Tensor? attn_mask=None, float dropout_p=0., bool is_causal=False, *, "
     "float? scale=None, bool enable_gqa=False) -> Tensor",
     Sdpa},
};

}  // namespace

absl::Span<const AtenOp> AttentionTable() { return kTable; }

}  // namespace weft::pt2
