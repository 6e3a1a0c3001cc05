// --load, in the tools that run or read modules with ops of plugins.
#ifndef WEFT_TOOLS_COMMON_PLUGINS_H_
#define WEFT_TOOLS_COMMON_PLUGINS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "api/extensions.h"
#include "tools/common/flags.h"

namespace weft::tools {

// Adds --load, whose values go to `files`. `more` ends its help.
void AddLoadFlag(FlagSet& flags, std::vector<std::string>* files, const std::string& more = "");

// Loads the plugins, in order. The error names the one that cannot be used.
absl::Status LoadPlugins(const std::vector<std::string>& files, Extensions& extensions);

// The same in tools that load devices alone, as they do not share Weft with a plugin.
void AddLoadDeviceFlag(FlagSet& flags, std::vector<std::string>* files);
absl::Status LoadDevices(const std::vector<std::string>& files, Extensions& extensions);

}  // namespace weft::tools

#endif  // WEFT_TOOLS_COMMON_PLUGINS_H_
