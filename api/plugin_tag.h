// Reads from the file of a plugin which build of Weft it was made for.
#ifndef WEFT_API_PLUGIN_TAG_H_
#define WEFT_API_PLUGIN_TAG_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace weft {

// The tag that WEFT_PLUGIN (plugin.h) writes into a section of the file; nothing of the file is
// loaded. InvalidArgument for bytes that are not a shared library (64-bit ELF, little-endian),
// NotFound for a library without the section. Bytes are untrusted.
absl::StatusOr<std::string> ReadPluginTag(absl::string_view file);

}  // namespace weft

#endif  // WEFT_API_PLUGIN_TAG_H_
