// Programs that treat the indices of one dim alike, so that selecting some of them before or after
// the program gives the same results: batches, positions of a sequence, channels.
#ifndef WEFT_TESTS_TRUST_METAMORPHIC_PROGRAMS_H_
#define WEFT_TESTS_TRUST_METAMORPHIC_PROGRAMS_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tests/trust/check.h"
#include "tests/trust/program.h"
#include "tests/trust/random.h"

namespace weft::trust {

absl::StatusOr<TestProgram> MakeMetamorphicProgram(Random& random);

// OK when `cpu` gives, for inputs of which indices were selected (split, joined, repeated,
// permuted), what it gives for all of them, selected. The two runs differ in their configuration.
absl::Status CheckSelection(const TestProgram& program, const Configuration& configuration,
                            Totals* totals);

}  // namespace weft::trust

#endif  // WEFT_TESTS_TRUST_METAMORPHIC_PROGRAMS_H_
