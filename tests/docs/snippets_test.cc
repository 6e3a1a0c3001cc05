// C++ and C in docs/ that names a file in its first line stands in that file, word for
// word, so that what is shown compiles.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

fs::path Root() { return fs::path(std::getenv("TEST_SRCDIR")) / std::getenv("TEST_WORKSPACE"); }

std::string Read(const fs::path& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

// Checks one block, its first line being "// <file>"; false when it names none.
bool CheckSnippet(const std::string& block) {
  const size_t end = block.find('\n');
  const std::string first = block.substr(0, end);
  if (!absl::StartsWith(first, "// examples/")) return false;
  const std::string source = Read(Root() / first.substr(3));
  EXPECT_FALSE(source.empty()) << first.substr(3) << " does not exist";
  EXPECT_TRUE(absl::StrContains(source, block.substr(end + 1)))
      << first.substr(3) << " does not contain:\n"
      << block.substr(end + 1);
  return true;
}

TEST(Snippets, StandInTheFilesTheyName) {
  int checked = 0;
  for (const auto& entry : fs::directory_iterator(Root() / "docs")) {
    if (entry.path().extension() != ".md") continue;
    SCOPED_TRACE(entry.path().filename().string());
    std::istringstream text(Read(entry.path()));
    std::string line, block;
    bool inside = false;
    while (std::getline(text, line)) {
      if (absl::StartsWith(line, "```")) {
        if (inside) {
          const bool named = CheckSnippet(block);
          checked += named;
          // All of a page that a reader builds a program from.
          EXPECT_TRUE(named || entry.path().filename() != "running.md") << block;
        }
        inside = !inside && (line == "```c++" || line == "```c");
        block.clear();
      } else if (inside) {
        absl::StrAppend(&block, line, "\n");
      }
    }
  }
  EXPECT_GE(checked, 3);
}

}  // namespace
}  // namespace weft
