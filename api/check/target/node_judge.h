// Does a result that a target computed stand for what the reference gives for the node?
//
// The contract is that of backward stability: the target's result is what the reference would
// give if operands of sums, and results of inexact ops, were off by a few units in the last
// place. So the bound of an element is measured, where a plain one does not decide: the node
// runs again with operands and intermediate values that are off by so much, and how far its
// result moves is what rounding may do to it. Cancellation, sums of any length, reductions in
// other orders and ties of a rounding to integers are all within; what moves nothing, a copy
// or a comparison, has to be equal in every bit, zeros of either sign aside.
#ifndef WEFT_API_CHECK_TARGET_NODE_JUDGE_H_
#define WEFT_API_CHECK_TARGET_NODE_JUDGE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backends/runtime/symbol_env.h"
#include "graph/tensor/tensor.h"

namespace weft {

class Node;

struct NodeJudgement {
  bool same = true;
  // Which result and element differ most, and by how much.
  std::string difference;
  // The error of that element in units of what the contract allows; infinite where it allows
  // none.
  double excess = 0;
  // The reference's results.
  std::vector<HostTensor> want;
};

struct JudgeOptions {
  // Relative error of operands of products that read fewer bits (f32_precision); 0: none.
  double operand_error = 0;
};

// `got` has one tensor for each result; invalid ones are not judged. `operands` are what the
// target read. An error is the reference's: it refuses these operands.
absl::StatusOr<NodeJudgement> JudgeNode(const Node& node, absl::Span<const HostTensor> operands,
                                        const SymbolEnv& env, absl::Span<const HostTensor> got,
                                        const JudgeOptions& options = {});

}  // namespace weft

#endif  // WEFT_API_CHECK_TARGET_NODE_JUDGE_H_
