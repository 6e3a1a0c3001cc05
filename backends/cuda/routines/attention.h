// Attention: softmax(query key^T) value.
#ifndef WEFT_BACKENDS_CUDA_ROUTINES_ATTENTION_H_
#define WEFT_BACKENDS_CUDA_ROUTINES_ATTENTION_H_

#include <memory>

#include "absl/status/statusor.h"
#include "backends/cuda/routines/routine.h"

namespace weft::cuda {

// Code for `scaled_dot_product_attention` of f32, f16 and bf16. Unimplemented for more than
// kMaxAttentionDims dims of heads, or sizes beyond 2^31.
absl::StatusOr<std::unique_ptr<StepCode>> MakeAttention(const RoutineContext& context,
                                                        const StepRequest& request);

}  // namespace weft::cuda

#endif  // WEFT_BACKENDS_CUDA_ROUTINES_ATTENTION_H_
