// The flag --load of tools that run or read modules with ops of plugins.
#ifndef WEFT_TOOLS_COMMON_PLUGINS_H_
#define WEFT_TOOLS_COMMON_PLUGINS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "api/extensions.h"
#include "tools/common/flags.h"

namespace weft::tools {

// Adds --load, whose values are appended to `files`. `more` is the end of its help.
void AddLoadFlag(FlagSet& flags, std::vector<std::string>* files, const std::string& more = "");

// Loads the plugins, in order. An error names the plugin at fault.
absl::Status LoadPlugins(const std::vector<std::string>& files, Extensions& extensions);

}  // namespace weft::tools

#endif  // WEFT_TOOLS_COMMON_PLUGINS_H_
