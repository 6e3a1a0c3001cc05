// Generated C++ as functions in this process: the system's compiler makes a shared object, once per
// text, which is loaded.
//
// A cache keeps objects between processes, by compiler, flags and text.
#ifndef WEFT_BACKENDS_CPU_JIT_KERNEL_LIBRARY_H_
#define WEFT_BACKENDS_CPU_JIT_KERNEL_LIBRARY_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "backends/cpu/jit/compiler.h"

namespace weft::cpu {

// The first line of a record.
struct ObjectRecord {
  uint64_t bytes = 0;
  uint64_t digest = 0;  // FNV-1a.
};

// With a newline at the end.
std::string FormatObjectRecord(const ObjectRecord& record);
// Removes the record line from the beginning of `text`; nullopt, with `text` unchanged, if there is
// none.
std::optional<ObjectRecord> ConsumeObjectRecord(absl::string_view* text);

// The folder that keeps compiled kernels.
//
// A record lies beside each object: a line with the object's length and digest, then the text that
// the object was compiled from. An object is used only if the text is the requested one and the
// object's bytes match the record, so an object that was truncated, changed or not synced is
// compiled again and not run. Both files are written under temporary names, synced and renamed:
// processes may share a cache, and neither a full disk nor a killed process damages it. A folder
// that others than its owner may write to is refused, because its contents are run.
class KernelCache {
 public:
  // Makes the folder, for its owner alone, and missing parents. FailedPrecondition for a folder
  // that is unsafe or cannot be made.
  static absl::StatusOr<KernelCache> Open(const std::string& folder);

  // Path of the object compiled from `text`; empty if the cache has no valid one.
  std::string Find(absl::string_view text) const;
  // Copies the object at `path` into the cache, replacing an old one. If writing fails, nothing is
  // kept; that is not an error.
  void Keep(const std::string& path, absl::string_view text) const;

 private:
  explicit KernelCache(std::string folder) : folder_(std::move(folder)) {}
  // The path of a text's files, without their extensions.
  std::string StemOf(absl::string_view text) const;

  std::string folder_;
};

struct JitOptions {
  // Looked up in PATH unless it is a path itself.
  std::string compiler = "c++";
  std::vector<std::string> flags;
  // Made if missing, with its parents. Empty: nothing is kept.
  std::string cache_dir;
  // Run the compiler at the lowest priority.
  bool idle = false;
  // Limit of the compiler in seconds, of elapsed and of processor time.
  int time_limit = kMaxProgramSeconds;
};

struct JitStats {
  bool from_cache = false;
  double compile_seconds = 0;  // Seconds of the compiler's process.
};

// Unloaded with the last owner; its functions must not run after that.
class KernelLibrary {
 public:
  // NotFound if the compiler does not exist; Internal, with the compiler's message, if it rejects
  // the text or is killed; DeadlineExceeded if it takes too long; FailedPrecondition for an unsafe
  // cache folder. It is not an error if the cache cannot be written.
  static absl::StatusOr<std::shared_ptr<KernelLibrary>> Create(absl::string_view text,
                                                               const JitOptions& options,
                                                               JitStats* stats = nullptr);
  // The library from the cache; null if it is not there or there is no cache.
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

// True if SLEEF's functions are available to generated code; the first call loads them.
bool LoadSleef();

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_JIT_KERNEL_LIBRARY_H_
