// Convolutions of i32 of all sizes, groups, strides and numbers; sums wrap. Lines of results are
// added up together. For those that no other routine takes.
#ifndef WEFT_BACKENDS_CPU_LIBRARY_PLAIN_CONVOLUTION_H_
#define WEFT_BACKENDS_CPU_LIBRARY_PLAIN_CONVOLUTION_H_

#include "backends/cpu/library/library_internal.h"

namespace weft::cpu {

// Unimplemented for transposed convolutions, and for those with a bias or an epilogue.
LibraryCallOr MakePlainConvolutionCall(const LibraryStep& step, const LibraryContext& context);

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_LIBRARY_PLAIN_CONVOLUTION_H_
