// Broadcasts of epilogue operands that routines support.
//
// oneDNN accepts operands with any strides and sizes of 1, but some of its implementations, in
// particular those over im2col and over plain GEMM, read them wrongly. Others fall back to its
// reference, which is a thousand times slower. The routines here claim the cases that
// tests/backends/cpu/epilogue_test shows to work in all implementations; a kernel computes the
// others.
#ifndef WEFT_BACKENDS_CPU_LIBRARY_EPILOGUE_CLAIMS_H_
#define WEFT_BACKENDS_CPU_LIBRARY_EPILOGUE_CLAIMS_H_

#include <vector>

#include "backends/cpu/onednn/onednn.h"

namespace weft::cpu {

// True if oneDNN's primitives support the operands of all post-ops. `channel` is the dim of the
// result's channels, or columns.
bool TakesOperands(const std::vector<DnnPostOp>& post_ops, const DnnTensor& y, int channel);

// False if a function occurs twice with different parameters: several of oneDNN's implementations
// then use the parameters of the first for both.
bool TakesFunctions(const std::vector<DnnPostOp>& post_ops);

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_LIBRARY_EPILOGUE_CLAIMS_H_
