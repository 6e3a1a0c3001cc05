// Attention.
#include <cmath>

#include "absl/strings/str_cat.h"
#include "graph/ops/ops.h"
#include "serialize/pt2/aten/tables.h"
#include "serialize/pt2/build.h"

namespace weft::pt2 {
namespace {

bool HasArg(AtenCall& c, absl::string_view name) { return c.schema().Find(name) >= 0; }

// [.., H, L, E] as [B, H, L, E]: leading dims as one, or a new one.
Value* FourDims(AtenCall& c, Value* v) {
  if (v == nullptr) return nullptr;
  const SymInts size = DimsOf(v);
  if (size.size() == 4) return v;
  if (size.size() == 3) {
    // One head.
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
  // A mask over [N, L, S] for heads of one.
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

Value* Attend(AtenCall& c, Value* mask) {
  Value* query = c.T("query");
  Value* key = c.T("key");
  Value* value = c.T("value");
  if (HasArg(c, "dropout_p") && c.Float("dropout_p") != 0) {
    return c.Unsupported("attention with dropout draws numbers");
  }
  if (RankOf(query) < 2) return c.Fail("query has too few dims");
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

void Sdpa(AtenCall& c) { c.Return(Attend(c, c.OptT("attn_mask"))); }

// Also the logarithms of the sums, [B, H, L] in f32.
void SdpaForCpu(AtenCall& c) {
  Value* mask = c.OptT("attn_mask");
  c.Return(Attend(c, mask));
  Value* query = c.T("query");
  Value* key = c.T("key");
  if (!c.ok() || RankOf(query) != 4 || c.Bool("is_causal")) {
    // Used in training alone; there is no other reader.
    SymInts size = DimsOf(query);
    if (!size.empty()) size.pop_back();
    return c.Return(Zeros(c, size, DType::kF32));
  }
  const SymInt e = DimOf(query, 3);
  const double scale =
      c.Float("scale",
              e.is_constant() && e.value() > 0 ? 1 / std::sqrt(static_cast<double>(e.value())) : 1);
  Value* scores = c.Op(ops::matmul, {Convert(c, query, DType::kF32),
                                     Permute(c, Convert(c, key, DType::kF32), {0, 1, 3, 2})});
  scores = Mul(c, scores, scale);
  if (mask != nullptr) scores = Add(c, scores, Convert(c, mask, DType::kF32));
  c.Return(Reduce(c, ops::logsumexp, scores, {3}, false));
}

constexpr AtenOp kTable[] = {
    {"_scaled_dot_product_flash_attention_for_cpu(Tensor query, Tensor key, "
     "Tensor value, float dropout_p=0., bool is_causal=False, *, Tensor? "
     "attn_mask=None, float? scale=None) -> (Tensor output, Tensor logsumexp)",
     SdpaForCpu},
    {"scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, "
     "Tensor? attn_mask=None, float dropout_p=0., bool is_causal=False, *, "
     "float? scale=None, bool enable_gqa=False) -> Tensor",
     Sdpa},
};

}  // namespace

absl::Span<const AtenOp> AttentionTable() { return kTable; }

}  // namespace weft::pt2
