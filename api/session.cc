#include "api/session.h"

#include "absl/strings/str_cat.h"
#include "backends/reference/executor.h"

namespace weft {

absl::StatusOr<Session> Session::Create(std::unique_ptr<Module> module,
                                        absl::string_view target) {
  if (target != "reference") {
    return absl::InvalidArgumentError(absl::StrCat(
        "unknown target \"", target, "\"; the targets are: reference"));
  }
  if (module->main() == nullptr) {
    return absl::InvalidArgumentError("the module has no function @main");
  }
  return Session(std::move(module));
}

absl::StatusOr<std::vector<HostTensor>> Session::Run(
    absl::Span<const HostTensor> inputs) const {
  return reference::Run(main(), inputs);
}

absl::StatusOr<std::vector<HostTensor>> Session::Run(
    const std::map<std::string, HostTensor>& inputs) const {
  std::vector<HostTensor> ordered;
  size_t used = 0;
  for (int i = 0; i < main().num_inputs(); ++i) {
    const InputInfo& info = main().input_info(i);
    auto it = inputs.find(info.name);
    if (it != inputs.end()) {
      ordered.push_back(it->second);
      ++used;
    } else if (info.value >= 0) {
      ordered.push_back(module_->constants().tensor(info.value));
    } else {
      return absl::InvalidArgumentError(
          absl::StrCat("input \"", info.name, "\" is missing"));
    }
  }
  if (used != inputs.size()) {
    for (const auto& [name, tensor] : inputs) {
      bool known = false;
      for (int i = 0; i < main().num_inputs(); ++i) {
        known |= main().input_info(i).name == name;
      }
      if (!known) {
        return absl::InvalidArgumentError(
            absl::StrCat("the program has no input \"", name, "\""));
      }
    }
  }
  return Run(ordered);
}

}  // namespace weft
