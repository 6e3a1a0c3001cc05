// Small text files that people write: rules, targets.
#ifndef WEFT_BASE_TEXT_FILE_H_
#define WEFT_BASE_TEXT_FILE_H_

#include <string>

#include "absl/status/statusor.h"

namespace weft {

// The contents of the file. NotFound if it cannot be read; InvalidArgument, before reading, if it
// is larger than 16 MiB. Both name the file.
absl::StatusOr<std::string> ReadTextFile(const std::string& path);

}  // namespace weft

#endif  // WEFT_BASE_TEXT_FILE_H_
