// The operands of epilogues that routines take: how they broadcast against the result.
//
// oneDNN takes operands with any strides and sizes of 1, and some of its implementations
// read them as something else: those over im2col and over plain GEMM in particular. Others
// fall back to its reference, which is a thousand times slower. The routines here claim
// what tests/backends/cpu/epilogue_test shows of all of them; a kernel does the rest.
#ifndef WEFT_BACKENDS_CPU_LIBRARY_EPILOGUE_CLAIMS_H_
#define WEFT_BACKENDS_CPU_LIBRARY_EPILOGUE_CLAIMS_H_

#include <vector>

#include "backends/cpu/onednn/onednn.h"

namespace weft::cpu {

// oneDNN's primitives take the operands of all post-ops. `channel` is the dim of the
// result's channels, or columns.
bool TakesOperands(const std::vector<DnnPostOp>& post_ops, const DnnTensor& y, int channel);

// False when a function stands twice with different parameters: several of oneDNN's
// implementations give the later one the parameters of the first.
bool TakesFunctions(const std::vector<DnnPostOp>& post_ops);

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_LIBRARY_EPILOGUE_CLAIMS_H_
