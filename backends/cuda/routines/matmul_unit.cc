#include "backends/cuda/routines/matmul_unit.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "backends/cuda/emit/prelude.h"
#include "backends/cuda/emit/tile_prelude.h"
#include "backends/cuda/emit/types.h"
#include "backends/cuda/emit/wgmma_prelude.h"
#include "backends/cuda/routines/float8_text.h"

namespace weft::cuda {
namespace {

constexpr char kCommon[] = R"(
struct w_matmul_sizes {
  i64 m, n, k, a_row, a_k, b_k, b_column, c_row, c_column, bias_row, bias_column, has_bias,
      a_zero_row, b_zero_column, c_groups, down, across, splits, split_k, batches, rank;
  i64 dims[6], a[6], b[6], c[6];
  struct { i64 row, column, batch[6]; } operands[W_OPERANDS + 1];
};
#define W_MATMUL_PARAMETERS \
  W_IN(W_OF_A) a, W_IN(W_OF_B) b, W_IN(TYPE) bias, W_OUT(W_RESULT) c, W_OUT(SUM) parts \
  W_OPERAND_PARAMETERS W_ZERO_PARAMETERS, const w_matmul_sizes s
// The first elements of the matrices and of the epilogue's operands.
struct w_matrices_at { i64 a, b, c, o[W_OPERANDS + 1]; };
W_FN w_matrices_at w_find_batch(const w_matmul_sizes& s, i64 batch) {
  w_matrices_at f = {};
  for (i64 d = s.rank; d-- > 0; batch /= s.dims[d]) {
    const i64 i = batch % s.dims[d];
    f.a += i * s.a[d]; f.b += i * s.b[d]; f.c += i * s.c[d];
    #pragma unroll
    for (int o = 0; o < W_OPERANDS; ++o) f.o[o] += i * s.operands[o].batch[d];
  }
  return f;
}
// Where a block's sums belong: the first row and column, and the range of k.
struct w_tile { i64 m0, n0, k0, end, batch, split; w_matrices_at first; };
// The tile with that number. Neighbouring blocks take tiles of eight rows of tiles, column by
// column, so that they read the same elements.
W_FN w_tile w_find_tile(const w_matmul_sizes& s, u32 number, int rows, int columns) {
  const u32 down = (u32)s.down, across = (u32)s.across;
  const u32 matrix = number / (down * across), in = number % (down * across);
  const u32 group = in / (8 * across) * 8, height = down - group < 8 ? down - group : 8;
  w_tile t;
  t.m0 = (i64)(group + in % (8 * across) % height) * rows;
  t.n0 = (i64)(in % (8 * across) / height) * columns;
  t.split = matrix / (u32)s.batches;
  t.batch = matrix % (u32)s.batches;
  t.k0 = t.split * s.split_k;
  t.end = t.k0 + s.split_k < s.k ? t.k0 + s.split_k : s.k;
  t.first = w_find_batch(s, t.batch);
  return t;
}
W_FN i64 w_part_at(const w_matmul_sizes& s, i64 split, i64 batch, i64 m, i64 n)
    { return ((split * s.batches + batch) * s.m + m) * s.n + n; }
// The element of c for the sum `x`.
template <class T, class P> W_FN auto w_result(T x, P bias, const w_operands& operands,
                                               const w_matmul_sizes& s, const w_matrices_at& first,
                                               i64 m, i64 n) {
  if (s.has_bias) x += w_load(bias, m * s.bias_row + n * s.bias_column);
  i64 at[W_OPERANDS + 1];
  #pragma unroll
  for (int o = 0; o < W_OPERANDS; ++o)
    at[o] = first.o[o] + m * s.operands[o].row + n * s.operands[o].column;
  return w_finish(x, operands, at);
}
// Stores the elements of c, or of a part of k, for two neighbouring sums of a row; the second may
// lie outside.
template <class P, class C, class Parts> W_FN void w_store_two(
    SUM u, SUM v, P bias, C c, Parts parts, const w_operands& operands, const w_matmul_sizes& s,
    const w_tile& t, i64 m, i64 n) {
  const bool both = n + 1 < s.n;
  if (s.splits > 1) {
    const i64 at = w_part_at(s, t.split, t.batch, m, n);
    w_store(parts, at, u);
    if (both) w_store(parts, at + 1, v);
    return;
  }
  const auto x = w_result(u, bias, operands, s, t.first, m, n);
  auto y = x;
  if (both) y = w_result(v, bias, operands, s, t.first, m, n + 1);
  const i64 at = t.first.c + m * s.c_row + n * s.c_column;
  if (s.c_groups) {
    w_pack<W_RESULT, 2> pair;
    w_set(&pair.v[0], x);
    w_set(&pair.v[1], y);
    w_put_group(c, at, pair);
  } else {
    w_store(c, at, x);
    if (both) w_store(c, at + s.c_column, y);
  }
}
// Adds the parts of k in their order.
W_KERNEL(256) weft_matmul_finish(W_MATMUL_PARAMETERS) {
  const w_operands operands = {W_OPERAND_ARGUMENTS};
  const i64 size = s.m * s.n, points = s.batches * size;
  for (i64 i = w_thread(); i < points; i += w_threads()) {
    const i64 batch = s.batches == 1 ? 0 : i / size, at = i - batch * size;
    const i64 m = at / s.n, n = at % s.n;
    SUM x = w_load(parts, i);
    for (i64 split = 1; split < s.splits; ++split) x += w_load(parts, split * points + i);
    const w_matrices_at first = w_find_batch(s, batch);
    w_store(c, first.c + m * s.c_row + n * s.c_column,
            w_result(x, bias, operands, s, first, m, n));
  }
}
)";

std::string TextOf(MatmulForm form) {
  switch (form) {
    case MatmulForm::kPlain:
      return matmul_text::kPlain;
    case MatmulForm::kFloat:
      return absl::StrCat(matmul_text::kFloatSource, matmul_text::kFloat);
    case MatmulForm::kTf32:
      return absl::StrCat(matmul_text::kFloatSource, matmul_text::kTf32);
    case MatmulForm::kTensor:
      return absl::StrCat(ZeroSumsText(), matmul_text::kTensor);
    case MatmulForm::kWgmma:
      return matmul_text::kWgmma;
    case MatmulForm::kFewRows:
      return absl::StrCat(matmul_text::kFewRowsCommon, matmul_text::kFewRows);
    case MatmulForm::kFewRowsWide:
      return absl::StrCat(matmul_text::kFewRowsCommon, matmul_text::kFewRowsWide);
  }
  return "";
}

// The zero points of a and b.
std::string ZerosText(const ProductOperands& operands) {
  const auto zero = [](bool present, const char* load) { return present ? load : "(SUM)0"; };
  return absl::StrCat("#define W_ZERO_OF_A(m) ",
                      zero(operands.left_zero, "(SUM)w_load(a_zero, (m) * s.a_zero_row)"),
                      "\n#define W_ZERO_OF_B(n) ",
                      zero(operands.right_zero, "(SUM)w_load(b_zero, (n) * s.b_zero_column)"),
                      "\n");
}

}  // namespace

namespace matmul_text {

// Each thread computes 4 x 4 elements of a tile, 16 rows and columns apart. Shared tiles have a
// column more than elements, so that threads with neighbouring rows use different banks.
const char kPlain[] = R"(
#define W_TILE 64
// By itself NVRTC 13.5 takes 48 registers for elements of 16 bits on compute capability 10.0, and
// spills.
#if W_GROUP == 8 && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1000
#define W_BOUNDS 256, 4
#else
#define W_BOUNDS 256
#endif
W_KERNEL(W_BOUNDS) weft_matmul(W_MATMUL_PARAMETERS) {
  const w_operands operands = {W_OPERAND_ARGUMENTS};
  W_SHARED(SUM, left, W_DEPTH * (W_TILE + 1));
  W_SHARED(SUM, right, W_DEPTH * (W_TILE + 1));
  const int row = threadIdx.x / 16, column = threadIdx.x % 16;
  for (i64 tile = blockIdx.x; tile < s.down * s.across * s.batches * s.splits; tile += gridDim.x) {
    const w_tile t = w_find_tile(s, (u32)tile, W_TILE, W_TILE);
    SUM sum[4][4] = {};
    for (i64 k0 = t.k0; k0 < t.end; k0 += W_DEPTH) {
      for (int e = threadIdx.x; e < W_TILE * W_DEPTH; e += 256) {
        // Neighbouring threads read along the dim that is contiguous.
        const int ar = s.a_k == 1 ? e / W_DEPTH : e % W_TILE, ak = s.a_k == 1 ? e % W_DEPTH : e / W_TILE;
        left[ak * (W_TILE + 1) + ar] = t.m0 + ar < s.m && k0 + ak < t.end
            ? (SUM)w_load(a, t.first.a + (t.m0 + ar) * s.a_row + (k0 + ak) * s.a_k) -
                  W_ZERO_OF_A(t.m0 + ar)
            : (SUM)0;
        const int bc = s.b_k == 1 ? e / W_DEPTH : e % W_TILE, bk = s.b_k == 1 ? e % W_DEPTH : e / W_TILE;
        right[bk * (W_TILE + 1) + bc] = t.n0 + bc < s.n && k0 + bk < t.end
            ? (SUM)w_load(b, t.first.b + (k0 + bk) * s.b_k + (t.n0 + bc) * s.b_column) -
                  W_ZERO_OF_B(t.n0 + bc)
            : (SUM)0;
      }
      __syncthreads();
      const int depth = t.end - k0 < W_DEPTH ? (int)(t.end - k0) : W_DEPTH;
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
        if (s.splits > 1) {
          w_store(parts, w_part_at(s, t.split, t.batch, m, n), sum[i][j]);
        } else {
          w_store(c, t.first.c + m * s.c_row + n * s.c_column,
                  w_result(sum[i][j], bias, operands, s, t.first, m, n));
        }
      }
    }
  }
}
)";

}  // namespace matmul_text

int MatmulKernel::threads() const {
  switch (form) {
    case MatmulForm::kFloat:
      return tile_m / part_m * (tile_n / part_n);
    case MatmulForm::kTf32:
    case MatmulForm::kTensor:
      return tile_m / part_m * (tile_n / part_n) * 32;
    case MatmulForm::kWgmma:
      return tile_m * 2;
    default:
      return 256;
  }
}

int64_t MatmulKernel::shared_bytes() const {
  if (form != MatmulForm::kWgmma) return 0;
  return int64_t{stages} * (tile_m + tile_n) * depth * 2 + 1024;
}

int GroupOf(MatmulRead read, DType dtype) {
  const bool groups = read == MatmulRead::kGroupsAlongK || read == MatmulRead::kGroupsAlongLines;
  return groups ? 16 * 8 / DTypeBits(dtype) : 1;
}

int StoreGroupOf(const MatmulKernel& kernel) {
  switch (kernel.form) {
    case MatmulForm::kFloat:
      return 4;
    case MatmulForm::kTf32:
    case MatmulForm::kTensor:
    case MatmulForm::kWgmma:
      return 2;
    default:
      return 1;
  }
}

std::string MatmulUnit(const MatmulKernel& kernel, absl::string_view epilogue) {
  const bool float8 = IsFloat8(kernel.operands.left);
  // Elements in shared memory have 8 bits.
  const bool narrow = kernel.operands.bytes() && !kernel.operands.as_halves;
  const std::string definitions = absl::StrCat(
      "#define W_THREADS ", kernel.threads(), "\n#define W_BLOCKS ", kernel.blocks,
      "\n#define W_TILE_M ", kernel.tile_m, "\n#define W_TILE_N ", kernel.tile_n,
      "\n#define W_DEPTH ", kernel.depth, "\n#define W_STAGES ", kernel.stages,
      "\n#define W_PART_M ", kernel.part_m, "\n#define W_PART_N ", kernel.part_n,
      "\n#define W_GROUP ", narrow ? 16 : 128 / std::max(DTypeBits(kernel.operands.left), 16),
      "\n#define W_ELEMENT ", narrow ? "u8" : "u16", "\n#define W_HALVES ",
      static_cast<int>(kernel.operands.as_halves), "\n#define W_PAD ",
      kernel.form == MatmulForm::kTf32 ? 8 : 4, "\n#define W_PRODUCTS ", kernel.products,
      "\n#define W_READ_A ", static_cast<int>(kernel.a), "\n#define W_READ_B ",
      static_cast<int>(kernel.b), "\n");
  const DType dtype = float8 ? DType::kF32 : ProductDType(kernel.operands.left);
  const std::string text =
      absl::StrReplaceAll(absl::StrCat(OperandsText(kernel.operands), ZerosText(kernel.operands),
                                       kCommon, TextOf(kernel.form)),
                          {{"TYPE", MemoryType(dtype)}, {"SUM", SumType(dtype)}});
  const std::string tiles = kernel.form == MatmulForm::kWgmma
                                ? absl::StrCat(TilePrelude(), WgmmaPrelude(kernel.tile_n))
                                : "";
  return absl::StrCat(Prelude(), float8 ? Float8Text() : "", tiles, epilogue, definitions, text);
}

}  // namespace weft::cuda
