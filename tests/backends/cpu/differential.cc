#include "tests/backends/cpu/differential.h"

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "api/compiler.h"
#include "backends/cpu/executable.h"
#include "backends/cpu/target.h"
#include "backends/reference/executor.h"
#include "base/status_macros.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ops/ops.h"
#include "graph/tensor/tensor.h"
#include "graph/text/text.h"
#include "lowering/lower.h"
#include "lowering/plan_text.h"
#include "lowering/plan_verifier.h"
#include "tests/lowering/random_graphs.h"
#include "tests/support/tensor_compare.h"

namespace weft::cpu {
namespace {

// Compiling takes longer than all else.
constexpr uint64_t kCodeOneIn = 25;

// Routines, epilogues, places of concatenations and kept rows, each or not: what is
// fused differs.
Target RandomTarget(std::mt19937_64& random, LoweringOptions* options) {
  Target target = CpuTarget();
  if (random() % 4 == 0) target.routines.clear();
  if (random() % 4 == 0) {
    for (Routine& routine : target.routines) routine.strided.clear();
  }
  if (random() % 3 == 0) target.epilogues.clear();
  if (random() % 3 == 0) target.max_row_elements = 8;
  options->place_concats = random() % 2 == 0;
  return target;
}

// Some of the passes that fuse, in any order, each of which leaves out some groups.
std::string RandomPipeline(std::mt19937_64& random) {
  constexpr const char* kFuse[] = {
      "fuse_attention{admit=reassociating}",
      "fuse_horizontal{groups=false}",
      "fuse_epilogue",
      "fuse_reduction",
      "fuse_vertical",
      "fuse_concat",
      "fuse_horizontal",
      "fuse_vertical",
  };
  std::vector<std::string> passes;
  for (const char* pass : kFuse) {
    if (random() % 3 == 0) continue;
    std::string text = pass;
    const bool limits = text.back() != '}';
    if (limits && random() % 2 == 0) {
      absl::StrAppend(&text, "{seed=", random() % 1000 + 1,
                      ",max_nodes=", random() % 3 == 0 ? random() % 6 + 2 : 0, "}");
    }
    passes.push_back(std::move(text));
  }
  if (random() % 4 == 0) std::shuffle(passes.begin(), passes.end(), random);
  if (random() % 2 == 0) passes.insert(passes.begin(), "default");
  switch (random() % 4) {
    case 0:
      return "none";
    case 1:
      return "cpu";
    default:
      return passes.empty() ? "none" : absl::StrJoin(passes, ",");
  }
}

int64_t CountGroups(const Graph& graph) {
  int64_t count = 0;
  for (const Node* node : graph.nodes()) count += node->Is(ops::fused);
  return count;
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

CpuOptions RandomOptions(std::mt19937_64& random) {
  CpuOptions options;
  options.threads = static_cast<int>(random() % 3) + 1;
  options.isa = random() % 2 == 0 ? "native" : "avx2";
  if (random() % kCodeOneIn == 0) options.code = CpuOptions::Code::kBeforeCreation;
  return options;
}

HostTensor Copy(const HostTensor& tensor) {
  HostTensor copy(tensor.dtype(), tensor.dims());
  copy.WriteDoubles(tensor.ReadDoubles());
  return copy;
}

// On inputs that are given away: those that are written over have their new values,
// others the old ones.
absl::Status RunInPlace(const Graph& main, Executable& executable,
                        const std::vector<HostTensor>& inputs, const std::vector<HostTensor>& want,
                        DifferentialCounts* counts) {
  std::vector<HostTensor> given;
  for (const HostTensor& tensor : inputs) given.push_back(Copy(tensor));
  std::vector<HostTensor> outputs;
  const std::vector<bool> donated(inputs.size(), true);
  WEFT_RETURN_IF_ERROR(executable.Run(given, donated, &outputs));
  const int own = main.num_own_outputs();
  std::vector<HostTensor> expected = inputs;
  for (size_t k = 0; k < main.write_backs().size(); ++k) {
    const int input = main.write_backs()[k];
    if (outputs[own + k].valid()) continue;
    outputs[own + k] = given[input];
    expected[input] = want[own + k];
    ++counts->in_place;
  }
  WEFT_RETURN_IF_ERROR(Compare(outputs, want));
  return Compare(given, expected);
}

absl::Status RunTwice(const Graph& main, Plan plan, const CpuOptions& options,
                      const std::vector<HostTensor>& inputs, const std::vector<HostTensor>& want,
                      DifferentialCounts* counts) {
  WEFT_ASSIGN_OR_RETURN(const auto executable, Executable::Create(std::move(plan), options));
  WEFT_RETURN_IF_ERROR(executable->WaitForCode());
  std::vector<HostTensor> outputs;
  for (int run = 0; run < 2; ++run) {
    WEFT_RETURN_IF_ERROR(executable->Run(inputs, &outputs));
    WEFT_RETURN_IF_ERROR(Compare(outputs, want));
  }
  WEFT_RETURN_IF_ERROR(RunInPlace(main, *executable, inputs, want, counts));
  counts->generated += executable->stats().generated_steps;
  counts->fallbacks += executable->stats().fallbacks;
  return absl::OkStatus();
}

absl::Status Check(std::mt19937_64& random, const CompileOptions& compile,
                   const RandomProgram& program, DifferentialCounts* counts) {
  const Graph& main = *program.module->main();
  WEFT_ASSIGN_OR_RETURN(const std::vector<HostTensor> want, reference::Run(main, program.inputs));
  const int64_t before = CountGroups(main);
  WEFT_RETURN_IF_ERROR(Compile(*program.module, compile).status());
  counts->groups += std::max<int64_t>(CountGroups(main) - before, 0);
  LoweringOptions lowering;
  const Target target = RandomTarget(random, &lowering);
  const CpuOptions options = RandomOptions(random);
  WEFT_ASSIGN_OR_RETURN(Plan plan, Lower(main, target, lowering));
  WEFT_RETURN_IF_ERROR(VerifyPlan(plan));
  counts->steps += static_cast<int64_t>(plan.steps.size());
  const absl::Status status =
      RunTwice(main, std::move(plan), options, program.inputs, want, counts);
  if (status.ok()) return status;
  WEFT_ASSIGN_OR_RETURN(plan, Lower(main, target, lowering));
  return absl::Status(
      status.code(),
      absl::StrCat(status.message(), "\n", options.threads, " threads, ", options.isa,
                   options.code == CpuOptions::Code::kNone ? "" : ", generated code", "\n",
                   PrintPlan(plan)));
}

}  // namespace

absl::Status CheckRandomProgram(uint64_t seed, DifferentialCounts* counts) {
  const RandomProgram program = MakeRandomUpdate(seed);
  std::mt19937_64 random(seed);
  CompileOptions compile;
  compile.passes = RandomPipeline(random);
  ++counts->programs;
  const absl::Status status = Check(random, compile, program, counts);
  if (status.ok()) return status;
  return absl::Status(status.code(),
                      absl::StrCat("seed ", seed, ", passes ", compile.passes, ": ",
                                   status.message(), "\n", PrintModule(*program.module)));
}

}  // namespace weft::cpu
