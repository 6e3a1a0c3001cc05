// Comparison of the results of two modules.
#ifndef WEFT_TESTS_GOLDEN_SEMANTICS_H_
#define WEFT_TESTS_GOLDEN_SEMANTICS_H_

#include "absl/status/status.h"
#include "passes/engine/pass_context.h"

namespace weft {
class Module;
}  // namespace weft

namespace weft::golden {

// Runs the functions of both on seeded inputs, for several values of the symbols
// of their inputs. Floats are compared within what `contract` allows; values
// include zeros of both signs, infinities and NaN unless the contract admits
// rounding. When `before` fails on an input, `after` may do
// anything; FailedPrecondition when `before` runs on no input. The inputs are
// those of the functions of `inputs`, one of the two; each gets those that it has. `max_error`,
// where it is not 0, is the bound on the difference of two elements in place of that of the
// contract.
absl::Status CheckSameResults(const Module& before, const Module& after, NumericContract contract,
                              const Module& inputs, double max_error = 0);

}  // namespace weft::golden

#endif  // WEFT_TESTS_GOLDEN_SEMANTICS_H_
