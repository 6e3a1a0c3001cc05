#include "backends/cpu/standalone/model_library.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/annotate.h"
#include "base/host_buffer.h"
#include "base/status_macros.h"
#include "graph/text/parts/text_parts.h"

namespace weft::cpu {
namespace {

class FileInLibrary : public HostBuffer {
 public:
  FileInLibrary(const ModelEntry& entry, std::shared_ptr<const ModelLibrary> library)
      : HostBuffer(const_cast<unsigned char*>(entry.file), entry.file_end - entry.file),
        library_(std::move(library)) {}

 private:
  const std::shared_ptr<const ModelLibrary> library_;
};

absl::StatusOr<GeneratedKernel> ReadKernel(const ModelKernel& kernel) {
  GeneratedKernel code;
  if (kernel.run == nullptr) return code;
  code.fn = kernel.run;
  for (unsigned long i = 0; i < kernel.num_sizes; ++i) {  // NOLINT(runtime/int)
    WEFT_ASSIGN_OR_RETURN(code.sizes.emplace_back(), ParseSymInt(kernel.sizes[i]));
  }
  WEFT_ASSIGN_OR_RETURN(code.points, ParseSymInt(kernel.points));
  WEFT_ASSIGN_OR_RETURN(code.scratch_bytes, ParseSymInt(kernel.scratch_bytes));
  WEFT_ASSIGN_OR_RETURN(code.work_per_point, ParseSymInt(kernel.work_per_point));
  return code;
}

// A file in memory with these bytes, which nobody changes any more.
absl::StatusOr<int> MakeSealedFile(absl::string_view bytes, const std::string& name) {
  const int descriptor = memfd_create("weft_kernels", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  absl::string_view left = bytes;
  while (descriptor >= 0 && !left.empty()) {
    const ssize_t written = write(descriptor, left.data(), left.size());
    if (written <= 0) break;
    left.remove_prefix(static_cast<size_t>(written));
  }
  constexpr int kSeals = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  if (descriptor >= 0 && left.empty() && fcntl(descriptor, F_ADD_SEALS, kSeals) == 0) {
    return descriptor;
  }
  const int error = errno;
  if (descriptor >= 0) close(descriptor);
  return absl::ResourceExhaustedError(absl::StrCat(name, ": no file in memory for ", bytes.size(),
                                                   " bytes of machine code: ", strerror(error)));
}

}  // namespace

absl::StatusOr<std::shared_ptr<const ModelLibrary>> ModelLibrary::Open(const std::string& path) {
  if (access(path.c_str(), F_OK) != 0) {
    return absl::NotFoundError(absl::StrCat(path, ": no such file"));
  }
  // A name without a slash would be looked for elsewhere.
  const bool has_folder = path.find('/') != std::string::npos;
  return FromObject(path, has_folder ? path : absl::StrCat("./", path), -1);
}

absl::StatusOr<std::shared_ptr<const ModelLibrary>> ModelLibrary::Load(absl::string_view object,
                                                                       const std::string& name) {
  WEFT_ASSIGN_OR_RETURN(const int descriptor, MakeSealedFile(object, name));
  // The loader takes libraries of one path for one library, so the descriptor, which the path
  // names, stays in use as long as the library.
  return FromObject(name, absl::StrCat("/proc/", getpid(), "/fd/", descriptor), descriptor);
}

absl::StatusOr<std::shared_ptr<const ModelLibrary>> ModelLibrary::Linked(const void* entry,
                                                                         const std::string& name) {
  std::shared_ptr<ModelLibrary> library(new ModelLibrary(name, Loaded()));
  library->entry_ = static_cast<const ModelEntry*>(entry);
  WEFT_RETURN_IF_ERROR(library->CheckVersion());
  return library;
}

absl::StatusOr<std::shared_ptr<const ModelLibrary>> ModelLibrary::FromObject(
    const std::string& name, const std::string& path, int descriptor) {
  void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  // The library closes both, in any case.
  std::shared_ptr<ModelLibrary> library(new ModelLibrary(name, {handle, descriptor}));
  if (handle == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(name, ": cannot be loaded: ", dlerror()));
  }
  using Entry = const ModelEntry* (*)();
  const auto entry = reinterpret_cast<Entry>(dlsym(handle, kModelEntrySymbol));
  if (entry != nullptr) library->entry_ = entry();
  WEFT_RETURN_IF_ERROR(library->CheckVersion());
  return library;
}

absl::Status ModelLibrary::CheckVersion() const {
  if (entry_ == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(name_, ": not a model that compile wrote"));
  }
  if (entry_->version == kModelEntryVersion) return absl::OkStatus();
  return absl::UnimplementedError(absl::StrCat(name_, ": made for version ", entry_->version,
                                               " of models; this program has version ",
                                               kModelEntryVersion));
}

ModelLibrary::~ModelLibrary() {
  if (loaded_.handle != nullptr) dlclose(loaded_.handle);
  if (loaded_.descriptor >= 0) close(loaded_.descriptor);
}

std::shared_ptr<HostBuffer> ModelLibrary::FileOf(std::shared_ptr<const ModelLibrary> library) {
  const ModelEntry& entry = *library->entry_;
  if (entry.file == nullptr) return nullptr;
  return std::make_shared<FileInLibrary>(entry, std::move(library));
}

const ModelCode* ModelLibrary::FindCode(absl::string_view instruction_set) const {
  const ModelCode* const* const end = entry_->codes + entry_->num_codes;
  const ModelCode* const* const found = std::find_if(entry_->codes, end, [&](const ModelCode* c) {
    return c->instruction_set == instruction_set;
  });
  return found == end ? nullptr : *found;
}

bool ModelLibrary::HasCodeFor(absl::string_view instruction_set) const {
  return FindCode(instruction_set) != nullptr;
}

absl::StatusOr<std::vector<GeneratedKernel>> ModelLibrary::Kernels(
    absl::string_view instruction_set, uint64_t plan) const {
  std::vector<GeneratedKernel> kernels;
  const ModelCode* const found = FindCode(instruction_set);
  if (found == nullptr) return kernels;
  if (found->plan != plan) {
    return absl::InvalidArgumentError(
        absl::StrCat(name_, ": its machine code is not of the plan for ", instruction_set));
  }
  for (unsigned long i = 0; i < found->num_kernels; ++i) {  // NOLINT(runtime/int)
    const ModelKernel& kernel = found->kernels[i];
    absl::StatusOr<GeneratedKernel> code = ReadKernel(kernel);
    if (!code.ok()) {
      return Annotate(code.status(), absl::StrCat(name_, ": kernel @", kernel.name));
    }
    kernels.push_back(*std::move(code));
  }
  return kernels;
}

}  // namespace weft::cpu
