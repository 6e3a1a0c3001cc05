// Reads the include lines of every source file in the repository and fails with file:line for an
// include that the layers (layers.h) do not allow.
#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/layering/layers.h"
#include "tests/layering/source_files.h"

namespace weft {
namespace {

TEST(LayeringTest, IncludesGoDown) {
  const std::filesystem::path root = RepositoryRoot();
  const std::vector<SourceFile> files = ReadSources(root);
  // The walk reaches the real tree: at least this file is there, with its includes.
  const auto self = std::find_if(files.begin(), files.end(), [](const SourceFile& file) {
    return file.path == "tests/layering/layering_test.cc";
  });
  ASSERT_NE(self, files.end()) << "no sources under " << root;
  EXPECT_THAT(self->includes, testing::SizeIs(testing::Ge(10)));
  for (const std::string& violation : Violations(files)) ADD_FAILURE() << violation;
}

// Two types of one name in two headers are one type to the linker.
TEST(LayeringTest, OneNameIsOneType) {
  const std::filesystem::path root = RepositoryRoot();
  std::map<std::string, std::string> header_of;
  for (const SourceFile& file : ReadSources(root)) {
    if (absl::StartsWith(file.path, "tests/") || IsForeign(file.path)) continue;
    for (const std::string& type : file.types) {
      const auto [it, inserted] = header_of.emplace(type, file.path);
      EXPECT_TRUE(inserted) << type << " is defined in " << it->second << " and " << file.path;
    }
  }
  EXPECT_THAT(header_of, testing::Contains(testing::Pair("SizeGuard", "graph/ir/guards.h")));
}

TEST(LayeringTest, TableHasNoCycle) {
  // Each row lists only rows above it, so the order of the table is a proof; `examples` and
  // `tests` come last.
  std::set<std::string> above;
  for (const Layer& layer : Layers()) {
    for (const std::string& other : layer.may_include) {
      if (absl::EndsWith(other, "/...")) continue;
      EXPECT_TRUE(above.count(other)) << layer.name << " lists " << other;
    }
    EXPECT_TRUE(above.insert(layer.name).second) << layer.name << " appears twice";
    // Layers that `x/...` matches must be above too, except for the row itself.
    for (const Layer& other : Layers()) {
      EXPECT_TRUE(above.count(other.name) || !Lists(layer, other.name))
          << layer.name << " lists " << other.name;
    }
  }
}

}  // namespace
}  // namespace weft
