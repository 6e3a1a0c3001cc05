// Runs a model that tools:compile compiled for the CPU (docs/deploy.md), without a compiler:
//
//   run_plan FILE OUTPUT_PREFIX INPUT.npy...
//
// FILE is a .weftb file, whose kernels are interpreted, or a shared object with their code. Output
// i goes to the file OUTPUT_PREFIX and i and ".npy".
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "backends/cpu/standalone/model_library.h"
#include "backends/cpu/standalone/standalone.h"
#include "base/status_macros.h"
#include "graph/tensor/tensor.h"
#include "lowering/plan.h"
#include "serialize/flat/weftb_file.h"
#include "serialize/flat/weftb_plan.h"
#include "serialize/npy/npy.h"

namespace weft {
namespace {

absl::Status Run(const std::string& model, const std::string& prefix,
                 const std::vector<std::string>& paths) {
  cpu::StandaloneOptions options;
  std::shared_ptr<const WeftbFile> file;
  if (absl::EndsWith(model, ".so")) {
    WEFT_ASSIGN_OR_RETURN(const auto library, cpu::ModelLibrary::Open(model));
    WEFT_ASSIGN_OR_RETURN(options.kernels, library->Kernels());
    WEFT_ASSIGN_OR_RETURN(
        file, WeftbFile::View(cpu::ModelLibrary::FileOf(library), model, /*is_mapped=*/true));
  } else {
    WEFT_ASSIGN_OR_RETURN(file, WeftbFile::Open(model));
  }
  WEFT_ASSIGN_OR_RETURN(Plan plan, ReadPlanFromWeftb(*file, "main", "cpu"));
  WEFT_ASSIGN_OR_RETURN(const auto program, cpu::Standalone::Create(std::move(plan), options));
  std::vector<HostTensor> inputs;
  for (const std::string& path : paths) {
    WEFT_ASSIGN_OR_RETURN(inputs.emplace_back(), ReadNpy(path));
  }
  std::vector<HostTensor> outputs;
  WEFT_RETURN_IF_ERROR(program->Run(inputs, &outputs));
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
