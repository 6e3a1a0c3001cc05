// Judges whether results of a whole program differ by more than rounding explains.
//
// The contract is the one of api/check/target/node_judge.h: results are what the reference gives
// when operands of sums and results of inexact ops are off by a few units in the last place. A
// program may be a chain of such ops, so what it may do to a result is measured: where a few units
// of the result itself do not explain a difference, the program runs again with such errors, and a
// result may be off by a small multiple of what these runs change. Half of the runs are of the
// decomposed program, for the errors inside of composite ops.
//
// Zeros that a program computes may have either sign. Where a function has a branch cut at them, as
// atan2 has, a result may be on either side of it: the program also runs with other signs of zeros
// and no errors, and a result may be near to what any of these runs gives, and to nothing between.
#ifndef WEFT_TESTS_TRUST_JUDGE_H_
#define WEFT_TESTS_TRUST_JUDGE_H_

#include <cstdint>
#include <string>

#include "absl/types/span.h"
#include "graph/tensor/tensor.h"

namespace weft {
class Module;
}  // namespace weft

namespace weft::trust {

struct JudgeLimits {
  // Relative error of operands of sums that an executor reads fewer bits of.
  double operand_error = 0;
  // `want` comes from an executor that rounds, too.
  bool both_round = false;
};

// Empty when `got` is as good as `want`; otherwise what differs. `want` is what the reference gives
// for `inputs`, or with `both_round` what any executor gives. `trials` grows by the number of
// further runs.
std::string DifferenceBeyondRounding(const Module& module, absl::Span<const HostTensor> inputs,
                                     absl::Span<const HostTensor> got,
                                     absl::Span<const HostTensor> want, const JudgeLimits& limits,
                                     int64_t* trials);

}  // namespace weft::trust

#endif  // WEFT_TESTS_TRUST_JUDGE_H_
