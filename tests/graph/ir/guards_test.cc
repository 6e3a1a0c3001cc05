// Minimal sets of guards, sources of symbols, and the nearest allowed values.
#include "graph/ir/guards.h"

#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "graph/ir/module.h"
#include "graph/sym/sym_expr.h"
#include "graph/sym/sym_facts.h"
#include "graph/sym/sym_ops.h"
#include "gtest/gtest.h"
#include "tests/support/parse.h"

namespace weft {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

SymInt S(absl::string_view name) { return SymInt::Symbol(name); }

const SymInt s0 = S("s0"), s1 = S("s1"), s2 = S("s2"), u0 = S("u0");

std::vector<std::string> Texts(const std::vector<SizeGuard>& guards) {
  std::vector<std::string> texts;
  for (const SizeGuard& guard : guards) texts.push_back(guard.condition.ToString());
  return texts;
}

TEST(MinimizeGuards, DropsWhatOthersImply) {
  SymbolTable table;
  for (SymInt s : {s0, s1, s2}) table.Declare({s, {1, SymRange::kMax}});
  table.Assume(LessEqual(s0, s2 + 4), "slice");
  table.Assume(LessEqual(s0, s1), "cat");
  table.Assume(LessEqual(s1, s2), "pad");
  const GuardSet set = MinimizeGuards(table);
  EXPECT_THAT(Texts(set.needed),
              ElementsAre("s0 >= 1", "s1 >= 1", "s2 >= 1", "s1 >= s0", "s2 >= s1"));
  ASSERT_EQ(set.implied.size(), 1u);
  EXPECT_EQ(set.implied[0].origin, "slice");
  EXPECT_THAT(set.implied[0].covered_by, ::testing::Contains(3));
}

TEST(MinimizeGuards, NamesTheOneThatCoversAnother) {
  SymbolTable table;
  for (SymInt s : {s0, s1}) table.Declare({s});
  table.Assume(LessEqual(s0, s1 + 5), "loose");
  table.Assume(LessEqual(s0, s1 + 2), "tight");
  table.Assume(LessEqual(s0, 9), "first");
  table.Assume(LessEqual(s0, 7), "second");
  const GuardSet set = MinimizeGuards(table);
  EXPECT_THAT(Texts(set.needed), ElementsAre("s0 <= 7", "s1 >= s0 - 2"));
  EXPECT_EQ(set.needed[0].origin, "second");
  ASSERT_EQ(set.implied.size(), 2u);
  for (const SizeGuard& guard : set.implied) {
    EXPECT_THAT(guard.covered_by, ElementsAre(guard.origin == "first" ? 0 : 1)) << guard.origin;
  }
}

TEST(MinimizeGuards, CheapOnesComeFirst) {
  SymbolTable table;
  for (SymInt s : {s0, s1, s2}) table.Declare({s});
  table.Assume(Equal(Mod(s0 * s1 + s2, 8), 0), "reshape");
  table.Assume(Equal(s0, s1), "add");
  const GuardSet set = MinimizeGuards(table);
  ASSERT_EQ(set.needed.size(), 2u);
  EXPECT_EQ(set.needed[0].origin, "add");
  EXPECT_LT(set.needed[0].cost, set.needed[1].cost);
}

// The kept guards imply all of them.
TEST(MinimizeGuards, LosesNothing) {
  std::mt19937 random(testing::GTEST_FLAG(random_seed));
  for (int round = 0; round < 60; ++round) {
    SymbolTable table;
    const SymInt symbols[] = {s0, s1, s2};
    for (SymInt s : symbols) table.Declare({s, {0, 6}});
    for (int i = 0; i < 6; ++i) {
      const SymInt a = symbols[random() % 3], b = symbols[random() % 3];
      const SymInt c = SymInt(static_cast<int>(random() % 7));
      const SymInt left = random() % 2 == 0 ? a + b : a * 2;
      table.Assume(random() % 4 == 0 ? Equal(left, b + c) : LessEqual(left, b + c));
    }
    const GuardSet set = MinimizeGuards(table);
    for (int64_t i = 0; i < 7 * 7 * 7; ++i) {
      const auto holds = [&](SymInt condition) {
        return Evaluate(condition, [&](SymInt s) -> std::optional<int64_t> {
                 return s == s0 ? i % 7 : s == s1 ? i / 7 % 7 : i / 49;
               }) == 1;
      };
      bool needed = true, all = true;
      for (const SizeGuard& guard : set.needed) needed &= holds(guard.condition);
      for (const SymCondition& c : table.conditions()) all &= holds(c.condition);
      for (const SymbolInfo& info : table.symbols()) {
        all &= holds(GreaterEqual(info.symbol, info.range.min)) &&
               holds(LessEqual(info.symbol, info.range.max));
      }
      ASSERT_EQ(needed, all) << "round " << round << ", case " << i;
    }
  }
}

TEST(MinimizeGuards, ManyStayLinear) {
  SymbolTable table;
  std::vector<SymInt> symbols;
  for (int i = 0; i < 300; ++i) {
    symbols.push_back(table.Fresh("n"));
    if (i > 0) table.Assume(LessEqual(symbols[i - 1], symbols[i]), "chain");
  }
  EXPECT_EQ(MinimizeGuards(table).needed.size(), 299u);
}

TEST(SymbolSources, NameInputsDimsAndNodes) {
  const auto module = Parse(R"(
func @main(%x: f32[2*s0, s1], %y: f32[s0]) -> i64[u0, 1] {
  %0 = nonzero(%y) : i64[u0, 1]  loc("find")
  return %0
}
)");
  const SymbolSources sources = SourcesOf(*module->main());
  EXPECT_EQ(sources.Describe(s0), "input %y dim 0");
  EXPECT_EQ(sources.Describe(s1), "input %x dim 1");
  EXPECT_EQ(sources.Describe(u0), "nonzero, from \"find\"");
  EXPECT_FALSE(sources.Has(s2));
}

TEST(GuardSet, PrintsOriginsAndInputs) {
  const auto module = Parse(R"(
func @main(%x: f32[s0], %y: f32[s1]) -> f32[s0] where s0 <= 64, s0 <= s1 {
  return %x
}
)");
  const std::string text = MinimizeGuards(module->symbols()).ToString(SourcesOf(*module->main()));
  EXPECT_THAT(text, HasSubstr("guard s0 <= 64  (declared)\n      s0 is input %x dim 0"));
  EXPECT_THAT(text, HasSubstr("guard s1 >= s0  (the where clause)\n      s0 is input %x dim 0; "
                              "s1 is input %y dim 0"));
}

// --- Nearest values -----------------------------------------------------------------

std::string Nearest(const SymbolTable& table, const SymbolValues& values) {
  const auto edits = NearestAllowed(table, values);
  return edits ? ToString(*edits) : "none";
}

TEST(NearestAllowed, ChangesOneSymbolByTheLeast) {
  SymbolTable table;
  table.Declare({s0, {8, 64}, 8});
  table.Declare({s1});
  EXPECT_EQ(Nearest(table, {{s0, 16}}), "");
  EXPECT_EQ(Nearest(table, {{s0, 15}}), "s0 = 16");
  EXPECT_EQ(Nearest(table, {{s0, 20}}), "s0 = 24");
  EXPECT_EQ(Nearest(table, {{s0, 19}}), "s0 = 16");
  EXPECT_EQ(Nearest(table, {{s0, 1000000}}), "s0 = 64");
  table.Assume(LessEqual(s1, 3 * s0));
  EXPECT_EQ(Nearest(table, {{s0, 16}, {s1, 100000}}), "s1 = 48");
  EXPECT_EQ(Nearest(table, {{s0, 16}, {s1, 50}}), "s1 = 48");
}

TEST(NearestAllowed, ChangesTwoWhereOneIsNotEnough) {
  SymbolTable table;
  table.Declare({s0, {0, SymRange::kMax}, 2});
  table.Declare({s1, {0, SymRange::kMax}, 2});
  EXPECT_EQ(Nearest(table, {{s0, 3}, {s1, 5}}), "s0 = 4, s1 = 6");
  table.Assume(Equal(s0, s1));
  EXPECT_EQ(Nearest(table, {{s0, 3}, {s1, 3}}), "s0 = 4, s1 = 4");
}

TEST(NearestAllowed, GivesUpInTheEnd) {
  SymbolTable table;
  table.Declare({s0});
  table.Declare({s1});
  table.Assume(Equal(s0 * s0 * s0 + s1 * s1 * s1, 3 * s0 * s1 + 1000003));
  EXPECT_EQ(Nearest(table, {{s0, 3}, {s1, 4}}), "none");
  // Nobody can choose what data decides.
  table.Declare({u0, {0, 4}, 1, std::nullopt, true});
  EXPECT_EQ(Nearest(table, {{u0, 9}}), "");
}

TEST(DescribeViolation, NamesValuesOriginsAndTheEdit) {
  const auto module = Parse(R"(
func @main(%x: f32[s0], %y: f32[s1]) -> f32[s0] {
  return %x
}
)");
  SymbolTable& facts = module->symbols();
  const SymInt condition = Equal(Mod(s0 + s1, 8), 0);
  facts.Assume(condition, "reshape, from \"fc\"");
  const SymbolSources sources = SourcesOf(*module->main());
  EXPECT_EQ(DescribeViolation(facts, condition, facts.conditions()[0].origin, {{s0, 7}, {s1, 2}},
                              &sources),
            "(s0 + s1) % 8 == 0 does not hold for s0 = 7 (input %x dim 0), s1 = 2 (input %y dim "
            "0); it comes from reshape, from \"fc\"; nearest allowed: s0 = 6");
}

}  // namespace
}  // namespace weft
