// Machine code of the kernels of plans: a shared object with the .weftb file in it, the same
// without the file, or code that is linked with the program. It runs with the rights of the
// process: load only what you would run.
#ifndef WEFT_BACKENDS_CPU_STANDALONE_MODEL_LIBRARY_H_
#define WEFT_BACKENDS_CPU_STANDALONE_MODEL_LIBRARY_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
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
  // A shared object. NotFound if there is no such file; InvalidArgument for one that cannot be
  // loaded or is no model; Unimplemented for another version. Errors name the file.
  static absl::StatusOr<std::shared_ptr<const ModelLibrary>> Open(const std::string& path);
  // The same for the bytes of a shared object, which are copied; `name` stands for the path.
  static absl::StatusOr<std::shared_ptr<const ModelLibrary>> Load(absl::string_view object,
                                                                  const std::string& name);
  // What a function of the program returned.
  static absl::StatusOr<std::shared_ptr<const ModelLibrary>> Linked(const void* entry,
                                                                    const std::string& name);
  ~ModelLibrary();
  ModelLibrary(const ModelLibrary&) = delete;
  ModelLibrary& operator=(const ModelLibrary&) = delete;

  // The bytes of the .weftb file, which keep the library loaded; null if it has none.
  static std::shared_ptr<HostBuffer> FileOf(std::shared_ptr<const ModelLibrary> library);
  // What Linked() takes.
  const void* entry() const { return entry_; }
  bool HasCodeFor(absl::string_view instruction_set) const;
  // The code of the plan for the instruction set, whose text has the hash `plan`: by kernel, in the
  // order of the plan and its nested plans; no function: it is interpreted. Empty if the library
  // has no code for the set, InvalidArgument if its code is of another plan.
  absl::StatusOr<std::vector<GeneratedKernel>> Kernels(absl::string_view instruction_set,
                                                       uint64_t plan) const;

 private:
  // What dlopen gave, and the file in memory that it was given.
  struct Loaded {
    void* handle = nullptr;
    int descriptor = -1;
  };
  ModelLibrary(std::string name, Loaded loaded) : name_(std::move(name)), loaded_(loaded) {}
  static absl::StatusOr<std::shared_ptr<const ModelLibrary>> FromObject(const std::string& name,
                                                                        const std::string& path,
                                                                        int descriptor);
  absl::Status CheckVersion() const;
  // Null if there is none.
  const ModelCode* FindCode(absl::string_view instruction_set) const;

  const std::string name_;
  const Loaded loaded_;
  const ModelEntry* entry_ = nullptr;
};

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_STANDALONE_MODEL_LIBRARY_H_
