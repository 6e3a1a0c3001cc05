#include "tests/backends/cpu/differential.h"

#include "gtest/gtest.h"

namespace weft::cpu {
namespace {

TEST(Differential, RandomProgramsGiveWhatTheReferenceGives) {
  DifferentialCounts counts;
  for (uint64_t seed = 1; seed <= 500; ++seed) {
    const absl::Status status = CheckRandomProgram(seed, &counts);
    ASSERT_TRUE(status.ok()) << status;
  }
  EXPECT_GT(counts.steps, 500);
  EXPECT_GT(counts.groups, 100);
  EXPECT_GT(counts.generated, 50);
  EXPECT_EQ(counts.fallbacks, 0);
  EXPECT_GT(counts.in_place, 200);
}

}  // namespace
}  // namespace weft::cpu
