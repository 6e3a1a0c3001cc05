// A model as a shared object: its .weftb file as data, the kernels of the plan as machine code. The
// object is code, and is run with the rights of the process: load only what you would run.
#ifndef WEFT_BACKENDS_CPU_STANDALONE_MODEL_LIBRARY_H_
#define WEFT_BACKENDS_CPU_STANDALONE_MODEL_LIBRARY_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "backends/cpu/generated_call.h"
#include "backends/cpu/standalone/model_entry.h"

namespace weft {
class HostBuffer;
}

namespace weft::cpu {

// Thread-safe. Several may be open at once, also of one file.
class ModelLibrary {
 public:
  // NotFound if there is no such file; InvalidArgument for one that cannot be loaded or is no
  // model; Unimplemented for another version. Errors name the file.
  static absl::StatusOr<std::shared_ptr<const ModelLibrary>> Open(const std::string& path);
  ~ModelLibrary();
  ModelLibrary(const ModelLibrary&) = delete;
  ModelLibrary& operator=(const ModelLibrary&) = delete;

  // The bytes of the .weftb file, which keep the library loaded.
  static std::shared_ptr<HostBuffer> FileOf(std::shared_ptr<const ModelLibrary> library);
  // The code of the plan for the instruction set: by kernel, in the order of the plan and its
  // nested plans; no function: it is interpreted. Empty if the library has no code for the set.
  absl::StatusOr<std::vector<GeneratedKernel>> Kernels(absl::string_view instruction_set) const;

 private:
  ModelLibrary(std::string path, void* handle, const ModelEntry* entry)
      : path_(std::move(path)), handle_(handle), entry_(entry) {}

  const std::string path_;
  void* const handle_;
  const ModelEntry* const entry_;
};

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_STANDALONE_MODEL_LIBRARY_H_
