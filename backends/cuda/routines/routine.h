// Routines: code for library steps, by op. A routine is a file that describes a step's operands,
// and one with the kernel's text (`matmul.cc`, `matmul_unit.cc`), or calls a vendor's library.
#ifndef WEFT_BACKENDS_CUDA_ROUTINES_ROUTINE_H_
#define WEFT_BACKENDS_CUDA_ROUTINES_ROUTINE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "backends/cuda/device/cublaslt.h"
#include "backends/cuda/device/cuda_device.h"
#include "backends/cuda/device/index_flags.h"
#include "backends/cuda/device/modules.h"
#include "backends/cuda/routines/packed_weights.h"
#include "backends/runtime/step_launcher.h"

namespace weft::cuda {

// What code is made with; all of it outlives the code.
struct RoutineContext {
  CudaDevice& device;
  UnitCache& units;
  CublasLt& cublaslt;
  PackedWeights& packed;
  IndexFlags& flags;
};

// Code for a library step. Unimplemented: the routine has none for these operands; the message says
// why the step runs on the host.
using MakeRoutine = absl::StatusOr<std::unique_ptr<StepCode>> (*)(const RoutineContext& context,
                                                                  const StepRequest& request);

// The routine of an op, by its name ("matmul"); null if there is none.
MakeRoutine FindRoutine(absl::string_view op);

// True if the op's routine may write its result to the memory of its first operand.
bool WorksInPlace(absl::string_view op);

}  // namespace weft::cuda

#endif  // WEFT_BACKENDS_CUDA_ROUTINES_ROUTINE_H_
