#include "api/check/compare.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "base/host_buffer.h"
#include "gmock/gmock.h"
#include "graph/tensor/tensor.h"
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

// Doubles have 53 bits.
TEST(Compare, IntegersBeyondDoubles) {
  const auto u64 = [](int64_t bits) { return HostTensor::FromInts(DType::kU64, {1}, {bits}); };
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  const int64_t large = int64_t{1} << 60;
  EXPECT_FALSE(Compare(I64({large}), I64({large + 1})).ok());
  EXPECT_FALSE(Compare(I64({(int64_t{1} << 62) + 1}), I64({(int64_t{1} << 62) + 200})).ok());
  EXPECT_FALSE(Compare(I64({kMin}), I64({kMax})).ok());
  EXPECT_FALSE(Compare(u64(-1), u64(-2)).ok());  // 2^64 - 1, 2^64 - 2.
  EXPECT_THAT(std::string(Compare(u64(-1), u64(0)).message()),
              HasSubstr("got 18446744073709551615, want 0"));
  CompareOptions slack;
  slack.integer_slack = 1;
  EXPECT_TRUE(Compare(I64({large}), I64({large + 1}), slack).ok());
  EXPECT_FALSE(Compare(I64({large}), I64({large + 2}), slack).ok());
  EXPECT_TRUE(Compare(u64(-1), u64(-2), slack).ok());
  EXPECT_FALSE(Compare(u64(-1), u64(0), slack).ok());
  EXPECT_FALSE(Compare(I64({kMax}), I64({kMin}), slack).ok());
}

TEST(Compare, TolerancesThatAreNoneAllowNothing) {
  for (const double bad : {std::nan(""), -1.0, -kInf}) {
    CompareOptions options;
    options.rtol = bad;
    EXPECT_TRUE(absl::IsInvalidArgument(Compare(F32({1}), F32({1}), options)));
    options = CompareOptions();
    options.atol = bad;
    EXPECT_TRUE(absl::IsInvalidArgument(Compare(F32({1}), F32({1}), options)));
  }
  CompareOptions infinite;
  infinite.rtol = kInf;
  EXPECT_TRUE(Compare(F32({2}), F32({1}), infinite).ok());
  EXPECT_FALSE(Compare(F32({2}), F32({0}), infinite).ok());
}

TEST(Compare, ComplexNumbersAsPairs) {
  const auto c64 = [](std::vector<float> parts) {
    auto buffer = HostBuffer::Allocate(static_cast<int64_t>(4 * parts.size()));
    std::memcpy(buffer->data(), parts.data(), 4 * parts.size());
    return *HostTensor::View(buffer, DType::kC64, {static_cast<int64_t>(parts.size() / 2)});
  };
  EXPECT_TRUE(Compare(c64({1, 2, 3, NAN}), c64({1, 2, 3, NAN})).ok());
  EXPECT_THAT(std::string(Compare(c64({1, 2, 3, 4}), c64({1, 2, 3, 9})).message()),
              HasSubstr("1 of 4 elements differ; worst at [1, 1]: got 4, want 9"));
}

TEST(Compare, TellsTheLargestError) {
  double error = -1;
  EXPECT_TRUE(Compare(F32({1, 2}), F32({1, 2}), {}, &error).ok());
  EXPECT_EQ(error, 0);
  CompareOptions wide;
  wide.atol = 1;
  EXPECT_TRUE(Compare(F32({1, 2, NAN}), F32({1.5, 2.25, NAN}), wide, &error).ok());
  EXPECT_EQ(error, 0.5);
  EXPECT_FALSE(Compare(I64({1, 7}), I64({1, 3}), wide, &error).ok());
  EXPECT_EQ(error, 4);
  EXPECT_FALSE(Compare(F32({NAN}), F32({1}), wide, &error).ok());
  EXPECT_EQ(error, kInf);
  EXPECT_FALSE(Compare(F32({1}), I64({1}), wide, &error).ok());
  EXPECT_EQ(error, kInf);
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
