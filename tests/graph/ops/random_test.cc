// Random numbers: known bits, and the statistics of numbers made from them. The draws are fixed by
// their states, so that no check depends on chance.
#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/ops/evaluate.h"
#include "graph/ops/registry.h"
#include "graph/ops/samples.h"
#include "graph/tensor/tensor.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"

namespace weft {
namespace {

HostTensor Eval(const std::string& call) {
  const auto samples = ParseSamples(call, ops::Registry());
  EXPECT_TRUE(samples.ok()) << samples.status();
  if (!samples.ok()) return HostTensor();
  const Sample& s = samples->front();
  const auto got = Evaluate(*s.op, s.attrs, SampleInputs(s, 0));
  EXPECT_TRUE(got.ok()) << got.status();
  return got.ok() ? (*got)[0] : HostTensor();
}

std::vector<double> Draw(const std::string& op, int64_t draw, const std::string& rest = "") {
  return Eval(absl::StrCat(op, "(i64[2]{7, 0}, size=[100, 200], draw=", draw, rest, ")"))
      .ReadDoubles();
}

struct Moments {
  double mean = 0;
  double variance = 0;
};

Moments MomentsOf(const std::vector<double>& x) {
  Moments m;
  for (double v : x) m.mean += v / x.size();
  for (double v : x) m.variance += (v - m.mean) * (v - m.mean) / x.size();
  return m;
}

double Correlation(const std::vector<double>& x, const std::vector<double>& y) {
  const Moments a = MomentsOf(x);
  const Moments b = MomentsOf(y);
  double sum = 0;
  for (size_t i = 0; i < x.size(); ++i) sum += (x[i] - a.mean) * (y[i] - b.mean) / x.size();
  return sum / std::sqrt(a.variance * b.variance);
}

// The first two words of the known answer of the generator's authors for counter
// and key 0: 6627e8d5 e169c58d bc57ac4c 9b00dbd8.
TEST(Random, BitsAreThoseOfPhilox) {
  const HostTensor bits = Eval("random_bits(i64[2]{0, 0}, size=[1], draw=0)");
  EXPECT_EQ(static_cast<uint64_t>(bits.IntAt(0)), 0xe169c58d6627e8d5u);
}

TEST(Random, EachPartOfTheStateCounts) {
  std::set<int64_t> seen;
  for (const char* state : {"0, 0", "1, 0", "4294967296, 0", "0, 1", "0, 8589934592"}) {
    for (int64_t draw : {0, 1, 2}) {
      const HostTensor bits =
          Eval(absl::StrCat("random_bits(i64[2]{", state, "}, size=[4], draw=", draw, ")"));
      for (int64_t v : bits.ReadInts()) seen.insert(v);
    }
  }
  EXPECT_EQ(seen.size(), 5u * 3u * 4u);
}

TEST(Random, EqualStatesGiveEqualNumbers) {
  EXPECT_EQ(Draw("rand", 3), Draw("rand", 3));
  EXPECT_NE(Draw("rand", 3), Draw("rand", 4));
  // The draw does not depend on the shape.
  EXPECT_TRUE(Eval("random_bits(i64[2]{7, 1}, size=[6], draw=0)")
                  .Reshaped({2, 3})
                  .BitEqual(Eval("random_bits(i64[2]{7, 1}, size=[2, 3], draw=0)")));
}

TEST(Random, UniformNumbersFillTheInterval) {
  for (const char* dtype : {"f64", "f32", "f16", "bf16"}) {
    SCOPED_TRACE(dtype);
    const std::vector<double> u = Draw("rand", 1, absl::StrCat(", dtype=", dtype));
    ASSERT_EQ(u.size(), 20000u);
    EXPECT_GE(*std::min_element(u.begin(), u.end()), 0);
    EXPECT_LT(*std::max_element(u.begin(), u.end()), 1);
    const Moments m = MomentsOf(u);
    // Standard errors are 0.002 and 0.0006; bf16's steps of 1/256 have a bias.
    EXPECT_NEAR(m.mean, 0.5, 0.008);
    EXPECT_NEAR(m.variance, 1.0 / 12, 0.003);
    std::vector<int> bins(20);
    for (double v : u) ++bins[static_cast<int>(v * 20)];
    for (int n : bins) EXPECT_NEAR(n, 1000, 160);
  }
}

TEST(Random, NormalNumbersHaveTheMoments) {
  for (const char* dtype : {"f64", "f32", "f16"}) {
    SCOPED_TRACE(dtype);
    const std::vector<double> z = Draw("randn", 2, absl::StrCat(", dtype=", dtype));
    const Moments m = MomentsOf(z);
    EXPECT_NEAR(m.mean, 0, 0.03);
    EXPECT_NEAR(m.variance, 1, 0.05);
    double third = 0;
    double fourth = 0;
    int beyond = 0;
    for (double v : z) {
      third += v * v * v / z.size();
      fourth += v * v * v * v / z.size();
      beyond += std::abs(v) > 1.96;
    }
    EXPECT_NEAR(third, 0, 0.1);
    EXPECT_NEAR(fourth, 3, 0.25);
    EXPECT_NEAR(beyond, 1000, 130);
  }
}

TEST(Random, DrawsAndNeighboursAreIndependent) {
  const std::vector<double> a = Draw("randn", 5);
  EXPECT_NEAR(Correlation(a, Draw("randn", 6)), 0, 0.03);
  std::vector<double> next(a.begin() + 1, a.end());
  next.push_back(a[0]);
  EXPECT_NEAR(Correlation(a, next), 0, 0.03);
}

}  // namespace
}  // namespace weft
