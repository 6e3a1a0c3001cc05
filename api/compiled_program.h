// The plan of a `.weftb` file, or of a model as a shared object (compiled_file.h), as a program:
// nothing is compiled. Kernels of a shared object are machine code, those of a `.weftb` file are
// interpreted.
#ifndef WEFT_API_COMPILED_PROGRAM_H_
#define WEFT_API_COMPILED_PROGRAM_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/tensor/tensor.h"
#include "graph/tensor/type.h"

namespace weft {

struct CompiledProgramOptions {
  std::string target = "cpu";  // The plan to run, if the file has several.
  int threads = 1;
  // Compares the constants with the hashes that the file has of them, which reads all of them. A
  // program that is sure of the file's bytes starts sooner without it (docs/deploy.md).
  bool check_weights = true;
};

// Thread-safe; calls from several threads run one after another.
class CompiledProgram {
 public:
  struct Input {
    std::string name;  // May be empty.
    Type type;
  };

  // Files whose names end with `.so` are code: load only what you would run. Errors name the file.
  // NotFound if it has no plan of main() for the target, FailedPrecondition if the plan needs wider
  // vectors than the machine's, InvalidArgument for a plan of another device than the CPU.
  static absl::StatusOr<CompiledProgram> Open(const std::string& path,
                                              const CompiledProgramOptions& options = {});
  CompiledProgram(CompiledProgram&&) noexcept;
  CompiledProgram& operator=(CompiledProgram&&) noexcept;
  ~CompiledProgram();

  const std::vector<Input>& inputs() const;
  // Types of the outputs, without those of write-backs.
  const std::vector<Type>& outputs() const;

  // One tensor per input: a plan has no state. Returns the outputs; with `written`, which gets one
  // tensor per input, also the new values of inputs that the program writes.
  absl::StatusOr<std::vector<HostTensor>> Run(absl::Span<const HostTensor> inputs,
                                              std::vector<HostTensor>* written = nullptr) const;

 private:
  struct Impl;
  explicit CompiledProgram(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft

#endif  // WEFT_API_COMPILED_PROGRAM_H_
