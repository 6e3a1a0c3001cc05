#include "base/text_file.h"

#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"

namespace weft {

absl::StatusOr<std::string> ReadTextFile(const std::string& path) {
  constexpr std::streamoff kMaxBytes = std::streamoff{1} << 24;
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) {
    return absl::NotFoundError(absl::StrCat(path, ": cannot be read"));
  }
  if (file.tellg() > kMaxBytes) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": the file has more than 16 MiB"));
  }
  file.seekg(0);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace weft
