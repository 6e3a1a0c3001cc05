// Canonical forms and printing of symbolic integers; what the prover says; and
// both against brute force on random expressions.
//
// Another seed: --gtest_random_seed=N.
#include "graph/core/sym.h"

#include <iostream>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "graph/core/sym_facts.h"
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
  const std::vector<SymInt> values = {-1,        2,          s0,
                                      s1,        2 * s0,     3 * s0,
                                      s0 + 1,    s0 + 2,     s0 + s1,
                                      s0 * s1,   Mod(s0, 2), FloorDiv(s0, 2),
                                      Min(s0, 1)};
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
  ForEachSymbol(s1 * FloorDiv(s0, s1) + Max(u0, s0),
                [&](SymInt s) { seen.push_back(s); });
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
    const SymInt all[] = {FloorDiv(deep + 3, 5), Mod(deep + 3, 5),
                          Min(deep + 3, s0), -deep, deep * deep + 1};
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
  EXPECT_EQ(table.ProveEq(SymInt::Invalid(), SymInt::Invalid()),
            Proof::kUnknown);
}

// --- Random expressions against brute force -------------------------------

using Value = std::optional<int64_t>;  // nullopt: a zero divisor, overflow.
using Assignment = std::map<std::string, int64_t>;

// An expression as it was built, before any rule touched it.
struct Tree {
  std::string op;  // "const", a symbol's name, or an operator.
  int64_t constant = 0;
  std::unique_ptr<Tree> a, b;
  SymInt sym;  // What the operators under test made of it.
};

Value Apply(const std::string& op, int64_t a, int64_t b) {
  int64_t result;
  const auto checked = [&](bool overflow) {
    return overflow ? std::nullopt : Value(result);
  };
  if (op == "+") return checked(__builtin_add_overflow(a, b, &result));
  if (op == "-") return checked(__builtin_sub_overflow(a, b, &result));
  if (op == "*") return checked(__builtin_mul_overflow(a, b, &result));
  if (op == "min") return a < b ? a : b;
  if (op == "max") return a > b ? a : b;
  if (op == "broadcast") {
    if (a == 1) return b;
    return b == 1 || a == b ? Value(a) : std::nullopt;
  }
  if (op == ">=") return a >= b;
  if (op == "==") return a == b;
  if (b == 0 || (a == kMin && b == -1)) return std::nullopt;
  const int64_t rest = a % b;
  const bool down = rest != 0 && (rest < 0) != (b < 0);
  if (op == "//") return a / b - down;
  return down ? rest + b : rest;
}

SymInt ApplySym(const std::string& op, SymInt a, SymInt b) {
  if (op == "+") return a + b;
  if (op == "-") return a - b;
  if (op == "*") return a * b;
  if (op == "min") return Min(a, b);
  if (op == "max") return Max(a, b);
  if (op == "broadcast") return BroadcastSize(a, b);
  if (op == ">=") return GreaterEqual(a, b);
  if (op == "==") return Equal(a, b);
  return op == "//" ? FloorDiv(a, b) : Mod(a, b);
}

Value Evaluate(const Tree& t, const Assignment& values) {
  if (t.op == "const") return t.constant;
  if (t.a == nullptr) return values.at(t.op);
  const Value a = Evaluate(*t.a, values);
  const Value b = Evaluate(*t.b, values);
  if (!a || !b) return std::nullopt;
  return Apply(t.op, *a, *b);
}

std::string ToString(const Tree& t) {
  if (t.op == "const") return std::to_string(t.constant);
  if (t.a == nullptr) return t.op;
  return absl::StrCat("(", ToString(*t.a), " ", t.op, " ", ToString(*t.b), ")");
}

class RandomSymTest : public testing::TestWithParam<int> {
 protected:
  RandomSymTest()
      : seed_(testing::GTEST_FLAG(random_seed) * 1000 + GetParam()),
        rng_(seed_) {
    std::cout << "seed " << seed_ << "\n";
    table_.Declare({s0, {0, 5}});
    table_.Declare({s1, {2, 6}, 2});
    table_.Declare({u0, {-3, 3}, 1, std::nullopt, true});
    for (int64_t a = 0; a <= 5; ++a) {
      for (int64_t b : {2, 4, 6}) {
        for (int64_t c = -3; c <= 3; ++c) {
          assignments_.push_back({{"s0", a}, {"s1", b}, {"u0", c}});
        }
      }
    }
  }

  int Pick(int n) { return static_cast<int>(rng_() % n); }

  std::unique_ptr<Tree> RandomTree(int depth) {
    static const char* const kOps[] = {"+", "+",   "-",   "*",         "*",  "//",
                                       "%", "min", "max", "broadcast", ">=", "=="};
    static const char* const kSymbols[] = {"s0", "s1", "u0"};
    auto t = std::make_unique<Tree>();
    if (depth == 0 || Pick(5) == 0) {
      if (Pick(2) == 0) {
        t->op = "const";
        t->constant = large_ ? LargeConstant() : Pick(14) - 4;
        t->sym = SymInt(t->constant);
      } else {
        t->op = kSymbols[Pick(3)];
        t->sym = S(t->op);
      }
      return t;
    }
    t->op = kOps[Pick(12)];
    t->a = RandomTree(depth - 1);
    t->b = RandomTree(depth - 1);
    t->sym = ApplySym(t->op, t->a->sym, t->b->sym);
    return t;
  }

  int64_t LargeConstant() {
    const int64_t v = static_cast<int64_t>(rng_()) >> Pick(64);
    const int64_t limits[] = {v, v, v, kMax, kMin, kMax - 1, kMin + 1, kMax / 2};
    return limits[Pick(8)];
  }

  static Value EvaluateSym(SymInt s, const Assignment& values) {
    return weft::Evaluate(s, [&](SymInt symbol) -> std::optional<int64_t> {
      return values.at(std::string(symbol.name()));
    });
  }

  int seed_;
  std::mt19937_64 rng_;
  bool large_ = false;  // Constants of up to 64 bits.
  SymbolTable table_;
  std::vector<Assignment> assignments_;
};

TEST_P(RandomSymTest, EvaluateAndRangeAgreeWithTheTree) {
  int valid = 0;
  for (int i = 0; i < 400; ++i) {
    const auto t = RandomTree(1 + Pick(4));
    if (!t->sym.is_valid()) {
      for (const Assignment& values : assignments_) {
        ASSERT_EQ(Evaluate(*t, values), std::nullopt) << ToString(*t);
      }
      continue;
    }
    ++valid;
    SCOPED_TRACE(absl::StrCat(ToString(*t), " = ", t->sym.ToString()));
    const SymRange range = table_.RangeOf(t->sym);
    for (const Assignment& values : assignments_) {
      const Value want = Evaluate(*t, values);
      if (!want) continue;
      ASSERT_EQ(EvaluateSym(t->sym, values), want)
          << values.at("s0") << " " << values.at("s1") << " "
          << values.at("u0");
      ASSERT_LE(range.min, *want);
      ASSERT_GE(range.max, *want);
      for (int64_t d : {2, 3, 4, 6}) {
        if (table_.IsMultipleOf(t->sym, d)) {
          ASSERT_EQ(*want % d, 0) << d;
        }
      }
    }
  }
  EXPECT_GT(valid, 200);
}

TEST_P(RandomSymTest, SubstituteAgreesWithTheTree) {
  for (int i = 0; i < 300; ++i) {
    const auto t = RandomTree(1 + Pick(3));
    const auto inner = RandomTree(Pick(3));
    if (!t->sym.is_valid() || !inner->sym.is_valid()) continue;
    const SymInt replaced =
        Substitute(t->sym, [&](SymInt s) -> std::optional<SymInt> {
          if (s == s0) return inner->sym;
          return std::nullopt;
        });
    SCOPED_TRACE(absl::StrCat(ToString(*t), " with s0 = ", ToString(*inner),
                              ": ", replaced.ToString()));
    for (Assignment values : assignments_) {
      const Value s0_value = Evaluate(*inner, values);
      if (!s0_value) continue;
      const Value got = EvaluateSym(replaced, values);
      values["s0"] = *s0_value;
      const Value want = Evaluate(*t, values);
      if (want) {
        ASSERT_EQ(got, want);
      }
    }
  }
}

TEST_P(RandomSymTest, ProofsAreNeverWrong) {
  int proofs = 0;
  for (int i = 0; i < 400; ++i) {
    const auto a = RandomTree(1 + Pick(3));
    const auto b = RandomTree(Pick(3));
    if (!a->sym.is_valid() || !b->sym.is_valid()) continue;
    SCOPED_TRACE(absl::StrCat(ToString(*a), " and ", ToString(*b)));
    const Proof eq = table_.ProveEq(a->sym, b->sym);
    const Proof le = table_.ProveLe(a->sym, b->sym);
    const Proof lt = table_.ProveLt(a->sym, b->sym);
    proofs += (eq != Proof::kUnknown) + (le != Proof::kUnknown);
    const auto check = [](Proof proof, bool truth) {
      return proof == Proof::kUnknown || (proof == Proof::kYes) == truth;
    };
    for (const Assignment& values : assignments_) {
      const Value x = Evaluate(*a, values);
      const Value y = Evaluate(*b, values);
      if (!x || !y) continue;
      ASSERT_TRUE(check(eq, *x == *y)) << *x << " == " << *y;
      ASSERT_TRUE(check(le, *x <= *y)) << *x << " <= " << *y;
      ASSERT_TRUE(check(lt, *x < *y)) << *x << " < " << *y;
    }
  }
  EXPECT_GT(proofs, 50);
}

TEST_P(RandomSymTest, AlgebraGivesOneForm) {
  for (int i = 0; i < 300; ++i) {
    const SymInt a = RandomTree(2)->sym;
    const SymInt b = RandomTree(2)->sym;
    const SymInt c = RandomTree(1)->sym;
    if (!a.is_valid() || !b.is_valid() || !c.is_valid()) continue;
    SCOPED_TRACE(absl::StrCat("a = ", a.ToString(), ", b = ", b.ToString(),
                              ", c = ", c.ToString()));
    const int64_t k = 1 + Pick(9);
    ASSERT_EQ(a + b, b + a);
    ASSERT_EQ(a * b, b * a);
    ASSERT_EQ((a + b) + c, a + (b + c));
    ASSERT_EQ((a * b) * c, a * (b * c));
    ASSERT_EQ(a * (b + c), a * b + a * c);
    ASSERT_EQ((a + b) - b, a);
    ASSERT_EQ(Min(a, b), Min(b, a));
    ASSERT_EQ(Max(Max(a, b), c), Max(a, Max(b, c)));
    ASSERT_EQ(BroadcastSize(a, b), BroadcastSize(b, a));
    ASSERT_EQ(GreaterEqual(a, b), LessEqual(b, a));
    ASSERT_EQ(Not(Less(a, b)), GreaterEqual(a, b));
    ASSERT_EQ(Equal(a, b), Equal(b, a));
    ASSERT_EQ(Not(NotEqual(a, b)), Equal(a, b));
    ASSERT_EQ(FloorDiv(a * k, k), a);
    ASSERT_EQ(FloorDiv(a + k * S("z"), k), FloorDiv(a, k) + S("z"));
    ASSERT_EQ(Mod(a + k * b, k), Mod(a, k));
  }
}

// Near the limits a form may have no value where the tree has one, or the other
// way round; both together must agree.
TEST_P(RandomSymTest, LargeConstantsGiveNoWrongValue) {
  large_ = true;
  int compared = 0;
  for (int i = 0; i < 1000; ++i) {
    const auto t = RandomTree(1 + Pick(4));
    const auto u = RandomTree(Pick(3));
    SCOPED_TRACE(absl::StrCat(ToString(*t), " = ", t->sym.ToString(), ", ",
                              ToString(*u)));
    const SymRange range = table_.RangeOf(t->sym);
    const Proof eq = table_.ProveEq(t->sym, u->sym);
    const Proof le = table_.ProveLe(t->sym, u->sym);
    for (int j = 0; j < 10; ++j) {
      const Assignment& values = assignments_[Pick(assignments_.size())];
      const Value want = Evaluate(*t, values);
      if (!want || !t->sym.is_valid()) continue;
      const Value got = EvaluateSym(t->sym, values);
      ASSERT_EQ(got.value_or(*want), *want);
      compared += got.has_value();
      ASSERT_TRUE(range.min <= *want || range.min == SymRange::kMin) << *want;
      ASSERT_TRUE(range.max >= *want || range.max == SymRange::kMax) << *want;
      const Value other = Evaluate(*u, values);
      if (!other || !u->sym.is_valid()) continue;
      if (eq != Proof::kUnknown) {
        ASSERT_EQ(eq == Proof::kYes, *want == *other);
      }
      if (le != Proof::kUnknown) {
        ASSERT_EQ(le == Proof::kYes, *want <= *other);
      }
    }
  }
  EXPECT_GT(compared, 500);
}

// Builds an expression again from its parts, as a parser does.
SymInt Rebuild(SymInt s) {
  if (s.args().empty()) return s;
  std::vector<SymInt> args;
  for (SymInt arg : s.args()) args.push_back(Rebuild(arg));
  static const auto* const ops = new std::map<SymInt::Kind, std::string>{
      {SymInt::Kind::kProduct, "*"},  {SymInt::Kind::kSum, "+"},
      {SymInt::Kind::kFloorDiv, "//"}, {SymInt::Kind::kMod, "%"},
      {SymInt::Kind::kMin, "min"},    {SymInt::Kind::kMax, "max"},
      {SymInt::Kind::kBroadcast, "broadcast"}};
  if (s.kind() == SymInt::Kind::kNonNegative) return GreaterEqual(args[0], 0);
  if (s.kind() == SymInt::Kind::kZero) return Equal(args[0], 0);
  const std::string& op = ops->at(s.kind());
  SymInt result = args[0];
  for (size_t i = 1; i < args.size(); ++i) {
    result = ApplySym(op, result, args[i]);
  }
  if (op == "+" || op == "*") result = ApplySym(op, result, s.coefficient());
  return result;
}

TEST_P(RandomSymTest, BuildingAgainChangesNothing) {
  for (int i = 0; i < 2000; ++i) {
    const SymInt s = RandomTree(1 + Pick(5))->sym;
    ASSERT_EQ(Rebuild(s), s);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomSymTest, testing::Range(0, 8));

}  // namespace
}  // namespace weft
