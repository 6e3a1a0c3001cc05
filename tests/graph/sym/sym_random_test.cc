// Canonical forms, ranges and quick proofs against brute force on random
// expressions.
//
// Another seed: --gtest_random_seed=N.
#include <algorithm>
#include <iostream>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "graph/sym/sym_expr.h"
#include "graph/sym/sym_facts.h"
#include "graph/sym/sym_ops.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"

namespace weft {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

SymInt S(absl::string_view name) { return SymInt::Symbol(name); }

const SymInt s0 = S("s0");
const SymInt s1 = S("s1");
const SymInt u0 = S("u0");

using Value = std::optional<int64_t>;  // nullopt: a zero divisor, overflow.
using Assignment = std::map<std::string, int64_t>;

// An expression as it was built, before any rule touched it.
struct Tree {
  std::string op;  // "const", a symbol's name, or an operator.
  int64_t constant = 0;
  std::unique_ptr<Tree> a, b;
  std::unique_ptr<Tree> condition;  // Of a select between them.
  SymInt sym;                       // What the operators under test made of it.
};

Value Apply(const std::string& op, int64_t a, int64_t b) {
  int64_t result;
  const auto checked = [&](bool overflow) { return overflow ? std::nullopt : Value(result); };
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
  if (op == "pow") {
    if (b < 0) return std::nullopt;
    result = 1;
    bool overflow = false;
    for (int64_t i = 0; i < std::min<int64_t>(b, 64); ++i) {
      overflow |= __builtin_mul_overflow(result, a, &result);
    }
    if (b > 64 && a == -1 && b % 2 != 0) result = -1;
    return checked(overflow);
  }
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
  if (op == "pow") return Pow(a, b);
  return op == "//" ? FloorDiv(a, b) : Mod(a, b);
}

Value Evaluate(const Tree& t, const Assignment& values) {
  if (t.op == "const") return t.constant;
  if (t.a == nullptr) return values.at(t.op);
  if (t.condition != nullptr) {
    const Value condition = Evaluate(*t.condition, values);
    if (!condition || !t.a->sym.is_valid() || !t.b->sym.is_valid()) return std::nullopt;
    return Evaluate(*condition != 0 ? *t.a : *t.b, values);
  }
  const Value a = Evaluate(*t.a, values);
  const Value b = Evaluate(*t.b, values);
  if (!a || !b) return std::nullopt;
  return Apply(t.op, *a, *b);
}

std::string ToString(const Tree& t) {
  if (t.op == "const") return std::to_string(t.constant);
  if (t.a == nullptr) return t.op;
  if (t.condition != nullptr) {
    return absl::StrCat("select(", ToString(*t.condition), ", ", ToString(*t.a), ", ",
                        ToString(*t.b), ")");
  }
  return absl::StrCat("(", ToString(*t.a), " ", t.op, " ", ToString(*t.b), ")");
}

bool HasPower(const Tree& t) {
  if (t.op == "pow") return true;
  for (const Tree* part : {t.a.get(), t.b.get(), t.condition.get()}) {
    if (part != nullptr && HasPower(*part)) return true;
  }
  return false;
}

class RandomSymTest : public testing::TestWithParam<int> {
 protected:
  RandomSymTest() : seed_(testing::GTEST_FLAG(random_seed) * 1000 + GetParam()), rng_(seed_) {
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
    static const char* const kOps[] = {"+",   "+",   "-",         "*",  "*",  "//",  "%",
                                       "min", "max", "broadcast", ">=", "==", "pow", "select"};
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
    t->op = kOps[Pick(14)];
    t->a = RandomTree(depth - 1);
    t->b = RandomTree(t->op == "pow" ? 0 : depth - 1);
    if (t->op != "select") {
      t->sym = ApplySym(t->op, t->a->sym, t->b->sym);
      return t;
    }
    t->condition = std::make_unique<Tree>();
    t->condition->op = Pick(2) == 0 ? ">=" : "==";
    t->condition->a = RandomTree(depth - 1);
    t->condition->b = RandomTree(0);
    t->condition->sym = ApplySym(t->condition->op, t->condition->a->sym, t->condition->b->sym);
    t->sym = Select(t->condition->sym, t->a->sym, t->b->sym);
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
      // A power that is written out may be too large an expression.
      if (HasPower(*t)) continue;
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
      const Value got = EvaluateSym(t->sym, values);
      // 0*x to a high power is 0 where x to that power passes 64 bits.
      if (!got && HasPower(*t)) continue;
      ASSERT_EQ(got, want) << values.at("s0") << " " << values.at("s1") << " " << values.at("u0");
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
    const SymInt replaced = Substitute(t->sym, [&](SymInt s) -> std::optional<SymInt> {
      if (s == s0) return inner->sym;
      return std::nullopt;
    });
    SCOPED_TRACE(
        absl::StrCat(ToString(*t), " with s0 = ", ToString(*inner), ": ", replaced.ToString()));
    for (Assignment values : assignments_) {
      const Value s0_value = Evaluate(*inner, values);
      if (!s0_value) continue;
      const Value got = EvaluateSym(replaced, values);
      values["s0"] = *s0_value;
      const Value want = Evaluate(*t, values);
      if (want && (got || !HasPower(*t))) {
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
    SCOPED_TRACE(
        absl::StrCat("a = ", a.ToString(), ", b = ", b.ToString(), ", c = ", c.ToString()));
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
    const SymInt condition = GreaterEqual(c, S("z"));
    ASSERT_EQ(Select(condition, a, b), Select(Not(condition), b, a));
    ASSERT_EQ(Select(condition, a + k, b + k), Select(condition, a, b) + k);
    ASSERT_EQ(Select(condition, k * a, k * b), k * Select(condition, a, b));
    const SymInt x = S("x"), y = S("y"), z = S("z");
    ASSERT_EQ(Pow(x, y) * Pow(x, z + k), Pow(x, y + z + k));
    ASSERT_EQ(Pow(Pow(x, y), k), Pow(x, k * y));
    ASSERT_EQ(Pow(k * x, y), Pow(SymInt(k), y) * Pow(x, y));
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
    SCOPED_TRACE(absl::StrCat(ToString(*t), " = ", t->sym.ToString(), ", ", ToString(*u)));
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
  static const auto* const ops =
      new std::map<SymInt::Kind, std::string>{{SymInt::Kind::kProduct, "*"},
                                              {SymInt::Kind::kSum, "+"},
                                              {SymInt::Kind::kFloorDiv, "//"},
                                              {SymInt::Kind::kMod, "%"},
                                              {SymInt::Kind::kMin, "min"},
                                              {SymInt::Kind::kMax, "max"},
                                              {SymInt::Kind::kBroadcast, "broadcast"}};
  if (s.kind() == SymInt::Kind::kPow) return Pow(args[0], args[1]);
  if (s.kind() == SymInt::Kind::kSelect) return Select(args[0], args[1], args[2]);
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

TEST_P(RandomSymTest, PrintsWhatParsesBack) {
  for (int i = 0; i < 1000; ++i) {
    SymInt s = RandomTree(1 + Pick(4))->sym;
    if (!s.is_valid()) continue;
    if (IsTruth(s) && Pick(2) == 0) s = Or(s, Equal(s0, s1));
    const auto parsed = ParseSymInt(s.ToString());
    ASSERT_TRUE(parsed.ok()) << s << ": " << parsed.status();
    ASSERT_EQ(*parsed, s);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomSymTest, testing::Range(0, 8));

}  // namespace
}  // namespace weft
