#include "backends/backend.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "backends/runtime/device_tensor.h"
#include "base/check.h"
#include "base/status_macros.h"

namespace weft {
namespace {

const BackendOption* FindOption(const Backend& backend, absl::string_view name) {
  for (const BackendOption& option : backend.options()) {
    if (option.name == name) return &option;
  }
  return nullptr;
}

absl::Status BadValue(absl::string_view shown, absl::string_view wanted, absl::string_view value) {
  return absl::InvalidArgumentError(
      absl::StrCat(shown, " takes ", wanted, ", not \"", value, "\""));
}

}  // namespace

// --- Executables without memory of a device ----------------------------------------------------

namespace {

absl::Status NoDeviceMemory() {
  return absl::FailedPreconditionError("the target works in the host's memory");
}

}  // namespace

absl::Status Executable::RunOnDevice(absl::Span<const DeviceTensor>, const std::vector<bool>&,
                                     const DeviceRunOptions&, std::vector<DeviceTensor>*,
                                     std::vector<DeviceTensor>*) {
  return NoDeviceMemory();
}

absl::StatusOr<DeviceTensor> Executable::ToDevice(const HostTensor&) { return NoDeviceMemory(); }

absl::StatusOr<HostTensor> Executable::ToHost(const DeviceTensor&) { return NoDeviceMemory(); }

absl::StatusOr<std::shared_ptr<DeviceSpace>> Backend::OpenSpace(const BackendOptions&) const {
  return nullptr;
}

// --- Options -----------------------------------------------------------------------------------

absl::Status BackendOption::CheckValue(absl::string_view text, absl::string_view shown) const {
  switch (kind) {
    case Kind::kInt: {
      int64_t number;
      if (absl::SimpleAtoi(text, &number) && number >= least && number <= most) break;
      return BadValue(shown, absl::StrCat("an integer from ", least, " to ", most), text);
    }
    case Kind::kChoice: {
      const std::vector<std::string> choices = absl::StrSplit(value, '|');
      if (std::find(choices.begin(), choices.end(), text) != choices.end()) break;
      const absl::Span<const std::string> first(choices.data(), choices.size() - 1);
      return BadValue(shown, absl::StrCat(absl::StrJoin(first, ", "), " or ", choices.back()),
                      text);
    }
    case Kind::kSwitch: {
      bool ignored;
      if (absl::SimpleAtob(text, &ignored)) break;
      return BadValue(shown, "true or false", text);
    }
    case Kind::kText:
      break;
  }
  return absl::OkStatus();
}

int64_t CounterOf(const Counters& counters, absl::string_view name) {
  const auto it = counters.find(name);
  return it == counters.end() ? 0 : it->second;
}

absl::Status CheckOptions(const Backend& backend, const BackendOptions& options) {
  for (const auto& [name, value] : options) {
    if (const BackendOption* option = FindOption(backend, name)) {
      WEFT_RETURN_IF_ERROR(option->CheckValue(value, name));
      continue;
    }
    const auto append = [](std::string* out, const BackendOption& o) { out->append(o.name); };
    const std::string known = absl::StrJoin(backend.options(), ", ", append);
    return absl::InvalidArgumentError(
        absl::StrCat("the target ", backend.name(), " has no option \"", name, "\"",
                     known.empty() ? "" : absl::StrCat("; its options are: ", known)));
  }
  return absl::OkStatus();
}

const std::string& OptionOf(const Backend& backend, const BackendOptions& options,
                            absl::string_view name) {
  const auto it = options.find(name);
  if (it != options.end()) return it->second;
  const BackendOption* option = FindOption(backend, name);
  WEFT_CHECK(option != nullptr) << name;
  return option->default_value;
}

absl::Status BackendRegistry::Add(std::shared_ptr<const Backend> backend) {
  if (Find(backend->name()).ok()) {
    return absl::AlreadyExistsError(
        absl::StrCat("there is a target \"", backend->name(), "\" already"));
  }
  backends_.push_back(std::move(backend));
  return absl::OkStatus();
}

absl::StatusOr<const Backend*> BackendRegistry::Find(absl::string_view name) const {
  std::vector<absl::string_view> names;
  for (const auto& backend : backends_) {
    if (backend->name() == name) return backend.get();
    names.push_back(backend->name());
  }
  return absl::InvalidArgumentError(
      absl::StrCat("unknown target \"", name, "\"; the targets are: ", absl::StrJoin(names, ", ")));
}

}  // namespace weft
