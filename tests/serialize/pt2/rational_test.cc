#include "serialize/pt2/rational.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

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

// Sizes: all small ones, those around the powers of two, where products are rounded otherwise, and
// others up to 2^32, many of them multiples of the denominators below.
std::vector<int64_t> Sizes() {
  std::vector<int64_t> sizes;
  for (int64_t n = 0; n < 300; ++n) sizes.push_back(n);
  uint64_t state = 1;
  for (int i = 0; i < 150; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const int64_t n = static_cast<int64_t>(state >> 32) >> (i % 22);
    sizes.push_back(i % 3 == 0 ? n : std::max<int64_t>(n / 420 * (i % 3 == 1 ? 420 : 49), 1));
  }
  return sizes;
}

void ExpectCutAsFloats(const Rational& product, double scale, double factor) {
  const SymInt trunc = ToInt(product, Rounding::kTrunc);
  const SymInt floor = ToInt(product, Rounding::kFloor);
  const SymInt ceil = ToInt(product, Rounding::kCeil);
  static const auto& sizes = *new std::vector<int64_t>(Sizes());
  for (const int64_t size : sizes) {
    for (const int64_t n : {size, -size}) {
      const double exact = static_cast<double>(n) * scale * factor;
      ASSERT_EQ(At(trunc, n), std::trunc(exact)) << n << " * " << scale << " * " << factor;
      ASSERT_EQ(At(floor, n), std::floor(exact)) << n << " * " << scale << " * " << factor;
      ASSERT_EQ(At(ceil, n), std::ceil(exact)) << n << " * " << scale << " * " << factor;
    }
  }
}

// What a program computes of a size with floats, against the floats themselves.
TEST(RationalTest, CutsProductsAsFloatsDo) {
  for (double scale : {0.5,     1.5, 0.75, 2.0,      0.1, 0.2,    0.3,  0.6,      0.8, 1.2, 1.0 / 3,
                       2.0 / 3, 0.7, 1.1,  1.0 / 49, 1.6, 0.0625, 2.5,  -0.5,     0.9, 3.3, -0.7,
                       -1.1,    1.7, 0.35, 0.85,     2.2, 5.6,    0.03, 1.0 / 98, 1.9, 7.7}) {
    const auto factor = RationalOf(scale);
    ASSERT_TRUE(factor.ok()) << scale;
    const auto product = Times(*factor, {s0, 1, true});
    ASSERT_TRUE(product.ok()) << scale;
    ExpectCutAsFloats(*product, scale, 1);
    EXPECT_EQ(Negated(*product).below, product->above);
  }
}

TEST(RationalTest, CutsScaledProductsAsFloatsDo) {
  for (double scale : {0.7, 1.1, 1.0 / 49}) {
    for (double factor : {0.5, -4.0}) {
      const auto after = Times(*Times(*RationalOf(scale), {s0, 1, true}), *RationalOf(factor));
      ASSERT_TRUE(after.ok());
      ExpectCutAsFloats(*after, scale, factor);
      const auto before = Times(*Times(*RationalOf(scale), *RationalOf(factor)), {s0, 1, true});
      ASSERT_TRUE(before.ok());
      ExpectCutAsFloats(*before, scale * factor, 1);
    }
  }
}

// All tenths and sevenths, up to the first sizes at which their products differ from the fraction.
TEST(RationalTest, CutsAllTenthsAndSevenths) {
  for (const int64_t q : {7, 10}) {
    for (int64_t p = 1; p < 60; ++p) {
      const double scale = static_cast<double>(p) / static_cast<double>(q);
      const auto product = Times(*RationalOf(scale), {s0, 1, true});
      ASSERT_TRUE(product.ok()) << scale;
      const SymInt floor = ToInt(*product, Rounding::kFloor);
      const SymInt ceil = ToInt(*product, Rounding::kCeil);
      for (int64_t n = 0; n < 400; ++n) {
        ASSERT_EQ(At(floor, n), std::floor(static_cast<double>(n) * scale)) << n << " " << scale;
        ASSERT_EQ(At(ceil, n), std::ceil(static_cast<double>(n) * scale)) << n << " " << scale;
      }
    }
  }
}

// 80 * 0.7 is 56, 90 * 0.7 is less than 63 and 10 * 1.1 more than 11.
TEST(RationalTest, ProductsThatMissTheirFractionAreNotCompared) {
  EXPECT_EQ(80 * 0.7, 56);
  EXPECT_LT(90 * 0.7, 63);
  const Rational product = *Times(*RationalOf(0.7), {s0, 1, true});
  EXPECT_EQ(At(product.below, 80), 0);
  EXPECT_EQ(At(product.below, 90), 1);
  EXPECT_FALSE(product.meets_floats());
  EXPECT_FALSE(Compared(product, Less, {63, 1}).ok());
  EXPECT_TRUE(Compared(*Times(*RationalOf(0.1), {s0, 1, true}), Less, {63, 1}).ok());
}

TEST(RationalTest, RefusesFloatsThatAreNoFractions) {
  EXPECT_FALSE(RationalOf(3.14159265358979).ok());
  EXPECT_FALSE(RationalOf(std::nextafter(0.7, 1)).ok());
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
