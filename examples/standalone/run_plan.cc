// Runs a model that tools:compile compiled for the CPU (docs/deploy.md), without a compiler:
//
//   run_plan FILE OUTPUT_PREFIX INPUT.npy...
//
// FILE is a .weftb file, whose kernels are interpreted, or a shared object with their code. Output
// i goes to the file OUTPUT_PREFIX and i and ".npy".
#include <cstdio>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "api/runtime/runtime_program.h"
#include "base/status_macros.h"
#include "graph/tensor/tensor.h"
#include "serialize/npy/npy.h"

namespace weft {
namespace {

absl::Status Run(const std::string& model, const std::string& prefix,
                 const std::vector<std::string>& paths) {
  WEFT_ASSIGN_OR_RETURN(const RuntimeProgram program, RuntimeProgram::Open(model));
  std::vector<HostTensor> inputs;
  for (const std::string& path : paths) {
    WEFT_ASSIGN_OR_RETURN(inputs.emplace_back(), ReadNpy(path));
  }
  WEFT_ASSIGN_OR_RETURN(const std::vector<HostTensor> outputs, program.Run(inputs));
  for (size_t i = 0; i < outputs.size(); ++i) {
    WEFT_RETURN_IF_ERROR(WriteNpy(absl::StrCat(prefix, i, ".npy"), outputs[i]));
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace weft

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: run_plan FILE.weftb|FILE.so OUTPUT_PREFIX INPUT.npy...\n");
    return 2;
  }
  const absl::Status status = weft::Run(argv[1], argv[2], {argv + 3, argv + argc});
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  return 1;
}
