#include "backends/plugin/device_entries.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "backends/plugin/logs.h"
#include "base/printable.h"
#include "base/status_macros.h"
#include "graph/target/target_text.h"

namespace weft::plugin {
namespace {

// Limits on names and texts of a device.
constexpr size_t kMaxName = 64;
constexpr size_t kMaxText = 1 << 20;
constexpr int kMaxOptions = 64;
constexpr uint64_t kMaxStruct = 1 << 16;

absl::StatusOr<std::string> ReadText(const char* text, size_t most, absl::string_view what) {
  if (text == nullptr) return absl::InvalidArgumentError(absl::StrCat("it has no ", what));
  const size_t length = strnlen(text, most + 1);
  if (length <= most) return std::string(text, length);
  return absl::InvalidArgumentError(absl::StrCat("its ", what, " is longer than ", most, " bytes"));
}

absl::StatusOr<std::string> ReadName(const char* text, absl::string_view what) {
  WEFT_ASSIGN_OR_RETURN(std::string name, ReadText(text, kMaxName, what));
  const bool good = !name.empty() && absl::ascii_isalpha(name[0]) &&
                    std::all_of(name.begin(), name.end(), [](char c) {
                      return absl::ascii_isalnum(c) || c == '_' || c == '-';
                    });
  if (good) return name;
  return absl::InvalidArgumentError(
      absl::StrCat("its ", what, " cannot be \"", PrintableName(name), "\""));
}

// --- Groups of entries -------------------------------------------------------------------

struct Entry {
  const char* name;
  bool there;
};

// Checks that the device has all entries of a group or none of them; if none, adds the remark
// `instead`, which says how Weft does without.
absl::Status CheckGroup(std::initializer_list<Entry> group, absl::string_view instead,
                        std::vector<std::string>* remarks) {
  std::vector<absl::string_view> there;
  std::vector<absl::string_view> missing;
  for (const Entry& entry : group) (entry.there ? there : missing).push_back(entry.name);
  if (missing.empty()) return absl::OkStatus();
  if (there.empty()) {
    remarks->push_back(absl::StrCat("without ", absl::StrJoin(missing, ", "), ": ", instead));
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("it has ", absl::StrJoin(there, ", "), " without ",
                                                 absl::StrJoin(missing, ", ")));
}

absl::Status CheckGroups(const weft_device_api& api, std::vector<std::string>* remarks) {
  const auto entry = [](const char* name, auto* function) {
    return Entry{name, function != nullptr};
  };
  std::vector<std::string> unsaid;
  WEFT_RETURN_IF_ERROR(
      CheckGroup({entry("open", api.open), entry("close", api.close)}, "", &unsaid));
  WEFT_RETURN_IF_ERROR(
      CheckGroup({entry("allocate", api.allocate), entry("deallocate", api.deallocate),
                  entry("copy_in", api.copy_in), entry("copy_out", api.copy_out)},
                 "it works in the host's memory", remarks));
  WEFT_RETURN_IF_ERROR(CheckGroup(
      {entry("stream_create", api.stream_create), entry("stream_destroy", api.stream_destroy),
       entry("stream_synchronize", api.stream_synchronize)},
      "the host waits for every call", remarks));
  WEFT_RETURN_IF_ERROR(CheckGroup(
      {entry("event_create", api.event_create), entry("event_destroy", api.event_destroy),
       entry("event_record", api.event_record), entry("stream_wait", api.stream_wait)},
      "copies do not run beside kernels", remarks));
  return CheckGroup({entry("find_code", api.find_code), entry("launch", api.launch)},
                    "all steps run on the host, over copies", remarks);
}

// --- Options and target ------------------------------------------------------------------

absl::StatusOr<std::vector<BackendOption>> ReadOptions(const weft_device_api& api) {
  if (api.num_options < 0 || api.num_options > kMaxOptions ||
      (api.num_options > 0 && api.options == nullptr)) {
    return absl::InvalidArgumentError(absl::StrCat("it lists ", api.num_options, " options"));
  }
  std::vector<BackendOption> options;
  for (int i = 0; i < api.num_options; ++i) {
    const weft_device_option& given = api.options[i];
    const std::string what = absl::StrCat("option ", i);
    BackendOption option;
    WEFT_ASSIGN_OR_RETURN(option.name, ReadName(given.name, what));
    const auto text = [&](const char* from) {
      return from == nullptr ? std::string() : ReadText(from, kMaxText, what);
    };
    WEFT_ASSIGN_OR_RETURN(option.default_value, text(given.default_value));
    WEFT_ASSIGN_OR_RETURN(option.help, text(given.help));
    option.value = "TEXT";
    for (const BackendOption& other : options) {
      if (other.name != option.name) continue;
      return absl::InvalidArgumentError(absl::StrCat("it has two options ", option.name));
    }
    options.push_back(std::move(option));
  }
  return options;
}

absl::StatusOr<Target> ReadTarget(const weft_device_api& api, const std::string& name) {
  WEFT_ASSIGN_OR_RETURN(const std::string text, ReadText(api.target, kMaxText, "target"));
  WEFT_ASSIGN_OR_RETURN(Target target, ParseTarget(text, absl::StrCat("target of ", name)));
  if (target.name == name) return target;
  return absl::InvalidArgumentError(
      absl::StrCat("its target is called \"", PrintableName(target.name), "\""));
}

// Copies the members that the device has; the struct of a newer device may have more.
absl::StatusOr<weft_device_api> CopyStruct(const weft_device_api* given) {
  if (given == nullptr) return absl::InvalidArgumentError("the device has no entries");
  constexpr uint64_t kHead = offsetof(weft_device_api, target) + sizeof(given->target);
  const uint64_t size = given->struct_size;
  if (size < kHead || size > kMaxStruct) {
    return absl::InvalidArgumentError(
        absl::StrCat("the entries of the device are said to have ", size, " bytes"));
  }
  if (given->abi != WEFT_DEVICE_ABI) {
    return absl::FailedPreconditionError(
        absl::StrCat("made for device ABI ", given->abi, "; this program has ", WEFT_DEVICE_ABI));
  }
  weft_device_api api = {};
  std::memcpy(&api, given, std::min<uint64_t>(size, sizeof api));
  return api;
}

absl::Status ReadAll(const std::string& name, DeviceEntries* entries,
                     std::vector<std::string>* remarks) {
  const weft_device_api& api = entries->api;
  WEFT_ASSIGN_OR_RETURN(entries->target, ReadTarget(api, name));
  entries->passes = "cpu";
  if (api.passes != nullptr) {
    WEFT_ASSIGN_OR_RETURN(entries->passes, ReadText(api.passes, kMaxText, "pipeline"));
  }
  WEFT_ASSIGN_OR_RETURN(entries->options, ReadOptions(api));
  return CheckGroups(api, remarks);
}

}  // namespace

absl::StatusOr<DeviceEntries> ReadDeviceEntries(const weft_device_api* given) {
  DeviceEntries entries;
  WEFT_ASSIGN_OR_RETURN(entries.api, CopyStruct(given));
  WEFT_ASSIGN_OR_RETURN(const std::string name, ReadName(entries.api.name, "name of the device"));
  std::vector<std::string> remarks;
  const absl::Status status = ReadAll(name, &entries, &remarks);
  if (!status.ok()) {
    return absl::Status(status.code(), absl::StrCat("device ", name, ": ", status.message()));
  }
  for (const std::string& remark : remarks) {
    Log(device_hints_log, absl::StrCat("device ", name, " ", remark));
  }
  return entries;
}

}  // namespace weft::plugin
