// Times of repeated runs.
#include "tools/bench/measure.h"

#include "gtest/gtest.h"

namespace weft::bench {
namespace {

TEST(MeasureTest, QuantilesLieBetweenTimes) {
  EXPECT_DOUBLE_EQ(Quantile({3, 1, 2}, 0.5), 2);
  EXPECT_DOUBLE_EQ(Quantile({4, 1, 2, 3}, 0.5), 2.5);
  EXPECT_DOUBLE_EQ(Quantile({10, 0}, 0.1), 1);
  EXPECT_DOUBLE_EQ(Quantile({1, 2, 3}, 0), 1);
  EXPECT_DOUBLE_EQ(Quantile({1, 2, 3}, 1), 3);
  EXPECT_DOUBLE_EQ(Quantile({7}, 0.9), 7);
}

TEST(MeasureTest, CountedRunsHaveNoWarmUp) {
  int runs = 0;
  MeasureOptions options;
  options.iterations = 3;
  const auto times = MeasureMs(options, [&] {
    ++runs;
    return absl::OkStatus();
  });
  ASSERT_TRUE(times.ok());
  EXPECT_EQ(times->size(), 3u);
  EXPECT_EQ(runs, 3);
}

TEST(MeasureTest, SlowProgramsRunTheLeastNumberOfTimes) {
  int runs = 0;
  MeasureOptions options;
  options.warmup_seconds = 0;
  options.seconds = 0;
  const auto times = MeasureMs(options, [&] {
    ++runs;
    return absl::OkStatus();
  });
  ASSERT_TRUE(times.ok());
  EXPECT_EQ(runs, 5);
}

TEST(MeasureTest, TheFirstErrorEndsIt) {
  int runs = 0;
  MeasureOptions options;
  options.iterations = 10;
  const auto times = MeasureMs(
      options, [&] { return ++runs < 3 ? absl::OkStatus() : absl::InternalError("third"); });
  EXPECT_EQ(times.status().message(), "third");
  EXPECT_EQ(runs, 3);
}

}  // namespace
}  // namespace weft::bench
