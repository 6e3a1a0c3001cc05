#include "tools/common/file_names.h"

#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weft::tools {
namespace {

using testing::ElementsAre;

TEST(FileNamesTest, NamesThatCanBeFilesStay) {
  EXPECT_THAT(FileNames({"y", "output_0", "a b", "z.1"}),
              ElementsAre("y", "output_0", "a b", "z.1"));
}

TEST(FileNamesTest, NoTwoAreEqual) {
  EXPECT_THAT(FileNames({"a/b", "a_b"}), ElementsAre("a_b-2", "a_b"));
  EXPECT_THAT(FileNames({"a/b", "a\nb", "a_b-2"}), ElementsAre("a_b", "a_b-3", "a_b-2"));
  EXPECT_THAT(FileNames({"A", "a"}), ElementsAre("A", "a-2"));
  EXPECT_THAT(FileNames({"x", "x"}), ElementsAre("x", "x-2"));
}

TEST(FileNamesTest, NoneLeavesTheFolder) {
  EXPECT_THAT(FileNames({"..", "", ".", "/etc/x", "../x"}),
              ElementsAre("_.", "_", "_-2", "_etc_x", "_._x"));
}

TEST(FileNamesTest, LongNamesAreCut) {
  const std::string prefix(300, 'x');
  const std::vector<std::string> files = FileNames({prefix + "1", prefix + "2"});
  EXPECT_NE(files[0], files[1]);
  for (const std::string& file : files) EXPECT_LT(file.size(), 250u);
}

}  // namespace
}  // namespace weft::tools
