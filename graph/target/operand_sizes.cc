// Apart from target.cc, which reads nodes: programs that have no graphs ask for sizes alone.
#include "graph/target/target.h"

namespace weft {

OperandSizes OperandSizesOf(absl::Span<const SymInt> operand, absl::Span<const SymInt> result,
                            int channel) {
  const int lead = static_cast<int>(result.size()) - static_cast<int>(operand.size());
  if (lead < 0) return OperandSizes::kOther;
  bool same = true;
  bool channels = true;
  bool scalar = true;
  for (int d = 0; d < static_cast<int>(result.size()); ++d) {
    const SymInt size = d < lead ? SymInt(1) : operand[d - lead];
    const bool one = size.Is(1);
    const bool equal = size == result[d];
    same = same && equal;
    channels = channels && (d == channel ? equal : one);
    scalar = scalar && one;
  }
  return same       ? OperandSizes::kSame
         : channels ? OperandSizes::kChannels
         : scalar   ? OperandSizes::kScalar
                    : OperandSizes::kOther;
}

}  // namespace weft
