#include "serialize/pt2/zip_archive.h"

#include <cstring>
#include <string>

#include "base/host_buffer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/serialize/pt2/zip_writer.h"

namespace weft::pt2 {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

absl::StatusOr<ZipArchive> Open(const std::string& bytes, const ZipLimits& limits = {}) {
  auto buffer = HostBuffer::Allocate(static_cast<int64_t>(bytes.size()));
  std::memcpy(buffer->data(), bytes.data(), bytes.size());
  return ZipArchive::Open(buffer, limits);
}

std::string Content(ZipArchive& archive, const std::string& name) {
  const auto bytes = archive.Read(name);
  if (!bytes.ok()) return std::string(bytes.status().message());
  return std::string(reinterpret_cast<const char*>((*bytes)->data()),
                     static_cast<size_t>((*bytes)->size()));
}

TEST(ZipArchiveTest, ReadsStoredEntriesInPlace) {
  ZipWriter zip;
  zip.Add("root/a", "first");
  zip.Add("root/b", "");
  zip.Add("root/c", std::string(1000, 'x'));
  auto archive = Open(zip.Finish());
  ASSERT_TRUE(archive.ok()) << archive.status();
  EXPECT_THAT(archive->names(), ElementsAre("root/a", "root/b", "root/c"));
  EXPECT_EQ(Content(*archive, "root/a"), "first");
  EXPECT_EQ(Content(*archive, "root/b"), "");
  EXPECT_EQ(Content(*archive, "root/c"), std::string(1000, 'x'));
  // No copy: the same bytes twice.
  EXPECT_EQ((*archive->Read("root/c"))->data(), (*archive->Read("root/c"))->data());
  EXPECT_THAT(Content(*archive, "root/d"), HasSubstr("no entry \"root/d\""));
}

TEST(ZipArchiveTest, Inflates) {
  ZipWriter zip;
  zip.AddDeflated("a", std::string(5000, 'y'));
  auto archive = Open(zip.Finish());
  ASSERT_TRUE(archive.ok()) << archive.status();
  EXPECT_EQ(Content(*archive, "a"), std::string(5000, 'y'));
}

TEST(ZipArchiveTest, BoundsWhatItInflates) {
  ZipWriter zip;
  zip.AddDeflated("a", std::string(600, 'y'));
  zip.AddDeflated("b", std::string(600, 'y'));
  ZipLimits limits;
  limits.max_inflated_bytes = 1000;
  auto archive = Open(zip.Finish(), limits);
  ASSERT_TRUE(archive.ok()) << archive.status();
  EXPECT_EQ(Content(*archive, "a").size(), 600u);
  EXPECT_THAT(Content(*archive, "b"), HasSubstr("limit of 1000"));
}

TEST(ZipArchiveTest, RefusesImpossibleSizes) {
  ZipWriter zip;
  zip.AddDeflated("a", "text", /*claimed=*/1 << 30);
  zip.AddDeflated("b", "text", /*claimed=*/3);
  auto archive = Open(zip.Finish());
  ASSERT_TRUE(archive.ok()) << archive.status();
  EXPECT_THAT(Content(*archive, "a"), HasSubstr("cannot inflate"));
  EXPECT_THAT(Content(*archive, "b"), HasSubstr("damaged"));
}

TEST(ZipArchiveTest, RefusesNames) {
  for (const char* name : {"/etc/passwd", "../a", "a/../../b", "a\\b"}) {
    ZipWriter zip;
    zip.Add(name, "");
    EXPECT_THAT(Open(zip.Finish()).status().message(), HasSubstr("the ZIP entry")) << name;
  }
  ZipWriter twice;
  twice.Add("a", "");
  twice.Add("a", "");
  EXPECT_THAT(Open(twice.Finish()).status().message(),
              HasSubstr("two ZIP entries are named \"a\""));
}

TEST(ZipArchiveTest, BoundsEntries) {
  ZipWriter zip;
  for (int i = 0; i < 20; ++i) zip.Add(std::to_string(i), "");
  ZipLimits limits;
  limits.max_entries = 10;
  EXPECT_THAT(Open(zip.Finish(), limits).status().message(),
              HasSubstr("20 entries; the limit is 10"));
}

// The directory stands at the end: a prefix has none, or an empty one when its
// last record is cut.
TEST(ZipArchiveTest, NoPrefixShowsPartOfTheEntries) {
  ZipWriter zip;
  zip.Add("root/a", "first");
  zip.AddDeflated("root/b", "second");
  const std::string bytes = zip.Finish();
  int refused = 0;
  for (size_t n = 0; n < bytes.size(); ++n) {
    const auto archive = Open(bytes.substr(0, n));
    refused += !archive.ok();
    if (archive.ok()) {
      EXPECT_THAT(archive->names().size(), testing::AnyOf(0, 2)) << n;
    }
  }
  EXPECT_GT(refused, static_cast<int>(bytes.size()) - 22);
}

TEST(ZipArchiveTest, NoFlippedByteCrashes) {
  ZipWriter zip;
  zip.Add("root/a", "first");
  zip.AddDeflated("root/b", "second");
  const std::string bytes = zip.Finish();
  int opened = 0;
  for (size_t n = 0; n < bytes.size(); ++n) {
    std::string flipped = bytes;
    flipped[n] = static_cast<char>(~flipped[n]);
    auto archive = Open(flipped);
    if (!archive.ok()) continue;
    ++opened;
    for (const std::string& name : archive->names()) Content(*archive, name);
  }
  EXPECT_GT(opened, 0);
}

}  // namespace
}  // namespace weft::pt2
