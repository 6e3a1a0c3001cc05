// Factors of random matrices, multiplied again; special functions at points where
// they are known.
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/ops/evaluate.h"
#include "graph/ops/linalg/matrices.h"
#include "graph/ops/registry.h"
#include "graph/ops/samples.h"
#include "graph/tensor/tensor.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"

namespace weft {
namespace {

using ops::Matrix;
using ops::ReadMatrices;

struct Case {
  std::vector<HostTensor> inputs, results;
};

Case Eval(const std::string& call, uint64_t seed = 7) {
  Case c;
  const auto samples = ParseSamples(call, ops::Registry());
  EXPECT_TRUE(samples.ok()) << samples.status();
  if (!samples.ok()) return c;
  const Sample& s = samples->front();
  c.inputs = SampleInputs(s, seed);
  const auto got = Evaluate(*s.op, s.attrs, c.inputs);
  EXPECT_TRUE(got.ok()) << call << ": " << got.status();
  if (got.ok()) c.results = *got;
  return c;
}

Matrix Times(const Matrix& a, const Matrix& b) {
  EXPECT_EQ(a.columns, b.rows);
  Matrix y(a.rows, b.columns);
  for (int64_t i = 0; i < a.rows; ++i) {
    for (int64_t j = 0; j < b.columns; ++j) {
      for (int64_t k = 0; k < a.columns; ++k) y(i, j) += a(i, k) * b(k, j);
    }
  }
  return y;
}

Matrix Diagonal(const std::vector<double>& d) {
  Matrix m(static_cast<int64_t>(d.size()), static_cast<int64_t>(d.size()));
  for (size_t i = 0; i < d.size(); ++i) m(i, i) = d[i];
  return m;
}

void ExpectEqual(const Matrix& a, const Matrix& b, const std::string& what) {
  ASSERT_EQ(a.rows, b.rows) << what;
  ASSERT_EQ(a.columns, b.columns) << what;
  for (int64_t i = 0; i < a.rows; ++i) {
    for (int64_t j = 0; j < a.columns; ++j) {
      EXPECT_NEAR(a(i, j), b(i, j), 1e-12) << what << " (" << i << ", " << j << ")";
    }
  }
}

void ExpectOrthonormal(const Matrix& q) {
  ExpectEqual(Times(q.Transposed(), q), Matrix::Identity(q.columns), "columns");
}

TEST(Linalg, QrFactors) {
  for (const char* shape : {"f64[5, 3]", "f64[3, 3]", "f64[3, 5]"}) {
    for (const char* complete : {"false", "true"}) {
      SCOPED_TRACE(absl::StrCat(shape, complete));
      const Case c = Eval(absl::StrCat("qr(", shape, ", complete=", complete, ")"));
      const Matrix q = ReadMatrices(c.results[0])[0];
      const Matrix r = ReadMatrices(c.results[1])[0];
      ExpectOrthonormal(q);
      ExpectEqual(Times(q, r), ReadMatrices(c.inputs[0])[0], "product");
      for (int64_t i = 0; i < r.rows; ++i) {
        for (int64_t j = 0; j < std::min(i, r.columns); ++j) EXPECT_EQ(r(i, j), 0);
      }
    }
  }
  // The first column's reflection changes its sign.
  const Case c = Eval("qr(f64[2, 2]{3, 1, 4, 2})");
  EXPECT_NEAR(c.results[1].DoubleAt(0), -5, 1e-14);
}

TEST(Linalg, SingularValues) {
  for (const char* shape : {"f64[5, 3]", "f64[4, 4]", "f64[3, 5]"}) {
    for (const char* full : {"false", "true"}) {
      SCOPED_TRACE(absl::StrCat(shape, full));
      const Case c = Eval(absl::StrCat("svd(", shape, ", full_matrices=", full, ")"));
      const Matrix u = ReadMatrices(c.results[0])[0];
      const Matrix vh = ReadMatrices(c.results[2])[0];
      const std::vector<double> s = c.results[1].ReadDoubles();
      ExpectOrthonormal(u);
      ExpectOrthonormal(vh.Transposed());
      for (size_t i = 1; i < s.size(); ++i) EXPECT_GE(s[i - 1], s[i]);
      Matrix middle(u.columns, vh.rows);
      for (size_t i = 0; i < s.size(); ++i) middle(i, i) = s[i];
      ExpectEqual(Times(Times(u, middle), vh), ReadMatrices(c.inputs[0])[0], "product");
    }
  }
}

// Matrices of rank one and zero: the other vectors are still orthonormal.
TEST(Linalg, SingularValuesOfLowRank) {
  for (const char* call : {"svd(f64[3, 2]{1, 2, 2, 4, 3, 6})", "svd(f64[2, 2]{0..0})"}) {
    SCOPED_TRACE(call);
    const Case c = Eval(call);
    const Matrix u = ReadMatrices(c.results[0])[0];
    ExpectOrthonormal(u);
    const Matrix vh = ReadMatrices(c.results[2])[0];
    ExpectEqual(Times(Times(u, Diagonal(c.results[1].ReadDoubles())), vh),
                ReadMatrices(c.inputs[0])[0], "product");
  }
}

TEST(Linalg, Eigenvectors) {
  for (const char* upper : {"false", "true"}) {
    const Case c = Eval(absl::StrCat("eigh(f64[2, 4, 4], upper=", upper, ")"));
    for (int k = 0; k < 2; ++k) {
      Matrix a = ReadMatrices(c.inputs[0])[k];
      for (int64_t i = 0; i < 4; ++i) {
        for (int64_t j = 0; j < i; ++j) {
          if (std::string(upper) == "true") {
            a(i, j) = a(j, i);
          } else {
            a(j, i) = a(i, j);
          }
        }
      }
      const Matrix v = ReadMatrices(c.results[1])[k];
      const std::vector<double> all = c.results[0].ReadDoubles();
      const std::vector<double> w(all.begin() + 4 * k, all.begin() + 4 * k + 4);
      ExpectOrthonormal(v);
      EXPECT_TRUE(std::is_sorted(w.begin(), w.end()));
      ExpectEqual(Times(a, v), Times(v, Diagonal(w)), "A v = v w");
    }
  }
}

TEST(Linalg, LuFactorsSolve) {
  const Case lu = Eval("lu_factor(f64[4, 4])");
  const Matrix a = ReadMatrices(lu.inputs[0])[0];
  EXPECT_EQ(lu.results[2].IntAt(0), 0);
  const auto samples = ParseSamples("lu_solve(f64[4, 4], i32[4], f64[4, 2])", ops::Registry());
  ASSERT_TRUE(samples.ok());
  const HostTensor b = SampleInputs(samples->front(), 3)[2];
  const auto x =
      Evaluate(*samples->front().op, samples->front().attrs, {lu.results[0], lu.results[1], b});
  ASSERT_TRUE(x.ok()) << x.status();
  ExpectEqual(Times(a, ReadMatrices((*x)[0])[0]), ReadMatrices(b)[0], "A x");
  // A pivot of 0 is told by its column.
  EXPECT_EQ(Eval("lu_factor(f64[2, 2]{1, 2, 2, 4})").results[2].IntAt(0), 2);
}

TEST(Linalg, TrianglesAndCholesky) {
  const Case c = Eval("cholesky(f64[2, 2]{4, 2, 2, 5})");
  EXPECT_EQ(c.results[0].ReadDoubles(), (std::vector<double>{2, 0, 1, 2}));
  EXPECT_EQ(Eval("cholesky(f64[2, 2]{4, 2, 9, 5}, upper=true)").results[0].ReadDoubles(),
            (std::vector<double>{2, 1, 0, 2}));
  EXPECT_EQ(Eval("cholesky(f64[2, 2]{1, 2, 2, 1})").results[1].IntAt(0), 2);
  EXPECT_EQ(Eval("solve_triangular(f64[2, 2]{2, 9, 1, 4}, f64[2, 1]{2, 9}, upper=false)")
                .results[0]
                .ReadDoubles(),
            (std::vector<double>{1, 2}));
  EXPECT_EQ(Eval("solve_triangular(f64[2, 2]{2, 1, 9, 4}, f64[2, 1]{4, 8}, upper=true)")
                .results[0]
                .ReadDoubles(),
            (std::vector<double>{1, 2}));
}

// exp of a rotation's generator, and of a diagonal matrix.
TEST(Linalg, MatrixExponential) {
  const auto turn = Eval("matrix_exp(f64[2, 2]{0, -3, 3, 0})").results[0].ReadDoubles();
  EXPECT_NEAR(turn[0], std::cos(3.0), 1e-13);
  EXPECT_NEAR(turn[1], -std::sin(3.0), 1e-13);
  const auto grow = Eval("matrix_exp(f64[2, 2]{5, 0, 0, -2})").results[0].ReadDoubles();
  EXPECT_NEAR(grow[0], std::exp(5.0), 1e-10);
  EXPECT_NEAR(grow[3], std::exp(-2.0), 1e-14);
}

struct Point {
  const char* call;
  double value;
};

TEST(Special, KnownValues) {
  const Point points[] = {
      {"digamma(f64[]{1})", -0.57721566490153286},
      {"digamma(f64[]{-0.5})", 0.03648997397857652},
      {"polygamma(f64[]{1}, n=1)", 1.6449340668482264},
      {"polygamma(f64[]{-1.5}, n=1)", 9.3792466449891238},
      {"polygamma(f64[]{2}, n=2)", -0.40411380631918857},
      {"zeta(f64[]{2}, f64[]{1})", 1.6449340668482264},
      {"zeta(f64[]{3}, f64[]{0.5})", 8.414398322117159},
      {"erfinv(f64[]{0.5})", 0.4769362762044699},
      {"erfinv(f64[]{-0.999})", -2.326753765513525},
      {"erfcx(f64[]{30})", 0.018795888861416751},
      {"erfcx(f64[]{-1})", 5.00898008076228347},
      {"ndtri(f64[]{0.975})", 1.959963984540054},
      {"ndtri(f64[]{1e-100})", -21.273453560965324},
      {"bessel_i0(f64[]{1})", 1.2660658777520084},
      {"bessel_i0e(f64[]{100})", 0.03994437929909669},
      {"bessel_i1(f64[]{-1})", -0.5651591039924851},
      {"bessel_i1e(f64[]{1})", 0.2079104153497085},
      {"bessel_j0(f64[]{1})", 0.7651976865579666},
      {"bessel_j1(f64[]{1})", 0.44005058574493355},
      {"bessel_y0(f64[]{1})", 0.08825696421567697},
      {"bessel_y1(f64[]{1})", -0.7812128213002887},
      {"igamma(f64[]{2}, f64[]{1})", 0.2642411176571153},
      {"igammac(f64[]{2}, f64[]{10})", 0.000499399227387334},
  };
  for (const Point& p : points) {
    const Case c = Eval(p.call);
    ASSERT_EQ(c.results.size(), 1u) << p.call;
    EXPECT_NEAR(c.results[0].DoubleAt(0), p.value, 1e-13 * (1 + std::abs(p.value))) << p.call;
  }
}

TEST(Special, Poles) {
  EXPECT_EQ(Eval("digamma(f64[]{0})").results[0].DoubleAt(0), -HUGE_VAL);
  EXPECT_TRUE(std::isnan(Eval("digamma(f64[]{-3})").results[0].DoubleAt(0)));
  EXPECT_EQ(Eval("erfinv(f64[]{1})").results[0].DoubleAt(0), HUGE_VAL);
  EXPECT_TRUE(std::isnan(Eval("erfinv(f64[]{1.5})").results[0].DoubleAt(0)));
  EXPECT_EQ(Eval("zeta(f64[]{1}, f64[]{3})").results[0].DoubleAt(0), HUGE_VAL);
  EXPECT_EQ(Eval("ndtri(f64[]{0})").results[0].DoubleAt(0), -HUGE_VAL);
}

}  // namespace
}  // namespace weft
