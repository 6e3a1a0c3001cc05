// Models named on the command line.
#ifndef WEFT_TOOLS_COMMON_MODELS_H_
#define WEFT_TOOLS_COMMON_MODELS_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "api/model_io.h"

namespace weft {
class Graph;
class Module;
}  // namespace weft

namespace weft::tools {

// LoadModel() with the user's path; shows progress on a terminal. "-" is the text form from
// standard input.
absl::StatusOr<std::unique_ptr<Module>> LoadShown(const std::string& path, LoadOptions options);

// Errors for an input or output that the user names and the program lacks; with the most similar
// name, or all names.
absl::Status UnknownInput(absl::string_view name, const Graph& graph);
absl::Status UnknownOutput(absl::string_view name, const Graph& graph);

}  // namespace weft::tools

#endif  // WEFT_TOOLS_COMMON_MODELS_H_
