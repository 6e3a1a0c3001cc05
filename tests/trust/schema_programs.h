// Programs made from the op schemas: routines of the target with random epilogues or with those
// that the target claims, and every other op with random operands before and random readers behind
// it.
#ifndef WEFT_TESTS_TRUST_SCHEMA_PROGRAMS_H_
#define WEFT_TESTS_TRUST_SCHEMA_PROGRAMS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "tests/trust/coverage.h"
#include "tests/trust/program.h"
#include "tests/trust/random.h"

namespace weft {
class Value;
}  // namespace weft

namespace weft::trust {

// One of the four below. One seed in four aims at a cell of the coverage table: a run of as many
// neighbouring seeds as four times the cells aims at each of them once.
absl::StatusOr<TestProgram> MakeSchemaProgram(uint64_t seed, Random& random);

// The routine of `cell`, one that the target claims, so that a plan has it.
absl::StatusOr<TestProgram> MakeCellProgram(const Coverage::Cell& cell, Random& random);

// A matmul, linear, convolution, pooling or attention and what follows it.
absl::StatusOr<TestProgram> MakeRoutineProgram(Random& random);

// A scan, an order, updates at indices, a move, a sampled image or a recurrent layer, and what
// follows it.
absl::StatusOr<TestProgram> MakeOrderProgram(Random& random);

// A pointwise op of any rank, broadcast and dtype, or a sample of any op, between others.
absl::StatusOr<TestProgram> MakeOpProgram(Random& random);

// Follows `value` by up to `most` pointwise ops whose other operands broadcast to it, alias it or
// are computed from it. Keeps to the dtype.
Value* AddPointwise(ProgramBuilder& p, Value* value, int most);

// A routine of the target on new operands, whose result has this dtype.
Value* AddRoutine(ProgramBuilder& p, DType dtype);

}  // namespace weft::trust

#endif  // WEFT_TESTS_TRUST_SCHEMA_PROGRAMS_H_
