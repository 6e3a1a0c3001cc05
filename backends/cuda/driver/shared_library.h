// Opens shared libraries that may be missing.
#ifndef WEFT_BACKENDS_CUDA_DRIVER_SHARED_LIBRARY_H_
#define WEFT_BACKENDS_CUDA_DRIVER_SHARED_LIBRARY_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace weft::cuda {

// A library that stays open until the process ends.
struct SharedLibrary {
  void* handle = nullptr;
  std::string path;  // The place where it was found.

  // Null if the library has no such symbol.
  void* Find(const char* symbol) const;
};

// Opens the first place that works: paths, and names that the loader searches for. NotFound names
// `what`, and each place with the loader's reason.
absl::StatusOr<SharedLibrary> OpenLibrary(absl::string_view what,
                                          absl::Span<const std::string> places);

// Files of the directory whose names begin with `prefix`, sorted.
std::vector<std::string> FilesWithPrefix(const std::string& directory, absl::string_view prefix);

}  // namespace weft::cuda

#endif  // WEFT_BACKENDS_CUDA_DRIVER_SHARED_LIBRARY_H_
