// Compiles steps of plans for the CPU: kernels as generated code or for the tile interpreter,
// copies for the interpreter, and calls of library routines.
#ifndef WEFT_BACKENDS_CPU_LAUNCHER_H_
#define WEFT_BACKENDS_CPU_LAUNCHER_H_

#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "backends/cpu/generated_call.h"
#include "backends/cpu/kernels/isa.h"
#include "backends/cpu/kernels/tile_ops.h"
#include "backends/cpu/launcher_stats.h"
#include "backends/cpu/library/library.h"
#include "backends/runtime/step_launcher.h"

namespace weft::cpu {

// Copies of constant weights, which launchers of one plan may share.
struct PackedWeights {
  absl::Mutex mutex;
  DnnWeights dnn ABSL_GUARDED_BY(mutex);
  PanelWeights panels ABSL_GUARDED_BY(mutex);
  IntegerWeights integers ABSL_GUARDED_BY(mutex);
};

struct CpuLauncher : public StepLauncher {
  Isa isa = Isa::kAvx2;
  bool vnni = false;
  const TileTable* table = nullptr;
  int threads = 1;
  int dnn_threads = 1;  // For oneDNN's primitives.
  DnnReading reading;   // For f32 matmuls and convolutions.
  std::shared_ptr<PackedWeights> weights = std::make_shared<PackedWeights>();
  std::shared_ptr<const KernelCodeSource> generated;  // Null: the interpreter alone.
  LauncherStats stats;

  // Sets the instruction set to the one of this name, as ChooseIsa takes it.
  absl::Status UseIsa(absl::string_view name);

  absl::StatusOr<std::unique_ptr<StepCode>> Compile(const StepRequest& request) override;
  absl::StatusOr<std::unique_ptr<StepCode>> CompileCopy(const RunView& from,
                                                        const RunView& to) override;
  int variant() const override { return threads; }
};

// Interprets kernels and copies on one thread, for devices whose memory the host can address. The
// code may run in several threads at once. Unimplemented on a machine below AVX2.
absl::StatusOr<std::unique_ptr<StepLauncher>> MakeInterpreter();

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_LAUNCHER_H_
