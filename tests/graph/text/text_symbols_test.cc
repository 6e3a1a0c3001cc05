// Facts about symbols in the text form: where clauses do not decide which symbols nodes define.
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "graph/ir/module.h"
#include "graph/sym/sym_facts.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "tests/graph/ir/test_ops.h"

namespace weft {
namespace {

using ::testing::HasSubstr;

// The text after parsing and printing, which reads back to itself; the error of text that does not
// parse.
std::string Reprint(absl::string_view text) {
  const auto module = ParseModule(text, test_ops::Registry(), "f.weft");
  if (!module.ok()) return std::string(module.status().message());
  const std::string printed = PrintModule(**module);
  const auto again = ParseModule(printed, test_ops::Registry(), "printed.weft");
  EXPECT_TRUE(again.ok()) << again.status() << "\n" << printed;
  if (!again.ok()) return printed;
  EXPECT_EQ(PrintModule(**again), printed) << "read from\n" << text;
  return printed;
}

TEST(TextSymbols, AConditionAboveDoesNotBackASymbol) {
  // No function has s9, so the condition is printed behind them.
  const std::string want = R"(func @main(%x: f32[4]) -> i64[u0, 1]
    where unbacked u0 {
  %0 = nonzero(%x) : i64[u0, 1]
  return %0
}

where u0 >= s9
)";
  constexpr char kBody[] = "{\n%0 = nonzero(%x) : i64[u0, 1]\nreturn %0\n}\n";
  EXPECT_EQ(Reprint(absl::StrCat("func @main(%x: f32[4]) where u0 >= s9 ", kBody)), want);
  EXPECT_EQ(Reprint(absl::StrCat("func @main(%x: f32[4]) -> i64[u0, 1] where u0 >= s9 ", kBody)),
            want);
  EXPECT_EQ(Reprint(absl::StrCat("where u0 >= s9\nfunc @main(%x: f32[4]) ", kBody)), want);
  EXPECT_EQ(Reprint(absl::StrCat("where u0 >= s9 where u0 >= 0, s9 >= 0\nfunc @main(%x: f32[4]) ",
                                 kBody)),
            want);
  EXPECT_EQ(Reprint(absl::StrCat("func @main(%x: f32[4]) ", kBody, "where u0 >= s9")), want);
}

TEST(TextSymbols, ARangeAboveDoesNotBackASymbol) {
  EXPECT_THAT(Reprint("func @main(%x: f32[4]) where u0 <= 3 {\n%0 = nonzero(%x) : i64[u0, 1]\n"
                      "return %0\n}\n"),
              HasSubstr("where unbacked u0, u0 <= 3 {"));
  EXPECT_THAT(Reprint("func @main(%x: f32[4]) where 0 <= u0 {\n%0 = nonzero(%x) : i64[u0, 1]\n"
                      "return %0\n}\n"),
              HasSubstr("where unbacked u0 {"));
}

TEST(TextSymbols, AUseAboveBacksASymbol) {
  EXPECT_THAT(Reprint("func @main(%x: f32[s0]) where s0 <= 3 {\n%0 = nonzero(%x) : i64[s0, 1]\n"
                      "return %0\n}\n"),
              HasSubstr("where s0 <= 3 {"));
  EXPECT_THAT(Reprint("func @main(%x: f32[4]) where v <= 3 {\n%0 = full(size=[v])\n"
                      "%1 = nonzero(%x) : i64[v, 1]\nreturn %0, %1\n}\n"),
              HasSubstr("where v <= 3 {"));
  EXPECT_THAT(Reprint("func @main(%x: f32[4]) {\n%0 = full(size=[v])\n"
                      "%1 = nonzero(%x) : i64[v, 1]\nreturn %0, %1\n}\nwhere v <= s9\n"),
              HasSubstr("(f32[v], i64[v, 1]) {"));
}

TEST(TextSymbols, TwoNodesDoNotDefineOneSymbolThatIsMentioned) {
  EXPECT_THAT(Reprint("func @main(%x: f32[4]) where u0 <= 3 {\n%0 = nonzero(%x) : i64[u0, 1]\n"
                      "%1 = nonzero(%x) : i64[u0, 1]\nreturn %0, %1\n}\n"),
              HasSubstr("the unbacked symbol u0 is defined twice"));
}

// Clauses and uses of a few symbols in any order.
TEST(TextSymbols, TheSameAreUnbackedWhenReadBack) {
  uint64_t state = 1;
  const auto random = [&state](uint64_t n) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (state >> 33) % n;
  };
  const std::string symbols[] = {"a", "u0", "u1", "s0"};
  const auto symbol = [&] { return symbols[random(4)]; };
  const auto fact = [&]() -> std::string {
    switch (random(8)) {
      case 0:
        return absl::StrCat("unbacked ", symbol());
      case 1:
        return absl::StrCat(symbol(), " <= ", random(9));
      case 2:
        return absl::StrCat("-inf <= ", symbol());
      case 3:
        return absl::StrCat(symbol(), " % ", 1 + random(3), " == 0");
      case 4:
        return absl::StrCat("hint(", symbol(), ") = ", random(3));
      default:
        return absl::StrCat(symbol(), random(2) ? " <= " : " == ", symbol(), " + ", random(3));
    }
  };
  const auto where = [&](uint64_t one_in) -> std::string {
    if (random(one_in) != 0) return "";
    return absl::StrCat(" where ", fact(), random(2) ? absl::StrCat(", ", fact()) : "", "\n");
  };
  int parsed = 0;
  for (int i = 0; i < 4000; ++i) {
    std::string text = where(3);
    for (uint64_t functions = 1 + random(2), f = 0; f < functions; ++f) {
      absl::StrAppend(&text, "func @f", f, "(%x: f32[", random(2) ? "4" : symbol(), "])", where(2),
                      "{\n");
      for (uint64_t nodes = random(4), n = 0; n < nodes; ++n) {
        const uint64_t kind = random(3);
        absl::StrAppend(&text, "%", n, " = ");
        if (kind == 0) absl::StrAppend(&text, "nonzero(%x) : i64[", symbol(), ", 1]\n");
        if (kind == 1) absl::StrAppend(&text, "item(%x) : symint[", symbol(), "]\n");
        if (kind == 2) absl::StrAppend(&text, "full(size=[", symbol(), "])\n");
      }
      absl::StrAppend(&text, "return %x\n}\n", where(3));
    }
    const auto module = ParseModule(text, test_ops::Registry());
    if (!module.ok()) continue;
    // Refused are facts that contradict each other, which depends on their order, as does whether a
    // condition says something new.
    const auto again = ParseModule(PrintModule(**module), test_ops::Registry());
    if (!again.ok()) continue;
    ++parsed;
    for (const std::string& name : symbols) {
      const SymInt s = SymInt::Symbol(name);
      ASSERT_EQ((*again)->symbols().IsUnbacked(s), (*module)->symbols().IsUnbacked(s))
          << name << " in\n"
          << text << "\nprinted as\n"
          << PrintModule(**module);
    }
  }
  // Enough are valid.
  EXPECT_GT(parsed, 400);
}

}  // namespace
}  // namespace weft
