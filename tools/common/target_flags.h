// The flag --target and the options of backends, for tools that run or compile a model.
#ifndef WEFT_TOOLS_COMMON_TARGET_FLAGS_H_
#define WEFT_TOOLS_COMMON_TARGET_FLAGS_H_

#include <string>

#include "absl/status/statusor.h"
#include "api/backends.h"
#include "tools/common/flags.h"

namespace weft::tools {

struct TargetFlags {
  std::string target = "cpu";
  BackendOptions options;  // Options given on the command line.
  // Null: the built-in backends.
  const BackendRegistry* backends = nullptr;

  // InvalidArgument for an unknown target, or one that lacks a given option.
  absl::StatusOr<const Backend*> Find() const;
  // The given options, and --code=before if the target has that option and it is not given: tools
  // that run a model run the kernels that ship.
  BackendOptions OptionsWithDefaults(const Backend& backend) const;
};

// "target cpu, passes cpu, threads=all, code=before": what a tool says first of what was chosen,
// with the options that were given and the number of threads.
std::string DescribeChoice(const Backend& backend, const std::string& passes,
                           BackendOptions options);

// Adds --target.
void AddTargetFlag(FlagSet& flags, std::string* target, const std::string& default_help);
// Adds a flag for each option of each built-in backend, with its default in the help, and
// --device-option for options of devices.
void AddBackendFlags(FlagSet& flags, BackendOptions* options);

}  // namespace weft::tools

#endif  // WEFT_TOOLS_COMMON_TARGET_FLAGS_H_
