// What is known about a plan's kernels without a GPU, as comment lines of the plan's text.
#ifndef WEFT_BACKENDS_CUDA_STATIC_FACTS_H_
#define WEFT_BACKENDS_CUDA_STATIC_FACTS_H_

#include <string>

#include "absl/status/statusor.h"
#include "backends/cuda/driver/nvrtc_api.h"
#include "backends/cuda/trace/gpu_models.h"
#include "lowering/plan.h"

namespace weft::cuda {

// Compiles the plan's kernels for the model, and describes each launch for example sizes
// (lowering/example_sizes.h): blocks and threads, registers, spilled bytes and shared memory by the
// compiler, blocks on a multiprocessor and the share of its threads that they are. A step's floor
// is the time that its bytes and operations take at the limits of the model: no run is faster, and
// launches that are shorter than a few microseconds are slower. Nested plans are left out.
//
//   // code for H200 (sm_90) for s0=2
//   // step  kernel blocks  threads  registers  spills  shared  blocks/SM  occupancy  floor us
//   //    0  k0          2      128         32       0    4096         14        88%  0.01 by bytes
absl::StatusOr<std::string> DescribeCode(const Plan& plan, const NvrtcApi& nvrtc,
                                         const GpuModel& model);

}  // namespace weft::cuda

#endif  // WEFT_BACKENDS_CUDA_STATIC_FACTS_H_
