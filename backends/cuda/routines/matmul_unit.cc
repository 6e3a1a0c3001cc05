#include "backends/cuda/routines/matmul_unit.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "backends/cuda/emit/prelude.h"
#include "backends/cuda/emit/types.h"

namespace weft::cuda {
namespace {

constexpr char kMatmulSizes[] = R"(
struct w_matmul_sizes {
  i64 m, n, k, a_row, a_k, b_k, b_column, c_row, c_column, bias, has_bias, a_groups, b_groups,
      c_groups, batches, rank;
  i64 dims[6], a[6], b[6], c[6];
  struct { i64 row, column, batch[6]; } operands[W_OPERANDS + 1];
};
// The tile with that number, and the first elements of its matrices and the epilogue's operands.
struct w_tile { i64 m0, n0, a0, b0, c0, o0[W_OPERANDS + 1]; };
W_FN w_tile w_find_tile(const w_matmul_sizes& s, i64 number, i64 across, i64 down, i64 size) {
  w_tile t = {number / across % down * size, number % across * size, 0, 0, 0, {}};
  i64 batch = number / across / down;
  for (i64 d = s.rank; d-- > 0; batch /= s.dims[d]) {
    const i64 i = batch % s.dims[d];
    t.a0 += i * s.a[d]; t.b0 += i * s.b[d]; t.c0 += i * s.c[d];
    for (int o = 0; o < W_OPERANDS; ++o) t.o0[o] += i * s.operands[o].batch[d];
  }
  return t;
}
// The element of c for the sum `x`.
template <class T> W_FN T w_result(T x, const w_operands& operands, const w_matmul_sizes& s,
                                   const w_tile& t, i64 m, i64 n) {
  i64 at[W_OPERANDS + 1];
  #pragma unroll
  for (int o = 0; o < W_OPERANDS; ++o)
    at[o] = t.o0[o] + m * s.operands[o].row + n * s.operands[o].column;
  return w_finish(x, operands, at);
}
)";

// Each thread computes 4 x 4 elements of a tile, 16 rows and columns apart. Shared tiles have a
// column more than elements, so that threads with neighbouring rows use different banks.
constexpr char kMatmul[] = R"(
#define W_TILE 64
#define W_DEPTH 16
W_KERNEL(256) weft_matmul(W_IN(TYPE) a, W_IN(TYPE) b, W_IN(TYPE) bias, W_OUT(TYPE) c W_OPERAND_PARAMETERS, const w_matmul_sizes s) {
  const w_operands operands = {W_OPERAND_ARGUMENTS};
  W_SHARED(SUM, left, W_DEPTH * (W_TILE + 1));
  W_SHARED(SUM, right, W_DEPTH * (W_TILE + 1));
  const int row = threadIdx.x / 16, column = threadIdx.x % 16;
  const i64 down = (s.m + W_TILE - 1) / W_TILE, across = (s.n + W_TILE - 1) / W_TILE;
  for (i64 tile = blockIdx.x; tile < down * across * s.batches; tile += gridDim.x) {
    const w_tile t = w_find_tile(s, tile, across, down, W_TILE);
    SUM sum[4][4] = {};
    for (i64 k0 = 0; k0 < s.k; k0 += W_DEPTH) {
      for (int e = threadIdx.x; e < W_TILE * W_DEPTH; e += 256) {
        // Neighbouring threads read along the dim that is contiguous.
        const int ar = s.a_k == 1 ? e / W_DEPTH : e % W_TILE, ak = s.a_k == 1 ? e % W_DEPTH : e / W_TILE;
        left[ak * (W_TILE + 1) + ar] = t.m0 + ar < s.m && k0 + ak < s.k
            ? (SUM)w_load(a, t.a0 + (t.m0 + ar) * s.a_row + (k0 + ak) * s.a_k) : (SUM)0;
        const int bc = s.b_k == 1 ? e / W_DEPTH : e % W_TILE, bk = s.b_k == 1 ? e % W_DEPTH : e / W_TILE;
        right[bk * (W_TILE + 1) + bc] = t.n0 + bc < s.n && k0 + bk < s.k
            ? (SUM)w_load(b, t.b0 + (k0 + bk) * s.b_k + (t.n0 + bc) * s.b_column) : (SUM)0;
      }
      __syncthreads();
      const int depth = s.k - k0 < W_DEPTH ? (int)(s.k - k0) : W_DEPTH;
      for (int k = 0; k < depth; ++k) {
        SUM x[4], y[4];
        for (int i = 0; i < 4; ++i) x[i] = left[k * (W_TILE + 1) + row + 16 * i];
        for (int j = 0; j < 4; ++j) y[j] = right[k * (W_TILE + 1) + column + 16 * j];
        for (int i = 0; i < 4; ++i)
          for (int j = 0; j < 4; ++j) sum[i][j] = w_fma(x[i], y[j], sum[i][j]);
      }
      __syncthreads();
    }
    for (int i = 0; i < 4; ++i) {
      for (int j = 0; j < 4; ++j) {
        const i64 m = t.m0 + row + 16 * i, n = t.n0 + column + 16 * j;
        if (m >= s.m || n >= s.n) continue;
        SUM x = sum[i][j];
        if (s.has_bias) x += (SUM)w_load(bias, n * s.bias);
        w_store(c, t.c0 + m * s.c_row + n * s.c_column, w_result(x, operands, s, t, m, n));
      }
    }
  }
}
)";

// Tiles of 128 lines in shared memory: rows of the left matrix, or columns of the right one.
// Threads read the elements of the next step of k while this one is computed, in parts of 16 bytes
// if elements lie side by side and are aligned: along k (groups 1) or along the lines (2).
constexpr char kTiles[] = R"(
#define W_TILE 128
#define W_PARTS (W_TILE * W_DEPTH / W_PART / 256)
typedef w_pack<W_ELEMENT, W_PART> w_part;
struct w_lines { i64 first, count, line, k, groups; };
// The place of a thread's part in the tile.
W_FN int w_part_line(int h, i64 groups) {
  const int e = threadIdx.x + 256 * h;
  return groups == 2 ? e % (W_TILE / W_PART) * W_PART : e / (W_DEPTH / W_PART);
}
W_FN int w_part_k(int h, i64 groups) {
  const int e = threadIdx.x + 256 * h;
  return groups == 2 ? e / (W_TILE / W_PART) : e % (W_DEPTH / W_PART) * W_PART;
}
template <class P> W_FN void w_read_parts(w_part* parts, P p, i64 base, const w_lines& s, i64 k0,
                                          i64 depth) {
  #pragma unroll
  for (int h = 0; h < W_PARTS; ++h) {
    const i64 line = s.first + w_part_line(h, s.groups), k = k0 + w_part_k(h, s.groups);
    parts[h] = w_part();
    if (s.groups != 0) {
      if (line < s.count && k < depth) {
        parts[h] = w_get(w_as<w_part>(p, base + line * s.line + k * s.k), 0);
      }
      continue;
    }
    #pragma unroll
    for (int i = 0; i < W_PART; ++i) {
      if (line < s.count && k + i < depth) {
        parts[h].v[i] = w_get(w_as<W_ELEMENT>(p, base + line * s.line + (k + i) * s.k), 0);
      }
    }
  }
}
template <class S> W_FN void w_write_parts(S& tile, const w_part* parts, i64 groups) {
  #pragma unroll
  for (int h = 0; h < W_PARTS; ++h) {
    const int line = w_part_line(h, groups), k = w_part_k(h, groups);
    if ((groups == 2) == (W_AT(1, 0) == 1)) {
      w_put_shared(tile, W_AT(line, k), parts[h]);
      continue;
    }
    #pragma unroll
    for (int i = 0; i < W_PART; ++i) {
      tile[groups == 2 ? W_AT(line + i, k) : W_AT(line, k + i)] = parts[h].v[i];
    }
  }
}
)";

// On the tensor cores, for elements of 16 bits. A block computes a tile of 128 x 128 elements, each
// of its 8 warps a part of 64 x 32 in pieces of 16 x 8. Lines of 40 elements keep fragments in
// different banks.
constexpr char kTensorDefinitions[] = R"(
#define W_ELEMENT u16
#define W_PART 8
#define W_DEPTH 32
#define W_LINE 40
#define W_AT(line, k) ((line) * W_LINE + (k))
)";
constexpr char kTensorMatmul[] = R"(
W_KERNEL(256) weft_matmul(W_IN(TYPE) a, W_IN(TYPE) b, W_IN(TYPE) bias, W_OUT(TYPE) c W_OPERAND_PARAMETERS, const w_matmul_sizes s) {
  const w_operands operands = {W_OPERAND_ARGUMENTS};
  W_SHARED(u16, left, W_TILE * W_LINE);
  W_SHARED(u16, right, W_TILE * W_LINE);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int row = warp / 4 * 64 + lane / 4, column = warp % 4 * 32;
  const i64 down = (s.m + W_TILE - 1) / W_TILE, across = (s.n + W_TILE - 1) / W_TILE;
  for (i64 tile = blockIdx.x; tile < down * across * s.batches; tile += gridDim.x) {
    const w_tile t = w_find_tile(s, tile, across, down, W_TILE);
    const w_lines rows = {t.m0, s.m, s.a_row, s.a_k, s.a_groups};
    const w_lines columns = {t.n0, s.n, s.b_column, s.b_k, s.b_groups};
    f32 sum[4][4][4] = {};
    w_part x[W_PARTS], y[W_PARTS];
    w_read_parts(x, a, t.a0, rows, 0, s.k);
    w_read_parts(y, b, t.b0, columns, 0, s.k);
    for (i64 k0 = 0; k0 < s.k; k0 += W_DEPTH) {
      w_write_parts(left, x, s.a_groups);
      w_write_parts(right, y, s.b_groups);
      __syncthreads();
      w_read_parts(x, a, t.a0, rows, k0 + W_DEPTH, s.k);
      w_read_parts(y, b, t.b0, columns, k0 + W_DEPTH, s.k);
      #pragma unroll
      for (int k = lane % 4 * 2; k < W_DEPTH; k += 16) {
        u32 p[4][4], q[4][2];
        #pragma unroll
        for (int i = 0; i < 4; ++i) {
          #pragma unroll
          for (int h = 0; h < 4; ++h)
            p[i][h] = w_get_pair(left, (row + 16 * i + h % 2 * 8) * W_LINE + k + h / 2 * 8);
          #pragma unroll
          for (int h = 0; h < 2; ++h)
            q[i][h] = w_get_pair(right, (column + 8 * i + lane / 4) * W_LINE + k + h * 8);
        }
        #pragma unroll
        for (int i = 0; i < 4; ++i) {
          #pragma unroll
          for (int j = 0; j < 4; ++j) w_mma(sum[i][j], p[i], q[j], TYPE());
        }
      }
      __syncthreads();
    }
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
      #pragma unroll
      for (int j = 0; j < 4; ++j) {
        #pragma unroll
        for (int h = 0; h < 2; ++h) {
          const i64 m = t.m0 + row + 16 * i + 8 * h, n = t.n0 + column + 8 * j + lane % 4 * 2;
          if (m >= s.m || n >= s.n) continue;
          const bool both = n + 1 < s.n;
          f32 u = sum[i][j][2 * h], v = sum[i][j][2 * h + 1];
          if (s.has_bias) {
            u += w_load(bias, n * s.bias);
            if (both) v += w_load(bias, (n + 1) * s.bias);
          }
          u = w_result(u, operands, s, t, m, n);
          if (both) v = w_result(v, operands, s, t, m, n + 1);
          const i64 at = t.c0 + m * s.c_row + n * s.c_column;
          if (s.c_groups) {
            w_pack<TYPE, 2> pair;
            w_set(&pair.v[0], u);
            w_set(&pair.v[1], v);
            w_put_group(c, at, pair);
          } else {
            w_store(c, at, u);
            if (both) w_store(c, at + s.c_column, v);
          }
        }
      }
    }
  }
}
)";

// For f32. A thread computes 8 x 8 elements of a tile of 128 x 128, in four squares.
constexpr char kFloatDefinitions[] = R"(
#define W_ELEMENT f32
#define W_PART 4
#define W_DEPTH 8
#define W_LINE 132
#define W_AT(line, k) ((k) * W_LINE + (line))
)";
constexpr char kFloatMatmul[] = R"(
W_KERNEL(256) weft_matmul(W_IN(f32) a, W_IN(f32) b, W_IN(f32) bias, W_OUT(f32) c W_OPERAND_PARAMETERS, const w_matmul_sizes s) {
  const w_operands operands = {W_OPERAND_ARGUMENTS};
  W_SHARED(f32, left, W_DEPTH * W_LINE);
  W_SHARED(f32, right, W_DEPTH * W_LINE);
  const int row = threadIdx.x / 16 * 4, column = threadIdx.x % 16 * 4;
  const i64 down = (s.m + W_TILE - 1) / W_TILE, across = (s.n + W_TILE - 1) / W_TILE;
  for (i64 tile = blockIdx.x; tile < down * across * s.batches; tile += gridDim.x) {
    const w_tile t = w_find_tile(s, tile, across, down, W_TILE);
    const w_lines rows = {t.m0, s.m, s.a_row, s.a_k, s.a_groups};
    const w_lines columns = {t.n0, s.n, s.b_column, s.b_k, s.b_groups};
    f32 sum[8][8] = {};
    w_part x[W_PARTS], y[W_PARTS];
    w_read_parts(x, a, t.a0, rows, 0, s.k);
    w_read_parts(y, b, t.b0, columns, 0, s.k);
    for (i64 k0 = 0; k0 < s.k; k0 += W_DEPTH) {
      w_write_parts(left, x, s.a_groups);
      w_write_parts(right, y, s.b_groups);
      __syncthreads();
      w_read_parts(x, a, t.a0, rows, k0 + W_DEPTH, s.k);
      w_read_parts(y, b, t.b0, columns, k0 + W_DEPTH, s.k);
      #pragma unroll
      for (int k = 0; k < W_DEPTH; ++k) {
        w_part p[2], q[2];
        #pragma unroll
        for (int h = 0; h < 2; ++h) {
          w_get_shared(left, W_AT(row + 64 * h, k), &p[h]);
          w_get_shared(right, W_AT(column + 64 * h, k), &q[h]);
        }
        #pragma unroll
        for (int i = 0; i < 8; ++i) {
          #pragma unroll
          for (int j = 0; j < 8; ++j) {
            sum[i][j] = w_fma(p[i / 4].v[i % 4], q[j / 4].v[j % 4], sum[i][j]);
          }
        }
      }
      __syncthreads();
    }
    #pragma unroll
    for (int i = 0; i < 8; ++i) {
      #pragma unroll
      for (int h = 0; h < 2; ++h) {
        const i64 m = t.m0 + row + i / 4 * 64 + i % 4, n = t.n0 + column + 64 * h;
        if (m >= s.m) continue;
        w_part z;
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
          z.v[j] = sum[i][4 * h + j];
          if (n + j >= s.n) continue;
          if (s.has_bias) z.v[j] += w_load(bias, (n + j) * s.bias);
          z.v[j] = w_result(z.v[j], operands, s, t, m, n + j);
        }
        const i64 at = t.c0 + m * s.c_row + n * s.c_column;
        if (s.c_groups) {
          if (n < s.n) w_put_group(c, at, z);
          continue;
        }
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
          if (n + j < s.n) w_store(c, at + j * s.c_column, z.v[j]);
        }
      }
    }
  }
}
)";

enum class MatmulForm : uint8_t { kPlain, kFloat, kTensor };

MatmulForm FormOf(DType dtype, bool tensor_cores) {
  if (dtype == DType::kF32) return MatmulForm::kFloat;
  return tensor_cores && DTypeBits(dtype) == 16 ? MatmulForm::kTensor : MatmulForm::kPlain;
}

}  // namespace

std::string MatmulUnit(DType dtype, bool tensor_cores, absl::string_view epilogue) {
  std::string text = absl::StrCat(Prelude(), epilogue, kMatmulSizes);
  switch (FormOf(dtype, tensor_cores)) {
    case MatmulForm::kTensor:
      absl::StrAppend(&text, kTensorDefinitions, kTiles, kTensorMatmul);
      break;
    case MatmulForm::kFloat:
      absl::StrAppend(&text, kFloatDefinitions, kTiles, kFloatMatmul);
      break;
    case MatmulForm::kPlain:
      absl::StrAppend(&text, kMatmul);
      break;
  }
  const char* sum = dtype == DType::kF64 ? "f64" : "f32";
  return absl::StrReplaceAll(text, {{"TYPE", MemoryType(dtype)}, {"SUM", sum}});
}

MatmulShape ShapeOfMatmul(DType dtype, bool tensor_cores) {
  switch (FormOf(dtype, tensor_cores)) {
    case MatmulForm::kTensor:
      return {128, 8, 2};
    case MatmulForm::kFloat:
      return {128, 4, 4};
    case MatmulForm::kPlain:
      break;
  }
  return {64, 0, 0};
}

}  // namespace weft::cuda
