// Texts of attention kernels in files of their own.
#ifndef WEFT_BACKENDS_CUDA_ROUTINES_ATTENTION_TEXT_H_
#define WEFT_BACKENDS_CUDA_ROUTINES_ATTENTION_TEXT_H_

namespace weft::cuda::attention_text {

// The kernel of AttentionForm::kWgmma; follows the texts that all forms with tiles share.
extern const char kWgmma[];

}  // namespace weft::cuda::attention_text

#endif  // WEFT_BACKENDS_CUDA_ROUTINES_ATTENTION_TEXT_H_
