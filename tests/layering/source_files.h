// The source files of the repository and their include lines.
#ifndef WEFT_TESTS_LAYERING_SOURCE_FILES_H_
#define WEFT_TESTS_LAYERING_SOURCE_FILES_H_

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace weft {

struct Include {
  int line = 0;  // From 1.
  bool quoted = false;
  std::string path;
};

struct SourceFile {
  std::string path;  // From the root.
  std::vector<Include> includes;
  std::vector<std::string> types;  // That a header defines in namespace weft itself.
};

std::vector<Include> ParseIncludes(absl::string_view text);

// The repository's root, through the real path of a file that the test has.
std::filesystem::path RepositoryRoot();
// All headers and sources, in the order of their paths.
std::vector<SourceFile> ReadSources(const std::filesystem::path& root);

}  // namespace weft

#endif  // WEFT_TESTS_LAYERING_SOURCE_FILES_H_
