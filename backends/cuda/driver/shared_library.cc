#include "backends/cuda/driver/shared_library.h"

#include <dlfcn.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace weft::cuda {

void* SharedLibrary::Find(const char* symbol) const { return dlsym(handle, symbol); }

absl::StatusOr<SharedLibrary> OpenLibrary(absl::string_view what,
                                          absl::Span<const std::string> places) {
  std::vector<std::string> tried;
  for (const std::string& place : places) {
    void* handle = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle != nullptr) return SharedLibrary{handle, place};
    const char* reason = dlerror();
    const absl::string_view text = reason == nullptr ? "unknown reason" : reason;
    // A missing file needs no reason.
    tried.push_back(absl::EndsWith(text, std::strerror(ENOENT)) ? place
                    : absl::StartsWith(text, place)             ? std::string(text)
                                                                : absl::StrCat(place, ": ", text));
  }
  return absl::NotFoundError(
      absl::StrCat(what, " was not found; tried ", absl::StrJoin(tried, ", ")));
}

std::vector<std::string> FilesWithPrefix(const std::string& directory, absl::string_view prefix) {
  std::vector<std::string> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    if (absl::StartsWith(entry.path().filename().string(), prefix)) {
      files.push_back(entry.path().string());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace weft::cuda
