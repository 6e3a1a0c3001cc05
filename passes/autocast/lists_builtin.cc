// The lists that Weft brings, in the text form that lists of users have.
#include "passes/autocast/lists.h"

namespace weft {
namespace {

struct BuiltinLists {
  absl::string_view name;
  absl::string_view text;
};

// The lists of PyTorch's autocast for CPUs, as far as Weft has the ops: there, what is on no list
// takes what it is given, softmax and norms included. Statistics of batch_norm stay f32, as there.
// Of Weft's own: einsum and the recurrent networks are products; quantizers keep the grid that was
// chosen for f32.
constexpr absl::string_view kCpu = R"(
lists cpu "the lists of PyTorch's autocast for CPUs"
low convolution, linear, matmul, einsum, scaled_dot_product_attention, prelu, lstm, gru, rnn
f32 prod, stft, dft, grid_sampler, affine_grid, max_unpool, nll_loss
f32 cholesky, eigh, lu_factor, lu_solve, qr, svd, solve_triangular, matrix_exp, det
f32 quantize_linear, dequantize_linear, fake_quantize, observe, choose_qparams
widest stack, cat, batch_norm(0)
)";

// The lists of PyTorch's autocast for CUDA: functions that overflow or cancel, norms, sums and
// softmax take f32. Of Weft's own: ops that PyTorch composes of pow and sum are on the list as they
// are there.
constexpr absl::string_view kCuda = R"(
lists cuda "the lists of PyTorch's autocast for CUDA"
low convolution, linear, matmul, einsum, scaled_dot_product_attention, prelu, lstm, gru, rnn
f32 acos, asin, cosh, sinh, tan, erfinv, exp, expm1, log, log1p, log2, pow, reciprocal, rsqrt
f32 softplus, native_layer_norm, group_norm, rms_norm, local_response_norm, lp_pool
f32 reduce_l1, reduce_l2, reduce_log_sum, reduce_sum_square
f32 softmax, log_softmax, logsumexp, sum, prod, cumsum, cumprod, nll_loss
f32 stft, dft, cholesky, eigh, lu_factor, lu_solve, qr, svd, solve_triangular, matrix_exp, det
f32 quantize_linear, dequantize_linear, fake_quantize, observe, choose_qparams
widest stack, cat, atan2, grid_sampler, scatter, batch_norm(0)
)";

constexpr BuiltinLists kLists[] = {{"cpu", kCpu}, {"cuda", kCuda}};

}  // namespace

absl::Span<const absl::string_view> BuiltinAutocastLists() {
  static constexpr absl::string_view kNames[] = {"cpu", "cuda"};
  return kNames;
}

absl::string_view BuiltinAutocastListsText(absl::string_view name) {
  for (const BuiltinLists& lists : kLists) {
    if (lists.name == name) return lists.text;
  }
  return "";
}

}  // namespace weft
