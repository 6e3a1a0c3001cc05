// A convolution that is made: its sizes, and what its kernels have in common.
#ifndef WEFT_BACKENDS_CUDA_ROUTINES_CONVOLUTION_MAKING_H_
#define WEFT_BACKENDS_CUDA_ROUTINES_CONVOLUTION_MAKING_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "backends/cuda/device/prepared_launch.h"
#include "backends/cuda/routines/convolution_unit.h"
#include "backends/cuda/routines/epilogue.h"
#include "backends/cuda/routines/routine.h"
#include "backends/cuda/routines/routine_code.h"

namespace weft::cuda {

// Sizes and positions within a dim are computed in 32 bits.
inline constexpr int64_t kMaxPosition = int64_t{1} << 29;

// Launches of kernels in their order.
class ConvolutionCode : public RoutineCode {
 public:
  ConvolutionCode(CudaDevice& device, const StepRequest& request)
      : RoutineCode(device, request, "convolution") {}

  // Scratch memory for weights that each launch packs, and for sums of parts.
  void ReservePacked(int64_t bytes) {
    packed_bytes_ = bytes;
    packed_begin_ = ReserveScratch(bytes);
  }
  void ReserveSums(int64_t bytes) {
    sums_bytes_ = bytes;
    sums_begin_ = ReserveScratch(bytes);
  }
  // Weights that were packed before.
  void SetPacked(std::shared_ptr<DeviceMemory> packed) { packed_ = std::move(packed); }

  void AddPacked(PreparedLaunch* launch) const {
    if (packed_ != nullptr) {
      launch->AddFixed(packed_->data(), packed_->size());
    } else {
      launch->AddScratch(packed_bytes_, packed_begin_);
    }
  }
  void AddSums(PreparedLaunch* launch) const { launch->AddScratch(sums_bytes_, sums_begin_); }

 private:
  std::shared_ptr<DeviceMemory> packed_;
  int64_t packed_bytes_ = 0, packed_begin_ = 0;
  int64_t sums_bytes_ = 0, sums_begin_ = 0;
};

// A step that is made.
struct ConvolutionMaking {
  const RoutineContext& context;
  const StepRequest& request;
  EpilogueCode epilogue;
  ConvolutionSizes sizes;
  std::vector<ConvolutionOperand> operands;  // Of the epilogue.
  ConvolutionEpilogue end() const {
    return {epilogue.text, static_cast<int>(epilogue.operands.size())};
  }
  // Numbers of arguments; -1: absent.
  int bias = -1;
  int x_zero = -1, w_zero = -1;  // Zero points.
  bool transposed = false;

  bool bytes() const { return DTypeBits(request.args[0].dtype) == 8; }
};

// Describes the step, without what a kernel decides. Unimplemented for dims of 2^29 elements or
// more, and for epilogues without code.
absl::StatusOr<ConvolutionMaking> DescribeConvolution(const RoutineContext& context,
                                                      const StepRequest& request);

// True if neighbouring channels of x can be read in aligned groups.
bool HasChannelGroups(const RunView& x, int64_t channels, int64_t group);
// Sets which groups of columns a kernel can access at once. `columns`: of a run of them.
void SetColumnGroups(int64_t columns, int64_t group, ConvolutionMaking* making);

// Adds parameters: the bias, the result, and what the epilogue reads.
void AddEnd(const ConvolutionMaking& making, PreparedLaunch* launch);
// The same, and the zero points.
void AddEndAndZeros(const ConvolutionMaking& making, PreparedLaunch* launch);
// Adds a launch of a kernel of the unit, whose parameters `add` adds, but for the sizes.
absl::Status AddKernel(const ConvolutionMaking& making, const std::string& text, const char* name,
                       const LaunchShape& shape, ConvolutionCode* code,
                       absl::FunctionRef<void(PreparedLaunch*)> add);
// A grid whose threads walk over `elements`.
LaunchShape GridOfElements(const ConvolutionMaking& making, int64_t elements);

// Compiles the units, at once if units are collected.
absl::Status FindUnits(const ConvolutionMaking& making, const std::vector<std::string>& texts);
// The unit that packs weights for kernels of the form.
std::string PackUnit(const ConvolutionForm& form);
// Packs constant weights now, and others in each launch. `sizes` describes the packed matrices.
absl::Status AddPack(const ConvolutionMaking& making, const ConvolutionForm& form,
                     const ConvolutionSizes& sizes, ConvolutionCode* code);

}  // namespace weft::cuda

#endif  // WEFT_BACKENDS_CUDA_ROUTINES_CONVOLUTION_MAKING_H_
