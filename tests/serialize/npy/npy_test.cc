#include "serialize/npy/npy.h"

#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "graph/tensor/tensor.h"
#include "gtest/gtest.h"

namespace weft {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr DType kNumPyTypes[] = {DType::kBool, DType::kU8,  DType::kU16, DType::kU32,
                                 DType::kU64,  DType::kI8,  DType::kI16, DType::kI32,
                                 DType::kI64,  DType::kF16, DType::kF32, DType::kF64};

TEST(Npy, RoundTripsEveryDType) {
  for (DType dtype : kNumPyTypes) {
    SCOPED_TRACE(DTypeName(dtype));
    const HostTensor t = HostTensor::FromInts(dtype, {2, 3}, {0, 1, 1, 0, 1, 0});
    auto bytes = FormatNpy(t);
    ASSERT_TRUE(bytes.ok()) << bytes.status().ToString();
    auto back = ParseNpy(*bytes);
    ASSERT_TRUE(back.ok()) << back.status().ToString();
    EXPECT_TRUE(back->BitEqual(t));
  }
}

TEST(Npy, RoundTripsScalarsVectorsAndEmptyArrays) {
  for (const std::vector<int64_t>& dims :
       std::vector<std::vector<int64_t>>{{}, {1}, {0}, {3, 0, 2}}) {
    const HostTensor t(DType::kF32, dims);
    auto back = ParseNpy(*FormatNpy(t));
    ASSERT_TRUE(back.ok()) << back.status().ToString();
    EXPECT_EQ(back->dims(), t.dims());
  }
}

TEST(Npy, DataIsAligned) {
  auto bytes = FormatNpy(HostTensor(DType::kF32, {5}));
  EXPECT_EQ((bytes->size() - 5 * 4) % 64, 0u);
}

TEST(Npy, ReadsColumnMajorArrays) {
  std::string bytes = *FormatNpy(HostTensor::FromInts(DType::kI32, {2, 3}, {1, 2, 3, 4, 5, 6}));
  bytes = absl::StrReplaceAll(bytes, {{"False,", "True, "}});
  auto t = ParseNpy(bytes);
  ASSERT_TRUE(t.ok()) << t.status().ToString();
  EXPECT_THAT(t->ReadInts(), ElementsAre(1, 3, 5, 2, 4, 6));
}

// The strides of these sizes do not fit in 64 bits, and there is no element to reach by them.
TEST(Npy, ReadsEmptyColumnMajorArrays) {
  const int64_t large = int64_t{1} << 40;
  std::string bytes = *FormatNpy(HostTensor(DType::kF32, {large, large, 0}));
  bytes = absl::StrReplaceAll(bytes, {{"False,", "True, "}});
  auto t = ParseNpy(bytes);
  ASSERT_TRUE(t.ok()) << t.status().ToString();
  EXPECT_THAT(t->dims(), ElementsAre(large, large, 0));
}

TEST(Npy, RefusesBadBytes) {
  const std::string good = *FormatNpy(HostTensor(DType::kF32, {4}));
  const auto message = [](absl::string_view bytes) {
    return std::string(ParseNpy(bytes).status().message());
  };
  EXPECT_THAT(message("PK"), HasSubstr("magic"));
  EXPECT_THAT(message(absl::string_view(good).substr(0, 20)), HasSubstr("truncated"));
  EXPECT_THAT(message(absl::string_view(good).substr(0, good.size() - 1)),
              HasSubstr("less data than its shape says"));
  EXPECT_THAT(message(absl::StrReplaceAll(good, {{"(4,)", "(-4,)"}})), HasSubstr("bad size"));
  EXPECT_THAT(
      message(absl::StrReplaceAll(good, {{"(4,), }          ", "(9999999999, 9999999999), }"}})),
      HasSubstr("less data"));
  EXPECT_THAT(message(absl::StrReplaceAll(good, {{"<f4", ">f4"}})), HasSubstr("big-endian"));
  EXPECT_THAT(message(absl::StrReplaceAll(good, {{"<f4", "<U4"}})), HasSubstr("'<U4'"));
}

TEST(Npy, EveryPrefixIsAnErrorAndNoCrash) {
  const std::string good = *FormatNpy(HostTensor(DType::kF32, {4}));
  for (size_t n = 0; n < good.size(); ++n) {
    EXPECT_FALSE(ParseNpy(absl::string_view(good).substr(0, n)).ok()) << n;
  }
}

TEST(Npy, BoolsAreZeroOrOne) {
  std::string bytes = *FormatNpy(HostTensor(DType::kBool, {6}));
  bytes.replace(bytes.size() - 6, 6, std::string("\x00\x01\x02\xFF\x07\x80", 6));
  const auto t = ParseNpy(bytes);
  ASSERT_TRUE(t.ok()) << t.status();
  EXPECT_TRUE(t->BitEqual(HostTensor::FromInts(DType::kBool, {6}, {0, 1, 1, 1, 1, 1})));
}

TEST(Npy, RanksAreBounded) {
  const std::string good = *FormatNpy(HostTensor(DType::kF32, std::vector<int64_t>(64, 1)));
  EXPECT_TRUE(ParseNpy(good).ok());
  const std::string bad = *FormatNpy(HostTensor(DType::kF32, std::vector<int64_t>(65, 1)));
  EXPECT_THAT(std::string(ParseNpy(bad).status().message()), HasSubstr("a bad size"));
}

TEST(Npy, FilesThatCannotBeReadAreNamed) {
  const auto message = [](const std::string& path) {
    return std::string(ReadNpy(path).status().message());
  };
  EXPECT_THAT(message("/no/such.npy"), HasSubstr("/no/such.npy"));
  EXPECT_THAT(message(testing::TempDir()), HasSubstr("not a regular file"));
}

TEST(Npy, RefusesDTypesThatNumPyLacks) {
  EXPECT_THAT(std::string(FormatNpy(HostTensor(DType::kBF16, {1})).status().message()),
              HasSubstr("bf16"));
}

}  // namespace
}  // namespace weft
