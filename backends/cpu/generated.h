// Generated code for the kernels of a program: emitted and compiled in one batch, on a background
// thread, while the interpreter runs the kernels.
#ifndef WEFT_BACKENDS_CPU_GENERATED_H_
#define WEFT_BACKENDS_CPU_GENERATED_H_

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "backends/cpu/emit/emit_cc.h"
#include "backends/cpu/jit/kernel_library.h"
#include "backends/cpu/kernels/isa.h"
#include "lowering/kernel.h"

namespace weft::cpu {

using GeneratedFn = int (*)(void* const* args, const long* sizes,  // NOLINT(runtime/int)
                            void* scratch, long begin, long end);  // NOLINT(runtime/int)

struct GeneratedKernel {
  const CcKernel* kernel = nullptr;
  GeneratedFn fn = nullptr;
};

class GeneratedKernels {
 public:
  // Kernels that cannot be written as C++ stay with the interpreter. `kernels` outlive this object.
  // Code that is in the cache is ready at once.
  GeneratedKernels(const std::vector<const Kernel*>& kernels, Isa isa, JitOptions options);
  ~GeneratedKernels();

  // Waits until the code is ready; returns the error if that failed.
  absl::Status Wait();
  bool ready() const { return ready_.load(std::memory_order_acquire); }
  // The kernel's code; null if it has none. Requires ready().
  const GeneratedKernel* Find(const Kernel* kernel) const;
  // Requires ready().
  const JitStats& stats() const { return stats_; }
  double seconds() const { return seconds_; }  // Emitting and compiling.
  size_t size() const { return found_.size(); }

 private:
  absl::Status Emit(CcTarget target);
  absl::Status Compile();
  void Use(std::shared_ptr<KernelLibrary> library);

  std::vector<const Kernel*> kernels_;
  JitOptions options_;
  double seconds_ = 0;

  absl::Status status_;
  JitStats stats_;
  CcUnit unit_;
  std::shared_ptr<KernelLibrary> library_;
  absl::flat_hash_map<const Kernel*, GeneratedKernel> found_;
  std::atomic<bool> ready_{false};
  std::thread thread_;
};

// A generated kernel for one assignment of its symbols.
struct GeneratedCall {
  GeneratedFn fn = nullptr;
  std::vector<long> sizes;    // NOLINT(runtime/int)
  long points = 0;            // NOLINT(runtime/int)
  int64_t scratch_bytes = 0;  // Bytes for one thread.
  int64_t work = 0;           // Instructions for all points.
};

// OutOfRange if an index is out of bounds. `scratch` has scratch_bytes for each thread.
absl::Status RunGenerated(const GeneratedCall& call, void* const* args, char* scratch, int threads,
                          absl::string_view name);

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_GENERATED_H_
