// Judges whether a target's result for a node agrees with the reference.
//
// The contract is backward stability: the target's result is the one that the reference would give
// if operands of sums, and results of inexact ops, had errors of a few units in the last place. If
// a simple bound does not decide, the bound of an element is measured: the node runs again with
// such errors in operands and intermediate values, and the change of its result is the effect that
// rounding may have. This covers cancellation, sums of any length, reductions in other orders and
// rounding ties. An exact op, such as a copy or a comparison, must be equal in every bit, except
// for signs of zeros.
#ifndef WEFT_API_CHECK_TARGET_NODE_JUDGE_H_
#define WEFT_API_CHECK_TARGET_NODE_JUDGE_H_

#include <cstdint>
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
  // The result and element that differ most, and by how much.
  std::string difference;
  // The error of that element in units of its bound; infinite if no error is allowed.
  double excess = 0;
  // Runs of the reference with such errors; none if a simple bound decides.
  int64_t trials = 0;
  // The reference's results.
  std::vector<HostTensor> want;
};

struct JudgeOptions {
  // Relative error of matmul operands that are read with fewer bits (f32_precision); 0: exact.
  double operand_error = 0;
};

// `got` has one tensor per result; invalid ones are not judged. `operands` are those that the
// target read. An error means that the reference refuses these operands.
absl::StatusOr<NodeJudgement> JudgeNode(const Node& node, absl::Span<const HostTensor> operands,
                                        const SymbolEnv& env, absl::Span<const HostTensor> got,
                                        const JudgeOptions& options = {});

}  // namespace weft

#endif  // WEFT_API_CHECK_TARGET_NODE_JUDGE_H_
