// RuntimeProgram with all built-in ops: what no routine runs, the reference executor does.
#ifndef WEFT_API_COMPILED_PROGRAM_H_
#define WEFT_API_COMPILED_PROGRAM_H_

#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "api/runtime/runtime_program.h"

namespace weft {

using CompiledProgramOptions = RuntimeProgramOptions;

class CompiledProgram : public RuntimeProgram {
 public:
  // As RuntimeProgram::Open, but that no op is missing.
  static absl::StatusOr<CompiledProgram> Open(const std::string& path,
                                              const CompiledProgramOptions& options = {});

 private:
  explicit CompiledProgram(RuntimeProgram program) : RuntimeProgram(std::move(program)) {}
};

}  // namespace weft

#endif  // WEFT_API_COMPILED_PROGRAM_H_
