// Compiled units of CUDA C++, kept in memory by their content.
#ifndef WEFT_BACKENDS_CUDA_DEVICE_MODULES_H_
#define WEFT_BACKENDS_CUDA_DEVICE_MODULES_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backends/cuda/device/cubin_cache.h"
#include "backends/cuda/device/cuda_device.h"
#include "backends/cuda/driver/libraries.h"

namespace weft::cuda {

class CudaModule {
 public:
  CudaModule(const Libraries& libraries, CuModule module)
      : libraries_(libraries), module_(module) {}
  ~CudaModule() { libraries_.driver.module_unload(module_); }
  CudaModule(const CudaModule&) = delete;
  CudaModule& operator=(const CudaModule&) = delete;

  absl::StatusOr<CuFunction> Find(const std::string& symbol) const;

 private:
  const Libraries& libraries_;
  const CuModule module_;
};

// Compiles CUDA C++ to machine code for `arch` ("sm_90a"). An error has the compiler's messages;
// `log`, if not null, gets them in any case. Thread-safe.
absl::StatusOr<std::string> CompileCubin(const NvrtcApi& nvrtc, const std::string& text,
                                         const std::string& arch, std::string* log);

// Loads units. Thread-safe; the device must be current.
class ModuleLoader {
 public:
  // The device outlives it.
  explicit ModuleLoader(CudaDevice& device) : device_(device) {}

  // Keeps compiled units in a folder.
  void set_cache(CubinCache cache) { cache_ = std::move(cache); }

  // Units, by text: compiled in parallel, unless they are in use somewhere in the process or in the
  // cache.
  absl::StatusOr<std::vector<std::shared_ptr<const CudaModule>>> Load(
      absl::Span<const std::string> texts);

  int64_t compiled_units() const { return compiled_; }
  int64_t cached_units() const { return cached_; }

 private:
  absl::StatusOr<std::string> FindOrCompile(const std::string& text);

  CudaDevice& device_;
  std::optional<CubinCache> cache_;
  std::atomic<int64_t> compiled_{0};
  std::atomic<int64_t> cached_{0};  // Units found in the cache.
};

// The units of a session's routines, by their text; keeps them loaded.
class UnitCache {
 public:
  // The loader outlives it.
  explicit UnitCache(ModuleLoader& loader) : loader_(loader) {}

  // While units are collected: Unavailable for one that is not loaded yet.
  absl::StatusOr<std::shared_ptr<const CudaModule>> Find(const std::string& text);

  // Between these calls Find takes note of missing units, which the latter compiles in parallel.
  void BeginCollecting() { collects_ = true; }
  absl::Status LoadCollected();

 private:
  ModuleLoader& loader_;
  bool collects_ = false;
  std::vector<std::string> missing_;
  std::map<std::string, std::shared_ptr<const CudaModule>> units_;
};

}  // namespace weft::cuda

#endif  // WEFT_BACKENDS_CUDA_DEVICE_MODULES_H_
