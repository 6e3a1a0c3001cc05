// Targets in files: `opt --emit=target` writes them, and --target-file reads them.
#ifndef WEFT_API_TARGET_FILE_H_
#define WEFT_API_TARGET_FILE_H_

#include <string>

#include "absl/status/statusor.h"
#include "graph/target/target.h"

namespace weft {

// The file may have at most 16 MiB. Errors name the file, and line and column of the fault.
absl::StatusOr<Target> LoadTargetFile(const std::string& path);

}  // namespace weft

#endif  // WEFT_API_TARGET_FILE_H_
