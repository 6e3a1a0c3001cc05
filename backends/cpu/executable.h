// The CPU executor: runs a plan.
//
// Plans run as backends/runtime/plan_runner.h says; this makes their steps into code of the CPU,
// and chooses the threads of a run. Calls from several threads run one after another.
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
  // Threads of a run, 0 to kMaxThreads. 0: one for each processor that the process may use
  // (affinity, quotas of control groups, OMP_NUM_THREADS), and fewer while other processes
  // keep processors busy (thread_governor.h); the last bits of matmuls and convolutions may
  // then change from run to run.
  int threads = 0;
  // How busy the machine is, for threads = 0. Null: as the system says.
  std::shared_ptr<LoadSource> load;
  // "native", "avx2" or "avx512".
  std::string isa = "native";
  // Results are equal in every bit for every number of threads: products and
  // convolutions then run on one.
  bool deterministic = false;
  // "highest", "high" or "medium", as torch.set_float32_matmul_precision has them: what
  // products and convolutions of f32 read. highest: f32. high: sums of two bf16, on
  // machines with AMX. medium: bf16, on machines with AVX512_BF16 or AMX. Sums and
  // results are f32. Elsewhere, and where it is not faster, all are f32.
  std::string f32_precision = "highest";
  // Kernels as generated code: none, from when it is compiled on a thread of its own,
  // or from the first call on.
  enum class Code { kNone, kInBackground, kBeforeCreation };
  Code code = Code::kNone;
  std::string compiler = "c++";
  // Where compiled code is kept for other processes; empty: nowhere.
  std::string cache_dir;
  // Called between steps (step_observer.h); outlives the executable. Null: none.
  StepObserver* observer = nullptr;
  // Red zones around every buffer, and poison in those that no step has written yet
  // (guarded_memory.h): inputs and constants are copied, outputs are never the caller's.
  bool guard_memory = false;
};

// Counts of an executable's life; none of them grows in a steady state, once generated
// code is there.
struct CpuStats : RunStats, LauncherStats {
  // Kernels and steps of the plan and of those nested in it.
  int64_t kernels = 0;
  int64_t steps = 0;
  int threads = 0;  // Threads of the last run, or of the next one before there is one.
  // Kernels with generated code, and seconds that writing and compiling it took; 0 until
  // it is there.
  int64_t generated_kernels = 0;
  double code_seconds = 0;
  bool code_from_cache = false;
  // Weights in layouts of their own; of those, as panels of gemm_tile.h.
  int64_t packed_bytes = 0;
  int64_t panel_bytes = 0;
};

class Executable {
 public:
  // The plan's module outlives the executable.
  static absl::StatusOr<std::unique_ptr<Executable>> Create(Plan plan, const CpuOptions& options);
  ~Executable();

  // As the reference executor: one tensor for each input, all outputs back,
  // write-backs included, and its errors. Outputs that hold a dense tensor of the
  // right type on entry are written there; that memory is no input's.
  absl::Status Run(absl::Span<const HostTensor> inputs, std::vector<HostTensor>* outputs);
  absl::StatusOr<std::vector<HostTensor>> Run(absl::Span<const HostTensor> inputs);

  // The same. Of inputs that are marked in `donated`, the caller has no use for the
  // value once the run is over, whether or not it fails: where the plan says so
  // (Buffer::donor), the new value is stored in the input's own memory, if that is
  // dense and no other tensor is on it. Such a write-back is an empty tensor among the
  // outputs. An error that depends on data leaves all inputs as they were.
  absl::Status Run(absl::Span<const HostTensor> inputs, const std::vector<bool>& donated,
                   std::vector<HostTensor>* outputs);

  CpuStats stats() const;

  // Until generated code is there; why it is not, when it failed. At once without it.
  absl::Status WaitForCode();

 private:
  struct Impl;
  explicit Executable(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_EXECUTABLE_H_
