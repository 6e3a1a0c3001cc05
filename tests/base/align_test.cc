#include "base/align.h"

#include <cstdint>

#include "gtest/gtest.h"

namespace weft {
namespace {

TEST(AlignTest, RoundsUpToAMultiple) {
  EXPECT_EQ(AlignUp(0, 64), 0);
  EXPECT_EQ(AlignUp(1, 64), 64);
  EXPECT_EQ(AlignUp(64, 64), 64);
  EXPECT_EQ(AlignUp(65, 64), 128);
  EXPECT_EQ(AlignUp(7, 3), 9);
  EXPECT_EQ(AlignUp(7, 1), 7);
}

TEST(AlignTest, TakesTheTypeOfTheNumber) {
  static_assert(AlignUp(int64_t{1} << 40, 64) == int64_t{1} << 40);
  static_assert(AlignUp((int64_t{1} << 40) + 1, 64) == (int64_t{1} << 40) + 64);
  // An address in the upper half of the space.
  const uintptr_t high = ~uintptr_t{0} - 255;
  EXPECT_EQ(AlignUp(high - 1, kCacheLine), high);
}

}  // namespace
}  // namespace weft
