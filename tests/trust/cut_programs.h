// Programs cut out of models at random.
#ifndef WEFT_TESTS_TRUST_CUT_PROGRAMS_H_
#define WEFT_TESTS_TRUST_CUT_PROGRAMS_H_

#include <string>

#include "absl/status/statusor.h"
#include "tests/trust/program.h"
#include "tests/trust/random.h"

namespace weft::trust {

// A few connected nodes of a model, or those of two places joined where types agree. Constants are
// inputs or stay, inputs become constants, sizes become symbols, each at random.
absl::StatusOr<TestProgram> MakeCutProgram(Random& random, const std::string& folder);

}  // namespace weft::trust

#endif  // WEFT_TESTS_TRUST_CUT_PROGRAMS_H_
