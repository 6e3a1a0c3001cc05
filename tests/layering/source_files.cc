#include "tests/layering/source_files.h"

#include <algorithm>
#include <fstream>
#include <iterator>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace weft {
namespace {

// Folders of the repository's root without sources of ours.
bool IsOutside(absl::string_view folder) {
  return absl::StartsWith(folder, ".") || absl::StartsWith(folder, "bazel-") ||
         folder == "third_party";
}

// `struct Name {` or `class Name : ...` at the start of a line, while the innermost named
// namespace is weft.
std::vector<std::string> ParseTypes(absl::string_view text) {
  std::vector<std::string> types;
  bool in_weft = false;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (absl::StartsWith(line, "namespace ")) in_weft = line == "namespace weft {";
    if (absl::StartsWith(line, "}  // namespace weft::")) in_weft = true;
    if (!in_weft) continue;
    if (!absl::ConsumePrefix(&line, "struct ") && !absl::ConsumePrefix(&line, "class ")) continue;
    const absl::string_view name = line.substr(0, line.find_first_of(" :;<"));
    if (!absl::StrContains(line, ";") || absl::StrContains(line, "{")) types.emplace_back(name);
  }
  return types;
}

}  // namespace

std::vector<Include> ParseIncludes(absl::string_view text) {
  std::vector<Include> includes;
  int number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    line = absl::StripLeadingAsciiWhitespace(line);
    if (!absl::ConsumePrefix(&line, "#")) continue;
    line = absl::StripLeadingAsciiWhitespace(line);
    if (!absl::ConsumePrefix(&line, "include")) continue;
    line = absl::StripLeadingAsciiWhitespace(line);
    const bool quoted = absl::ConsumePrefix(&line, "\"");
    if (!quoted && !absl::ConsumePrefix(&line, "<")) continue;
    const size_t end = line.find(quoted ? '"' : '>');
    if (end == absl::string_view::npos) continue;
    includes.push_back({number, quoted, std::string(line.substr(0, end))});
  }
  return includes;
}

std::filesystem::path RepositoryRoot() {
  return std::filesystem::canonical("WORKSPACE").parent_path();
}

std::vector<SourceFile> ReadSources(const std::filesystem::path& root) {
  std::vector<SourceFile> files;
  for (std::filesystem::recursive_directory_iterator it(root), end; it != end; ++it) {
    if (it.depth() == 0 && IsOutside(it->path().filename().string())) {
      it.disable_recursion_pending();
      continue;
    }
    const std::string extension = it->path().extension().string();
    if (extension != ".h" && extension != ".cc" && extension != ".inc") continue;
    std::ifstream stream(it->path(), std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    files.push_back(
        {it->path().lexically_relative(root).generic_string(), ParseIncludes(text), {}});
    if (extension == ".h") files.back().types = ParseTypes(text);
  }
  std::sort(files.begin(), files.end(),
            [](const SourceFile& a, const SourceFile& b) { return a.path < b.path; });
  return files;
}

}  // namespace weft
