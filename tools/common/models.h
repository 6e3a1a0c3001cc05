// Models of the command line.
#ifndef WEFT_TOOLS_COMMON_MODELS_H_
#define WEFT_TOOLS_COMMON_MODELS_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "api/model_io.h"

namespace weft::tools {

// LoadModel() of the user's path; a terminal shows how far it is.
absl::StatusOr<std::unique_ptr<Module>> LoadShown(const std::string& path, LoadOptions options);

}  // namespace weft::tools

#endif  // WEFT_TOOLS_COMMON_MODELS_H_
