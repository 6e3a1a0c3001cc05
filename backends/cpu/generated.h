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
#include "backends/cpu/emit/emit_cc.h"
#include "backends/cpu/generated_call.h"
#include "backends/cpu/jit/kernel_library.h"
#include "backends/cpu/kernels/isa.h"
#include "lowering/kernel.h"

namespace weft::cpu {

class GeneratedKernels : public KernelCodeSource {
 public:
  // Kernels that cannot be written as C++ stay with the interpreter. `kernels` outlive this object.
  // Code that is in the cache is ready at once.
  GeneratedKernels(const std::vector<const Kernel*>& kernels, Isa isa, JitOptions options);
  ~GeneratedKernels() override;

  // Waits until the code is ready; returns the error if that failed.
  absl::Status Wait();
  bool ready() const override { return ready_.load(std::memory_order_acquire); }
  const GeneratedKernel* Find(const Kernel* kernel) const override;
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

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_GENERATED_H_
