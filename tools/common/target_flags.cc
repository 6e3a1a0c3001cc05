#include "tools/common/target_flags.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"

namespace weft::tools {

absl::StatusOr<const Backend*> TargetFlags::Find() const {
  const BackendRegistry& known = backends == nullptr ? BuiltinBackends() : *backends;
  WEFT_ASSIGN_OR_RETURN(const Backend* backend, known.Find(target));
  WEFT_RETURN_IF_ERROR(CheckOptions(*backend, options));
  return backend;
}

BackendOptions TargetFlags::OptionsWithDefaults(const Backend& backend) const {
  BackendOptions all = options;
  if (CheckOptions(backend, {{"code", "before"}}).ok()) all.emplace("code", "before");
  return all;
}

std::string DescribeChoice(const Backend& backend, const std::string& passes,
                           BackendOptions options) {
  std::string text =
      absl::StrCat("target ", backend.name(), ", passes ", passes.empty() ? "none" : passes);
  if (CheckOptions(backend, {{"threads", "0"}}).ok()) options.emplace("threads", "0");
  for (const auto& [name, value] : options) {
    const bool all = name == "threads" && value == "0";
    absl::StrAppend(&text, ", ", name, "=", all ? "all" : value);
  }
  return text;
}

void AddTargetFlag(FlagSet& flags, std::string* target, const std::string& default_help) {
  std::vector<std::string> names;
  for (const auto& backend : BuiltinBackends().all()) names.push_back(backend->name());
  flags.String("target", target, absl::StrJoin(names, "|"), default_help);
}

void AddBackendFlags(FlagSet& flags, BackendOptions* options) {
  for (const auto& backend : BuiltinBackends().all()) {
    for (const BackendOption& option : backend->options()) {
      std::string doc = absl::StrCat("On ", backend->name(), ": ", option.help);
      if (option.kind != BackendOption::Kind::kSwitch && !option.default_value.empty()) {
        absl::StrAppend(&doc, ". Default: ", option.default_value);
      }
      flags.Custom(option.name, option.value, std::move(doc),
                   [&option, options](const std::string& value) {
                     (*options)[option.name] = value;
                     return option.CheckValue(value, absl::StrCat("--", option.name));
                   });
    }
  }
  flags.Custom("device-option", "NAME=VALUE", "An option of a device loaded by --load",
               [options](const std::string& value) {
                 const size_t end = value.find('=');
                 if (end == 0 || end == std::string::npos) {
                   return absl::InvalidArgumentError(
                       absl::StrCat("--device-option takes NAME=VALUE, not \"", value, "\""));
                 }
                 (*options)[value.substr(0, end)] = value.substr(end + 1);
                 return absl::OkStatus();
               });
}

}  // namespace weft::tools
