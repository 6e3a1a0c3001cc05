#include "tools/common/sizes.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"

namespace weft::tools {
namespace {

absl::Status Malformed(absl::string_view flag, absl::string_view form, absl::string_view text) {
  return absl::InvalidArgumentError(
      absl::StrCat("--", flag, " takes ", form, ", not \"", text, "\""));
}

}  // namespace

absl::StatusOr<std::map<std::string, std::vector<int64_t>>> ParseSizeLists(
    absl::string_view flag, const std::vector<std::string>& values) {
  std::map<std::string, std::vector<int64_t>> sizes;
  for (const std::string& value : values) {
    std::vector<int64_t>* list = nullptr;  // Sizes of the name that was read last.
    for (const absl::string_view part : absl::StrSplit(value, ',')) {
      const size_t equals = part.find('=');
      if (equals != absl::string_view::npos && equals > 0) {
        list = &sizes[std::string(part.substr(0, equals))];
        list->clear();
      }
      const absl::string_view number =
          equals == absl::string_view::npos ? part : part.substr(equals + 1);
      int64_t size;
      if (list == nullptr || equals == 0 || !absl::SimpleAtoi(number, &size) || size < 0) {
        return Malformed(flag, "NAME=SIZE or NAME=SIZE,SIZE...", value);
      }
      list->push_back(size);
    }
  }
  return sizes;
}

absl::StatusOr<std::map<std::string, int64_t>> ParseSizes(absl::string_view flag,
                                                          const std::vector<std::string>& values) {
  WEFT_ASSIGN_OR_RETURN(const auto lists, ParseSizeLists(flag, values));
  std::map<std::string, int64_t> sizes;
  for (const auto& [name, list] : lists) {
    if (list.size() != 1) {
      return Malformed(flag, "one size of each name",
                       absl::StrCat(name, "=", absl::StrJoin(list, ",")));
    }
    sizes[name] = list.front();
  }
  return sizes;
}

}  // namespace weft::tools
