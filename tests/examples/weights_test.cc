// Numbers from seeds: those that another implementation of the description in
// weights.cc gives, and that they fill their intervals.
#include "examples/models/weights.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "gmock/gmock.h"
#include "graph/tensor/tensor.h"
#include "gtest/gtest.h"

namespace weft::models {
namespace {

using testing::ElementsAre;

TEST(WeightsTest, AreTheSameOnEveryMachine) {
  EXPECT_EQ(SeedOf(0, "fc.weight"), 0x7c11bf81bc004ecau);
  const HostTensor symmetric = UniformTensor({5}, -0.5, 0.5, SeedOf(0, "fc.weight"));
  EXPECT_THAT(symmetric.ReadDoubles(),
              ElementsAre(7663674 * 0x1p-24, 7762776 * 0x1p-24, 3197532 * 0x1p-24,
                          2815268 * 0x1p-24, 7911397 * 0x1p-24));
  const HostTensor shifted = UniformTensor({2}, 0.8, 1.2, SeedOf(3, "bn.weight"));
  EXPECT_THAT(shifted.ReadDoubles(), ElementsAre(0x1.eb325p-1, 0x1.a2433cp-1));
  const HostTensor ids = IntegerTensor(DType::kI64, {5}, 0, 97, SeedOf(0, "ids"));
  EXPECT_THAT(ids.ReadInts(), ElementsAre(40, 23, 72, 31, 62));
}

TEST(WeightsTest, FillTheirInterval) {
  for (const auto& [low, high] : std::vector<std::pair<double, double>>{{-0.5, 0.5}, {2, 3}}) {
    const std::vector<double> values = UniformTensor({4096}, low, high, 1).ReadDoubles();
    const auto [least, most] = std::minmax_element(values.begin(), values.end());
    EXPECT_GE(*least, low);
    EXPECT_LE(*most, high);
    EXPECT_LT(*least, low + 0.01);
    EXPECT_GT(*most, high - 0.01);
    const double mean = std::accumulate(values.begin(), values.end(), 0.0) / 4096;
    EXPECT_NEAR(mean, (low + high) / 2, 0.02);
  }
}

}  // namespace
}  // namespace weft::models
