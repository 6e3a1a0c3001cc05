// The cache of kernels returns only complete objects.
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "backends/cpu/jit/kernel_library.h"
#include "base/log.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weft::cpu {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kText[] = "the text";

std::string ReadAll(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void Write(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

class KernelCacheTest : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(folder_);
    object_ = testing::TempDir() + "/object.so";
    Write(object_, std::string(20000, 'x'));
    ASSERT_TRUE(SetLogs("codegen").ok());
    SetLogSink([this](absl::string_view line) { log_.emplace_back(line); });
  }
  void TearDown() override {
    SetLogSink(nullptr);
    ASSERT_TRUE(SetLogs("").ok());
  }
  KernelCache Open() {
    auto cache = KernelCache::Open(folder_);
    EXPECT_TRUE(cache.ok()) << cache.status();
    return *cache;
  }
  const std::string folder_ = testing::TempDir() + "/kernel_cache/with/parents";
  std::string object_;
  std::vector<std::string> log_;
};

TEST_F(KernelCacheTest, KeepsAndFinds) {
  const KernelCache cache = Open();
  EXPECT_EQ(cache.Find(kText), "");
  cache.Keep(object_, kText);
  EXPECT_EQ(ReadAll(cache.Find(kText)), ReadAll(object_));
  EXPECT_EQ(cache.Find("another text"), "");
  EXPECT_THAT(log_, IsEmpty());
}

TEST_F(KernelCacheTest, ChangedObjectsAreNotHandedOutButReplaced) {
  const KernelCache cache = Open();
  cache.Keep(object_, kText);
  const std::string path = cache.Find(kText);
  const std::string whole = ReadAll(path);
  std::string flipped = whole;
  flipped[10000] ^= 1;
  for (const std::string& broken : {whole.substr(0, 4096), whole.substr(0, whole.size() - 1),
                                    whole + "x", flipped, std::string()}) {
    Write(path, broken);
    log_.clear();
    EXPECT_EQ(cache.Find(kText), "") << broken.size();
    ASSERT_THAT(log_, SizeIs(1));
    EXPECT_THAT(log_[0], HasSubstr("is not as it was written"));
    cache.Keep(object_, kText);
    EXPECT_EQ(cache.Find(kText), path);
    EXPECT_EQ(ReadAll(path), whole);
  }
}

TEST_F(KernelCacheTest, MissingObjectsAndFoldersInTheirPlaceAreNotHandedOut) {
  const KernelCache cache = Open();
  cache.Keep(object_, kText);
  const std::string path = cache.Find(kText);
  fs::remove(path);
  EXPECT_EQ(cache.Find(kText), "");
  fs::create_symlink(object_, path);
  EXPECT_EQ(cache.Find(kText), "");
  fs::remove(path);
  fs::create_directory(path);
  EXPECT_EQ(cache.Find(kText), "");
  ASSERT_THAT(log_, SizeIs(3));
  EXPECT_THAT(log_[2], HasSubstr("cannot be read"));
}

TEST_F(KernelCacheTest, ObjectsWithoutARecordAreNotHandedOut) {
  const KernelCache cache = Open();
  cache.Keep(object_, kText);
  const std::string path = cache.Find(kText);
  const std::string record = fs::path(path).replace_extension(".cc");
  Write(record, kText);
  EXPECT_EQ(cache.Find(kText), "");
  Write(record, "// object: 20000 \n" + std::string(kText));
  EXPECT_EQ(cache.Find(kText), "");
  fs::remove(record);
  EXPECT_EQ(cache.Find(kText), "");
  cache.Keep(object_, kText);
  EXPECT_EQ(cache.Find(kText), path);
}

TEST_F(KernelCacheTest, FolderIsForItsOwnerWhateverTheUmask) {
  fs::remove_all(testing::TempDir() + "/kernel_cache");
  const mode_t before = umask(002);
  const auto cache = KernelCache::Open(folder_);
  umask(before);
  ASSERT_TRUE(cache.ok()) << cache.status();
  struct stat info;
  ASSERT_EQ(stat(folder_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
  // With a slash at its end, it is the same folder.
  EXPECT_TRUE(KernelCache::Open(folder_ + "/").ok());
}

TEST_F(KernelCacheTest, FilesAndOpenFoldersAreRefused) {
  const auto file = KernelCache::Open(object_);
  EXPECT_EQ(file.status().code(), absl::StatusCode::kFailedPrecondition);
  Open();
  ASSERT_EQ(chmod(folder_.c_str(), 0770), 0);
  const auto open = KernelCache::Open(folder_);
  EXPECT_EQ(open.status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(KernelCacheTest, LeftoversBarNothingAndAreRemoved) {
  const KernelCache cache = Open();
  const std::string old = folder_ + "/0123456789abcdef.so.abcdef.tmp";
  const std::string young = folder_ + "/0123456789abcdef.so.ghijkl.tmp";
  Write(old, "half an object");
  Write(young, "another's");
  fs::last_write_time(old, fs::file_time_type::clock::now() - std::chrono::hours(2));
  cache.Keep(object_, kText);
  EXPECT_NE(cache.Find(kText), "");
  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(fs::exists(young));
}

TEST_F(KernelCacheTest, WhatCannotBeWrittenLeavesNothing) {
  const KernelCache cache = Open();
  cache.Keep(object_ + ".missing", kText);
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST(ObjectRecordTest, RoundTrip) {
  const std::string line = FormatObjectRecord({20000, 0x0123456789abcdef});
  EXPECT_EQ(line, "// object: 20000 0123456789abcdef\n");
  const std::string text = line + "rest";
  absl::string_view rest = text;
  const auto record = ConsumeObjectRecord(&rest);
  ASSERT_TRUE(record.has_value());
  EXPECT_EQ(record->bytes, 20000u);
  EXPECT_EQ(record->digest, 0x0123456789abcdefu);
  EXPECT_EQ(rest, "rest");
  for (absl::string_view bad :
       {"", "\n", "// object: 1 2\n", "// object: -1 0123456789abcdef\n",
        "// object: 1 0123456789abcdef", "// object: 1 0123456789abcdeg\n", "// object: 1\n"}) {
    absl::string_view left = bad;
    EXPECT_FALSE(ConsumeObjectRecord(&left).has_value()) << bad;
    EXPECT_EQ(left, bad);
  }
}

}  // namespace
}  // namespace weft::cpu
