// Buffers and tensors that lie in mapped files.
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <limits>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/host_buffer.h"
#include "gmock/gmock.h"
#include "graph/tensor/tensor.h"
#include "gtest/gtest.h"

namespace weft {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

class MapFileTest : public testing::Test {
 protected:
  void SetUp() override {
    path_ = absl::StrCat(testing::TempDir(), "/map_file_test.",
                         testing::UnitTest::GetInstance()->current_test_info()->name());
    std::ofstream out(path_, std::ios::binary);
    for (int i = 0; i < 10000; ++i) out.put(static_cast<char>(i % 251));
  }
  void TearDown() override { std::remove(path_.c_str()); }

  std::string path_;
};

TEST_F(MapFileTest, MapsTheWholeOrAPart) {
  auto whole = HostBuffer::MapFile(path_);
  ASSERT_TRUE(whole.ok()) << whole.status();
  EXPECT_EQ((*whole)->size(), 10000);
  EXPECT_EQ((*whole)->data()[9999], 9999 % 251);
  for (int64_t offset : {0, 1, 4095, 4096, 4097, 9999}) {
    auto part = HostBuffer::MapFile(path_, offset, 1);
    ASSERT_TRUE(part.ok()) << part.status();
    EXPECT_EQ((*part)->size(), 1);
    EXPECT_EQ((*part)->data()[0], offset % 251);
  }
  auto rest = HostBuffer::MapFile(path_, 5000);
  ASSERT_TRUE(rest.ok());
  EXPECT_EQ((*rest)->size(), 5000);
  auto nothing = HostBuffer::MapFile(path_, 10000);
  ASSERT_TRUE(nothing.ok());
  EXPECT_EQ((*nothing)->size(), 0);
}

TEST_F(MapFileTest, ViewsKeepTheMapping) {
  HostTensor t;
  {
    auto buffer = HostBuffer::MapFile(path_, 251, 8);
    ASSERT_TRUE(buffer.ok());
    t = HostTensor::View(*buffer, DType::kU8, {2, 3}, {4, 1}).value();
  }
  std::remove(path_.c_str());
  EXPECT_THAT(t.ReadInts(), ElementsAre(0, 1, 2, 4, 5, 6));
}

TEST_F(MapFileTest, OutsideOfTheFileIsAnError) {
  const std::pair<int64_t, int64_t> ranges[] = {{-1, 1},   {0, 10001}, {10001, -1}, {10001, 0},
                                                {9999, 2}, {0, -2},    {1, kMax},   {kMax, kMax},
                                                {kMax, 1}, {kMin, 1}};
  for (auto [offset, size] : ranges) {
    const absl::Status status = HostBuffer::MapFile(path_, offset, size).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange) << offset << " + " << size;
    EXPECT_THAT(status.message(), HasSubstr(path_));
  }
}

TEST_F(MapFileTest, ErrorsNameTheFile) {
  const std::string missing = path_ + ".missing";
  const absl::Status status = HostBuffer::MapFile(missing).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(status.message(), HasSubstr(missing));
  const absl::Status folder = HostBuffer::MapFile(testing::TempDir()).status();
  EXPECT_FALSE(folder.ok());
  EXPECT_THAT(folder.message(), HasSubstr(testing::TempDir()));
}

TEST_F(MapFileTest, AnEmptyFileMaps) {
  std::ofstream(path_, std::ios::trunc).close();
  auto buffer = HostBuffer::MapFile(path_);
  ASSERT_TRUE(buffer.ok()) << buffer.status();
  EXPECT_EQ((*buffer)->size(), 0);
  EXPECT_FALSE(HostBuffer::MapFile(path_, 0, 1).ok());
}

}  // namespace
}  // namespace weft
