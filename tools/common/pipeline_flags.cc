#include "tools/common/pipeline_flags.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "tools/common/cli.h"
#include "tools/common/plugins.h"

namespace weft::tools {

void AddAdmitFlag(FlagSet& flags, std::string* admit) {
  flags.String("admit", admit, "CONTRACT",
               "Loosest numeric contract of any rewrite: bit-exact, value-safe\n"
               "(signs of zeros), reassociating (rounding) or approximate.\n"
               "Default: set by the pipeline for each pass, as in\n"
               "decompose{admit=reassociating}, else value-safe");
}

void AddRulesFlag(FlagSet& flags, std::string* rules) {
  flags.String("rules", rules, "FILE",
               "Rewrite rules for canonicalize, and ops (docs/rule-files.md). Each\n"
               "rule is tested on random instances first; wrong ones are refused");
}

void AddPipelineFlags(FlagSet& flags, PipelineFlags* pipeline) {
  flags.String("passes", &pipeline->passes, "PIPELINE",
               "Pipeline to run first, as in opt. Default: the target's own, for\n"
               "reference none");
  AddAdmitFlag(flags, &pipeline->admit);
  AddRulesFlag(flags, &pipeline->rules);
  AddLoadFlag(flags, &pipeline->load);
}

absl::Status PipelineFlags::LoadExtensions(Extensions& extensions) const {
  WEFT_RETURN_IF_ERROR(LoadPlugins(load, extensions));
  return rules.empty() ? absl::OkStatus() : extensions.AddRuleFile(ResolvePath(rules));
}

void WarnOfAssumedRules(absl::string_view tool, const Extensions& extensions) {
  const RuleSet* rules = extensions.rules();
  for (size_t i = 0; rules != nullptr && i < rules->rules().size(); ++i) {
    if (rules->standing(static_cast<int>(i)).instances > 0) continue;
    PrintMessage(tool, absl::StrCat("warning: rule ", rules->rules()[i].name,
                                    " is assumed: no instance of it could be made to test it"));
  }
}

absl::Status ReadAdmitted(const std::string& admit, CompileOptions* compile) {
  compile->context.admitted = ParseNumericContract(admit);
  if (compile->context.admitted || admit.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "--admit takes bit-exact, value-safe, reassociating or approximate, not \"", admit, "\""));
}

absl::Status PipelineFlags::Apply(const Extensions* extensions, CompileOptions* compile) const {
  compile->passes = passes;
  if (extensions != nullptr) {
    compile->registry = &extensions->passes();
    compile->context.rules = extensions->rules();
  }
  return ReadAdmitted(admit, compile);
}

}  // namespace weft::tools
