// Attention: softmax(query key^T) value.
#include <algorithm>
#include <cmath>
#include <limits>

#include "graph/ir/numeric_contract.h"
#include "graph/ir/op_flops.h"
#include "graph/ops/nn/product.h"
#include "graph/ops/ops.h"
#include "graph/ops/support/build.h"
#include "graph/ops/support/op.h"
#include "graph/sym/sym_ops.h"

namespace weft::ops {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

// [batch..., query length, key length]
std::vector<SymInt> ScoreDims(const OpArgs& args) {
  std::vector<SymInt> dims = DimsOf(args.type(0));
  dims.back() = args.type(1).dim(args.type(1).rank() - 2);
  return dims;
}

absl::Status VerifyMask(const OpArgs& args) {
  if (!args.has(3)) return absl::OkStatus();
  const Type mask = args.type(3);
  if (mask.dtype() != DType::kBool && mask.dtype() != DType::kF32) {
    WEFT_RETURN_IF_ERROR(CheckSameDType(args, 0, 3));
  }
  const std::vector<SymInt> dims = ScoreDims(args);
  const int shift = static_cast<int>(dims.size()) - mask.rank();
  bool fits = shift >= 0;
  for (int d = 0; fits && d < mask.rank(); ++d) {
    fits = MayBroadcastTo(args, mask.dim(d), dims[shift + d]);
  }
  if (fits) return absl::OkStatus();
  return Invalid("attn_mask of ", mask.ToString(), " does not broadcast to the scores of ",
                 ToString(dims));
}

absl::Status Verify(const OpArgs& args) {
  const Type query = args.type(0);
  const int rank = query.rank();
  const bool gqa = args.attrs().Bool("enable_gqa");
  for (int i : {0, 1, 2}) {
    WEFT_RETURN_IF_ERROR(CheckFloat(args, i));
    WEFT_RETURN_IF_ERROR(CheckSameDType(args, 0, i));
    WEFT_RETURN_IF_ERROR(CheckRankAtLeast(args, i, gqa ? 3 : 2));
    WEFT_RETURN_IF_ERROR(CheckRank(args, i, rank));
  }
  const Type key = args.type(1);
  const Type value = args.type(2);
  for (int d = 0; d + 1 < rank; ++d) {
    WEFT_RETURN_IF_ERROR(
        CheckEqualSizes(args, key.dim(d), value.dim(d), absl::StrCat("key and value in dim ", d)));
    if (d + 2 == rank) break;
    const bool heads = gqa && d + 3 == rank;
    WEFT_RETURN_IF_ERROR(CheckEqualSizes(
        args, heads ? Mod(query.dim(d), key.dim(d)) : query.dim(d), heads ? SymInt(0) : key.dim(d),
        heads ? "heads of query modulo those of key" : absl::StrCat("query and key in dim ", d)));
  }
  WEFT_RETURN_IF_ERROR(CheckEqualSizes(args, query.dim(rank - 1), key.dim(rank - 1),
                                       "the features of query and key"));
  return VerifyMask(args);
}

absl::StatusOr<Types> Infer(const OpArgs& args) {
  std::vector<SymInt> dims = DimsOf(args.type(0));
  dims.back() = args.type(2).dims().back();
  return Types{args.type(0).WithDims(dims)};
}

// --- Decomposition ----------------------------------------------------------------

// Every head of keys or values, once for each head of queries that shares it.
Value* RepeatHeads(Builder& b, const OpArgs& args, Value* v) {
  if (v == nullptr || !args.attrs().Bool("enable_gqa")) return v;
  std::vector<SymInt> size = DimsOf(v->type());
  const size_t heads = size.size() - 3;
  const SymInt have = size[heads];
  const SymInt want = args.type(0).dim(static_cast<int>(heads));
  if (have == want) return v;
  size.insert(size.begin() + heads + 1, SymInt(1));
  v = Reshape(b, v, size);
  size[heads + 1] = FloorDiv(want, have);
  v = Expand(b, v, size);
  size.erase(size.begin() + heads);
  size[heads] = want;
  return Reshape(b, v, size);
}

// A scalar, or the reciprocal root of the features.
Value* Scale(Builder& b, const OpArgs& args, DType dtype) {
  if (args.attrs().Has("scale")) {
    return b.Scalar(dtype, args.attrs().Float("scale"));
  }
  const SymInt features = args.type(0).dims().back();
  if (features.is_constant()) {
    return b.Scalar(dtype, 1 / std::sqrt(static_cast<double>(features.value())));
  }
  Value* size = b.Op(sym_constant, {},
                     {{"values", std::vector<SymInt>{features}}, {"size", std::vector<int64_t>{}}});
  return b.Op(rsqrt, {Convert(b, size, dtype)});
}

// True where a query may see a key: not after it.
Value* CausalMask(Builder& b, SymInt queries, SymInt keys) {
  Value* row = b.Op(arange, {}, {{"start", 0}, {"end", queries}});
  Value* column = b.Op(arange, {}, {{"start", 0}, {"end", keys}});
  return b.Op(ge, {Reshape(b, row, {queries, SymInt(1)}), column});
}

Value* MaskScores(Builder& b, const OpArgs& args, Value* scores) {
  const DType dtype = ComputeDType(args.type(0).dtype());
  Value* hidden = b.Scalar(dtype, -kInf);
  if (args.has(3)) {
    Value* mask = args.operand(3);
    scores = args.type(3).dtype() == DType::kBool ? b.Op(where, {mask, scores, hidden})
                                                  : b.Op(add, {scores, Convert(b, mask, dtype)});
  }
  if (args.attrs().Bool("is_causal")) {
    const std::vector<SymInt> dims = ScoreDims(args);
    Value* mask = CausalMask(b, dims[dims.size() - 2], dims.back());
    scores = b.Op(where, {mask, scores, hidden});
  }
  return scores;
}

std::vector<Value*> Decompose(Builder& b, const OpArgs& args) {
  const DType dtype = args.type(0).dtype();
  const DType wide = ComputeDType(dtype);
  const double softcap = args.attrs().Float("softcap");
  Value* query = Convert(b, args.operand(0), wide);
  Value* key = RepeatHeads(b, args, Convert(b, args.operand(1), wide));
  Value* value = RepeatHeads(b, args, Convert(b, args.operand(2), wide));
  query = b.Op(mul, {query, Scale(b, args, wide)});
  Value* scores = b.Op(matmul, {query, Transpose(b, key)});
  if (softcap > 0) {
    scores = b.Op(tanh, {WithScalar(b, div, scores, softcap)});
    scores = WithScalar(b, mul, scores, softcap);
  }
  const bool masked = args.has(3) || args.attrs().Bool("is_causal");
  scores = MaskScores(b, args, scores);
  Value* weights = b.Op(softmax, {scores}, {{"dim", -1}});
  if (masked) {
    // A query that sees no key has weights of 0, not NaN.
    weights = b.Op(where, {WithScalar(b, eq, scores, -kInf), b.Scalar(wide, 0), weights});
  }
  return {Convert(b, b.Op(matmul, {weights, value}), dtype)};
}

// --- Evaluation -------------------------------------------------------------------

struct Problem {
  // Number of batches of queries, and number of them that share one of keys and values.
  int64_t batches, shared;
  int64_t queries, keys, features, value_features;
};

Problem ProblemOf(const EvalContext& c) {
  const HostTensor& query = c.in(0);
  const HostTensor& value = c.in(2);
  const int rank = query.rank();
  const int64_t batches = Numel(query.dims().first(rank - 2));
  const int64_t shared = batches / std::max<int64_t>(1, Numel(value.dims().first(rank - 2)));
  return {batches,
          shared,
          query.dim(rank - 2),
          value.dim(rank - 2),
          query.dim(rank - 1),
          value.dim(rank - 1)};
}

void AddMask(const EvalContext& c, const Problem& p, std::vector<double>* scores) {
  if (c.has(3)) {
    const std::vector<double> mask = Read<double>(c.in(3));
    const bool is_bool = c.in(3).dtype() == DType::kBool;
    std::vector<int64_t> dims(c.in(0).dims().begin(), c.in(0).dims().end());
    dims.back() = p.keys;
    ForEachOffset<1>(dims, {BroadcastStrides(c.in(3).dims(), dims)},
                     [&](int64_t i, const std::array<int64_t, 1>& at) {
                       const double m = mask[at[0]];
                       if (!is_bool) (*scores)[i] += m;
                       if (is_bool && m == 0) (*scores)[i] = -kInf;
                     });
  }
  if (!c.attrs().Bool("is_causal")) return;
  for (int64_t row = 0; row < p.batches * p.queries; ++row) {
    for (int64_t j = row % p.queries + 1; j < p.keys; ++j) {
      (*scores)[row * p.keys + j] = -kInf;
    }
  }
}

// Softmax of a row in place; all zeros where every score is -inf.
void SoftmaxRow(double* v, int64_t n) {
  double top = -kInf;
  for (int64_t i = 0; i < n; ++i) {
    if (v[i] > top || IsNan(v[i])) top = v[i];
  }
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    v[i] = v[i] == -kInf ? 0 : std::exp(v[i] - top);
    sum += v[i];
  }
  for (int64_t i = 0; i < n && sum != 0; ++i) v[i] /= sum;
}

absl::Status Eval(EvalContext& c) {
  const Problem p = ProblemOf(c);
  const double softcap = c.attrs().Float("softcap");
  const double scale = c.attrs().Has("scale") ? c.attrs().Float("scale")
                                              : 1 / std::sqrt(static_cast<double>(p.features));
  const std::vector<double> query = Read<double>(c.in(0));
  const std::vector<double> key = Read<double>(c.in(1));
  const std::vector<double> value = Read<double>(c.in(2));
  std::vector<double> scores =
      Multiply<double>({p.batches, p.queries, p.keys, p.features,
                        [&](int64_t i) { return query.data() + i * p.queries * p.features; },
                        [&](int64_t i, const Panel& panel, double* to) {
                          CopyTransposedPanel(key.data() + i / p.shared * p.keys * p.features,
                                              p.features, panel, to);
                        }});
  for (double& v : scores) {
    v *= scale;
    if (softcap > 0) v = softcap * std::tanh(v / softcap);
  }
  AddMask(c, p, &scores);
  ParallelChunks(p.batches * p.queries, 64, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      SoftmaxRow(scores.data() + i * p.keys, p.keys);
    }
  });
  Write(Multiply<double>({p.batches, p.queries, p.value_features, p.keys,
                          [&](int64_t i) { return scores.data() + i * p.queries * p.keys; },
                          [&](int64_t i, const Panel& panel, double* to) {
                            CopyPanel(value.data() + i / p.shared * p.keys * p.value_features,
                                      p.value_features, panel, to);
                          }}),
        &c.out(0));
  return absl::OkStatus();
}

// Scores, softmax and the product with the values; of a causal one all of it.
SymInt Flops(const FlopsArgs& args) {
  const Type query = args.operands[0];
  const Type value = args.operands[2];
  const SymInt keys = value.dim(value.rank() - 2);
  const SymInt pairs = Product(query.dims().first(query.rank() - 1)) * keys;
  const SymInt masked = args.has(3) ? pairs : SymInt(0);
  return 2 * args.operand_size() * keys + 6 * pairs + masked + 2 * args.result_size() * keys;
}

}  // namespace

WEFT_DEFINE_OP(scaled_dot_product_attention,
               OpSpec("scaled_dot_product_attention(Tensor query, Tensor key, "
                      "Tensor value, Tensor? attn_mask, bool is_causal=False, "
                      "float? scale=None, float softcap=0, bool enable_gqa=False) -> "
                      "Tensor",
                      "softmax(mask(cap(query key^T scale))) value over the last two dims "
                      "of [batch..., heads, length, features]. scale is 1 / "
                      "sqrt(features) when absent; cap(x) = softcap tanh(x / softcap) "
                      "unless softcap is 0. A mask of bools says which keys a query sees, "
                      "one of floats, in the query's dtype or f32, is added; is_causal hides key j "
                      "from query i < j. A "
                      "query that sees no key gives 0. With enable_gqa the heads of key "
                      "and value are shared by consecutive heads of query. Floats of less "
                      "than 32 bits are computed in f32. ATen: "
                      "aten::scaled_dot_product_attention, without dropout; ONNX: "
                      "Attention-24.")
                   .Verify(Verify)
                   .Infer(Infer)
                   .Decompose(Decompose)
                   .DecomposeContract(NumericContract::kReassociating)
                   .Eval(Eval)
                   .Flops(Flops)
                   .Samples(R"(
scaled_dot_product_attention(f32[2, 3, 4, 8], f32[2, 3, 5, 8], f32[2, 3, 5, 6], none)
scaled_dot_product_attention(f32[2, 3, 4, 8], f32[2, 3, 5, 8], f32[2, 3, 5, 6], f32[4, 5])
scaled_dot_product_attention(f32[2, 3, 4, 8], f32[2, 3, 5, 8], f32[2, 3, 5, 6], bool[2, 1, 4, 5], scale=0.5)
scaled_dot_product_attention(f32[1, 1, 2, 4], f32[1, 1, 3, 4], f32[1, 1, 3, 2], bool[2, 3]{0, 0, 0, 1, 0, 1})
scaled_dot_product_attention(f32[1, 2, 5, 4], f32[1, 2, 3, 4], f32[1, 2, 3, 4], none, is_causal=true)
scaled_dot_product_attention(f32[1, 2, 3, 4], f32[1, 2, 5, 4], f32[1, 2, 5, 4], f32[1, 1, 1, 5], is_causal=true, softcap=2)
scaled_dot_product_attention(f32[2, 6, 3, 4], f32[2, 2, 5, 4], f32[2, 2, 5, 4], f32[6, 3, 5], enable_gqa=true)
scaled_dot_product_attention(f64[3, 4], f64[5, 4], f64[5, 2], none)
scaled_dot_product_attention(f16[2, 3, 4], f16[2, 5, 4], f16[2, 5, 4], f16[3, 5])
scaled_dot_product_attention(bf16[2, 3, 4], bf16[2, 5, 4], bf16[2, 5, 4], none)
scaled_dot_product_attention(bf16[2, 2, 3, 4], bf16[2, 2, 5, 4], bf16[2, 2, 5, 4], f32[2, 1, 1, 5])
scaled_dot_product_attention(f16[2, 1, 4], f16[2, 3, 4], f16[2, 3, 4], f32[3]{0, -3.4e38, -1e6})
scaled_dot_product_attention(f32[2, 0, 4], f32[2, 5, 4], f32[2, 5, 4], none)
scaled_dot_product_attention(f32[2, 3, 4], f32[2, 5, 3], f32[2, 5, 4], none) ! "the features of query and key: 4 and 3 differ"
scaled_dot_product_attention(f32[2, 3, 4], f32[2, 5, 4], f32[2, 6, 4], none) ! "key and value in dim 1: 5 and 6 differ"
scaled_dot_product_attention(f32[2, 3, 4], f32[1, 5, 4], f32[1, 5, 4], none) ! "query and key in dim 0: 2 and 1 differ"
scaled_dot_product_attention(f32[3, 3, 4], f32[2, 5, 4], f32[2, 5, 4], none, enable_gqa=true) ! "heads of query modulo those of key"
scaled_dot_product_attention(f32[2, 3, 4], f32[2, 5, 4], f32[2, 5, 4], f32[5, 3]) ! "does not broadcast to the scores of [2, 3, 5]"
scaled_dot_product_attention(f32[2, 3, 4], f32[2, 5, 4], f32[2, 5, 4], f64[3, 5]) ! "different dtypes"
scaled_dot_product_attention(f32[2, 3, 4], f32[5, 4], f32[5, 4], none) ! "key must have rank 3"
scaled_dot_product_attention(i32[2, 4], i32[5, 4], i32[5, 4], none) ! "a float dtype"
)"));

}  // namespace weft::ops
