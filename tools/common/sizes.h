// "batch=2,length=5,7,9": sizes of symbols on a command line.
#ifndef WEFT_TOOLS_COMMON_SIZES_H_
#define WEFT_TOOLS_COMMON_SIZES_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace weft::tools {

// Parses the values of --`flag`, each of which may have several assignments separated by commas.
// The error shows the form; a size must not be negative. The last assignment of a name counts.
absl::StatusOr<std::map<std::string, int64_t>> ParseSizes(absl::string_view flag,
                                                          const std::vector<std::string>& values);

// The same with lists: a number behind a comma is another size of the name before it.
absl::StatusOr<std::map<std::string, std::vector<int64_t>>> ParseSizeLists(
    absl::string_view flag, const std::vector<std::string>& values);

}  // namespace weft::tools

#endif  // WEFT_TOOLS_COMMON_SIZES_H_
