// Generated C++ as functions in this process: compiled by the system's compiler
// into a shared object, once for each text, and loaded.
//
// A cache keeps the objects from one process to the next, by compiler, flags and text.
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

// With the newline at its end.
std::string FormatObjectRecord(const ObjectRecord& record);
// Takes the line off `text`; nothing, and `text` as it was, when it does not begin with one.
std::optional<ObjectRecord> ConsumeObjectRecord(absl::string_view* text);

// The folder that keeps compiled kernels.
//
// Each object lies beside a record: a line with the object's length and digest, then the text that
// the object was compiled from. An object is handed out only where the text is the one asked for
// and the object's bytes are those of the record, so that an object that was cut, changed or never
// reached the disk is compiled again and not run. Both files are written under temporary names,
// synced and renamed: processes may share a cache, and a full disk or a killed process spoils
// nothing. A folder that others than its owner may write to is refused, since what lies in it is
// run.
class KernelCache {
 public:
  // Makes the folder, for its owner alone, and its parents when they are missing.
  // FailedPrecondition for a folder that is not safe or cannot be made.
  static absl::StatusOr<KernelCache> Open(const std::string& folder);

  // The path of the object that was compiled from `text`; empty where there is none that is whole.
  std::string Find(absl::string_view text) const;
  // Copies the object at `path` into the cache, over one that is there. What cannot be written is
  // not kept: that is no error, and no part of it stays.
  void Keep(const std::string& path, absl::string_view text) const;

 private:
  explicit KernelCache(std::string folder) : folder_(std::move(folder)) {}
  // The path of a text's files, without their extensions.
  std::string StemOf(absl::string_view text) const;

  std::string folder_;
};

struct JitOptions {
  // Found along the search path of programs when it is no path.
  std::string compiler = "c++";
  std::vector<std::string> flags;
  // Made when missing, with its parents. Empty: nothing is kept.
  std::string cache_dir;
  // The compiler gives way to what else runs.
  bool idle = false;
  // Seconds, of the clock and of the processor, after which a compiler is stopped.
  int time_limit = kMaxProgramSeconds;
};

struct JitStats {
  bool from_cache = false;
  double compile_seconds = 0;  // Of the compiler's process.
};

// Unloaded with the last owner; no function of it may run then.
class KernelLibrary {
 public:
  // NotFound when there is no such compiler; Internal with the compiler's
  // message when it refuses the text or is killed; DeadlineExceeded when it does not end;
  // FailedPrecondition for a cache folder
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
