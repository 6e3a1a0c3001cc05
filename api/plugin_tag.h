// Reads the tag of a plugin or device, which says what it was made for, from its file.
#ifndef WEFT_API_PLUGIN_TAG_H_
#define WEFT_API_PLUGIN_TAG_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace weft {

// Sections to which WEFT_PLUGIN (plugin.h) and WEFT_DEVICE (c/device.h) write their tags.
inline constexpr absl::string_view kPluginSection = "weft_plugin";
inline constexpr absl::string_view kDeviceSection = "weft_device";

// The tag in that section of the file, which is not loaded. InvalidArgument for bytes that are not
// a shared library (64-bit ELF, little-endian), NotFound for a library without the section. The
// bytes are not trusted.
absl::StatusOr<std::string> ReadPluginTag(absl::string_view file,
                                          absl::string_view section = kPluginSection);

}  // namespace weft

#endif  // WEFT_API_PLUGIN_TAG_H_
