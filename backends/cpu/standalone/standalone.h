// Runs plans on the CPU in programs that have no graphs, ops, passes or compiler.
//
// Kernels run by the interpreter or as code that was compiled before (model_library.h), library
// steps by the CPU's routines. Results equal those of cpu::Executable for the same plan, threads
// and instruction set, bit for bit.
#ifndef WEFT_BACKENDS_CPU_STANDALONE_STANDALONE_H_
#define WEFT_BACKENDS_CPU_STANDALONE_STANDALONE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backends/cpu/generated_call.h"
#include "graph/tensor/tensor.h"
#include "lowering/plan.h"

namespace weft {
class StepEvaluator;
struct PackedConstant;
}  // namespace weft

namespace weft::cpu {

struct StandaloneOptions {
  static constexpr int kMaxThreads = 1024;
  int threads = 1;  // 1 to kMaxThreads.
  // "native", "avx2" or "avx512".
  std::string isa = "native";
  // Code of the kernels, by kernel in the order of the plan and its nested plans (AllPlans); none
  // at all, or no function: they are interpreted.
  std::vector<GeneratedKernel> kernels;
  // Evaluates the steps that the CPU has no code for, of a plan that was read with ops; outlives
  // the program. Null: plans with ops that need it are refused.
  const StepEvaluator* evaluator = nullptr;
};

// The ops of the plan, and of its nested plans, that need an evaluator: "cond", "nonzero".
// Sorted, each once.
std::vector<std::string> MissingOps(const Plan& plan);

// Thread-safe. Runs of several threads go at once: each has memory and code of its own, which are
// kept for later runs, and the weights are shared.
class Standalone {
 public:
  // Requires a verified plan (plan_verifier.h). FailedPrecondition names all ops or kernels that
  // are missing, or a kernel whose schedule is for wider vectors than the instruction set has;
  // InvalidArgument: the code is not that of the plan's kernels.
  static absl::StatusOr<std::unique_ptr<Standalone>> Create(Plan plan,
                                                            const StandaloneOptions& options);
  ~Standalone();

  // One tensor per input; returns all outputs, write-backs included. An output that holds a dense
  // tensor of the right type on entry is written into it; its memory must not be that of an input.
  // Without an evaluator, Unimplemented names a step whose sizes or values no routine supports.
  absl::Status Run(absl::Span<const HostTensor> inputs, std::vector<HostTensor>* outputs);

  // The copies that routines have made of constants so far, by the number of the plan's constant. A
  // plan whose constants have them (PlanConstant::packed) runs without making them.
  std::vector<std::pair<int, PackedConstant>> Packed() const;
  // LauncherStats::generated_steps, of all runs that have ended.
  int64_t generated_steps() const;

 private:
  struct Impl;
  explicit Standalone(std::unique_ptr<Impl> impl);
  const std::unique_ptr<Impl> impl_;
};

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_STANDALONE_STANDALONE_H_
