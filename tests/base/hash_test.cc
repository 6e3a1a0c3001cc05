#include "base/hash.h"

#include <bitset>
#include <cstdint>
#include <set>

#include "gtest/gtest.h"

namespace weft {
namespace {

// Numbers of this file are in goldens, in names of files and in seeded inputs: they stay.

TEST(HashTest, MixBitsIsSplitMix64) {
  // The first numbers of the generator from state 0.
  EXPECT_EQ(MixBits(1 * kGoldenRatio64), 0xe220a8397b1dcdaf);
  EXPECT_EQ(MixBits(2 * kGoldenRatio64), 0x6e789e6aa1b965f4);
  EXPECT_EQ(MixBits(3 * kGoldenRatio64), 0x06c45d188009454f);
  EXPECT_EQ(MixBits(0), 0u);
}

TEST(HashTest, MixBitsSpreadsEveryBit) {
  for (int bit = 0; bit < 64; ++bit) {
    const uint64_t flipped = MixBits(12345) ^ MixBits(12345 ^ uint64_t{1} << bit);
    EXPECT_GT(std::bitset<64>(flipped).count(), 12u) << bit;
  }
}

TEST(HashTest, Fnv1aIsThePublishedOne) {
  EXPECT_EQ(Fnv1a(""), 0xcbf29ce484222325);
  EXPECT_EQ(Fnv1a("a"), 0xaf63dc4c8601ec8c);
  EXPECT_EQ(Fnv1a("foobar"), 0x85944171f73967e8);
  // Bytes past 127 are not negative.
  EXPECT_EQ(Fnv1a("\xff"), (kFnv1aBasis ^ 0xff) * 0x100000001b3);
}

TEST(HashTest, Fnv1aContinues) { EXPECT_EQ(Fnv1a("bar", Fnv1a("foo")), Fnv1a("foobar")); }

TEST(HashTest, CombinedHashesTellSequencesApart) {
  std::set<uint64_t> seen;
  for (uint64_t a = 0; a < 64; ++a) {
    for (uint64_t b = 0; b < 64; ++b) seen.insert(HashCombine(HashCombine(0, a), b));
  }
  EXPECT_EQ(seen.size(), 64u * 64u);
}

TEST(HashTest, TheFastOneTellsSequencesApartButNotOrder) {
  std::set<uint64_t> seen;
  for (uint64_t a = 0; a < 64; ++a) {
    for (uint64_t b = 0; b < 64; ++b) seen.insert(FastHashCombine(FastHashCombine(7, a), b));
  }
  EXPECT_EQ(seen.size(), 64u * 64u);
  EXPECT_EQ(FastHashCombine(3, 5), FastHashCombine(5, 3));
  EXPECT_EQ(FastHashCombine(9, 9), 0u);
}

TEST(HashTest, FastHashesKeepTheirNumbers) {
  // Fusion with a seed leaves groups out by these.
  EXPECT_EQ(FastHashCombine(1, 0), 0x9e3779b97f4a7c15 ^ (0x9e3779b97f4a7c15 >> 29));
}

}  // namespace
}  // namespace weft
