// Rewrites the expectations of golden files to the present results of the passes:
//
//   bazel run //tests/golden:bless [-- part-of-a-path ...]
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/golden/runner.h"

namespace weft::golden {
namespace {

bool IsWanted(const std::string& path, int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (path.find(argv[i]) != std::string::npos) return true;
  }
  return argc == 1;
}

int BlessAll(int argc, char** argv) {
  // The runfiles are links to the files of the source tree.
  const std::filesystem::path root =
      std::filesystem::canonical("tests/golden/runner.h").parent_path();
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    if (entry.path().extension() == ".weft") {
      paths.push_back(entry.path().generic_string());
    }
  }
  std::sort(paths.begin(), paths.end());
  int failures = 0;
  for (const std::string& path : paths) {
    if (!IsWanted(path, argc, argv)) continue;
    auto file = ReadFile(path);
    auto text = file.ok() ? Bless(*file) : file.status();
    if (!text.ok()) {
      std::fprintf(stderr, "%s\n", std::string(text.status().message()).c_str());
      ++failures;
      continue;
    }
    std::ifstream old(path, std::ios::binary);
    if (*text == std::string{std::istreambuf_iterator<char>(old), {}}) continue;
    std::ofstream(path, std::ios::binary) << *text;
    std::printf("%s\n", path.c_str());
  }
  return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace weft::golden

int main(int argc, char** argv) { return weft::golden::BlessAll(argc, argv); }
