#include "api/compare.h"

#include <cmath>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weft {
namespace {

using testing::HasSubstr;

constexpr double kInf = std::numeric_limits<double>::infinity();

HostTensor F32(std::vector<double> values) {
  return HostTensor::FromDoubles(DType::kF32, {static_cast<int64_t>(values.size())}, values);
}

HostTensor I64(std::vector<int64_t> values) {
  return HostTensor::FromInts(DType::kI64, {static_cast<int64_t>(values.size())}, values);
}

TEST(Compare, NanEqualsNanAndInfinitiesNeedTheirSign) {
  EXPECT_TRUE(Compare(F32({NAN, kInf}), F32({NAN, kInf})).ok());
  EXPECT_FALSE(Compare(F32({1}), F32({NAN})).ok());
  EXPECT_FALSE(Compare(F32({NAN}), F32({1})).ok());
  EXPECT_FALSE(Compare(F32({-kInf}), F32({kInf})).ok());
  EXPECT_FALSE(Compare(F32({1e30}), F32({kInf})).ok());
}

TEST(Compare, FloatsWithinTolerance) {
  CompareOptions options;
  options.rtol = 0.1;
  options.atol = 0.5;
  EXPECT_TRUE(Compare(F32({11.4}), F32({10}), options).ok());
  EXPECT_FALSE(Compare(F32({11.6}), F32({10}), options).ok());
}

TEST(Compare, IntegersMustBeEqual) {
  EXPECT_TRUE(Compare(I64({5000}), I64({5000})).ok());
  EXPECT_FALSE(Compare(I64({5001}), I64({5000})).ok());
  CompareOptions slack;
  slack.integer_slack = 1;
  EXPECT_TRUE(Compare(I64({5001}), I64({5000}), slack).ok());
  EXPECT_FALSE(Compare(I64({5002}), I64({5000}), slack).ok());
}

TEST(Compare, NamesWhatDiffers) {
  const auto message = [](const HostTensor& got, const HostTensor& want) {
    return std::string(Compare(got, want).message());
  };
  EXPECT_THAT(message(F32({1, 2}), I64({1, 2})), HasSubstr("got f32[2], want i64[2]"));
  EXPECT_THAT(message(F32({1}), F32({1, 2})), HasSubstr("got f32[1], want f32[2]"));
  EXPECT_THAT(message(F32({1, 2, 9}), F32({1, 3, 5})),
              HasSubstr("2 of 3 elements differ; worst at [2]: got 9, want 5"));
  EXPECT_THAT(message(HostTensor(), F32({1})), HasSubstr("got nothing"));
}

}  // namespace
}  // namespace weft
