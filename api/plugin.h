// Plugins: shared libraries that extend a program as it starts.
//
//   absl::Status AddAll(weft::Extensions& to) {
//     WEFT_RETURN_IF_ERROR(to.AddOp(&square));
//     return to.AddPass(CreateFindSquaresPass);
//   }
//   WEFT_PLUGIN("squares", AddAll)
//
// The plugin and the program use one libweft.so. Its interface is C++ and changes with every
// version: a plugin must be rebuilt for each. The macro writes the version and build of the plugin
// into a section of its file, weft_plugin, which is read before the file is loaded: a plugin that
// does not fit is refused before any of its code runs, constructors included.
//
// A device (c/device.h) is a shared library, too: plain C, which fits every version of Weft with
// the same WEFT_DEVICE_ABI, and does not use libweft.so.
#ifndef WEFT_API_PLUGIN_H_
#define WEFT_API_PLUGIN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/base/config.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "api/extensions.h"
#include "api/version.h"

namespace weft {

// Version of PluginInfo. Its first three fields mean the same in all versions.
#define WEFT_PLUGIN_INTERFACE 1
inline constexpr uint32_t kPluginInterface = WEFT_PLUGIN_INTERFACE;

struct PluginInfo {
  uint32_t interface;
  // WEFT_PLUGIN_BUILD: the properties of the build that determine the layout of types.
  const char* build;
  const char* name;
  absl::Status (*add)(Extensions& extensions);
};

// The version of Weft, and the properties of compiler and Abseil that plugin and program must
// share.
#ifdef _GLIBCXX_DEBUG
#define WEFT_PLUGIN_CONTAINERS ", debug containers"
#else
#define WEFT_PLUGIN_CONTAINERS ""
#endif
#define WEFT_PLUGIN_BUILD                                                            \
  "weft " WEFT_VERSION                                                               \
  ", C++ ABI " WEFT_PLUGIN_TEXT(__GXX_ABI_VERSION) ", strings " WEFT_PLUGIN_TEXT(    \
      _GLIBCXX_USE_CXX11_ABI) ", Abseil " WEFT_PLUGIN_TEXT(ABSL_LTS_RELEASE_VERSION) \
      WEFT_PLUGIN_CONTAINERS
// The contents of the section.
#define WEFT_PLUGIN_TAG \
  WEFT_PLUGIN_BUILD ", plugin interface " WEFT_PLUGIN_TEXT(WEFT_PLUGIN_INTERFACE)
#define WEFT_PLUGIN_TEXT(x) WEFT_PLUGIN_TEXT_OF(x)
#define WEFT_PLUGIN_TEXT_OF(x) #x

// Used at namespace scope, once per plugin. `add` is called once, when the plugin is loaded.
#define WEFT_PLUGIN(name, add)                                                                     \
  extern "C" {                                                                                     \
  extern __attribute__((visibility("default"))) const char weft_plugin_tag[];                      \
  __attribute__((section("weft_plugin"), used)) const char weft_plugin_tag[] = WEFT_PLUGIN_TAG;    \
  }                                                                                                \
  extern "C" __attribute__((visibility("default"))) const ::weft::PluginInfo* weft_plugin_info() { \
    static const ::weft::PluginInfo info = {::weft::kPluginInterface, WEFT_PLUGIN_BUILD, name,     \
                                            add};                                                  \
    return &info;                                                                                  \
  }

// A file may name plugins but must not load them, because they are code. PermissionDenied, with the
// flag to pass, unless every plugin in `named` is in `loaded`, which the user gave.
absl::Status CheckPluginsAllowed(const std::vector<std::string>& named,
                                 const std::vector<std::string>& loaded);

// Loads the plugin, or the device, and lets it add to `extensions`; returns its name. It is never
// unloaded. All errors name the file: NotFound if it does not exist, InvalidArgument if it is not a
// plugin or cannot be linked, FailedPrecondition if it was made for another Weft, and the errors of
// `add`. A plugin for another Weft is not loaded into the process.
absl::StatusOr<std::string> LoadPlugin(const std::string& path, Extensions& extensions);

// The same for devices alone, for programs that link Weft statically instead of libweft.so:
// InvalidArgument for a plugin.
absl::StatusOr<std::string> LoadDevice(const std::string& path, Extensions& extensions);

}  // namespace weft

#endif  // WEFT_API_PLUGIN_H_
