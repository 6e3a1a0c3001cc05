// Convolutions that are no products of matrices.
#ifndef WEFT_BACKENDS_CUDA_ROUTINES_CONVOLUTION_DIRECT_H_
#define WEFT_BACKENDS_CUDA_ROUTINES_CONVOLUTION_DIRECT_H_

#include "absl/status/status.h"
#include "backends/cuda/routines/convolution_making.h"
#include "backends/cuda/routines/convolution_unit.h"

namespace weft::cuda {

// True if the depthwise kernel computes the step; sets what it decides.
bool SetDepthwise(ConvolutionMaking* making, ConvolutionForm* form);
absl::Status AddDepthwise(const ConvolutionMaking& making, const ConvolutionForm& form,
                          ConvolutionCode* code);

// A kernel for every step.
absl::Status AddDirect(const ConvolutionMaking& making, ConvolutionForm form,
                       ConvolutionCode* code);

}  // namespace weft::cuda

#endif  // WEFT_BACKENDS_CUDA_ROUTINES_CONVOLUTION_DIRECT_H_
