// Prints the module before and after passes.
#ifndef WEFT_API_INSPECT_DUMP_H_
#define WEFT_API_INSPECT_DUMP_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "passes/engine/pass_manager/report.h"
#include "passes/engine/registry.h"
#include "passes/engine/remarks/name_filter.h"

namespace weft {

class Module;

struct DumpOptions {
  // Passes to dump at: "all", "changed" (only after passes), or a regular expression that matches
  // the name of a pass or its path ("fixpoint.2.cse").
  std::vector<std::string> before;
  std::vector<std::string> after;
  // Folder for one file per dump, "0003.fixpoint.2.cse.after.weft"; empty: standard error. The
  // folder is made if it does not exist.
  std::string folder;
};

class ModuleDumper {
 public:
  // Errors name a malformed expression, and a name that matches no pass of the registry.
  static absl::StatusOr<ModuleDumper> Create(const DumpOptions& options,
                                             const PassRegistry& registry);

  absl::Status Before(const PassReport& report, const Module& module) const;
  absl::Status After(const PassReport& report, const Module& module) const;

 private:
  struct Selection {
    bool all = false;
    bool changed = false;
    std::vector<NameFilter> filters;
    bool Picks(const PassReport& report) const;
  };
  static absl::Status Select(const std::vector<std::string>& names, const PassRegistry& registry,
                             Selection* selection);
  absl::Status Write(const PassReport& report, const Module& module, absl::string_view when) const;

  Selection before_;
  Selection after_;
  std::string folder_;
};

}  // namespace weft

#endif  // WEFT_API_INSPECT_DUMP_H_
