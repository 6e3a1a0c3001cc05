// Compiled models in `.weftb` files: the module, its plan for a target, and their constants; and as
// shared objects (docs/deploy.md). SaveModel() (model_io.h) writes such files without plans,
// LoadModel() reads the module of either.
#ifndef WEFT_API_COMPILED_FILE_H_
#define WEFT_API_COMPILED_FILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "api/backends.h"
#include "api/compiled_check.h"

namespace weft {

class Module;

struct CompiledFileOptions {
  // Write the module beside its plan. Without it the file runs on its target alone, and tools that
  // need a graph refuse it.
  bool graph = true;
  // Write the names of source nodes, which messages and traces show.
  bool names = true;
  // Write the weights also as the routines of the CPU read them: a program then packs no copies of
  // them, and shares them with other processes. The file is larger by their size for each
  // instruction set. Runs the plans once to find them, so this machine has to have the sets.
  bool pack = false;
  // Instruction sets of the CPU to write a plan for: "avx2", "avx512", or "native", that of this
  // machine. A program runs the plan for the best set of its machine. Empty: "native".
  std::vector<std::string> instruction_sets;
  // Write the kernels also as machine code, for each instruction set, which programs run in place
  // of the interpreter if they allow the file to run code. For "cpu" alone.
  bool kernels = false;
  // The system's compiler, looked up in PATH, for what has machine code.
  std::string compiler = "c++";
  std::string pipeline;      // The passes that the module went through; for information.
  uint64_t source_hash = 0;  // HashSource() of the module before them; 0: unknown.
  // The module before them, to compare what was written with (CheckCompiledFile). If they agree,
  // the file says what was compared. Null: nothing is.
  const Module* source = nullptr;
  uint64_t check_seed = 0;
  CompiledCheck* check = nullptr;  // Gets the result; not null if `source` is not.
};

// The targets of a file: "cpu", or with instruction sets "cpu,cpu:avx2".
struct FileTargets {
  std::string backend;
  std::vector<std::string> instruction_sets;  // As CompiledFileOptions has them.
};
// InvalidArgument for targets of two backends, and for an empty name.
absl::StatusOr<FileTargets> ParseFileTargets(absl::string_view text);

// Lowers main() of a compiled module for the backend and writes the file. The module is made
// functional. InvalidArgument for a backend that runs no plans.
absl::Status WriteCompiledFile(Module& module, const Backend& backend, const std::string& path,
                               const CompiledFileOptions& options = {});

// The same, and the plan's kernels as machine code, in a shared object: CompiledProgram runs it, as
// C programs do with program_open. For the backend "cpu" alone.
absl::Status WriteCompiledLibrary(Module& module, const Backend& backend, const std::string& path,
                                  const CompiledFileOptions& options = {});

// The same as C++ source, which a program compiles with an interface of C for the model's inputs
// and sizes and links with the runtime: FOLDER/NAME.cc and NAME.h, and NAME.weftb with plan and
// weights. NAME is that of the folder, which is made, as an identifier. Returns the path without
// extension.
absl::StatusOr<std::string> WriteCompiledSource(Module& module, const Backend& backend,
                                                const std::string& folder,
                                                const CompiledFileOptions& options = {});

// Copies a .weftb file without its machine code.
absl::Status StripMachineCode(const std::string& from, const std::string& path);

// A text for people about a .weftb file, or the one in a shared object: its version and origin, its
// plans and state, and the comparisons with its source.
absl::StatusOr<std::string> DescribeCompiledFile(const std::string& path);

// A hash of the module's text. Equal modules have equal hashes in every process.
uint64_t HashSource(const Module& module);

// The ops of the file's plan that the runtime without a compiler (backends/cpu/standalone) lacks;
// CompiledProgram has them.
absl::StatusOr<std::vector<std::string>> OpsOutsideRuntime(const std::string& path,
                                                           const std::string& target);

// The kernels and routines that the file's plans for the CPU need, as text: a list that a runtime
// can be built with (docs/deploy.md).
absl::StatusOr<std::string> ListKernels(const std::string& path);

}  // namespace weft

#endif  // WEFT_API_COMPILED_FILE_H_
