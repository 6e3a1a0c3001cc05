// Generated C++ as functions in this process: compiled by the system's compiler
// into a shared object, once for each text, and loaded.
//
// The cache is a folder of objects by the hash of compiler, flags and text. Each
// lies beside its text, which is compared before the object is used; both are
// written to temporary files and renamed, so that processes may share a cache. A
// folder that others than its owner may write to is refused: what lies in it is
// run.
#ifndef WEFT_BACKENDS_CPU_JIT_KERNEL_LIBRARY_H_
#define WEFT_BACKENDS_CPU_JIT_KERNEL_LIBRARY_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace weft::cpu {

struct JitOptions {
  // Found along the search path of programs when it is no path.
  std::string compiler = "c++";
  std::vector<std::string> flags;
  // Made when missing, with its parents. Empty: nothing is kept.
  std::string cache_dir;
  // The compiler gives way to what else runs.
  bool idle = false;
};

struct JitStats {
  bool from_cache = false;
  double compile_seconds = 0;  // Of the compiler's process.
};

// Unloaded with the last owner; no function of it may run then.
class KernelLibrary {
 public:
  // NotFound when there is no such compiler; Internal with the compiler's
  // message when it refuses the text; FailedPrecondition for a cache folder
  // that is not safe. What cannot be written to the cache is not kept, that is
  // no error.
  static absl::StatusOr<std::shared_ptr<KernelLibrary>> Create(absl::string_view text,
                                                               const JitOptions& options,
                                                               JitStats* stats = nullptr);
  // What the cache has; null when it lacks it, or there is none.
  static absl::StatusOr<std::shared_ptr<KernelLibrary>> FromCache(absl::string_view text,
                                                                  const JitOptions& options);
  ~KernelLibrary();
  KernelLibrary(const KernelLibrary&) = delete;
  KernelLibrary& operator=(const KernelLibrary&) = delete;

  // Null for an unknown symbol.
  void* Find(const std::string& symbol) const;

 private:
  explicit KernelLibrary(void* handle) : handle_(handle) {}
  void* handle_;
};

// Whether SLEEF's functions can be had by generated code; loads them on the
// first call.
bool LoadSleef();

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_JIT_KERNEL_LIBRARY_H_
