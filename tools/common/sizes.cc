#include "tools/common/sizes.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace weft::tools {

absl::StatusOr<std::map<std::string, int64_t>> ParseSizes(absl::string_view flag,
                                                          const std::vector<std::string>& values) {
  std::map<std::string, int64_t> sizes;
  for (const std::string& value : values) {
    for (const absl::string_view part : absl::StrSplit(value, ',')) {
      const std::pair<std::string, std::string> assignment =
          absl::StrSplit(part, absl::MaxSplits('=', 1));
      int64_t size;
      if (assignment.first.empty() || !absl::SimpleAtoi(assignment.second, &size) || size < 0) {
        return absl::InvalidArgumentError(
            absl::StrCat("--", flag, " takes NAME=SIZE, not \"", part, "\""));
      }
      sizes[assignment.first] = size;
    }
  }
  return sizes;
}

}  // namespace weft::tools
