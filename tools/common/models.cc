#include "tools/common/models.h"

#include <utility>

#include "tools/common/cli.h"
#include "tools/common/progress.h"

namespace weft::tools {

absl::StatusOr<std::unique_ptr<Module>> LoadShown(const std::string& path, LoadOptions options) {
  ProgressLine progress(path);
  options.progress = progress.Callback();
  return LoadModel(ResolvePath(path), options);
}

}  // namespace weft::tools
