#include "tools/common/plugins.h"

#include "absl/strings/str_cat.h"
#include "api/plugin.h"
#include "base/status_macros.h"
#include "tools/common/cli.h"

namespace weft::tools {

void AddLoadFlag(FlagSet& flags, std::vector<std::string>* files, const std::string& more) {
  flags.Repeated("load", files, "LIBRARY",
                 absl::StrCat("A plugin: a shared library that adds ops, passes, pipelines or\n"
                              "rules (docs/embedding.md), or a device (docs/devices.md)",
                              more));
}

absl::Status LoadPlugins(const std::vector<std::string>& files, Extensions& extensions) {
  for (const std::string& file : files) {
    WEFT_RETURN_IF_ERROR(LoadPlugin(ResolvePath(file), extensions).status());
  }
  return absl::OkStatus();
}

}  // namespace weft::tools
