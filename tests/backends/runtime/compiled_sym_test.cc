// Compiled expressions against Evaluate(), on random expressions and values.
#include "backends/runtime/compiled_sym.h"

#include <optional>
#include <random>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/sym/sym_expr.h"
#include "graph/sym/sym_ops.h"
#include "gtest/gtest.h"

namespace weft {
namespace {

constexpr int kSymbols = 3;

SymInt Symbol(int i) { return SymInt::Symbol(absl::StrCat("s", i)); }
int NumberOf(SymInt symbol) { return symbol.name()[1] - '0'; }

class Generator {
 public:
  explicit Generator(uint32_t seed) : random_(seed) {}

  int64_t Number() {
    if (Below(20) == 0) return (int64_t{1} << 62) + Below(100);
    return Below(23) - 6;
  }
  SymInt Expression(int depth) {
    if (depth == 0 || Below(4) == 0) return Below(3) == 0 ? SymInt(Number()) : Symbol(Below(3));
    const SymInt a = Expression(depth - 1);
    const SymInt b = Expression(depth - 1);
    switch (Below(10)) {
      case 0:
        return a + b;
      case 1:
        return a * b;
      case 2:
        return a - b;
      case 3:
        return FloorDiv(a, b);
      case 4:
        return Mod(a, b);
      case 5:
        return Min(a, b);
      case 6:
        return Max(a, b);
      case 7:
        return BroadcastSize(a, b);
      case 8:
        return Select(GreaterEqual(a, b), FloorDiv(a, b), Symbol(Below(3)));
      default:
        return Below(2) == 0 ? GreaterEqual(a, b) : Equal(a, b);
    }
  }

 private:
  int Below(int n) { return static_cast<int>(random_() % n); }
  std::mt19937 random_;
};

TEST(CompiledSymTest, AgreesWithEvaluate) {
  int compared = 0;
  int without_value = 0;
  for (uint32_t seed = 0; seed < 4000; ++seed) {
    Generator generator(seed);
    const SymInt s = generator.Expression(4);
    if (!s.is_valid()) continue;
    const CompiledSym code(s, NumberOf);
    for (int run = 0; run < 5; ++run) {
      std::vector<int64_t> values;
      for (int i = 0; i < kSymbols; ++i) values.push_back(generator.Number());
      const auto want = Evaluate(
          s, [&](SymInt symbol) -> std::optional<int64_t> { return values[NumberOf(symbol)]; });
      EXPECT_EQ(code.Run(values), want)
          << s << " at " << values[0] << ", " << values[1] << ", " << values[2];
      ++compared;
      without_value += !want;
    }
  }
  EXPECT_GT(compared, 10000);
  EXPECT_GT(without_value, 100);
}

// Symbols may have no value: nothing is claimed where Evaluate() may know one without it.
TEST(CompiledSymTest, EvaluatesStraight) {
  int evaluated = 0;
  for (uint32_t seed = 0; seed < 4000; ++seed) {
    Generator generator(seed);
    const SymInt s = generator.Expression(4);
    if (!s.is_valid()) continue;
    for (int known = 0; known < 8; ++known) {
      const int64_t number = generator.Number();
      const auto find = [&](SymInt symbol) -> std::optional<int64_t> {
        const int i = NumberOf(symbol);
        return (known >> i & 1) != 0 ? std::optional<int64_t>(number + i) : std::nullopt;
      };
      std::optional<int64_t> got;
      if (!EvaluateStraight(s, find, &got)) continue;
      EXPECT_EQ(got, Evaluate(s, find)) << s << " at " << number << ", known " << known;
      ++evaluated;
    }
  }
  EXPECT_GT(evaluated, 5000);
}

TEST(CompiledSymTest, HoldsOnlyWhereThereIsAValue) {
  const CompiledSym code(Equal(FloorDiv(Symbol(0), Symbol(1)), 2), NumberOf);
  EXPECT_TRUE(code.Holds({7, 3}));
  EXPECT_FALSE(code.Holds({9, 3}));
  EXPECT_FALSE(code.Holds({9, 0}));
}

}  // namespace
}  // namespace weft
