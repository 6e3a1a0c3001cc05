#include "tools/common/file_names.h"

#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace weft::tools {
namespace {

// File systems allow 255 bytes; an extension and a number follow.
constexpr size_t kMaxBytes = 200;

std::string FileName(const std::string& name) {
  std::string file = name.substr(0, kMaxBytes);
  for (char& c : file) {
    if (c == '/' || absl::ascii_iscntrl(static_cast<unsigned char>(c))) c = '_';
  }
  if (file.empty()) return "_";
  if (file[0] == '.') file[0] = '_';
  return file;
}

}  // namespace

std::vector<std::string> FileNames(const std::vector<std::string>& names) {
  std::vector<std::string> files(names.size());
  std::set<std::string> taken;
  // Names that can stay unchanged are assigned first, so that no other name takes them.
  for (const bool changed : {false, true}) {
    for (size_t i = 0; i < names.size(); ++i) {
      const std::string file = FileName(names[i]);
      if ((file != names[i]) != changed) continue;
      files[i] = file;
      for (int n = 2; !taken.insert(absl::AsciiStrToLower(files[i])).second; ++n) {
        files[i] = absl::StrCat(file, "-", n);
      }
    }
  }
  return files;
}

}  // namespace weft::tools
