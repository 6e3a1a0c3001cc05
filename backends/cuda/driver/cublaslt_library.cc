#include "backends/cuda/driver/cublaslt_library.h"

#include <filesystem>
#include <map>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/base/attributes.h"
#include "absl/base/const_init.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "backends/cuda/driver/shared_library.h"
#include "base/status_macros.h"

namespace weft::cuda {
namespace {

constexpr const char* kNames[] = {"libcublasLt.so.13", "libcublasLt.so.12"};

std::vector<std::string> Places(const Libraries& libraries, const std::string& place) {
  std::error_code error;
  std::vector<std::string> folders;
  if (!place.empty()) {
    if (!std::filesystem::is_directory(place, error)) return {place};
    folders = {place};
  } else if (libraries.emulation.present()) {
    return {libraries.driver_path};
  } else {
    // Packages of CUDA 13 have one folder; those of CUDA 12 have one for each library.
    const std::filesystem::path beside = std::filesystem::path(libraries.nvrtc_path).parent_path();
    if (!beside.empty()) {
      folders = {beside.string(), (beside / "../../cublas/lib").lexically_normal().string()};
    }
    folders.insert(folders.end(), {"", "/usr/local/cuda/lib64"});
  }
  std::vector<std::string> places;
  for (const std::string& folder : folders) {
    for (const char* name : kNames) {
      places.push_back((std::filesystem::path(folder) / name).string());
    }
  }
  return places;
}

absl::StatusOr<std::unique_ptr<const CublasLtLibrary>> Open(const Libraries& libraries,
                                                            const std::string& place) {
  WEFT_ASSIGN_OR_RETURN(const SharedLibrary found,
                        OpenLibrary("cuBLASLt", Places(libraries, place)));
  auto library = std::make_unique<CublasLtLibrary>();
  library->path = found.path;
#define WEFT_FIND(member, name, result, parameters)                                        \
  library->api.member = reinterpret_cast<decltype(library->api.member)>(found.Find(name)); \
  if (library->api.member == nullptr) {                                                    \
    return absl::NotFoundError(absl::StrCat(found.path, " has no function " name));        \
  }
  WEFT_CUBLASLT(WEFT_FIND)
#undef WEFT_FIND
  return library;
}

ABSL_CONST_INIT absl::Mutex mutex(absl::kConstInit);

}  // namespace

absl::StatusOr<const CublasLtLibrary*> OpenCublasLt(const Libraries& libraries,
                                                    const std::string& place) {
  static auto& opened = *new std::map<std::pair<const Libraries*, std::string>,
                                      std::unique_ptr<const CublasLtLibrary>>;
  const absl::MutexLock lock(&mutex);
  std::unique_ptr<const CublasLtLibrary>& entry = opened[{&libraries, place}];
  if (entry == nullptr) {
    WEFT_ASSIGN_OR_RETURN(entry, Open(libraries, place));
  }
  return entry.get();
}

absl::Status ToStatus(const CublasLtApi& api, CublasStatus status, absl::string_view call) {
  if (status == kCublasSuccess) return absl::OkStatus();
  const char* name = api.status_name(status);
  const char* text = api.status_string(status);
  const std::string message =
      absl::StrCat(call, ": ", name == nullptr ? "an unknown error" : name, " (", status, ")",
                   text == nullptr || *text == '\0' ? "" : ", ", text == nullptr ? "" : text);
  return status == kCublasAllocFailed ? absl::ResourceExhaustedError(message)
                                      : absl::InternalError(message);
}

}  // namespace weft::cuda
