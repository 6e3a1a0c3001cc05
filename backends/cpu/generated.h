// The kernels of a program as generated code: written and compiled in one batch, on a
// thread of its own, while the interpreter runs them.
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
  // Kernels that cannot be written as C++ are left to the interpreter. `kernels`
  // outlive this. What the cache has is ready at once.
  GeneratedKernels(const std::vector<const Kernel*>& kernels, Isa isa, JitOptions options);
  ~GeneratedKernels();

  // Until the code is there; why it is not, when it failed.
  absl::Status Wait();
  bool ready() const { return ready_.load(std::memory_order_acquire); }
  // Null for a kernel without code. Only when it is ready.
  const GeneratedKernel* Find(const Kernel* kernel) const;
  // Once it is ready.
  const JitStats& stats() const { return stats_; }
  double seconds() const { return seconds_; }  // Of it all.
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
  int64_t scratch_bytes = 0;  // Of one thread.
  int64_t work = 0;           // Of all points.
};

// OutOfRange when an index is out of bounds. `scratch` has scratch_bytes for each
// thread.
absl::Status RunGenerated(const GeneratedCall& call, void* const* args, char* scratch, int threads,
                          absl::string_view name);

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_GENERATED_H_
