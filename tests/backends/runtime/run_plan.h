// Plans on the CPU's launcher, for tests of the runtime.
#ifndef WEFT_TESTS_BACKENDS_RUNTIME_RUN_PLAN_H_
#define WEFT_TESTS_BACKENDS_RUNTIME_RUN_PLAN_H_

#include <vector>

#include "absl/status/statusor.h"
#include "backends/cpu/kernels/isa.h"
#include "backends/cpu/launcher.h"
#include "backends/runtime/plan_runner.h"
#include "graph/tensor/tensor.h"

namespace weft {

// Kernels for AVX2, which every machine of the tests has, on two threads.
inline void UseAvx2(cpu::CpuLauncher* launcher) {
  launcher->isa = *cpu::ChooseIsa("avx2");
  launcher->table = cpu::Avx2TileTable();
  launcher->threads = 2;
  launcher->dnn_threads = 2;
}

inline absl::StatusOr<std::vector<HostTensor>> RunPlan(PlanRunner& runner,
                                                       const std::vector<HostTensor>& inputs) {
  std::vector<HostTensor> outputs;
  const absl::Status status = runner.Run(inputs, {}, &outputs);
  if (!status.ok()) return status;
  return outputs;
}

}  // namespace weft

#endif  // WEFT_TESTS_BACKENDS_RUNTIME_RUN_PLAN_H_
