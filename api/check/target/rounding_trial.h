// Runs a node with rounding errors added to operands and results.
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

// Distance from 1 to the next number of the dtype; 0 for integers.
double EpsilonOf(DType dtype);

// True if the op's results are elements of its operands, or bools and integers that follow from
// them without rounding: all executors give the same results.
bool IsExactOp(const OpDef& op);

// True if the node and all nodes of its nested graphs are exact.
bool IsExactNode(const Node& node);

// An upper estimate of the number of elements that are added up for one element of a result, from
// the sizes of the operands; 1 if neither the node nor its nested graphs contain a sum.
double SumLength(const Node& node, absl::Span<const HostTensor> operands);

class RoundingTrial {
 public:
  // Trial 0 moves all elements to larger magnitudes, others move each element up or down. The
  // relative error of operands is at least `operand_error`.
  RoundingTrial(int trial, double operand_error) : trial_(trial), operand_error_(operand_error) {}

  // Options for reference::RunNode; they refer to this object.
  reference::RunOptions Options();
  // Largest finite magnitude that a node read or wrote.
  double largest() const { return largest_; }

 private:
  void EditOperands(const Node& node, std::vector<HostTensor>* operands);
  void EditResults(const Node& node, std::vector<HostTensor>* results);
  // x + s * (relative * |x| + absolute), where s is -1 or 1.
  HostTensor Move(const HostTensor& tensor, double relative, double absolute);

  const int trial_;
  const double operand_error_;
  uint64_t moved_ = 0;  // Number of tensors moved so far.
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
