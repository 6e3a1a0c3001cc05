#include "api/target_file.h"

#include "base/status_macros.h"
#include "base/text_file.h"
#include "graph/target/target_text.h"

namespace weft {

absl::StatusOr<Target> LoadTargetFile(const std::string& path) {
  WEFT_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path));
  return ParseTarget(text, path);
}

}  // namespace weft
