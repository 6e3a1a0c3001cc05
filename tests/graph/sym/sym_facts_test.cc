// Facts of a symbol table about single symbols: ranges, divisors, quick proofs.
#include "graph/sym/sym_facts.h"

#include <limits>
#include <utility>

#include "absl/strings/string_view.h"
#include "graph/sym/sym_ops.h"
#include "gtest/gtest.h"

namespace weft {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

SymInt S(absl::string_view name) { return SymInt::Symbol(name); }

const SymInt s0 = S("s0");
const SymInt s1 = S("s1");
const SymInt u0 = S("u0");

TEST(SymFactsTest, DeclareNarrows) {
  SymbolTable table;
  table.Declare({s0, {0, 100}, 4});
  table.Declare({s0, {8, 200}, 6, 24, true});
  ASSERT_EQ(table.symbols().size(), 1);
  const SymbolInfo& info = *table.Find(s0);
  EXPECT_EQ(info.range, (SymRange{8, 100}));
  EXPECT_EQ(info.divisor, 12);
  EXPECT_EQ(info.hint, 24);
  EXPECT_TRUE(table.IsUnbacked(s0));
  EXPECT_FALSE(table.IsUnbacked(s1));
  EXPECT_EQ(table.Find(s1), nullptr);
}

TEST(SymFactsTest, FreshSkipsTakenNames) {
  SymbolTable table;
  table.Declare({S("v1")});
  EXPECT_EQ(table.Fresh("v").name(), "v0");
  EXPECT_EQ(table.Fresh("v").name(), "v2");
  EXPECT_EQ(table.symbols().size(), 3);
}

TEST(SymFactsTest, Ranges) {
  SymbolTable table;
  table.Declare({s0, {2, 10}});
  table.Declare({u0, {-5, 5}});
  const auto range = [&](SymInt s) {
    const SymRange r = table.RangeOf(s);
    return std::make_pair(r.min, r.max);
  };
  EXPECT_EQ(range(3 - 2 * s0), std::make_pair(int64_t{-17}, int64_t{-1}));
  EXPECT_EQ(range(u0 * u0), std::make_pair(int64_t{0}, int64_t{25}));
  EXPECT_EQ(range(FloorDiv(u0, s0)), std::make_pair(int64_t{-3}, int64_t{2}));
  EXPECT_EQ(range(Mod(u0, s0)), std::make_pair(int64_t{0}, int64_t{9}));
  EXPECT_EQ(range(Mod(s0, 16)), std::make_pair(int64_t{2}, int64_t{10}));
  EXPECT_EQ(range(Max(s0, 4)), std::make_pair(int64_t{4}, int64_t{10}));
  EXPECT_EQ(range(S("size")), std::make_pair(int64_t{0}, kMax));
  EXPECT_EQ(range(SymInt::Invalid()), std::make_pair(kMin, kMax));
}

// The limits stand for "unbounded", so a bound at them must not be trusted.
TEST(SymFactsTest, LimitsAreNotBounds) {
  SymbolTable table;
  table.Declare({u0, {-5, 5}});
  EXPECT_NE(table.ProveLe(kMax - 5, u0 + (kMax - 5)), Proof::kYes);
  EXPECT_NE(table.ProveLe(s0, s0 + u0 + kMax - 6), Proof::kNo);
  const SymRange r = table.RangeOf(FloorDiv(s0 + kMax, s1 + 1));
  EXPECT_LE(r.min, 1);
  EXPECT_NE(table.ProveEq(Min(s0, kMax), s0), Proof::kNo);
}

TEST(SymFactsTest, Multiples) {
  SymbolTable table;
  table.Declare({s0, {0, kMax}, 8});
  table.Declare({s1, {0, kMax}, 3});
  EXPECT_TRUE(table.IsMultipleOf(s0, 4));
  EXPECT_FALSE(table.IsMultipleOf(s0, 16));
  EXPECT_TRUE(table.IsMultipleOf(2 * s0, 16));
  EXPECT_TRUE(table.IsMultipleOf(s0 * s1, 24));
  EXPECT_TRUE(table.IsMultipleOf(s0 * s1 + 12, 12));
  EXPECT_FALSE(table.IsMultipleOf(s0 + 2, 4));
  EXPECT_TRUE(table.IsMultipleOf(u0 * 6, 3));
  EXPECT_FALSE(table.IsMultipleOf(u0, 2));
  EXPECT_FALSE(table.IsMultipleOf(s0, 0));
}

TEST(SymFactsTest, Proofs) {
  SymbolTable table;
  table.Declare({s0, {1, 64}});
  EXPECT_EQ(table.ProveEq(s0 + s1, s1 + s0), Proof::kYes);
  EXPECT_EQ(table.ProveEq(s0, 0), Proof::kNo);
  EXPECT_EQ(table.ProveEq(s0, 1), Proof::kUnknown);
  EXPECT_EQ(table.ProveLe(s0, 64), Proof::kYes);
  EXPECT_EQ(table.ProveLt(s0, 64), Proof::kUnknown);
  EXPECT_EQ(table.ProveLe(65, s0), Proof::kNo);
  EXPECT_EQ(table.ProveLt(FloorDiv(s0, 2), s0), Proof::kUnknown);
  EXPECT_EQ(table.ProveEq(SymInt::Invalid(), SymInt::Invalid()), Proof::kUnknown);
}

TEST(SymFactsTest, RangesOfPowersAndSelections) {
  SymbolTable table;
  table.Declare({s0, {2, 5}});
  table.Declare({u0, {-3, 4}});
  const auto range = [&](SymInt s) { return table.RangeOf(s); };
  EXPECT_EQ(range(Pow(2, s0)), (SymRange{4, 32}));
  EXPECT_EQ(range(Pow(s0, s0)), (SymRange{4, 3125}));
  EXPECT_EQ(range(Pow(u0, s0)), (SymRange{-1024, 1024}));
  // Negative exponents have no power.
  EXPECT_EQ(range(Pow(3, u0)), (SymRange{1, 81}));
  EXPECT_EQ(range(Pow(2, s1)), (SymRange{1, kMax}));
  EXPECT_EQ(range(Pow(Mod(s1, 2), s1)), (SymRange{0, 1}));
  EXPECT_EQ(range(Select(GreaterEqual(s1, 3), s0, u0)), (SymRange{-3, 5}));
  EXPECT_EQ(table.Simplify(Select(GreaterEqual(s0, 2), s1, u0)), s1);
  EXPECT_TRUE(table.IsMultipleOf(Pow(6, s0), 3));
  EXPECT_FALSE(table.IsMultipleOf(Pow(6, s1), 3));
  EXPECT_TRUE(table.IsMultipleOf(Select(Equal(s1, 3), 4 * s0, 6 * u0), 2));
}

// Ranges from conditions keep their origins.
TEST(SymFactsTest, RemoveKeepsTheOriginsOfRanges) {
  SymbolTable table;
  table.Declare({s0});
  table.Declare({s1});
  table.Assume(LessEqual(s0, 8), "cat");
  table.Assume(LessEqual(s0, 4), "slice");
  table.Assume(LessEqual(s1, 4), "gone");
  table.Remove({s1});
  ASSERT_EQ(table.conditions().size(), 2u);
  EXPECT_EQ(table.conditions()[1].origin, "slice");
}

}  // namespace
}  // namespace weft
