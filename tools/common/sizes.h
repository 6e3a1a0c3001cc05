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

// Parses the values of --`flag`, each of which may have several assignments separated by commas.
// The error shows the form; a size must not be negative.
absl::StatusOr<std::map<std::string, int64_t>> ParseSizes(absl::string_view flag,
                                                          const std::vector<std::string>& values);

}  // namespace weft::tools

#endif  // WEFT_TOOLS_COMMON_SIZES_H_
