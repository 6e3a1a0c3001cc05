#include "serialize/pt2/rational.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "graph/sym/sym_expr.h"
#include "graph/sym/sym_ops.h"
#include "gtest/gtest.h"

namespace weft::pt2 {
namespace {

const SymInt s0 = SymInt::Symbol("s0");

int64_t At(SymInt size, int64_t n) {
  return Evaluate(size, [&](SymInt) { return std::optional<int64_t>(n); }).value();
}

// Compares computations of a size with floats with the floats themselves.
TEST(RationalTest, CutsProductsAsFloatsDo) {
  int represented = 0;
  for (double scale : {0.5,     1.5, 0.75, 2.0,      0.1, 0.2,    0.3, 0.6,  0.8, 1.2, 1.0 / 3,
                       2.0 / 3, 0.7, 1.1,  1.0 / 49, 1.6, 0.0625, 2.5, -0.5, 0.9, 3.3}) {
    const auto factor = RationalOf(scale);
    if (!factor.ok()) continue;
    ++represented;
    const auto product = Times(*factor, {s0, 1, true});
    ASSERT_TRUE(product.ok()) << scale;
    const SymInt trunc = ToInt(*product, Rounding::kTrunc);
    const SymInt floor = ToInt(*product, Rounding::kFloor);
    const SymInt ceil = ToInt(*product, Rounding::kCeil);
    for (int64_t n = 0; n < 20000; ++n) {
      const double exact = static_cast<double>(n) * scale;
      ASSERT_EQ(At(trunc, n), std::trunc(exact)) << n << " * " << scale;
      ASSERT_EQ(At(floor, n), std::floor(exact)) << n << " * " << scale;
      ASSERT_EQ(At(ceil, n), std::ceil(exact)) << n << " * " << scale;
    }
  }
  EXPECT_GE(represented, 14);
}

// 90 * 0.7 is less than 63 and 49 * (1 / 49) less than 1: no fraction stands for these.
TEST(RationalTest, RefusesFloatsThatRoundOtherwise) {
  EXPECT_LT(90 * 0.7, 63);
  EXPECT_FALSE(RationalOf(0.7).ok());
  EXPECT_FALSE(RationalOf(1.0 / 49).ok());
  EXPECT_FALSE(RationalOf(3.14159265358979).ok());
  EXPECT_FALSE(RationalOf(1e-30).ok());
  EXPECT_FALSE(RationalOf(std::nan("")).ok());
  EXPECT_FALSE(RationalOf(INFINITY).ok());
}

TEST(RationalTest, QuotientsAreRoundedOnce) {
  const Rational n = {s0, 1, true};
  for (int64_t divisor : {2, 3, 7, 10, 49}) {
    const auto quotient = Quotient(n, {divisor, 1, true});
    ASSERT_TRUE(quotient.ok());
    const SymInt ceil = ToInt(*quotient, Rounding::kCeil);
    for (int64_t i = 0; i < 5000; ++i) {
      const double exact = static_cast<double>(i) / static_cast<double>(divisor);
      ASSERT_EQ(At(ceil, i), std::ceil(exact)) << i << " / " << divisor;
    }
    // Only a power of two leaves something to compute with.
    EXPECT_EQ(Plus(*quotient, {1, 1, true}).ok(), divisor == 2);
    EXPECT_EQ(Times(*quotient, {3, 1, true}).ok(), divisor == 2);
    EXPECT_TRUE(Times(*quotient, {4, 1, true}).ok());
  }
  EXPECT_FALSE(Quotient({1, 1, true}, n).ok());
}

TEST(RationalTest, RoundedConstantsMakeOneProduct) {
  const Rational third = *RationalOf(1.0 / 3);
  EXPECT_FALSE(Times(third, third).ok());
  EXPECT_FALSE(Times(third, {3, 1, true}).ok());
  EXPECT_FALSE(Plus(third, {s0, 1, true}).ok());
  const auto product = Times(third, {s0, 1, true});
  ASSERT_TRUE(product.ok());
  EXPECT_FALSE(Times(*product, {s0, 1, true}).ok());
  EXPECT_FALSE(Compared(*product, Less, *product).ok());
  EXPECT_EQ(*Compared(*product, Less, {2, 1}), Less(s0, 6));
}

TEST(RationalTest, WholeNumbersOnly) {
  EXPECT_EQ(*Whole({2 * s0, 2}), s0);
  EXPECT_EQ(Whole({s0, 1, true}).status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(Whole({SymInt::Invalid(), 1}).status().code(), absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace weft::pt2
