// Programs whose inputs may violate the assumptions of their ops on sizes.
#ifndef WEFT_TESTS_TRUST_MISFIT_PROGRAMS_H_
#define WEFT_TESTS_TRUST_MISFIT_PROGRAMS_H_

#include "absl/status/statusor.h"
#include "tests/trust/program.h"
#include "tests/trust/random.h"

namespace weft::trust {

// A sample of an op, each of whose sizes is a symbol of its own or a number, and perhaps a
// pointwise op behind it; inputs of other sizes than those that the sample has.
absl::StatusOr<TestProgram> MakeMisfitProgram(Random& random);

}  // namespace weft::trust

#endif  // WEFT_TESTS_TRUST_MISFIT_PROGRAMS_H_
