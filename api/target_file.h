// Targets in files: what `opt --emit=target` writes, and --target-file reads.
#ifndef WEFT_API_TARGET_FILE_H_
#define WEFT_API_TARGET_FILE_H_

#include <string>

#include "absl/status/statusor.h"
#include "graph/target/target.h"

namespace weft {

// At most 16 MiB. Errors name the file, and the line and column of what is wrong in it.
absl::StatusOr<Target> LoadTargetFile(const std::string& path);

}  // namespace weft

#endif  // WEFT_API_TARGET_FILE_H_
