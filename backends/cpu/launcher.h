// Makes steps of plans into code for the CPU: generated kernels where they are there, the
// interpreter of tiles for other kernels and for copies, and library routines.
#ifndef WEFT_BACKENDS_CPU_LAUNCHER_H_
#define WEFT_BACKENDS_CPU_LAUNCHER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "backends/cpu/generated.h"
#include "backends/cpu/kernels/isa.h"
#include "backends/cpu/kernels/tile_ops.h"
#include "backends/cpu/launcher_stats.h"
#include "backends/cpu/library/library.h"
#include "backends/runtime/step_launcher.h"

namespace weft::cpu {

struct CpuLauncher : public StepLauncher {
  Isa isa = Isa::kAvx2;
  const TileTable* table = nullptr;
  int threads = 1;
  int dnn_threads = 1;  // For oneDNN's primitives.
  DnnReading reading;   // For products of f32.
  DnnWeights weights;
  PanelWeights panels;
  IntegerWeights integers;
  std::unique_ptr<GeneratedKernels> generated;  // Null: the interpreter alone.
  LauncherStats stats;

  absl::StatusOr<std::unique_ptr<StepCode>> Compile(const StepRequest& request) override;
  absl::StatusOr<std::unique_ptr<StepCode>> CompileCopy(const RunView& from,
                                                        const RunView& to) override;
  int variant() const override { return threads; }
};

// Kernels and copies by the interpreter, on one thread, for devices that lend their memory to the
// host: their code may run in several threads at once. Unimplemented on a machine below AVX2.
absl::StatusOr<std::unique_ptr<StepLauncher>> MakeInterpreter();

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_LAUNCHER_H_
