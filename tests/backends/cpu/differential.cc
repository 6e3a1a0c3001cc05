#include "tests/backends/cpu/differential.h"

#include <random>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/cpu/executable.h"
#include "backends/cpu/target.h"
#include "backends/reference/executor.h"
#include "graph/core/status_macros.h"
#include "graph/core/text.h"
#include "lowering/lower.h"
#include "tests/lowering/random_graphs.h"
#include "tests/support/tensor_compare.h"

namespace weft::cpu {
namespace {

// Routines, epilogues, places of concatenations and kept rows, each or not: what is
// fused differs.
LoweringTarget RandomTarget(std::mt19937_64& random) {
  LoweringTarget target = CpuLoweringTarget();
  if (random() % 4 == 0) target.library = nullptr;
  if (random() % 4 == 0) target.strided = nullptr;
  if (random() % 3 == 0) target.epilogue = nullptr;
  if (random() % 3 == 0) target.max_row_elements = 8;
  target.place_concats = random() % 2 == 0;
  return target;
}

absl::Status Compare(const std::vector<HostTensor>& got, const std::vector<HostTensor>& want) {
  for (size_t i = 0; i < want.size(); ++i) {
    // A dozen ops in f32, each of which rounds where the reference keeps doubles
    // within an op.
    const std::string difference = Difference(got[i], want[i], {1e-4, 1e-4});
    if (!difference.empty()) {
      return absl::InternalError(absl::StrCat("output ", i, ": ", difference));
    }
  }
  return absl::OkStatus();
}

absl::Status Check(uint64_t seed, const RandomProgram& program, DifferentialCounts* counts) {
  std::mt19937_64 random(seed);
  const Graph& main = *program.module->main();
  WEFT_ASSIGN_OR_RETURN(const std::vector<HostTensor> want, reference::Run(main, program.inputs));
  WEFT_ASSIGN_OR_RETURN(Plan plan, Lower(main, RandomTarget(random)));
  counts->steps += static_cast<int64_t>(plan.steps.size());
  CpuOptions options;
  options.threads = static_cast<int>(random() % 3) + 1;
  options.isa = random() % 2 == 0 ? "native" : "avx2";
  WEFT_ASSIGN_OR_RETURN(const auto executable, Executable::Create(main, std::move(plan), options));
  std::vector<HostTensor> outputs;
  for (int run = 0; run < 2; ++run) {
    WEFT_RETURN_IF_ERROR(executable->Run(program.inputs, &outputs));
    WEFT_RETURN_IF_ERROR(Compare(outputs, want));
  }
  counts->fallbacks += executable->stats().fallbacks;
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckRandomProgram(uint64_t seed, DifferentialCounts* counts) {
  const RandomProgram program = MakeRandomProgram(seed);
  ++counts->programs;
  const absl::Status status = Check(seed, program, counts);
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat("seed ", seed, ": ", status.message(), "\n",
                                                  PrintModule(*program.module)));
}

}  // namespace weft::cpu
