// Runs the plan of a `.weftb` file, or of a model as a shared object (docs/deploy.md), on the CPU:
// nothing is compiled. Kernels of a shared object are machine code; those of a `.weftb` file are
// interpreted unless it has machine code, too, and is allowed to run it.
//
// This is the program of the runtime, which has no graphs, ops, passes and importers. With the
// library, CompiledProgram (api/compiled_program.h) also runs plans with ops that no routine has.
#ifndef WEFT_API_RUNTIME_RUNTIME_PROGRAM_H_
#define WEFT_API_RUNTIME_RUNTIME_PROGRAM_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/tensor/tensor.h"
#include "graph/tensor/type.h"

namespace weft {

struct RuntimeOps;

struct RuntimeProgramOptions {
  std::string target = "cpu";  // The plan to run, if the file has several.
  int threads = 1;
  // The instruction set to use: "native", "avx2" or "avx512". The file's plan for the best set
  // within it runs.
  std::string cpu = "native";
  // Compares the constants with the hashes that the file has of them, which reads all of them. A
  // program that is sure of the file's bytes starts sooner without it (docs/deploy.md).
  bool check_weights = true;
  // Runs the machine code that a `.weftb` file has of its kernels (`compile --kernels`), with the
  // rights of this process: as with a shared object, only for files that may run code. Without it
  // kernels are interpreted, with the same results.
  bool allow_code = false;
  // What the function of a source that `compile --emit=cc` wrote returns: code of the file's
  // kernels that is linked with the program. Null: none.
  const void* code = nullptr;
};

// Thread-safe; calls from several threads run at once, each in memory of its own.
class RuntimeProgram {
 public:
  struct Input {
    std::string name;  // May be empty.
    Type type;
    // False: the plan has no use for the input, such as a weight that was compiled in.
    bool read = true;
    // The value before the first run of what runs write; else not valid.
    HostTensor initial;
  };

  // Files whose names end with `.so` are code: load only what you would run. Errors name the file.
  // NotFound if it has no plan of main() for the target, FailedPrecondition if its plans are for
  // other instruction sets or have ops that this program lacks, which are all named,
  // InvalidArgument for a plan of another device than the CPU.
  static absl::StatusOr<RuntimeProgram> Open(const std::string& path,
                                             const RuntimeProgramOptions& options = {});
  // The same with ops that the runtime lacks.
  static absl::StatusOr<RuntimeProgram> OpenWithOps(const std::string& path,
                                                    const RuntimeProgramOptions& options,
                                                    const RuntimeOps& ops);
  RuntimeProgram(RuntimeProgram&&) noexcept;
  RuntimeProgram& operator=(RuntimeProgram&&) noexcept;
  ~RuntimeProgram();

  const std::vector<Input>& inputs() const;
  // Types of the outputs, without those of write-backs.
  const std::vector<Type>& outputs() const;
  // The inputs that a run gives new values, by number.
  const std::vector<int>& written_inputs() const;

  // One tensor per input: a plan has no state. Returns the outputs; with `written`, which gets one
  // tensor per input, also the new values of inputs that the program writes.
  absl::StatusOr<std::vector<HostTensor>> Run(absl::Span<const HostTensor> inputs,
                                              std::vector<HostTensor>* written = nullptr) const;

  // Kernel steps that have run machine code so far; for each assignment of the sizes.
  int64_t machine_code_steps() const;

 private:
  struct Impl;
  explicit RuntimeProgram(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft

#endif  // WEFT_API_RUNTIME_RUNTIME_PROGRAM_H_
