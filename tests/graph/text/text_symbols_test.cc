// Facts about symbols in the text form: where clauses do not decide which symbols nodes define.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
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
    const auto again = ParseModule(PrintModule(**module), test_ops::Registry());
    ASSERT_TRUE(again.ok()) << again.status() << "\n"
                            << text << "\nprinted as\n"
                            << PrintModule(**module);
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

// "" or the error without its place.
std::string Refusal(const std::string& text) {
  const auto module = ParseModule(text, test_ops::Registry());
  if (module.ok()) return "";
  const std::string message(module.status().message());
  return message.substr(message.find(' ') + 1);
}

// A condition that follows from others may be left out when it is read back.
void ExpectReadsBack(const std::string& text) {
  const auto module = ParseModule(text, test_ops::Registry());
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_EQ(Refusal(PrintModule(**module)), "") << text << PrintModule(**module);
}

constexpr char kFunction[] = "func @main(%x: f32[a, b, c]) {\nreturn %x\n}\n";

TEST(TextSymbols, ContradictionsOfRangesAreRefusedInAnyOrder) {
  std::vector<std::string> facts = {"2*a >= b + 9", "a <= 4", "b <= 99", "c <= a"};
  std::sort(facts.begin(), facts.end());
  do {
    const std::string where = absl::StrCat("where ", absl::StrJoin(facts, ", "), "\n");
    EXPECT_EQ(Refusal(absl::StrCat(kFunction, where)), "2*a >= b + 9 contradicts other facts");
  } while (std::next_permutation(facts.begin(), facts.end()));
  EXPECT_EQ(Refusal(absl::StrCat(kFunction, "where a <= 4\nwhere 2*a >= 9")),
            Refusal(absl::StrCat(kFunction, "where 2*a >= 9\nwhere a <= 4")));
  // Neither is ruled out by the ranges: a run refuses all sizes.
  EXPECT_EQ(Refusal(absl::StrCat(kFunction, "where a == b + 1, b == a + 1")), "");
  EXPECT_THAT(Reprint(absl::StrCat(kFunction, "where a == b + 1, b == a + 1")),
              HasSubstr("where a == b + 1, a == b - 1"));
}

TEST(TextSymbols, FactsAreTakenInAnyOrderOrInNone) {
  uint64_t state = 7;
  const auto random = [&state](uint64_t n) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (state >> 33) % n;
  };
  const std::string symbols[] = {"a", "b", "c"};
  const auto symbol = [&] { return symbols[random(3)]; };
  const auto sum = [&]() -> std::string {
    return absl::StrCat(random(2) ? "2*" : "", symbol(), random(2) ? " + " : " - ", random(9));
  };
  const auto fact = [&]() -> std::string {
    const std::string relations[] = {" <= ", " >= ", " == ", " < "};
    switch (random(6)) {
      case 0:
        return absl::StrCat(symbol(), " <= ", random(9));
      case 1:
        return absl::StrCat(random(9), " <= ", symbol());
      case 2:
        return absl::StrCat(symbol(), " % ", 2 + random(3), " == 0");
      case 3:
        return absl::StrCat(symbol(), " >= ", random(9), " and ", sum(), " <= ", sum());
      default:
        return absl::StrCat(sum(), relations[random(4)], random(3) ? sum() : symbol());
    }
  };
  int taken = 0, refused = 0;
  for (int i = 0; i < 300; ++i) {
    std::vector<std::string> facts(2 + random(3));
    for (std::string& f : facts) f = fact();
    std::sort(facts.begin(), facts.end());
    std::optional<bool> first;
    const std::string all = absl::StrJoin(facts, ", ");
    do {
      // In one clause, and in one for each fact.
      for (const char* comma : {", ", "\nwhere "}) {
        const std::string clauses = absl::StrCat("where ", absl::StrJoin(facts, comma), "\n");
        const std::string error = Refusal(absl::StrCat(kFunction, clauses));
        if (!first) first = error.empty();
        ASSERT_EQ(error.empty(), *first) << clauses << error << "\nbut not so for " << all;
      }
    } while (std::next_permutation(facts.begin(), facts.end()));
    if (*first) ExpectReadsBack(absl::StrCat(kFunction, "where ", all, "\n"));
    ++(*first ? taken : refused);
  }
  EXPECT_GT(taken, 60);
  EXPECT_GT(refused, 60);
}

}  // namespace
}  // namespace weft
