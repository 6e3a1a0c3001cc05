// Text that the units of convolutions are made of (convolution_unit.cc).
#ifndef WEFT_BACKENDS_CUDA_ROUTINES_CONVOLUTION_TEXT_H_
#define WEFT_BACKENDS_CUDA_ROUTINES_CONVOLUTION_TEXT_H_

namespace weft::cuda::convolution_text {

extern const char kSizes[];
extern const char kPlaces[];
extern const char kZeros[];
extern const char kResults[];
// Whole kernels.
extern const char kSum[];
extern const char kPack[];
extern const char kDirect[];
extern const char kDepthwise[];
extern const char kWgmma[];
// A kernel in parts.
extern const char kLoads[];
extern const char kLoopBegin[];
extern const char kLoopEnd[];
extern const char kPlainDefinitions[];
extern const char kPlainProducts[];
extern const char kPlainStore[];
extern const char kTensorDefinitions[];
extern const char kTensorProducts[];
extern const char kTensorStore[];

}  // namespace weft::cuda::convolution_text

#endif  // WEFT_BACKENDS_CUDA_ROUTINES_CONVOLUTION_TEXT_H_
