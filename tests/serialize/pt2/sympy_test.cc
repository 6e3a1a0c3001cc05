#include "serialize/pt2/sympy.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "graph/sym/sym_expr.h"
#include "graph/sym/sym_facts.h"
#include "graph/sym/sym_ops.h"
#include "gtest/gtest.h"

namespace weft::pt2 {
namespace {

using ::testing::HasSubstr;

absl::StatusOr<SymInt> Parse(const std::string& text) {
  return ParseSympy(text, [](absl::string_view name) -> absl::StatusOr<SymInt> {
    if (name == "missing") return absl::NotFoundError("no such symbol");
    return SymInt::Symbol(name);
  });
}

std::string Text(const std::string& text) {
  const auto value = Parse(text);
  return value.ok() ? value->ToString() : std::string(value.status().message());
}

const SymInt s0 = SymInt::Symbol("s0");
const SymInt s1 = SymInt::Symbol("s1");

TEST(SympyTest, ReadsSrepr) {
  EXPECT_EQ(*Parse("Integer(-7)"), SymInt(-7));
  EXPECT_EQ(*Parse("Symbol('s0', positive=True, integer=True)"), s0);
  EXPECT_EQ(*Parse("Add(Mul(Integer(2), Symbol('s0', integer=True)), "
                   "Integer(1))"),
            s0 * 2 + 1);
  EXPECT_EQ(*Parse("FloorDiv(Add(Symbol('s0'), Integer(-1)), Integer(2))"), FloorDiv(s0 - 1, 2));
  EXPECT_EQ(*Parse("Max(Integer(1), Symbol('s0'), Symbol(\"s1\"))"), Max(Max(1, s0), s1));
  EXPECT_EQ(*Parse("Pow(Symbol('s0'), Integer(3))"), s0 * s0 * s0);
  EXPECT_EQ(*Parse("CeilDiv(Symbol('s0'), Integer(4))"), CeilDiv(s0, 4));
  EXPECT_EQ(*Parse("Mod(Symbol('s0'), Integer(4))"), Mod(s0, 4));
  EXPECT_EQ(*Parse("Mul(Rational(1, 2), Add(Symbol('s0'), Symbol('s0')))"), s0);
}

TEST(SympyTest, ReadsInfix) {
  EXPECT_EQ(*Parse("2*s0 + 1"), s0 * 2 + 1);
  EXPECT_EQ(*Parse("s0 - 2*s1 - 3"), s0 - s1 * 2 - 3);
  EXPECT_EQ(*Parse("-(s0 + 1)"), SymInt(0) - s0 - 1);
  EXPECT_EQ(*Parse("(s0 + 1) // 2"), FloorDiv(s0 + 1, 2));
  EXPECT_EQ(*Parse("s0 % 8"), Mod(s0, 8));
  EXPECT_EQ(*Parse("s0**2"), s0 * s0);
  EXPECT_EQ(*Parse("((s0 - 1)//2) + 1"), FloorDiv(s0 - 1, 2) + 1);
  EXPECT_EQ(*Parse("Max(1, s0)"), Max(1, s0));
  EXPECT_EQ(*Parse("(s0 + s0)/2"), s0);
}

TEST(SympyTest, ReadsConditions) {
  EXPECT_EQ(*Parse("GreaterThan(Symbol('s0'), Integer(1))"), GreaterEqual(s0, 1));
  EXPECT_EQ(*Parse("Eq(s0, 2*s1)"), Equal(s0, 2 * s1));
  EXPECT_EQ(*Parse("s0/2 < s1"), Less(s0, 2 * s1));
  EXPECT_EQ(*Parse("1 <= s0 < s1"), And(GreaterEqual(s0, 1), Less(s0, s1)));
  EXPECT_EQ(*Parse("(s0 > 1) & ~(s1 == 2)"), And(Greater(s0, 1), NotEqual(s1, 2)));
  EXPECT_EQ(*Parse("Or(Eq(s0, 1), Eq(s1, 1))"), Or(Equal(s0, 1), Equal(s1, 1)));
  EXPECT_EQ(*Parse("Not(Le(s0, 3))"), Greater(s0, 3));
}

TEST(SympyTest, ReadsPowersAndCases) {
  EXPECT_EQ(*Parse("2**s0"), Pow(2, s0));
  EXPECT_EQ(*Parse("PowByNatural(Symbol('s0'), Symbol('s1'))"), Pow(s0, s1));
  EXPECT_EQ(*Parse("Piecewise((s0, s1 > 2), (3, True))"), Select(Greater(s1, 2), s0, 3));
  EXPECT_EQ(*Parse("Piecewise(ExprCondPair(Integer(1), StrictLessThan(Symbol('s0'), Integer(4))), "
                   "ExprCondPair(Symbol('s1'), Eq(Symbol('s0'), Integer(9))), "
                   "ExprCondPair(Symbol('s0'), true))"),
            Select(Less(s0, 4), 1, Select(Equal(s0, 9), s1, s0)));
  EXPECT_EQ(*Parse("Where(Eq(s0, 1), s1, 2)"), Select(Equal(s0, 1), s1, 2));
  EXPECT_EQ(*Parse("Abs(s0 - s1)"), Max(s0 - s1, s1 - s0));
  EXPECT_EQ(*Parse("ModularIndexing(s0, 4, 8)"), Mod(FloorDiv(s0, 4), 8));
  EXPECT_EQ(*Parse("RShift(s0, 3)"), FloorDiv(s0, 8));
  EXPECT_EQ(*Parse("LShift(s0, s1)"), s0 * Pow(2, s1));
}

TEST(SympyTest, ReadsFloatsThatBecomeSizes) {
  const SymInt scaled = FloorDiv(3 * s0, 2);
  // Towards zero: with a range that is known, the floor.
  const auto size = [&](const std::string& text) {
    SymbolTable facts;
    facts.Declare({s0, {2, 1000}});
    const auto value = ParseSympy(
        text, [](absl::string_view name) { return SymInt::Symbol(name); }, &facts);
    EXPECT_TRUE(value.ok()) << value.status();
    return value.ok() ? *value : SymInt::Invalid();
  };
  EXPECT_EQ(
      size("TruncToInt(Mul(Float('1.5', precision=53), ToFloat(Symbol('s0', positive=True))))"),
      scaled);
  EXPECT_EQ(size("math.trunc(1.5*torch.sym_float(s0))"), scaled);
  EXPECT_EQ(size("CeilToInt(IntTrueDiv(Symbol('s0'), Integer(3)))"), CeilDiv(s0, 3));
  EXPECT_EQ(size("FloorToInt(Mul(Float('0.75'), ToFloat(s0)))"), FloorDiv(3 * s0, 4));
  EXPECT_EQ(*Parse("math.ceil(((0.5*torch.sym_float(s0)) / 1.0)) >= 2"),
            GreaterEqual(CeilDiv(s0, 2), 2));
  EXPECT_EQ(*Parse("2.5e-1*sym_float(s0) < 3"), Less(s0, 12));
  // 90 * 0.7 is less than 63, so that no fraction stands for 0.7 in a comparison.
  EXPECT_TRUE(Parse("TruncToInt(Mul(Float('0.7'), ToFloat(s0)))").ok());
  EXPECT_EQ(Parse("0.7*sym_float(s0) < 63").status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(Parse("TruncToInt(Mul(Float('0.7123456789'), ToFloat(s0)))").status().code(),
            absl::StatusCode::kUnimplemented);
  EXPECT_THAT(Text("1.5*sym_float(s0)"), HasSubstr("float where an integer is wanted"));
  EXPECT_THAT(Text("Float(s0)"), HasSubstr("unexpected"));
  EXPECT_THAT(Text("Float('x')"), HasSubstr("not a number"));
}

// Ten alternatives would make a sum of products of 1023 terms.
TEST(SympyTest, ConditionsOfManyParts) {
  std::string either = "s0 == 1", both = "s0 != 1";
  for (int i = 0; i < 9; ++i) {
    absl::StrAppend(&either, " or n", i, " == ", i + 2);
    absl::StrAppend(&both, " and n", i, " != ", i + 2);
  }
  const auto guard = Parse(either);
  const auto opposite = Parse(both);
  ASSERT_TRUE(guard.ok()) << guard.status();
  ASSERT_TRUE(opposite.ok()) << opposite.status();
  for (int64_t n = 0; n < 12; ++n) {
    const auto value = [&](SymInt symbol) -> std::optional<int64_t> {
      return symbol.name() == "n4" ? n : 0;
    };
    EXPECT_EQ(Evaluate(*guard, value), n == 6);
    EXPECT_EQ(Evaluate(*opposite, value), n != 6);
  }
  // It becomes a constant if the facts decide one alternative.
  SymbolTable facts;
  ASSERT_EQ(facts.Assume(Equal(SymInt::Symbol("n8"), 10)), Proof::kUnknown);
  const auto symbol = [](absl::string_view name) { return SymInt::Symbol(name); };
  EXPECT_EQ(*ParseSympy(either, symbol, &facts), SymInt(1));
}

TEST(SympyTest, WritesWhatItReads) {
  const SymInt odd = SymInt::Symbol("batch size");
  const SymInt sizes[] = {
      SymInt(-3),
      2 * s0 * s1 - s0 + 1,
      FloorDiv(s0 + 1, 2 * s1),
      Mod(odd, 8) - 3,
      Min(s0, Max(s1, 4)),
      Pow(2, s0) * Pow(s1, s0 + 1),
      Select(And(Greater(s0, 2), Equal(s1, 3)), s0 * s1, s0 + 7),
      Select(NotEqual(s1, 3), s0, 5),
      Or(Equal(s0, 1), Or(Equal(s1, 1), LessEqual(s0, s1))),
      And(Greater(s0, 1), NotEqual(s1, 2)),
      s0 + 2 * Equal(s1, 4),
  };
  for (SymInt s : sizes) {
    const std::string text = ToSympy(s);
    const auto again = Parse(text);
    ASSERT_TRUE(again.ok()) << text << ": " << again.status();
    EXPECT_EQ(*again, s) << text;
  }
  EXPECT_EQ(ToSympy(Select(Greater(s0, 2), 2 * s1, s0)),
            "Piecewise((2*(s1), Ge((s0) + (-3), 0)), (s0, True))");
}

TEST(SympyTest, SaysWhatItDoesNotKnow) {
  EXPECT_EQ(Parse("FloatPow(Symbol('u0'), Integer(1))").status().code(),
            absl::StatusCode::kUnimplemented);
  EXPECT_THAT(Text("Piecewise(s0, s1)"), HasSubstr("\"Piecewise\""));
  EXPECT_THAT(Text("Piecewise((s0, s1 > 2))"), HasSubstr("no case for everything else"));
  EXPECT_THAT(Text("Piecewise((s0, s1), (0, True))"), HasSubstr("where a condition is wanted"));
  EXPECT_THAT(Text("And(s0, s1 > 2)"), HasSubstr("where a condition is wanted"));
  EXPECT_EQ(Parse("missing + 1").status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(Text("s0**(-1)"), HasSubstr("not natural"));
  EXPECT_THAT(Text("(s0/2)**s1"), HasSubstr("power of a fraction"));
  EXPECT_THAT(Text("s0 / s1"), HasSubstr("no constant"));
}

TEST(SympyTest, RefusesWhatIsMalformed) {
  EXPECT_THAT(Text(""), HasSubstr("ends early"));
  EXPECT_THAT(Text("s0 +"), HasSubstr("ends early"));
  EXPECT_THAT(Text("(s0"), HasSubstr("ends early"));
  EXPECT_THAT(Text("s0 s1"), HasSubstr("unexpected 's' at position 3"));
  EXPECT_THAT(Text("Symbol(s0)"), HasSubstr("unexpected"));
  EXPECT_THAT(Text("Symbol('s0"), HasSubstr("no end"));
  EXPECT_THAT(Text("FloorDiv(s0, 0)"), HasSubstr("divides by zero"));
  EXPECT_THAT(Text("FloorDiv(s0)"), HasSubstr("number of arguments"));
  EXPECT_THAT(Text("99999999999999999999"), HasSubstr("not a 64-bit"));
  EXPECT_THAT(Text("9223372036854775807 + 1"), HasSubstr("64 bits"));
  EXPECT_EQ(Parse("9223372036854775807 + 1").status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(SympyTest, BoundsNesting) {
  std::string deep(200, '(');
  EXPECT_THAT(Text(deep + "s0" + std::string(200, ')')), HasSubstr("nested more than"));
  EXPECT_THAT(Text(std::string(200, '-') + "s0"), HasSubstr("nested more than"));
  std::string chain = "s0";
  for (int i = 0; i < 100000; ++i) chain += "+1";
  EXPECT_THAT(Text(chain), HasSubstr("bytes"));
}

}  // namespace
}  // namespace weft::pt2
