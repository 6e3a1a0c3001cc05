#include "api/plugin.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "api/plugin_tag.h"
#include "base/host_buffer.h"
#include "base/status_macros.h"
#include "graph/tensor/tensor.h"

namespace weft {
namespace {

constexpr char kEntry[] = "weft_plugin_info";

absl::Status Error(absl::StatusCode code, absl::string_view path, absl::string_view what) {
  return absl::Status(code, absl::StrCat(path, ": ", what));
}

// The linker's words without the path, which they often begin with.
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

// Looks at the file alone.
absl::Status CheckFile(const std::string& path) {
  using Code = absl::StatusCode;
  const auto file = HostBuffer::MapFile(path);
  if (!file.ok()) {
    return Error(Code::kInvalidArgument, path,
                 absl::StrCat("cannot be loaded: ", file.status().message()));
  }
  const auto tag = ReadPluginTag(
      {reinterpret_cast<const char*>((*file)->data()), static_cast<size_t>((*file)->size())});
  if (!tag.ok()) {
    const bool library = absl::IsNotFound(tag.status());
    return Error(Code::kInvalidArgument, path,
                 absl::StrCat(library ? "not a plugin of Weft: " : "cannot be loaded: ",
                              tag.status().message()));
  }
  if (*tag == WEFT_PLUGIN_TAG) return absl::OkStatus();
  return Error(Code::kFailedPrecondition, path,
               absl::StrCat("made for ", absl::Utf8SafeCEscape(*tag), "; this program is ",
                            WEFT_PLUGIN_TAG));
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
  if (access(path.c_str(), F_OK) != 0) {
    return Error(absl::StatusCode::kNotFound, path, "no such file");
  }
  WEFT_RETURN_IF_ERROR(CheckFile(path));
  // A name without a slash would be looked for among the system's libraries.
  const std::string file = path.find('/') == std::string::npos ? "./" + path : path;
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return Error(absl::StatusCode::kInvalidArgument, path,
                 absl::StrCat("cannot be loaded: ", LinkerError(file)));
  }
  void* entry = dlsym(library, kEntry);
  if (entry == nullptr) {
    dlclose(library);
    return Error(absl::StatusCode::kInvalidArgument, path,
                 absl::StrCat("not a plugin of Weft: it has no symbol ", kEntry));
  }
  const PluginInfo* info = reinterpret_cast<const PluginInfo* (*)()>(entry)();
  absl::Status status = Check(info, path);
  if (!status.ok()) {
    dlclose(library);
    return status;
  }
  // From here on the extensions may refer to the library: it is not closed.
  status = info->add(extensions);
  if (!status.ok()) return Error(status.code(), path, status.message());
  return std::string(info->name);
}

}  // namespace weft
