#include "backends/cpu/library/epilogue_claims.h"

#include <algorithm>

#include "graph/target/target.h"

namespace weft::cpu {
namespace {

bool IsTaken(const DnnPostOp& op, const DnnTensor& y, int channel) {
  if (op.function < DnnFunction::kAdd) return true;
  const std::vector<SymInt> operand(op.operand.dims.begin(), op.operand.dims.end());
  const std::vector<SymInt> result(y.dims.begin(), y.dims.end());
  switch (OperandSizesOf(operand, result, channel)) {
    case OperandSizes::kSame:
    case OperandSizes::kScalar:
      return true;
    case OperandSizes::kChannels:
      return op.operand.strides[channel] == 1;
    case OperandSizes::kOther:
      return false;
  }
  return false;
}

}  // namespace

bool TakesOperands(const std::vector<DnnPostOp>& post_ops, const DnnTensor& y, int channel) {
  return std::all_of(post_ops.begin(), post_ops.end(),
                     [&](const DnnPostOp& op) { return IsTaken(op, y, channel); });
}

bool TakesFunctions(const std::vector<DnnPostOp>& post_ops) {
  for (size_t i = 0; i < post_ops.size(); ++i) {
    for (size_t j = 0; j < i && post_ops[i].function < DnnFunction::kAdd; ++j) {
      const DnnPostOp& a = post_ops[i];
      const DnnPostOp& b = post_ops[j];
      if (a.function == b.function && (a.alpha != b.alpha || a.beta != b.beta)) return false;
    }
  }
  return true;
}

}  // namespace weft::cpu
