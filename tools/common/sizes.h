// "batch=2,sequence=128": sizes of symbols on a command line.
#ifndef WEFT_TOOLS_COMMON_SIZES_H_
#define WEFT_TOOLS_COMMON_SIZES_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace weft::tools {

// The values of --`flag`, each with commas between assignments. The error shows
// the form; a size is not negative.
absl::StatusOr<std::map<std::string, int64_t>> ParseSizes(absl::string_view flag,
                                                          const std::vector<std::string>& values);

}  // namespace weft::tools

#endif  // WEFT_TOOLS_COMMON_SIZES_H_
