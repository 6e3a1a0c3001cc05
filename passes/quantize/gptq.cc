// With U upper triangular and U^T U the inverse of H, column j is off by e = (w_j - w'_j) / U_jj,
// and each later column k takes e U_jk. U is the inverse of R, where R R^T = H and R is upper
// triangular, too.
#include "passes/quantize/gptq.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "absl/status/status.h"
#include "base/status_macros.h"

namespace weft {
namespace {

constexpr double kDamping = 0.01;
// Rows that are rounded side by side, so that a row of U is read once for all of them.
constexpr int64_t kPanel = 16;

// A square matrix, row-major.
struct Square {
  int64_t n = 0;
  std::vector<double> values;
  double* row(int64_t i) { return values.data() + i * n; }
  const double* row(int64_t i) const { return values.data() + i * n; }
};

double Dot(const double* a, const double* b, int64_t from, int64_t to) {
  double sum = 0;
  for (int64_t k = from; k < to; ++k) sum += a[k] * b[k];
  return sum;
}

int64_t CodeOf(const GridMatrix& m, int64_t at, double value) {
  const double q = std::nearbyint(value / m.scales[at]) + m.zero_points[at];
  return static_cast<int64_t>(
      std::clamp(q, static_cast<double>(m.low), static_cast<double>(m.high)));
}

double ValueOf(const GridMatrix& m, int64_t at, int64_t code) {
  return (static_cast<double>(code) - m.zero_points[at]) * m.scales[at];
}

// Columns by falling moments; equal ones as they come.
std::vector<int64_t> OrderOf(absl::Span<const double> moments, int64_t n) {
  std::vector<int64_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return moments[a * n + a] > moments[b * n + b]; });
  return order;
}

// H in the order of the columns, damped. An input that is always zero gets a moment of one.
absl::StatusOr<Square> Damped(absl::Span<const double> moments, const std::vector<int64_t>& order) {
  const int64_t n = static_cast<int64_t>(order.size());
  Square h = {n, std::vector<double>(n * n)};
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t k = 0; k < n; ++k) h.row(i)[k] = moments[order[i] * n + order[k]];
  }
  if (!std::isfinite(std::accumulate(h.values.begin(), h.values.end(), 0.0))) {
    return absl::InvalidArgumentError("the moments of the inputs are not finite");
  }
  for (int64_t i = 0; i < n; ++i) {
    double& own = h.row(i)[i];
    own = own == 0 ? 1 : own * (1 + kDamping);
  }
  return h;
}

// R in place of H, from the last row up; what is below the diagonal is not read.
absl::Status Factor(Square& h) {
  for (int64_t j = h.n; j-- > 0;) {
    double* last = h.row(j);
    const double pivot = last[j] - Dot(last, last, j + 1, h.n);
    if (!(pivot > 0) || !std::isfinite(pivot)) {
      return absl::InvalidArgumentError("the moments of the inputs are not positive definite");
    }
    last[j] = std::sqrt(pivot);
    for (int64_t i = 0; i < j; ++i) {
      double* row = h.row(i);
      row[j] = (row[j] - Dot(row, last, j + 1, h.n)) / last[j];
    }
  }
  return absl::OkStatus();
}

// The inverse of an upper triangular matrix.
Square Inverse(const Square& r) {
  Square u = {r.n, std::vector<double>(r.n * r.n)};
  for (int64_t i = 0; i < r.n; ++i) {
    double* row = u.row(i);
    row[i] = 1;
    for (int64_t k = i; k < r.n; ++k) {
      const double* by = r.row(k);
      row[k] /= by[k];
      for (int64_t j = k + 1; j < r.n; ++j) row[j] -= row[k] * by[j];
    }
  }
  return u;
}

// Rounds rows `from` to `to`.
void RoundRows(const GridMatrix& m, const Square& u, const std::vector<int64_t>& order,
               int64_t from, int64_t to, std::vector<int64_t>* codes) {
  const int64_t n = m.columns;
  std::vector<double> left((to - from) * n);
  for (int64_t r = from; r < to; ++r) {
    for (int64_t j = 0; j < n; ++j) left[(r - from) * n + j] = m.values[r * n + order[j]];
  }
  for (int64_t j = 0; j < n; ++j) {
    const double* row = u.row(j);
    for (int64_t r = from; r < to; ++r) {
      double* w = &left[(r - from) * n];
      const int64_t at = r * n + order[j];
      (*codes)[at] = CodeOf(m, at, w[j]);
      const double error = (w[j] - ValueOf(m, at, (*codes)[at])) / row[j];
      for (int64_t k = j + 1; k < n; ++k) w[k] -= error * row[k];
    }
  }
}

}  // namespace

std::vector<int64_t> NearestCodes(const GridMatrix& matrix) {
  std::vector<int64_t> codes(matrix.values.size());
  for (size_t i = 0; i < codes.size(); ++i) codes[i] = CodeOf(matrix, i, matrix.values[i]);
  return codes;
}

double ProductError(const GridMatrix& matrix, absl::Span<const int64_t> codes,
                    absl::Span<const double> moments) {
  const int64_t n = matrix.columns;
  std::vector<double> off(n);
  double error = 0;
  for (int64_t r = 0; r < matrix.rows; ++r) {
    for (int64_t j = 0; j < n; ++j) {
      const int64_t at = r * n + j;
      off[j] = matrix.values[at] - ValueOf(matrix, at, codes[at]);
    }
    for (int64_t j = 0; j < n; ++j) error += off[j] * Dot(off.data(), &moments[j * n], 0, n);
  }
  return error;
}

absl::StatusOr<std::vector<int64_t>> CompensatedCodes(const GridMatrix& matrix,
                                                      absl::Span<const double> moments) {
  const int64_t n = matrix.columns;
  if (n == 0 || static_cast<int64_t>(moments.size()) != n * n) {
    return absl::InvalidArgumentError("the moments are not those of the matrix's inputs");
  }
  const std::vector<int64_t> order = OrderOf(moments, n);
  WEFT_ASSIGN_OR_RETURN(Square h, Damped(moments, order));
  WEFT_RETURN_IF_ERROR(Factor(h));
  const Square u = Inverse(h);
  std::vector<int64_t> codes(matrix.values.size());
  for (int64_t from = 0; from < matrix.rows; from += kPanel) {
    RoundRows(matrix, u, order, from, std::min(from + kPanel, matrix.rows), &codes);
  }
  return codes;
}

}  // namespace weft
