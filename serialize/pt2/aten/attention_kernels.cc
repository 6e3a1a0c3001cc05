// Attention kernels that PyTorch chooses and that training graphs call by name: they also return
// the logsumexp of each row; and their gradients.
#include <limits>

#include "graph/ir/builder.h"
#include "graph/ops/ops.h"
#include "graph/sym/sym_ops.h"
#include "serialize/pt2/aten/attention_parts.h"
#include "serialize/pt2/aten/tables.h"
#include "serialize/pt2/build.h"

namespace weft::pt2 {
namespace {

Value* MaskOf(AtenCall& c) {
  for (const char* name : {"attn_mask", "attn_bias"}) {
    if (c.schema().Find(name) >= 0) return c.OptT(name);
  }
  return nullptr;
}

// The scores, in f32 if they are narrower.
Value* WideScores(AtenCall& c) {
  Value* query = c.T("query");
  Value* key = c.T("key");
  if (RankOf(query) != 4 || RankOf(key) != 4) return c.Fail("query and key must have 4 dims");
  if (c.Float("dropout_p") != 0) return c.Unsupported("dropout within a kernel of attention");
  const DType wide = Wide(DTypeOf(query));
  return AttentionScores(c, Convert(c, query, wide), Convert(c, key, wide), MaskOf(c));
}

// [B, H, L]
Value* LogSums(AtenCall& c) { return Reduce(c, ops::logsumexp, WideScores(c), {3}, false); }

void ForCpu(AtenCall& c) {
  c.Return(Attend(c, MaskOf(c)));
  c.Return(LogSums(c));
}

// The random state that a kernel of another device returns: zeros, because nothing is dropped.
Value* NoSeed(AtenCall& c, Ints dims, DType dtype) { return Zeros(c, ToSymInts(dims), dtype); }

// The logsumexp of rows is padded to blocks of 32, if it is requested.
void Efficient(AtenCall& c) {
  c.Return(Attend(c, MaskOf(c)));
  Value* sums = LogSums(c);
  const SymInt rows = DimOf(sums, 2);
  const SymInt padded = c.Bool("compute_log_sumexp") ? CeilDiv(rows, 32) * 32 : SymInt(0);
  SymInts pad(6, SymInt(0));
  pad[5] = padded - rows;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  c.Return(c.Op(ops::pad, {sums, NumberLike(c, sums, kInfinity)}, {{"pad", pad}}));
  c.Return(NoSeed(c, {}, DType::kI64));
  c.Return(NoSeed(c, {}, DType::kI64));
}

void Flash(AtenCall& c) {
  if (c.Bool("return_debug_mask")) return c.Return(c.Unsupported("a mask for debugging"));
  c.Return(Attend(c, nullptr));
  c.Return(LogSums(c));
  c.ReturnNone();  // cum_seq_q, cum_seq_k
  c.ReturnNone();
  c.Return(DimOf(c.T("query"), 2));
  c.Return(DimOf(c.T("key"), 2));
  c.Return(NoSeed(c, {2}, DType::kU64));
  c.Return(NoSeed(c, {}, DType::kU64));
  c.Return(NoSeed(c, {0}, DTypeOf(c.T("query"))));
}

// The logsumexp keeps the dim of the keys, with size 1. PyTorch returns it whether or not it is
// requested.
void Cudnn(AtenCall& c) {
  if (c.Bool("return_debug_mask")) return c.Return(c.Unsupported("a mask for debugging"));
  c.Return(Attend(c, MaskOf(c)));
  c.Return(Reduce(c, ops::logsumexp, WideScores(c), {3}, true));
  c.ReturnNone();  // cum_seq_q, cum_seq_k
  c.ReturnNone();
  c.Return(DimOf(c.T("query"), 2));
  c.Return(DimOf(c.T("key"), 2));
  c.Return(NoSeed(c, {}, DType::kI64));
  c.Return(NoSeed(c, {}, DType::kI64));
  c.ReturnNone();  // debug_attn_mask
}

// Gradients of softmax(q k^T scale + mask) v; the weights are computed again. Rows whose scores are
// all hidden have weights of 0.
struct Gradients {
  Value* query = nullptr;
  Value* key = nullptr;
  Value* value = nullptr;
  Value* scores = nullptr;
};

Gradients GradientsOf(AtenCall& c, Value* grad) {
  Value* scores = WideScores(c);
  const DType wide = DTypeOf(scores);
  const auto widened = [&](absl::string_view name) { return Convert(c, c.T(name), wide); };
  const auto turned = [&](Value* v) { return Permute(c, v, {0, 1, 3, 2}); };
  const auto product = [&](Value* a, Value* b) { return c.Op(ops::matmul, {a, b}); };
  grad = Convert(c, grad, wide);
  Value* weights = c.Op(ops::softmax, {scores}, {{"dim", 3}});
  Value* hidden = Reduce(c, ops::amax, scores, {3}, true);
  hidden = c.Op(ops::eq, {hidden, NumberLike(c, scores, -std::numeric_limits<double>::infinity())});
  weights = Where(c, hidden, NumberLike(c, weights, 0), weights);
  Value* along = product(grad, turned(widened("value")));
  Value* mean = Reduce(c, ops::sum, Mul(c, along, weights), {3}, true);
  Gradients g;
  g.scores = Mul(c, weights, Sub(c, along, mean));
  Value* scaled = Mul(c, g.scores, AttentionScale(c, widened("query")));
  const auto narrowed = [&](Value* v, absl::string_view name) {
    return Convert(c, v, DTypeOf(c.T(name)));
  };
  g.query = narrowed(product(scaled, widened("key")), "query");
  g.key = narrowed(product(turned(scaled), widened("query")), "key");
  g.value = narrowed(product(turned(weights), grad), "value");
  return g;
}

void Backward(AtenCall& c) {
  const Gradients g = GradientsOf(c, c.T("grad_out"));
  c.Return({g.query, g.key, g.value});
}

// Also returns the gradient of the mask, summed over broadcast dims.
void EfficientBackward(AtenCall& c) {
  const Gradients g = GradientsOf(c, c.T("grad_out_"));
  c.Return({g.query, g.key, g.value});
  Value* mask = MaskOf(c);
  if (mask == nullptr || !c.Bools("grad_input_mask")[3]) return c.ReturnNone();
  if (RankOf(mask) != 4) return c.Return(c.Unsupported("a mask without 4 dims has a gradient"));
  Ints dims;
  for (int i = 0; i < 4; ++i) {
    if (!(DimOf(mask, i) == DimOf(g.scores, i))) dims.push_back(i);
  }
  c.Return(Convert(c, Reduce(c, ops::sum, g.scores, dims, true), DTypeOf(mask)));
}

constexpr AtenOp kTable[] = {
    {"_scaled_dot_product_cudnn_attention(Tensor query, Tensor key, Tensor value, Tensor? "
     "attn_bias, bool compute_log_sumexp, float dropout_p=0., bool is_causal=False, bool "
     "return_debug_mask=False, *, float? scale=None) -> (Tensor output, Tensor logsumexp, Tensor "
     "cum_seq_q, Tensor cum_seq_k, SymInt max_q, SymInt max_k, Tensor philox_seed, Tensor "
     "philox_offset, Tensor debug_attn_mask)",
     Cudnn},
    {"_scaled_dot_product_cudnn_attention_backward(Tensor grad_out, Tensor query, Tensor key, "
     "Tensor value, Tensor out, Tensor logsumexp, Tensor philox_seed, Tensor philox_offset, "
     "Tensor attn_bias, Tensor cum_seq_q, Tensor cum_seq_k, SymInt max_q, SymInt max_k, float "
     "dropout_p, bool is_causal, *, float? scale=None) -> (Tensor, Tensor, Tensor)",
     Backward},
    {"_scaled_dot_product_efficient_attention(Tensor query, Tensor key, Tensor value, Tensor? "
     "attn_bias, bool compute_log_sumexp, float dropout_p=0., bool is_causal=False, *, float? "
     "scale=None) -> (Tensor output, Tensor log_sumexp, Tensor philox_seed, Tensor philox_offset)",
     Efficient},
    {"_scaled_dot_product_efficient_attention_backward(Tensor grad_out_, Tensor query, Tensor "
     "key, Tensor value, Tensor attn_bias, Tensor out, Tensor logsumexp, Tensor philox_seed, "
     "Tensor philox_offset, float dropout_p, bool[4] grad_input_mask, bool is_causal=False, *, "
     "float? scale=None) -> (Tensor, Tensor, Tensor, Tensor)",
     EfficientBackward},
    {"_scaled_dot_product_flash_attention(Tensor query, Tensor key, Tensor value, float "
     "dropout_p=0., bool is_causal=False, bool return_debug_mask=False, *, float? scale=None) -> "
     "(Tensor output, Tensor logsumexp, Tensor cum_seq_q, Tensor cum_seq_k, SymInt max_q, SymInt "
     "max_k, Tensor rng_state, Tensor unused, Tensor debug_attn_mask)",
     Flash},
    {"_scaled_dot_product_flash_attention_backward(Tensor grad_out, Tensor query, Tensor key, "
     "Tensor value, Tensor out, Tensor logsumexp, Tensor cum_seq_q, Tensor cum_seq_k, SymInt "
     "max_q, SymInt max_k, float dropout_p, bool is_causal, Tensor philox_seed, Tensor "
     "philox_offset, *, float? scale=None) -> (Tensor grad_query, Tensor grad_key, Tensor "
     "grad_value)",
     Backward},
    {"_scaled_dot_product_flash_attention_for_cpu(Tensor query, Tensor key, Tensor value, float "
     "dropout_p=0., bool is_causal=False, *, Tensor? attn_mask=None, float? scale=None) -> "
     "(Tensor output, Tensor logsumexp)",
     ForCpu},
    {"_scaled_dot_product_flash_attention_for_cpu_backward(Tensor grad_out, Tensor query, Tensor "
     "key, Tensor value, Tensor out, Tensor logsumexp, float dropout_p, bool is_causal, *, "
     "Tensor? attn_mask=None, float? scale=None) -> (Tensor grad_query, Tensor grad_key, Tensor "
     "grad_value)",
     Backward},
};

}  // namespace

absl::Span<const AtenOp> AttentionKernelTable() { return kTable; }

}  // namespace weft::pt2
