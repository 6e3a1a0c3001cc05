// Random programs with views and writes through functionalize and reinplace. The program
// `differential` runs any number of them.
#include "tests/passes/functionalize/differential.h"

#include <iostream>

#include "gtest/gtest.h"

namespace weft {
namespace {

constexpr uint32_t kPrograms = 2000;

TEST(Functionalize, AgreesWithRealMemory) {
  DifferentialCounts counts;
  for (uint32_t seed = 0; seed < kPrograms; ++seed) {
    const absl::Status status = CheckRandomProgram(seed, &counts);
    ASSERT_TRUE(status.ok()) << status.message();
  }
  std::cout << "seeds 0 to " << kPrograms - 1 << ": " << counts.ToString() << "\n";
  // The programs are about something.
  EXPECT_GT(counts.writes, 3 * counts.programs);
  EXPECT_GT(counts.replayed, counts.programs);
  EXPECT_GT(counts.inverted, counts.programs);
  EXPECT_GT(counts.write_backs, counts.programs / 2);
  EXPECT_GT(counts.returned, counts.programs / 4);
  EXPECT_GT(counts.done, counts.programs / 4);
}

}  // namespace
}  // namespace weft
