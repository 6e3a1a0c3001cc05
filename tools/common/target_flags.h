// --target and the options of the backends, in every tool that runs or compiles a model.
#ifndef WEFT_TOOLS_COMMON_TARGET_FLAGS_H_
#define WEFT_TOOLS_COMMON_TARGET_FLAGS_H_

#include <string>

#include "absl/status/statusor.h"
#include "api/backends.h"
#include "tools/common/flags.h"

namespace weft::tools {

struct TargetFlags {
  std::string target = "reference";
  BackendOptions options;  // Those that the command line gives.
  // Null: those that are built in.
  const BackendRegistry* backends = nullptr;

  // InvalidArgument for a target that does not exist, or that has no such option.
  absl::StatusOr<const Backend*> Find() const;
};

// --target.
void AddTargetFlag(FlagSet& flags, std::string* target, const std::string& default_help);
// A flag for each option of each backend that is built in, whose defaults stand in the help, and
// --device-option for those of devices.
void AddBackendFlags(FlagSet& flags, BackendOptions* options);

}  // namespace weft::tools

#endif  // WEFT_TOOLS_COMMON_TARGET_FLAGS_H_
