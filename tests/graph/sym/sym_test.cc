// Canonical forms, printing and limits of symbolic integers.

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "graph/sym/sym_expr.h"
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

TEST(SymTest, ConstantsFold) {
  EXPECT_EQ(SymInt(2) + 3, 5);
  EXPECT_EQ(SymInt(2) - 3, -1);
  EXPECT_EQ(SymInt(2) * 3, 6);
  EXPECT_EQ(FloorDiv(-7, 2), -4);
  EXPECT_EQ(FloorDiv(7, -2), -4);
  EXPECT_EQ(CeilDiv(7, 2), 4);
  EXPECT_EQ(CeilDiv(-7, 2), -3);
  EXPECT_EQ(Mod(-7, 3), 2);
  EXPECT_EQ(Mod(7, -3), -2);
  EXPECT_EQ(Mod(6, -3), 0);
  EXPECT_EQ(Min(2, 3), 2);
  EXPECT_EQ(Max(2, 3), 3);
  EXPECT_EQ(BroadcastSize(1, 3), 3);
  EXPECT_EQ(BroadcastSize(3, 3), 3);
  EXPECT_EQ(BroadcastSize(0, 1), 0);
}

TEST(SymTest, ConstantsTooLargeToStoreInline) {
  for (int64_t v : {kMax, kMin, kMax - 1, kMin + 1, kMax / 2, kMax / 2 + 1}) {
    EXPECT_EQ(SymInt(v).value(), v);
    EXPECT_EQ(SymInt(v), SymInt(v));
    EXPECT_EQ(SymInt(v).ToString(), std::to_string(v));
  }
}

TEST(SymTest, EqualFormsAreOneNode) {
  EXPECT_EQ(s0 + s1, s1 + s0);
  EXPECT_EQ(s0 * s1, s1 * s0);
  EXPECT_EQ(s0 + s0, 2 * s0);
  EXPECT_EQ(s0 - s0, 0);
  EXPECT_EQ((s0 + 1) * (s0 - 1), s0 * s0 - 1);
  EXPECT_EQ(Product({s0, 2, s1, 3}), 6 * s1 * s0);
  EXPECT_EQ(FloorDiv(4 * s0 + 5, 4), s0 + 1);
  EXPECT_EQ(FloorDiv(4 * s0 + 6, 8), FloorDiv(2 * s0 + 3, 4));
  EXPECT_EQ(FloorDiv(FloorDiv(s0, 2), 3), FloorDiv(s0, 6));
  EXPECT_EQ(FloorDiv(s0 * s1, s1), s0);
  EXPECT_EQ(FloorDiv(s0 * s0 - 1, s0 + 1), s0 - 1);
  EXPECT_EQ(FloorDiv(s0, -2), FloorDiv(-s0, 2));
  EXPECT_EQ(Mod(6 * s0 + 7, 3), 1);
  EXPECT_EQ(Mod(2 * s0 + 3, 4), 2 * Mod(s0 + 1, 2) + 1);
  EXPECT_EQ(Mod(Mod(s0, 12), 4), Mod(s0, 4));
  EXPECT_EQ(Mod(s0 * s1, s0), 0);
  EXPECT_EQ(Min(s0, s0 + 1), s0);
  EXPECT_EQ(Max(Max(s0, s1), s0), Max(s1, s0));
  EXPECT_EQ(BroadcastSize(s0, 1), s0);
  EXPECT_EQ(BroadcastSize(s0, 4), 4);
  EXPECT_EQ(BroadcastSize(s0, BroadcastSize(s1, s0)), BroadcastSize(s1, s0));
}

// Coefficients that only pass the modulus once they are added up.
TEST(SymTest, ModReducesSums) {
  EXPECT_EQ(Mod(3 * Mod(s0, 4) + 2 * s0, 4), Mod(s0, 4));
  EXPECT_EQ(Mod(3 * Mod(s0, 4) + s0, 4), 0);
}

TEST(SymTest, Powers) {
  EXPECT_EQ(Pow(s0, 0), 1);
  EXPECT_EQ(Pow(s0, 1), s0);
  EXPECT_EQ(Pow(s0 + 1, 2), s0 * s0 + 2 * s0 + 1);
  EXPECT_EQ(Pow(2, 10), 1024);
  EXPECT_EQ(Pow(1, s0), 1);
  EXPECT_EQ(Pow(0, s0), Equal(s0, 0));
  EXPECT_EQ(Pow(-1, s0), 1 - 2 * Mod(s0, 2));
  EXPECT_EQ(Pow(s0, s1) * Pow(s0, u0), Pow(s0, s1 + u0));
  EXPECT_EQ(s0 * Pow(s0, s1), Pow(s0, s1 + 1));
  EXPECT_EQ(Pow(Pow(s0, s1), 2), Pow(s0, 2 * s1));
  EXPECT_EQ(Pow(s0 * s1, u0), Pow(s0, u0) * Pow(s1, u0));
  EXPECT_EQ(Pow(4, s0), Pow(2, 2 * s0));
  EXPECT_EQ(Pow(6, s0), Pow(2, s0) * Pow(3, s0));
  EXPECT_EQ(Pow(2, s0) * Pow(2, 3 - s0), 8);
  EXPECT_EQ(Pow(s0 + 1, u0) * Pow(s0 + 1, 2 - u0), Pow(s0 + 1, 2));
  EXPECT_NE(Pow(s0, s1), Pow(s1, s0));
  EXPECT_FALSE(Pow(s0, -1).is_valid());
  EXPECT_FALSE(Pow(2, 64).is_valid());
  EXPECT_EQ(Pow(2, Max(s0, 3)).ToString(), "pow(2, max(3, s0))");
  EXPECT_EQ((3 * Pow(s0, s1) + 1).ToString(), "3*pow(s0, s1) + 1");
}

TEST(SymTest, Selections) {
  const SymInt c = GreaterEqual(s0, 3);
  EXPECT_EQ(Select(1, s0, s1), s0);
  EXPECT_EQ(Select(0, SymInt::Invalid(), s1), s1);
  EXPECT_EQ(Select(c, s1, s1), s1);
  EXPECT_EQ(Select(c, s1, u0), Select(Not(c), u0, s1));
  EXPECT_EQ(Select(Equal(s0, 3), s1, u0), Select(NotEqual(s0, 3), u0, s1));
  EXPECT_EQ(Select(c, s1 + 2, s1), s1 + 2 * c);
  EXPECT_EQ(Select(c, s0 + s1 + 1, s0 + u0 + 1), s0 + Select(c, s1, u0) + 1);
  EXPECT_EQ(Select(c, 4 * s1, 2 * u0 + 6), 2 * Select(c, 2 * s1, u0 + 3));
  EXPECT_EQ(Select(c, -s1, -u0), -Select(c, s1, u0));
  EXPECT_EQ(Select(c, 4 * s1 + 3, 0), Select(c, 4 * s1, -3) + 3);
  EXPECT_EQ(Select(GreaterEqual(s0, s1), s0, s1), Max(s0, s1));
  EXPECT_EQ(Select(Less(s0, s1), s0 + 1, s1 + 1), Min(s0 + 1, s1 + 1));
  EXPECT_EQ(Select(c, Equal(s1, 2), 0), And(c, Equal(s1, 2)));
  EXPECT_NE(Select(c, s1, u0), Select(c, u0, s1));
  EXPECT_FALSE(Select(c, s1, SymInt::Invalid()).is_valid());
  // The branch that is not taken may be undefined.
  const SymInt guarded = Select(GreaterEqual(s0, 1), FloorDiv(s1, s0), u0);
  const auto at = [&](int64_t n) {
    return Evaluate(guarded, [&](SymInt s) { return s == s0 ? n : int64_t{7}; });
  };
  EXPECT_EQ(at(0), 7);
  EXPECT_EQ(at(2), 3);
}

TEST(SymTest, Prints) {
  EXPECT_EQ(SymInt(-3).ToString(), "-3");
  EXPECT_EQ((s0 * 2 + 1).ToString(), "2*s0 + 1");
  EXPECT_EQ((1 - s0).ToString(), "-s0 + 1");
  EXPECT_EQ((s0 - 2 * s1 - 3).ToString(), "s0 - 2*s1 - 3");
  EXPECT_EQ((s0 * s0 * s1).ToString(), "s0*s0*s1");
  EXPECT_EQ(FloorDiv(s0 + 1, 2).ToString(), "(s0 + 1) // 2");
  EXPECT_EQ((3 * FloorDiv(s0, 2)).ToString(), "3*(s0 // 2)");
  EXPECT_EQ((-FloorDiv(s0, 2)).ToString(), "-(s0 // 2)");
  EXPECT_EQ(FloorDiv(-3, s0).ToString(), "(-3) // s0");
  EXPECT_EQ(Mod(s0, 2 * s1).ToString(), "s0 % (2*s1)");
  EXPECT_EQ(Min(s1, s0).ToString(), "min(s0, s1)");
  EXPECT_EQ((2 * Max(s0, 3)).ToString(), "2*max(3, s0)");
  EXPECT_EQ(BroadcastSize(s1, s0).ToString(), "broadcast(s0, s1)");
  EXPECT_EQ(SymInt::Invalid().ToString(), "invalid");
  EXPECT_EQ(ToString({s0, 4, s0 * 2 + 1}), "[s0, 4, 2*s0 + 1]");
  EXPECT_EQ(ToString({}), "[]");
}

TEST(SymTest, OrderIsStructural) {
  EXPECT_LT(Compare(S("s2"), S("s10")), 0);
  EXPECT_LT(Compare(3, s0), 0);
  EXPECT_EQ(Compare(s0 + s1, s1 + s0), 0);
  const std::vector<SymInt> values = {
      -1,     2,       s0,      s1,         2 * s0,          3 * s0,    s0 + 1,
      s0 + 2, s0 + s1, s0 * s1, Mod(s0, 2), FloorDiv(s0, 2), Min(s0, 1)};
  for (SymInt a : values) {
    for (SymInt b : values) {
      EXPECT_EQ(Compare(a, b), -Compare(b, a)) << a << ", " << b;
      EXPECT_EQ(Compare(a, b) == 0, a == b) << a << ", " << b;
      EXPECT_TRUE(a == b || a.hash() != b.hash()) << a << ", " << b;
    }
  }
}

TEST(SymTest, ListsSymbolsOnce) {
  std::vector<SymInt> seen;
  ForEachSymbol(s1 * FloorDiv(s0, s1) + Max(u0, s0), [&](SymInt s) { seen.push_back(s); });
  EXPECT_EQ(seen, (std::vector<SymInt>{s0, s1, u0}));
  EXPECT_TRUE(ContainsSymbol(Mod(s0, 3), s0));
  EXPECT_FALSE(ContainsSymbol(Mod(s0, 3), s1));
}

TEST(SymTest, ConstantLists) {
  EXPECT_EQ(AllConstant(ToSymInts({3, -1})), (std::vector<int64_t>{3, -1}));
  EXPECT_EQ(AllConstant({3, s0}), std::nullopt);
}

TEST(SymTest, OverflowIsInvalid) {
  EXPECT_FALSE((SymInt(kMax) + 1).is_valid());
  EXPECT_FALSE((SymInt(kMin) - 1).is_valid());
  EXPECT_FALSE((-SymInt(kMin)).is_valid());
  EXPECT_FALSE((SymInt(kMax) * 2).is_valid());
  EXPECT_FALSE((kMax * s0 + s0).is_valid());
  EXPECT_FALSE((kMax * s0 * 2).is_valid());
  EXPECT_FALSE((s0 + kMax + 1).is_valid());
  EXPECT_FALSE(FloorDiv(kMin, -1).is_valid());
}

TEST(SymTest, ProductsWithAZeroAreZero) {
  const SymInt huge = SymInt(int64_t{1} << 62);
  EXPECT_EQ(Product({huge, 4, 0}), SymInt(0));
  EXPECT_FALSE(Product({huge, 4}).is_valid());
  EXPECT_FALSE(Product({SymInt::Invalid(), 0}).is_valid());
  const SymInt a = SymInt::Symbol("a"), b = SymInt::Symbol("b");
  const auto value = Evaluate(
      4 * a * b, [&](SymInt s) -> std::optional<int64_t> { return s == a ? int64_t{1} << 62 : 0; });
  EXPECT_EQ(value, 0);
}

TEST(SymTest, ZeroDivisorsAndBadBroadcastsAreInvalid) {
  EXPECT_FALSE(FloorDiv(s0, 0).is_valid());
  EXPECT_FALSE(Mod(s0, 0).is_valid());
  EXPECT_FALSE(BroadcastSize(2, 3).is_valid());
  EXPECT_FALSE(BroadcastSize(BroadcastSize(s0, 2), 3).is_valid());
}

TEST(SymTest, InvalidAbsorbs) {
  const SymInt bad = SymInt::Invalid();
  for (SymInt x : {SymInt(0), SymInt(1), s0, s0 + s1, bad}) {
    EXPECT_FALSE((x + bad).is_valid()) << x;
    EXPECT_FALSE((bad - x).is_valid()) << x;
    EXPECT_FALSE((x * bad).is_valid()) << x;
    EXPECT_FALSE(FloorDiv(x, bad).is_valid()) << x;
    EXPECT_FALSE(FloorDiv(bad, x).is_valid()) << x;
    EXPECT_FALSE(Mod(x, bad).is_valid()) << x;
    EXPECT_FALSE(Min(bad, x).is_valid()) << x;
    EXPECT_FALSE(Max(x, bad).is_valid()) << x;
    EXPECT_FALSE(BroadcastSize(x, bad).is_valid()) << x;
  }
}

// Only the result must fit, not what is computed on the way.
TEST(SymTest, ResultsAtTheLimitsAreExact) {
  EXPECT_EQ(SymInt(-1) - SymInt(kMin), SymInt(kMax));
  EXPECT_EQ((s0 - 1) - (s0 + kMin), SymInt(kMax));
  EXPECT_EQ(Mod(kMin, 3), 1);
  EXPECT_EQ(Mod(kMax, -3), -2);
  EXPECT_EQ(Min(kMin, kMax), kMin);
  EXPECT_EQ(Max(kMin, kMax), kMax);
  EXPECT_TRUE(FloorDiv(s0 + kMin, 3).is_valid());
  EXPECT_TRUE(FloorDiv(FloorDiv(s0, kMax), kMax).is_valid());
  EXPECT_EQ(Evaluate(s0 + s1 - u0, [](SymInt) { return kMax; }), kMax);
}

TEST(SymTest, TermsAreCapped) {
  SymInt sum = 0;
  for (int i = 0; i < SymInt::kMaxTerms; ++i) {
    sum = sum + S(absl::StrCat("t", i));
  }
  EXPECT_TRUE(sum.is_valid());
  EXPECT_FALSE((sum + s0).is_valid());
  EXPECT_FALSE((sum * (s0 + s1)).is_valid());
}

TEST(SymTest, DepthIsCapped) {
  // Symbolic divisors keep the levels from being joined.
  SymInt deep = s0;
  int levels = 0;
  for (; levels < 4 * SymInt::kMaxDepth && deep.is_valid(); ++levels) {
    deep = FloorDiv(deep + 1, s1);
  }
  EXPECT_FALSE(deep.is_valid());
  EXPECT_GE(levels, SymInt::kMaxDepth / 2);
}

TEST(SymTest, SizeIsCapped) {
  SymInt big = s0;
  int levels = 0;
  for (; levels < SymInt::kMaxDepth && big.is_valid(); ++levels) {
    big = Mod(big + 1, big + s1);
  }
  EXPECT_FALSE(big.is_valid());
  EXPECT_LT(levels, 20);
}

TEST(SymTest, CapsDoNotHideInOperands) {
  // Invalid at whichever depth it arises, never inside a valid expression.
  for (int depth = 1; depth <= SymInt::kMaxDepth + 2; ++depth) {
    SymInt deep = s0;
    for (int i = 0; i < depth; ++i) deep = FloorDiv(deep, s1 + i);
    const SymInt all[] = {FloorDiv(deep + 3, 5), Mod(deep + 3, 5), Min(deep + 3, s0), -deep,
                          deep * deep + 1};
    for (SymInt s : all) {
      std::vector<SymInt> stack = {s};
      while (s.is_valid() && !stack.empty()) {
        const SymInt top = stack.back();
        stack.pop_back();
        ASSERT_TRUE(top.is_valid()) << depth;
        stack.insert(stack.end(), top.args().begin(), top.args().end());
      }
    }
  }
}

TEST(SymTest, EvaluateFailsWithoutAValue) {
  const auto one = [](SymInt s) -> std::optional<int64_t> {
    if (s == s0) return 1;
    return std::nullopt;
  };
  EXPECT_EQ(Evaluate(s0 + 1, one), 2);
  EXPECT_EQ(Evaluate(s0 + s1, one), std::nullopt);
  EXPECT_EQ(Evaluate(FloorDiv(s1, s0 - 1), one), std::nullopt);
  EXPECT_EQ(Evaluate(s0 * kMax + s0, one), std::nullopt);
  EXPECT_EQ(Evaluate(SymInt::Invalid(), one), std::nullopt);
}

}  // namespace
}  // namespace weft
