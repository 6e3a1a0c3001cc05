// Small text files that people write: rules, targets.
#ifndef WEFT_BASE_TEXT_FILE_H_
#define WEFT_BASE_TEXT_FILE_H_

#include <string>

#include "absl/status/statusor.h"

namespace weft {

// NotFound for a file that cannot be read; InvalidArgument for one of more than 16 MiB, whose text
// would be read in vain. Both name the file.
absl::StatusOr<std::string> ReadTextFile(const std::string& path);

}  // namespace weft

#endif  // WEFT_BASE_TEXT_FILE_H_
