#include "api/plugin.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "api/c/device.h"
#include "api/plugin_tag.h"
#include "backends/backend.h"
#include "backends/cpu/launcher.h"
#include "backends/plugin/backend.h"
#include "base/host_buffer.h"
#include "base/status_macros.h"
#include "graph/tensor/tensor.h"

namespace weft {
namespace {

constexpr char kEntry[] = "weft_plugin_info";
constexpr char kDeviceEntry[] = "weft_device_entry";

absl::Status Error(absl::StatusCode code, absl::string_view path, absl::string_view what) {
  return absl::Status(code, absl::StrCat(path, ": ", what));
}

// The linker's message without the path at its beginning.
std::string LinkerError(absl::string_view path) {
  const char* text = dlerror();
  absl::string_view message = text == nullptr ? "unknown error" : text;
  absl::ConsumePrefix(&message, absl::StrCat(path, ": "));
  return std::string(message);
}

absl::Status Check(const PluginInfo* info, absl::string_view path) {
  using Code = absl::StatusCode;
  const auto incomplete = [&] {
    return Error(Code::kInvalidArgument, path,
                 absl::StrCat("not a plugin of Weft: its ", kEntry, " lacks fields"));
  };
  if (info == nullptr || info->build == nullptr || info->name == nullptr) return incomplete();
  if (info->interface != kPluginInterface) {
    return Error(Code::kFailedPrecondition, path,
                 absl::StrCat("made for plugin interface ", info->interface,
                              "; this program has interface ", kPluginInterface));
  }
  if (absl::string_view(info->build) != WEFT_PLUGIN_BUILD) {
    return Error(Code::kFailedPrecondition, path,
                 absl::StrCat("made for ", info->build, "; this program is ", WEFT_PLUGIN_BUILD));
  }
  return info->add == nullptr ? incomplete() : absl::OkStatus();
}

absl::Status CheckDeviceTag(absl::string_view tag, absl::string_view path) {
  const std::string own = absl::StrCat("device ABI ", WEFT_DEVICE_ABI);
  if (absl::StartsWith(tag, absl::StrCat(own, ", "))) return absl::OkStatus();
  return Error(absl::StatusCode::kFailedPrecondition, path,
               absl::StrCat("made for ", absl::Utf8SafeCEscape(tag), "; this program has ", own));
}

enum class LibraryKind { kPlugin, kDevice };

// Checks the file without loading it.
absl::StatusOr<LibraryKind> CheckFile(const std::string& path) {
  using Code = absl::StatusCode;
  if (access(path.c_str(), F_OK) != 0) return Error(Code::kNotFound, path, "no such file");
  const auto file = HostBuffer::MapFile(path);
  if (!file.ok()) {
    return Error(Code::kInvalidArgument, path,
                 absl::StrCat("cannot be loaded: ", file.status().message()));
  }
  const absl::string_view bytes(reinterpret_cast<const char*>((*file)->data()),
                                static_cast<size_t>((*file)->size()));
  const auto device = ReadPluginTag(bytes, kDeviceSection);
  if (device.ok()) {
    WEFT_RETURN_IF_ERROR(CheckDeviceTag(*device, path));
    return LibraryKind::kDevice;
  }
  const auto tag = ReadPluginTag(bytes);
  if (!tag.ok()) {
    const bool library = absl::IsNotFound(tag.status());
    return Error(Code::kInvalidArgument, path,
                 absl::StrCat(library ? "not a plugin of Weft: " : "cannot be loaded: ",
                              tag.status().message()));
  }
  if (*tag == WEFT_PLUGIN_TAG) return LibraryKind::kPlugin;
  return Error(Code::kFailedPrecondition, path,
               absl::StrCat("made for ", absl::Utf8SafeCEscape(*tag), "; this program is ",
                            WEFT_PLUGIN_TAG));
}

struct OpenLibrary {
  void* library;
  void* entry;
};

absl::StatusOr<OpenLibrary> Open(const std::string& path, const char* entry) {
  // dlopen would search the system's libraries for a name without a slash.
  const std::string file = path.find('/') == std::string::npos ? "./" + path : path;
  OpenLibrary open = {dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL), nullptr};
  if (open.library == nullptr) {
    return Error(absl::StatusCode::kInvalidArgument, path,
                 absl::StrCat("cannot be loaded: ", LinkerError(file)));
  }
  open.entry = dlsym(open.library, entry);
  if (open.entry != nullptr) return open;
  dlclose(open.library);
  return Error(absl::StatusCode::kInvalidArgument, path,
               absl::StrCat("not a plugin of Weft: it has no symbol ", entry));
}

// Loads a device whose file has been checked.
absl::StatusOr<std::string> AddDevice(const std::string& path, Extensions& extensions) {
  WEFT_ASSIGN_OR_RETURN(const OpenLibrary open, Open(path, kDeviceEntry));
  const weft_device_api* api = reinterpret_cast<const weft_device_api* (*)()>(open.entry)();
  auto backend = plugin::MakeBackend(api, cpu::MakeInterpreter);
  absl::Status status = backend.status();
  std::string name;
  if (status.ok()) {
    name = (*backend)->name();
    status = extensions.AddBackend(*std::move(backend));
  }
  if (status.ok()) return name;
  dlclose(open.library);
  return Error(status.code(), path, status.message());
}

}  // namespace

absl::Status CheckPluginsAllowed(const std::vector<std::string>& named,
                                 const std::vector<std::string>& loaded) {
  for (const std::string& plugin : named) {
    const bool allowed = std::any_of(loaded.begin(), loaded.end(), [&](const std::string& file) {
      std::error_code error;
      return file == plugin || std::filesystem::equivalent(file, plugin, error);
    });
    if (allowed) continue;
    const std::string shown = absl::Utf8SafeCEscape(plugin);
    return absl::PermissionDeniedError(absl::StrCat("it needs the plugin ", shown,
                                                    ", whose code would run; pass --load=", shown,
                                                    " to allow that"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> LoadPlugin(const std::string& path, Extensions& extensions) {
  WEFT_ASSIGN_OR_RETURN(const LibraryKind kind, CheckFile(path));
  if (kind == LibraryKind::kDevice) return AddDevice(path, extensions);
  WEFT_ASSIGN_OR_RETURN(const OpenLibrary open, Open(path, kEntry));
  const PluginInfo* info = reinterpret_cast<const PluginInfo* (*)()>(open.entry)();
  absl::Status status = Check(info, path);
  if (!status.ok()) {
    dlclose(open.library);
    return status;
  }
  // From here on the extensions may refer to the library, so it stays open.
  status = info->add(extensions);
  if (!status.ok()) return Error(status.code(), path, status.message());
  return std::string(info->name);
}

absl::StatusOr<std::string> LoadDevice(const std::string& path, Extensions& extensions) {
  WEFT_ASSIGN_OR_RETURN(const LibraryKind kind, CheckFile(path));
  if (kind == LibraryKind::kDevice) return AddDevice(path, extensions);
  return Error(absl::StatusCode::kInvalidArgument, path,
               "not a device, which is all that loads here");
}

}  // namespace weft
