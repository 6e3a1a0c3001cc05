// Runs of a node in which operands and results are off by what rounding may do to them.
#ifndef WEFT_API_CHECK_TARGET_ROUNDING_TRIAL_H_
#define WEFT_API_CHECK_TARGET_ROUNDING_TRIAL_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "backends/reference/executor.h"

namespace weft {

class HostTensor;
class Node;
class OpDef;

// Spacing of the numbers near 1; 0 for integers.
double EpsilonOf(DType dtype);

// The op's results are elements of its operands, or truths and integers that follow from them
// without rounding: every executor gives the same ones.
bool IsExactOp(const OpDef& op);

// True when the node is exact, and all nodes of its nested graphs are.
bool IsExactNode(const Node& node);

// How many elements one element of a result may be a sum of, from the sizes of the operands;
// 1 where neither the node nor one in its nested graphs sums. An estimate from above.
double SumLength(const Node& node, absl::Span<const HostTensor> operands);

class RoundingTrial {
 public:
  // Trial 0 moves all elements to larger magnitudes, others each to one side. The relative
  // error of operands is `operand_error` at least.
  RoundingTrial(int trial, double operand_error) : trial_(trial), operand_error_(operand_error) {}

  // For reference::RunNode; refers to this.
  reference::RunOptions Options();
  // Largest finite magnitude that a node read or gave.
  double largest() const { return largest_; }

 private:
  void EditOperands(const Node& node, std::vector<HostTensor>* operands);
  void EditResults(const Node& node, std::vector<HostTensor>* results);
  // x + s * (relative * |x| + absolute), s being -1 or 1.
  HostTensor Move(const HostTensor& tensor, double relative, double absolute);

  const int trial_;
  const double operand_error_;
  uint64_t moved_ = 0;  // Tensors so far.
  double largest_ = 0;
};

// Runs in which zeros that nodes compute have other signs, as they may have in an executor. Those
// that are given or only moved keep theirs.
class ZeroSignTrial {
 public:
  // Trial 0 makes all of them negative, trial 1 positive, others each as it comes.
  explicit ZeroSignTrial(int trial) : trial_(trial) {}

  // For reference::Run; refers to this.
  reference::RunOptions Options();

 private:
  HostTensor Sign(const HostTensor& tensor);

  const int trial_;
  uint64_t signed_ = 0;  // Tensors so far.
};

}  // namespace weft

#endif  // WEFT_API_CHECK_TARGET_ROUNDING_TRIAL_H_
