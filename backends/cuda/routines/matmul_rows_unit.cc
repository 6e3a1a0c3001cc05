// Products of few rows with a matrix, which take as long as it takes to read the matrix.
#include "backends/cuda/routines/matmul_unit.h"

namespace weft::cuda::matmul_text {

// W_PART_M is at least the number of rows.
const char kFewRowsCommon[] = R"(
#define W_GROUP_A (W_READ_A >= 2 ? 16 / (int)sizeof(W_OF_A) : 1)
#define W_GROUP_B (W_READ_B >= 2 ? 16 / (int)sizeof(W_OF_B) : 1)
// `n` neighbouring elements along a stride, in groups of `group`, each less `zero`.
template <int n, int group, class P> W_FN void w_read_row(SUM* x, P p, i64 at, i64 stride,
                                                          SUM zero) {
  #pragma unroll
  for (int e = 0; e < n; e += group) {
    if constexpr (group > 1) {
      const auto parts = w_get_group<group>(p, at + e * stride);
      #pragma unroll
      for (int i = 0; i < group; ++i) x[e + i] = (SUM)w_value(parts.v[i]) - zero;
    } else {
      x[e] = (SUM)w_load(p, at + e * stride) - zero;
    }
  }
}
#define W_STORE(row, n, x) \
  if (s.splits > 1) { \
    w_store(parts, w_part_at(s, split, batch, row, n), x); \
  } else { \
    w_store(c, first.c + (row) * s.c_row + (n) * s.c_column, \
            w_result(x, bias, operands, s, first, row, n)); \
  }
)";

// A warp computes W_PART_N neighbouring columns; each lane sums every 32nd group of elements of k.
const char kFewRows[] = R"(
W_KERNEL(W_THREADS, W_BLOCKS) weft_matmul(W_MATMUL_PARAMETERS) {
  const w_operands operands = {W_OPERAND_ARGUMENTS};
  const int lane = threadIdx.x % 32;
  for (i64 tile = w_thread() / 32; tile < s.across * s.batches * s.splits;
       tile += w_threads() / 32) {
    const i64 batch = tile / s.across % s.batches, split = tile / s.across / s.batches;
    const i64 n0 = tile % s.across * W_PART_N;
    const w_matrices_at first = w_find_batch(s, batch);
    const i64 end = (split + 1) * s.split_k < s.k ? (split + 1) * s.split_k : s.k;
    SUM sum[W_PART_M][W_PART_N] = {}, left[W_PART_M], right[W_PART_N];
    #pragma unroll
    for (int r = 0; r < W_PART_M; ++r) left[r] = r < s.m ? W_ZERO_OF_A(r) : (SUM)0;
    #pragma unroll
    for (int j = 0; j < W_PART_N; ++j) right[j] = n0 + j < s.n ? W_ZERO_OF_B(n0 + j) : (SUM)0;
    #pragma unroll 4
    for (i64 k = split * s.split_k + lane * W_GROUP_B; k < end; k += 32 * W_GROUP_B) {
      SUM y[W_PART_N][W_GROUP_B] = {};
      #pragma unroll
      for (int j = 0; j < W_PART_N; ++j) {
        if (n0 + j < s.n) {
          w_read_row<W_GROUP_B, W_GROUP_B>(
              y[j], b, first.b + k * s.b_k + (n0 + j) * s.b_column, s.b_k, right[j]);
        }
      }
      #pragma unroll
      for (int r = 0; r < W_PART_M; ++r) {
        if (r >= s.m) break;
        SUM x[W_GROUP_B];
        w_read_row<W_GROUP_B, W_GROUP_A>(x, a, first.a + r * s.a_row + k * s.a_k, s.a_k, left[r]);
        #pragma unroll
        for (int j = 0; j < W_PART_N; ++j) {
          #pragma unroll
          for (int i = 0; i < W_GROUP_B; ++i) sum[r][j] = w_fma(x[i], y[j][i], sum[r][j]);
        }
      }
    }
    #pragma unroll
    for (int r = 0; r < W_PART_M; ++r) {
      #pragma unroll
      for (int j = 0; j < W_PART_N; ++j) {
        SUM x = sum[r][j];
        #pragma unroll
        for (int d = 16; d > 0; d /= 2) x += w_down(x, d);
        if (lane == 0 && r < s.m && n0 + j < s.n) { W_STORE(r, n0 + j, x) }
      }
    }
  }
}
)";

// A lane computes a group of columns, and the warps of a block divide k; their sums are added in
// order.
const char kFewRowsWide[] = R"(
W_KERNEL(W_THREADS, W_BLOCKS) weft_matmul(W_MATMUL_PARAMETERS) {
  const w_operands operands = {W_OPERAND_ARGUMENTS};
  constexpr int warps = W_THREADS / 32, width = 32 * W_GROUP_B;
  W_SHARED(SUM, sums, W_PART_M * W_GROUP_B * W_THREADS);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (i64 tile = blockIdx.x; tile < s.across * s.batches * s.splits; tile += gridDim.x) {
    const i64 batch = tile / s.across % s.batches, split = tile / s.across / s.batches;
    const i64 n0 = tile % s.across * width;
    const w_matrices_at first = w_find_batch(s, batch);
    const i64 end = (split + 1) * s.split_k < s.k ? (split + 1) * s.split_k : s.k;
    const i64 column = n0 + lane * W_GROUP_B;
    SUM sum[W_PART_M][W_GROUP_B] = {};
    if (column < s.n) {
      SUM left[W_PART_M], right[W_GROUP_B];
      #pragma unroll
      for (int r = 0; r < W_PART_M; ++r) left[r] = r < s.m ? W_ZERO_OF_A(r) : (SUM)0;
      #pragma unroll
      for (int i = 0; i < W_GROUP_B; ++i) right[i] = W_ZERO_OF_B(column + i);
      #pragma unroll 8
      for (i64 k = split * s.split_k + warp; k < end; k += warps) {
        SUM y[W_GROUP_B];
        w_read_row<W_GROUP_B, W_GROUP_B>(y, b, first.b + k * s.b_k + column * s.b_column, 1, 0);
        #pragma unroll
        for (int r = 0; r < W_PART_M; ++r) {
          if (r >= s.m) break;
          const SUM x = (SUM)w_load(a, first.a + r * s.a_row + k * s.a_k) - left[r];
          #pragma unroll
          for (int i = 0; i < W_GROUP_B; ++i) sum[r][i] = w_fma(x, y[i] - right[i], sum[r][i]);
        }
      }
    }
    #pragma unroll
    for (int r = 0; r < W_PART_M; ++r) {
      #pragma unroll
      for (int i = 0; i < W_GROUP_B; ++i)
        sums[(r * warps + warp) * width + lane * W_GROUP_B + i] = sum[r][i];
    }
    __syncthreads();
    for (int e = threadIdx.x; e < W_PART_M * width; e += W_THREADS) {
      const int row = e / width;
      const i64 n = n0 + e % width;
      if (row >= s.m || n >= s.n) continue;
      SUM x = sums[row * warps * width + e % width];
      for (int w = 1; w < warps; ++w) x += sums[(row * warps + w) * width + e % width];
      W_STORE(row, n, x)
    }
    __syncthreads();
  }
}
)";

}  // namespace weft::cuda::matmul_text
