// Prints the module before and after passes.
#ifndef WEFT_API_INSPECT_DUMP_H_
#define WEFT_API_INSPECT_DUMP_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "passes/engine/pass_manager/report.h"
#include "passes/engine/registry.h"
#include "passes/engine/remarks/name_filter.h"

namespace weft {

class Module;

// The elements that a constant in text for people may have.
inline constexpr int64_t kElideAbove = 16;

struct DumpOptions {
  // Passes to dump at: "all", "changed" (only after passes), names with commas between, or a
  // regular expression that matches the name of a pass or its path ("fixpoint.2.cse").
  std::vector<std::string> before;
  std::vector<std::string> after;
  // Folder for one file per dump, "0003.fixpoint.2.cse.after.weft"; empty: standard error. The
  // folder is made if it does not exist.
  std::string folder;
  // Constants of more elements are printed without them; none: all are printed.
  std::optional<int64_t> elide;
};

// PrintModule() with the elements of large constants left out, as `elide` has it.
std::string PrintElided(const Module& module, std::optional<int64_t> elide);

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
  std::optional<int64_t> elide_;
};

}  // namespace weft

#endif  // WEFT_API_INSPECT_DUMP_H_
