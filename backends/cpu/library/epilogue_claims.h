// The operands of epilogues that routines take: how they broadcast against the result.
//
// oneDNN takes operands with any strides and sizes of 1, and some of its implementations
// read them as something else: those over im2col and over plain GEMM in particular. Others
// fall back to its reference, which is a thousand times slower. The routines here claim
// what tests/backends/cpu/epilogue_test shows of all of them; a kernel does the rest.
#ifndef WEFT_BACKENDS_CPU_LIBRARY_EPILOGUE_CLAIMS_H_
#define WEFT_BACKENDS_CPU_LIBRARY_EPILOGUE_CLAIMS_H_

#include "absl/types/span.h"
#include "backends/cpu/onednn/onednn.h"

namespace weft::cpu {

enum class Broadcast : uint8_t {
  kNone,      // The operand has the result's sizes.
  kChannels,  // A vector along one dim of the result.
  kScalar,
  kOther,  // Other dims are repeated, or it is not known which.
};

// How an operand broadcasts against a result of at least its rank; `Size` is int64_t or
// SymInt. `channel` is the dim of the result that kChannels is about.
template <typename Size>
Broadcast BroadcastOf(absl::Span<const Size> operand, absl::Span<const Size> result, int channel) {
  const int lead = static_cast<int>(result.size()) - static_cast<int>(operand.size());
  if (lead < 0) return Broadcast::kOther;
  bool none = true;
  bool channels = true;
  bool scalar = true;
  for (int d = 0; d < static_cast<int>(result.size()); ++d) {
    const Size size = d < lead ? Size(1) : operand[d - lead];
    const bool one = size == Size(1);
    const bool same = size == result[d];
    none = none && same;
    channels = channels && (d == channel ? same : one);
    scalar = scalar && one;
  }
  return none       ? Broadcast::kNone
         : channels ? Broadcast::kChannels
         : scalar   ? Broadcast::kScalar
                    : Broadcast::kOther;
}

// oneDNN's primitives take the operands of all post-ops. `channel` is the dim of the
// result's channels, or columns.
bool TakesOperands(const std::vector<DnnPostOp>& post_ops, const DnnTensor& y, int channel);

// False when a function stands twice with different parameters: several of oneDNN's
// implementations give the later one the parameters of the first.
bool TakesFunctions(const std::vector<DnnPostOp>& post_ops);

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_LIBRARY_EPILOGUE_CLAIMS_H_
