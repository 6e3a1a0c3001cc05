// Texts of attention kernels in files of their own.
#ifndef WEFT_BACKENDS_CUDA_ROUTINES_ATTENTION_TEXT_H_
#define WEFT_BACKENDS_CUDA_ROUTINES_ATTENTION_TEXT_H_

namespace weft::cuda::attention_text {

// Definitions before the texts that all forms with tiles share: for AttentionForm::kFloat, and for
// kTensor and kWgmma.
extern const char kFloatBegin[];
extern const char kTensorBegin[];

// The forms' kernels, behind those texts.
extern const char kFloat[];
extern const char kTensor[];
extern const char kWgmma[];

}  // namespace weft::cuda::attention_text

#endif  // WEFT_BACKENDS_CUDA_ROUTINES_ATTENTION_TEXT_H_
