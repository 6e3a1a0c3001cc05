#include "backends/cuda/driver/libraries.h"

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <system_error>
#include <utility>

#include "absl/base/attributes.h"
#include "absl/base/const_init.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "backends/cuda/driver/shared_library.h"
#include "base/status_macros.h"

namespace weft::cuda {
namespace {

constexpr char kEmulatedFile[] = "libweft_cuda_emulated.so";
constexpr char kEmulatedPackage[] = "backends/cuda/emulate";

// The file that holds this code: a program, or the library that it is linked with.
std::filesystem::path ThisFile() {
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(&ThisFile), &info) == 0 || info.dli_fname == nullptr) {
    return {};
  }
  std::error_code error;
  const std::filesystem::path file = std::filesystem::canonical(info.dli_fname, error);
  return error ? std::filesystem::path() : file;
}

std::filesystem::path ThisProgram() {
  std::error_code error;
  const std::filesystem::path file = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? std::filesystem::path() : file;
}

// In an installation, the emulation lies beside libweft.so. In a tree of build outputs it lies in
// its package's folder, below some folder above the program. The working folder is not searched.
std::vector<std::string> EmulatedPlaces() {
  std::vector<std::string> places;
  const auto add = [&](const std::filesystem::path& place) {
    const std::string text = place.lexically_normal().string();
    if (std::find(places.begin(), places.end(), text) == places.end()) places.push_back(text);
  };
  for (const std::filesystem::path& file : {ThisFile(), ThisProgram()}) {
    if (!file.has_parent_path()) continue;
    const std::filesystem::path folder = file.parent_path();
    add(folder / kEmulatedFile);
    add(folder / "../lib" / kEmulatedFile);
    for (auto above = folder; above.has_relative_path(); above = above.parent_path()) {
      add(above / kEmulatedPackage / kEmulatedFile);
    }
  }
  return places;
}

std::vector<std::string> DriverPlaces(const std::string& driver) {
  if (driver == "emulated") return EmulatedPlaces();
  if (!driver.empty()) return {driver};
  return {"libcuda.so.1", "/usr/lib/x86_64-linux-gnu/libcuda.so.1", "/usr/lib64/libcuda.so.1",
          "/usr/lib/wsl/lib/libcuda.so.1"};
}

// `nvrtc`: a file, a folder, or empty.
std::vector<std::string> NvrtcPlaces(const std::string& nvrtc) {
  std::error_code error;
  const bool folder = !nvrtc.empty() && std::filesystem::is_directory(nvrtc, error);
  if (!nvrtc.empty() && !folder) return {nvrtc};
  std::vector<std::string> places;
  for (const char* in : {"", "/usr/local/cuda/lib64/"}) {
    for (const char* name : {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2"}) {
      places.push_back(folder ? (std::filesystem::path(nvrtc) / name).string()
                              : absl::StrCat(in, name));
    }
    if (folder) break;
  }
  return places;
}

std::vector<std::string> CuptiPlaces(const Libraries& libraries, const std::string& cupti) {
  constexpr const char* kNames[] = {"libcupti.so.13", "libcupti.so.12"};
  std::error_code error;
  std::vector<std::string> places;
  const auto add_all = [&](const std::filesystem::path& folder) {
    for (const char* name : kNames) places.push_back((folder / name).string());
  };
  if (!cupti.empty()) {
    if (!std::filesystem::is_directory(cupti, error)) return {cupti};
    add_all(cupti);
    return places;
  }
  // Wheels of CUDA 13 have all libraries in one folder, those of CUDA 12 one for each library.
  const std::filesystem::path nvrtc = libraries.nvrtc_path;
  if (nvrtc.has_parent_path()) {
    add_all(nvrtc.parent_path());
    add_all(nvrtc.parent_path() / "../../cuda_cupti/lib");
  }
  for (const char* name : kNames) places.push_back(name);
  add_all("/usr/local/cuda/extras/CUPTI/lib64");
  add_all("/usr/local/cuda/lib64");
  return places;
}

// Fills in a table; NotFound names the first function that the library lacks.
absl::Status FindAll(const SharedLibrary& library, DriverApi* api) {
#define WEFT_FIND(member, name, parameters)                                           \
  api->member = reinterpret_cast<decltype(api->member)>(library.Find(name));          \
  if (api->member == nullptr) {                                                       \
    return absl::NotFoundError(absl::StrCat(library.path, " has no function " name)); \
  }
  WEFT_CUDA_DRIVER(WEFT_FIND)
#undef WEFT_FIND
  return absl::OkStatus();
}

absl::Status FindAll(const SharedLibrary& library, NvrtcApi* api) {
#define WEFT_FIND(member, name, result, parameters)                                   \
  api->member = reinterpret_cast<decltype(api->member)>(library.Find(name));          \
  if (api->member == nullptr) {                                                       \
    return absl::NotFoundError(absl::StrCat(library.path, " has no function " name)); \
  }
  WEFT_NVRTC(WEFT_FIND)
#undef WEFT_FIND
  return absl::OkStatus();
}

absl::Status FindAll(const SharedLibrary& library, CuptiApi* api) {
#define WEFT_FIND(member, name, parameters)                                           \
  api->member = reinterpret_cast<decltype(api->member)>(library.Find(name));          \
  if (api->member == nullptr) {                                                       \
    return absl::NotFoundError(absl::StrCat(library.path, " has no function " name)); \
  }
  WEFT_CUPTI(WEFT_FIND)
#undef WEFT_FIND
  return absl::OkStatus();
}

void FindEmulation(const SharedLibrary& library, EmulationApi* api) {
  EmulationApi found;
  bool complete = true;
#define WEFT_FIND(member, name, result, parameters)                            \
  found.member = reinterpret_cast<decltype(found.member)>(library.Find(name)); \
  complete = complete && found.member != nullptr;
  WEFT_CUDA_EMULATION(WEFT_FIND)
#undef WEFT_FIND
  if (complete) *api = found;
}

// NVRTC 13.0 looks for its builtins in the loader's folders alone; it finds those that are open.
absl::StatusOr<SharedLibrary> OpenNvrtcLibrary(const std::string& nvrtc) {
  const std::vector<std::string> places = NvrtcPlaces(nvrtc);
  const std::string folder = std::filesystem::path(places[0]).parent_path().string();
  if (!folder.empty()) {
    const std::vector<std::string> builtins = FilesWithPrefix(folder, "libnvrtc-builtins.so");
    if (!builtins.empty()) OpenLibrary("NVRTC's builtins", builtins).status().IgnoreError();
  }
  return OpenLibrary("NVRTC, the compiler of CUDA C++,", places);
}

absl::StatusOr<std::unique_ptr<const Libraries>> Open(const std::string& driver,
                                                      const std::string& nvrtc) {
  auto libraries = std::make_unique<Libraries>();
  WEFT_ASSIGN_OR_RETURN(
      const SharedLibrary found,
      OpenLibrary(driver == "emulated" ? "the emulated CUDA driver" : "the CUDA driver",
                  DriverPlaces(driver)));
  WEFT_RETURN_IF_ERROR(FindAll(found, &libraries->driver));
  FindEmulation(found, &libraries->emulation);
  libraries->driver_path = found.path;
  SharedLibrary compiler = found;
  if (!nvrtc.empty() || found.Find("nvrtcCompileProgram") == nullptr) {
    WEFT_ASSIGN_OR_RETURN(compiler, OpenNvrtcLibrary(nvrtc));
  }
  WEFT_RETURN_IF_ERROR(FindAll(compiler, &libraries->nvrtc));
  libraries->nvrtc_path = compiler.path;
  return libraries;
}

ABSL_CONST_INIT absl::Mutex mutex(absl::kConstInit);

}  // namespace

absl::StatusOr<const Libraries*> OpenLibraries(const std::string& driver,
                                               const std::string& nvrtc) {
  static auto& opened =
      *new std::map<std::pair<std::string, std::string>, std::unique_ptr<const Libraries>>;
  const absl::MutexLock lock(&mutex);
  std::unique_ptr<const Libraries>& entry = opened[{driver, nvrtc}];
  // Failures are not kept: the library may be installed later.
  if (entry == nullptr) {
    WEFT_ASSIGN_OR_RETURN(entry, Open(driver, nvrtc));
  }
  return entry.get();
}

absl::StatusOr<const NvrtcApi*> OpenNvrtc(const std::string& nvrtc) {
  static auto& opened = *new std::map<std::string, std::unique_ptr<const NvrtcApi>>;
  const absl::MutexLock lock(&mutex);
  std::unique_ptr<const NvrtcApi>& entry = opened[nvrtc];
  if (entry == nullptr) {
    WEFT_ASSIGN_OR_RETURN(const SharedLibrary library, OpenNvrtcLibrary(nvrtc));
    auto api = std::make_unique<NvrtcApi>();
    WEFT_RETURN_IF_ERROR(FindAll(library, api.get()));
    entry = std::move(api);
  }
  return entry.get();
}

absl::StatusOr<const CuptiLibrary*> OpenCupti(const Libraries& libraries,
                                              const std::string& cupti) {
  static auto& opened =
      *new std::map<std::pair<const Libraries*, std::string>, std::unique_ptr<const CuptiLibrary>>;
  const absl::MutexLock lock(&mutex);
  std::unique_ptr<const CuptiLibrary>& entry = opened[{&libraries, cupti}];
  if (entry == nullptr) {
    auto made = std::make_unique<CuptiLibrary>();
    SharedLibrary library;
    if (cupti.empty()) {
      // The driver's library is open already.
      WEFT_ASSIGN_OR_RETURN(library, OpenLibrary("the CUDA driver", {libraries.driver_path}));
    }
    if (library.handle == nullptr || library.Find("cuptiActivityEnable") == nullptr) {
      WEFT_ASSIGN_OR_RETURN(library, OpenLibrary("CUPTI", CuptiPlaces(libraries, cupti)));
    }
    WEFT_RETURN_IF_ERROR(FindAll(library, &made->api));
    made->path = library.path;
    entry = std::move(made);
  }
  return entry.get();
}

absl::Status ToStatus(const Libraries& libraries, CuResult result, absl::string_view call) {
  if (result == kCuSuccess) return absl::OkStatus();
  const char* name = nullptr;
  const char* text = nullptr;
  if (libraries.driver.error_name(result, &name) != kCuSuccess || name == nullptr) {
    name = "an unknown error";
  }
  if (libraries.driver.error_string(result, &text) != kCuSuccess || text == nullptr) text = "";
  const std::string message =
      absl::StrCat(call, ": ", name, " (", result, ")", *text == '\0' ? "" : ", ", text);
  return result == kCuOutOfMemory ? absl::ResourceExhaustedError(message)
                                  : absl::InternalError(message);
}

absl::Status ToStatus(const NvrtcApi& nvrtc, NvrtcResult result, absl::string_view call) {
  if (result == kNvrtcSuccess) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(call, ": ", nvrtc.error_string(result)));
}

}  // namespace weft::cuda
