#include "backends/cpu/standalone/model_library.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
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

}  // namespace

absl::StatusOr<std::shared_ptr<const ModelLibrary>> ModelLibrary::Open(const std::string& path) {
  if (access(path.c_str(), F_OK) != 0) {
    return absl::NotFoundError(absl::StrCat(path, ": no such file"));
  }
  // A name without a slash would be looked for elsewhere.
  const bool has_folder = path.find('/') != std::string::npos;
  void* const handle =
      dlopen(has_folder ? path.c_str() : absl::StrCat("./", path).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": cannot be loaded: ", dlerror()));
  }
  using Entry = const ModelEntry* (*)();
  const auto entry = reinterpret_cast<Entry>(dlsym(handle, kModelEntrySymbol));
  const ModelEntry* const model = entry == nullptr ? nullptr : entry();
  if (model != nullptr && model->version == kModelEntryVersion) {
    return std::shared_ptr<const ModelLibrary>(new ModelLibrary(path, handle, model));
  }
  const absl::Status status =
      model == nullptr
          ? absl::InvalidArgumentError(absl::StrCat(path, ": not a model that compile wrote"))
          : absl::UnimplementedError(absl::StrCat(path, ": made for version ", model->version,
                                                  " of models; this program has version ",
                                                  kModelEntryVersion));
  dlclose(handle);
  return status;
}

ModelLibrary::~ModelLibrary() { dlclose(handle_); }

std::shared_ptr<HostBuffer> ModelLibrary::FileOf(std::shared_ptr<const ModelLibrary> library) {
  const ModelEntry& entry = *library->entry_;
  return std::make_shared<FileInLibrary>(entry, std::move(library));
}

absl::StatusOr<std::vector<GeneratedKernel>> ModelLibrary::Kernels(
    absl::string_view instruction_set) const {
  std::vector<GeneratedKernel> kernels;
  const ModelCode* const* const end = entry_->codes + entry_->num_codes;
  const ModelCode* const* const found = std::find_if(entry_->codes, end, [&](const ModelCode* c) {
    return c->instruction_set == instruction_set;
  });
  if (found == end) return kernels;
  for (unsigned long i = 0; i < (*found)->num_kernels; ++i) {  // NOLINT(runtime/int)
    const ModelKernel& kernel = (*found)->kernels[i];
    absl::StatusOr<GeneratedKernel> code = ReadKernel(kernel);
    if (!code.ok()) {
      return Annotate(code.status(), absl::StrCat(path_, ": kernel @", kernel.name));
    }
    kernels.push_back(*std::move(code));
  }
  return kernels;
}

}  // namespace weft::cpu
