// The flags of tools that run a pipeline of passes: --passes, --admit, --rules, --load.
#ifndef WEFT_TOOLS_COMMON_PIPELINE_FLAGS_H_
#define WEFT_TOOLS_COMMON_PIPELINE_FLAGS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "api/compiler.h"
#include "api/extensions.h"
#include "tools/common/flags.h"

namespace weft::tools {

struct PipelineFlags {
  std::string passes;  // Empty: the target's own pipeline.
  std::string admit;   // Empty: what the pipeline says.
  std::string rules;   // A rule file; empty: none.
  std::vector<std::string> load;

  // Loads what --load and --rules name.
  absl::Status LoadExtensions(Extensions& extensions) const;

  // Sets what is compiled with. `extensions` must outlive the compilation; null: none were loaded.
  // InvalidArgument for an unknown contract.
  absl::Status Apply(const Extensions* extensions, CompileOptions* compile) const;
};

void AddPipelineFlags(FlagSet& flags, PipelineFlags* pipeline);

// --admit and --rules alone, whose helps are the same in all tools.
void AddAdmitFlag(FlagSet& flags, std::string* admit);
void AddRulesFlag(FlagSet& flags, std::string* rules);
// Warns of rules from files that were not tested on any instance.
void WarnOfAssumedRules(absl::string_view tool, const Extensions& extensions);
// The contract that --admit names, none for ""; InvalidArgument if there is no such contract.
absl::Status ReadAdmitted(const std::string& admit, CompileOptions* compile);

}  // namespace weft::tools

#endif  // WEFT_TOOLS_COMMON_PIPELINE_FLAGS_H_
