// A folder that keeps compiled units of CUDA C++ for other processes.
#ifndef WEFT_BACKENDS_CUDA_DEVICE_CUBIN_CACHE_H_
#define WEFT_BACKENDS_CUDA_DEVICE_CUBIN_CACHE_H_

#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace weft::cuda {

// A unit is a file of its key, the machine code, and the code's digest. It is used only if the key
// is the requested one and the code matches the digest: a file that was cut short or changed is
// replaced. Files are written whole or not at all, so that processes may share a folder. A folder
// that others than its owner may write to is refused, because its contents are run. Nothing removes
// old units.
class CubinCache {
 public:
  // Makes the folder, for its owner alone, and missing parents. FailedPrecondition for a folder
  // that is unsafe or cannot be made.
  static absl::StatusOr<CubinCache> Open(const std::string& folder);

  // `key` is all that the code depends on. No value: the cache has no valid unit of this key.
  std::optional<std::string> Find(absl::string_view key) const;
  // If writing fails, nothing is kept; that is not an error.
  void Keep(absl::string_view key, absl::string_view cubin) const;

 private:
  explicit CubinCache(std::string folder) : folder_(std::move(folder)) {}
  std::string PathOf(absl::string_view key) const;

  std::string folder_;
};

}  // namespace weft::cuda

#endif  // WEFT_BACKENDS_CUDA_DEVICE_CUBIN_CACHE_H_
