// The CPU executor: runs a plan.
//
// backends/runtime/plan_runner.h says how plans run; this file compiles their steps into CPU code
// and chooses the number of threads of a run. Calls from several threads run one after another.
#ifndef WEFT_BACKENDS_CPU_EXECUTABLE_H_
#define WEFT_BACKENDS_CPU_EXECUTABLE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backends/cpu/launcher_stats.h"
#include "backends/runtime/run_stats.h"
#include "lowering/plan.h"

namespace weft {
class Graph;
class HostTensor;
class StepObserver;
}  // namespace weft

namespace weft::cpu {

class LoadSource;

struct CpuOptions {
  static constexpr int kMaxThreads = 1024;
  // Threads of a run, 0 to kMaxThreads. 0: one per processor that the process may use (affinity,
  // quotas of control groups, OMP_NUM_THREADS), and fewer while other processes keep processors
  // busy (thread_governor.h); the last bits of matmuls and convolutions may then change from run to
  // run.
  int threads = 0;
  // Source of the machine's load, for threads = 0. Null: the system's.
  std::shared_ptr<LoadSource> load;
  // "native", "avx2" or "avx512".
  std::string isa = "native";
  // Make results equal in every bit for every number of threads: matmuls and convolutions then run
  // on one thread.
  bool deterministic = false;
  // "highest", "high" or "medium", as in torch.set_float32_matmul_precision: the precision in which
  // f32 matmuls and convolutions read their operands. highest: f32. high: sums of two bf16, on
  // machines with AMX. medium: bf16, on machines with AVX512_BF16 or AMX. Accumulators and results
  // are f32. On other machines, and where f32 is faster, operands stay f32.
  std::string f32_precision = "highest";
  // When generated code replaces the interpreter: never; once a thread in the background has
  // compiled it; or from the first call on.
  enum class Code { kNone, kInBackground, kBeforeCreation };
  Code code = Code::kNone;
  std::string compiler = "c++";
  // Folder that keeps compiled code for other processes; "" keeps none.
  std::string cache_dir;
  // Called between steps (step_observer.h); outlives the executable. May be null.
  StepObserver* observer = nullptr;
  // Put red zones around every buffer, and poison into buffers that no step has written yet
  // (guarded_memory.h). Inputs and constants are then copied, and outputs are never the caller's
  // tensors.
  bool guard_memory = false;
};

// Counters of an executable's life. In a steady state, with generated code ready, they do not grow.
struct CpuStats : RunStats, LauncherStats {
  // Kernels and steps of the plan and its nested plans.
  int64_t kernels = 0;
  int64_t steps = 0;
  int threads = 0;  // Threads of the last run; before a run, of the next one.
  // Kernels with generated code, and seconds spent on writing and compiling it; 0 until it is
  // ready.
  int64_t generated_kernels = 0;
  double code_seconds = 0;
  bool code_from_cache = false;
  // Bytes of weights packed for routines; and the part of them in panels of gemm_tile.h.
  int64_t packed_bytes = 0;
  int64_t panel_bytes = 0;
};

class Executable {
 public:
  // The plan's module outlives the executable.
  static absl::StatusOr<std::unique_ptr<Executable>> Create(Plan plan, const CpuOptions& options);
  ~Executable();

  // One tensor per input; returns all outputs, write-backs included, and the errors of the
  // reference executor. An output that holds a dense tensor of the right type on entry is written
  // into it; its memory must not be that of an input.
  absl::Status Run(absl::Span<const HostTensor> inputs, std::vector<HostTensor>* outputs);
  absl::StatusOr<std::vector<HostTensor>> Run(absl::Span<const HostTensor> inputs);

  // The same with donated inputs: the caller gives up their values, even if the run fails. If the
  // plan allows it (Buffer::donor), the new value is stored in the input's own memory, provided
  // that it is dense and no other tensor uses it; the write-back among the outputs is then an empty
  // tensor. If an error depends on data, all inputs are unchanged.
  absl::Status Run(absl::Span<const HostTensor> inputs, const std::vector<bool>& donated,
                   std::vector<HostTensor>* outputs);

  CpuStats stats() const;

  // Waits until generated code is ready; returns the error if that failed. OK at once if no code is
  // generated.
  absl::Status WaitForCode();

 private:
  struct Impl;
  explicit Executable(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_EXECUTABLE_H_
