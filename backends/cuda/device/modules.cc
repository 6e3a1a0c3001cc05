#include "backends/cuda/device/modules.h"

#include <sys/stat.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/base/attributes.h"
#include "absl/base/const_init.h"
#include "absl/cleanup/cleanup.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/mutex.h"
#include "backends/cuda/device/logs.h"
#include "backends/cuda/trace/gpu_timeline.h"
#include "base/out_of_memory.h"
#include "base/status_macros.h"

namespace weft::cuda {
namespace {

ABSL_CONST_INIT absl::Mutex mutex(absl::kConstInit);

// The libraries, the architecture and the text.
using Key = std::tuple<const Libraries*, std::string, std::string>;
using Modules = std::map<Key, std::weak_ptr<const CudaModule>>;

// The units that are in use in the process; `mutex` protects it.
Modules& ModulesInUse() {
  static auto& modules = *new Modules;
  return modules;
}

std::shared_ptr<const CudaModule> FindInUse(const Key& key) {
  const Modules& modules = ModulesInUse();
  const auto known = modules.find(key);
  return known == modules.end() ? nullptr : known->second.lock();
}

// Forgets modules that are no longer in use.
void RemoveExpired() {
  Modules& modules = ModulesInUse();
  for (auto it = modules.begin(); it != modules.end();) {
    it = it->second.expired() ? modules.erase(it) : std::next(it);
  }
}

// Products and sums are rounded apart, as on the host; a graph asks for fused ones.
constexpr const char* kOptions[] = {"-std=c++17", "--fmad=false", "-Xptxas=-v", "-w"};

// All that machine code depends on. The library's time stands for its build.
std::string CacheKey(const Libraries& libraries, const std::string& arch, const std::string& text) {
  int major = 0;
  int minor = 0;
  libraries.nvrtc.version(&major, &minor);
  struct stat info = {};
  stat(libraries.nvrtc_path.c_str(), &info);
  return absl::StrCat(absl::StrJoin(kOptions, " "), " ", arch, "\n", major, ".", minor, " ",
                      info.st_size, " ", info.st_mtim.tv_sec, ".", info.st_mtim.tv_nsec, "\n",
                      text);
}

// Calls `work(i)` for i below `count`, on several threads.
void InParallel(size_t count, absl::FunctionRef<void(size_t)> work) {
  std::atomic<size_t> next{0};
  const auto run = [&] {
    for (size_t i = next++; i < count; i = next++) work(i);
  };
  const size_t processors = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::thread> others;
  for (size_t t = 1; t < std::min(count, processors); ++t) others.emplace_back(run);
  run();
  for (std::thread& other : others) other.join();
}

}  // namespace

absl::StatusOr<CuFunction> CudaModule::Find(const std::string& symbol) const {
  CuFunction function = nullptr;
  WEFT_RETURN_IF_ERROR(
      ToStatus(libraries_, libraries_.driver.module_function(&function, module_, symbol.c_str()),
               absl::StrCat("cuModuleGetFunction of ", symbol)));
  NameFunction(function, symbol);
  return function;
}

absl::StatusOr<std::string> CompileCubin(const NvrtcApi& nvrtc, const std::string& text,
                                         const std::string& arch, std::string* log) {
  NvrtcProgram program = nullptr;
  WEFT_RETURN_IF_ERROR(
      ToStatus(nvrtc, nvrtc.create(&program, text.c_str(), "weft.cu", 0, nullptr, nullptr),
               "nvrtcCreateProgram"));
  const absl::Cleanup destroy = [&] { nvrtc.destroy(&program); };
  const std::string target = absl::StrCat("-arch=", arch);
  std::vector<const char*> options(std::begin(kOptions), std::end(kOptions));
  options.push_back(target.c_str());
  int major = 0;
  int minor = 0;
  nvrtc.version(&major, &minor);
  // Leaves out declarations that the text does not use.
  if (std::make_pair(major, minor) >= std::make_pair(12, 4)) options.push_back("-minimal");
  const NvrtcResult result =
      nvrtc.compile(program, static_cast<int>(options.size()), options.data());
  size_t bytes = 0;
  std::string messages;
  if (nvrtc.log_size(program, &bytes) == kNvrtcSuccess && bytes > 1) {
    messages.resize(bytes);
    nvrtc.log(program, messages.data());
    messages.resize(bytes - 1);
  }
  if (log != nullptr) *log = messages;
  if (result != kNvrtcSuccess) {
    return absl::InternalError(
        absl::StrCat(ToStatus(nvrtc, result, "nvrtcCompileProgram").message(), ":\n", messages));
  }
  WEFT_RETURN_IF_ERROR(ToStatus(nvrtc, nvrtc.cubin_size(program, &bytes), "nvrtcGetCUBINSize"));
  std::string cubin(bytes, '\0');
  WEFT_RETURN_IF_ERROR(ToStatus(nvrtc, nvrtc.cubin(program, cubin.data()), "nvrtcGetCUBIN"));
  return cubin;
}

absl::StatusOr<std::string> ModuleLoader::FindOrCompile(const std::string& text) {
  const Libraries& libraries = device_.libraries();
  std::string key;
  if (cache_) {
    key = CacheKey(libraries, device_.arch(), text);
    if (std::optional<std::string> found = cache_->Find(key)) {
      ++cached_;
      return *std::move(found);
    }
  }
  Log(output_code_log, text);
  ++compiled_;
  WEFT_ASSIGN_OR_RETURN(std::string cubin,
                        CompileCubin(libraries.nvrtc, text, device_.arch(), nullptr));
  if (cache_) cache_->Keep(key, cubin);
  return cubin;
}

absl::StatusOr<std::vector<std::shared_ptr<const CudaModule>>> ModuleLoader::Load(
    absl::Span<const std::string> texts) {
  const Libraries& libraries = device_.libraries();
  const auto key = [&](size_t i) { return Key(&libraries, device_.arch(), texts[i]); };
  std::vector<std::shared_ptr<const CudaModule>> loaded(texts.size());
  std::vector<size_t> missing;
  {
    const absl::MutexLock lock(&mutex);
    RemoveExpired();
    for (size_t i = 0; i < texts.size(); ++i) {
      loaded[i] = FindInUse(key(i));
      if (loaded[i] == nullptr) missing.push_back(i);
    }
  }
  std::vector<absl::StatusOr<std::string>> cubins(missing.size());
  InParallel(missing.size(), [&](size_t m) {
    const absl::Status status = CatchOutOfMemory([&] {
      cubins[m] = FindOrCompile(texts[missing[m]]);
      return absl::OkStatus();
    });
    if (!status.ok()) cubins[m] = status;
  });
  const absl::MutexLock lock(&mutex);
  for (size_t m = 0; m < missing.size(); ++m) {
    WEFT_RETURN_IF_ERROR(cubins[m].status());
    std::shared_ptr<const CudaModule>& module = loaded[missing[m]];
    module = FindInUse(key(missing[m]));  // Another thread may have been faster.
    if (module != nullptr) continue;
    CuModule handle = nullptr;
    WEFT_RETURN_IF_ERROR(ToStatus(
        libraries, libraries.driver.module_load(&handle, cubins[m]->data()), "cuModuleLoadData"));
    module = std::make_shared<const CudaModule>(libraries, handle);
    ModulesInUse()[key(missing[m])] = module;
  }
  return loaded;
}

absl::StatusOr<std::shared_ptr<const CudaModule>> UnitCache::Find(const std::string& text) {
  const auto known = units_.find(text);
  if (known != units_.end()) return known->second;
  if (collects_) {
    if (std::find(missing_.begin(), missing_.end(), text) == missing_.end()) {
      missing_.push_back(text);
    }
    return absl::UnavailableError("the unit is not loaded yet");
  }
  WEFT_ASSIGN_OR_RETURN(const auto loaded, loader_.Load({text}));
  return units_.emplace(text, loaded[0]).first->second;
}

absl::Status UnitCache::LoadCollected() {
  collects_ = false;
  const std::vector<std::string> texts = std::exchange(missing_, {});
  WEFT_ASSIGN_OR_RETURN(const auto loaded, loader_.Load(texts));
  for (size_t i = 0; i < texts.size(); ++i) units_.emplace(texts[i], loaded[i]);
  return absl::OkStatus();
}

}  // namespace weft::cuda
