#include "graph/ops/nn/product.h"

#include <algorithm>

#include "graph/ir/op_args.h"
#include "graph/ops/support/infer.h"

namespace weft::ops {
namespace {

// A task computes kTaskRows x kTaskCols elements of one result, with kDepth rows of the right
// matrix at a time: 256 KiB, which fits in the L2 of one core.
constexpr int64_t kTaskRows = 256;
constexpr int64_t kTaskCols = 64;
constexpr int64_t kDepth = 256;
// The innermost loops keep kRows x kLanes accumulators in registers.
constexpr int kRows = 4;
constexpr int kLanes = 4;

// c[r, j] += sum of a[r, i] * panel[i, j] for kLanes columns.
template <typename T, int rows>
void Accumulate(const T* a, int64_t a_stride, const T* panel, int64_t depth, T* c) {
  T sum[rows][kLanes];
  for (int r = 0; r < rows; ++r) {
    for (int j = 0; j < kLanes; ++j) sum[r][j] = c[r * kTaskCols + j];
  }
  for (int64_t i = 0; i < depth; ++i) {
    const T* b = panel + i * kTaskCols;
    for (int r = 0; r < rows; ++r) {
      const T x = a[r * a_stride + i];
      for (int j = 0; j < kLanes; ++j) sum[r][j] += x * b[j];
    }
  }
  for (int r = 0; r < rows; ++r) {
    for (int j = 0; j < kLanes; ++j) c[r * kTaskCols + j] = sum[r][j];
  }
}

// The same for any number of rows and columns; `cols` is rounded up.
template <typename T>
void AccumulateTile(const T* a, int64_t a_stride, const T* panel, int64_t depth, int64_t rows,
                    int64_t cols, T* c) {
  for (int64_t j = 0; j < cols; j += kLanes) {
    int64_t r = 0;
    for (; r + kRows <= rows; r += kRows) {
      Accumulate<T, kRows>(a + r * a_stride, a_stride, panel + j, depth, c + r * kTaskCols + j);
    }
    for (; r < rows; ++r) {
      Accumulate<T, 1>(a + r * a_stride, a_stride, panel + j, depth, c + r * kTaskCols + j);
    }
  }
}

template <typename T>
void RunTask(const Products<T>& p, int64_t i, int64_t row, int64_t col, T* result) {
  const int64_t rows = std::min(kTaskRows, p.m - row);
  const int64_t cols = std::min(kTaskCols, p.n - col);
  std::vector<T> tile(rows * kTaskCols, T{0});
  std::vector<T> panel(std::min(kDepth, p.k) * kTaskCols, T{0});
  for (int64_t k = 0; k < p.k; k += kDepth) {
    const int64_t depth = std::min(kDepth, p.k - k);
    p.right(i, Panel{k, depth, col, cols, kTaskCols}, panel.data());
    AccumulateTile(p.left(i) + row * p.k + k, p.k, panel.data(), depth, rows, cols, tile.data());
  }
  for (int64_t r = 0; r < rows; ++r) {
    const T* from = tile.data() + r * kTaskCols;
    std::copy(from, from + cols, result + (i * p.m + row + r) * p.n + col);
  }
}

}  // namespace

template <typename T>
std::vector<T> Multiply(const Products<T>& p) {
  std::vector<T> result(p.count * p.m * p.n, T{0});
  if (result.empty() || p.k == 0) return result;
  const int64_t down = (p.m + kTaskRows - 1) / kTaskRows;
  const int64_t across = (p.n + kTaskCols - 1) / kTaskCols;
  ParallelFor(p.count * down * across, [&](int64_t task) {
    const int64_t i = task / (down * across);
    const int64_t at = task % (down * across);
    RunTask(p, i, at / across * kTaskRows, at % across * kTaskCols, result.data());
  });
  return result;
}

template std::vector<double> Multiply(const Products<double>&);
template std::vector<uint64_t> Multiply(const Products<uint64_t>&);

absl::Status CheckAccumulator(const OpArgs& args, int i) {
  if (!args.has(i)) return absl::OkStatus();
  const DType dtype = args.type(i).dtype();
  if (IsFloat(dtype) || (IsInt(dtype) && DTypeBits(dtype) >= 32)) {
    return absl::OkStatus();
  }
  return Invalid(OperandName(args, i), " must be of floats or 32- or 64-bit integers, got ",
                 DTypeName(dtype));
}

}  // namespace weft::ops
