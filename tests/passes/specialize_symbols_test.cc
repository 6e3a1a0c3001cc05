// Symbols that get values: the effect on types, facts and errors.
#include "passes/specialize_symbols.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "graph/ir/module.h"
#include "graph/sym/sym_facts.h"
#include "graph/text/text.h"
#include "graph/verify/verifier.h"
#include "gtest/gtest.h"
#include "passes/engine/pass_manager.h"
#include "passes/pipelines.h"
#include "tests/support/parse.h"

namespace weft {
namespace {

const SymInt s0 = SymInt::Symbol("s0"), s1 = SymInt::Symbol("s1"), s2 = SymInt::Symbol("s2");

constexpr char kProgram[] = R"(
func @main(%x: f32[s0, 4], %y: f32[s1, 4]) -> f32[s0 + s1, 4]
    where s0 % 2 == 0, 2 <= s0 <= 16, s0 + s1 <= 20, hint(s0) = 6 {
  %0 = cat(%x, %y, dim=0) : f32[s0 + s1, 4]
  return %0
}
)";

std::string Specialized(std::unique_ptr<Module>& module, std::vector<SymbolValue> values) {
  const absl::Status status = SpecializeSymbols(*module, values);
  if (!status.ok()) return std::string(status.message());
  EXPECT_TRUE(Verify(*module).ok()) << Verify(*module);
  return PrintModule(*module);
}

TEST(SpecializeSymbols, WritesNumbersIntoTypes) {
  auto module = Parse(kProgram);
  const std::string text = Specialized(module, {{s0, 6}});
  EXPECT_TRUE(absl::StrContains(text, "%x: f32[6, 4], %y: f32[s1, 4]")) << text;
  EXPECT_TRUE(absl::StrContains(text, "f32[s1 + 6, 4]")) << text;
  EXPECT_EQ(module->symbols().Find(s0), nullptr);
  // Facts about the sum become facts about the other symbol.
  EXPECT_EQ(module->symbols().Find(s1)->range, (SymRange{0, 14}));
}

TEST(SpecializeSymbols, MakesSymbolsEqual) {
  auto module = Parse(kProgram);
  const std::string text = Specialized(module, {{s1, s0}});
  EXPECT_TRUE(absl::StrContains(text, "%x: f32[s0, 4], %y: f32[s0, 4]")) << text;
  EXPECT_EQ(module->symbols().Find(s0)->range, (SymRange{2, 10}));
  EXPECT_EQ(module->symbols().Find(s0)->hint, 6);
}

TEST(SpecializeSymbols, RenamesASymbolWithItsFacts) {
  auto module = Parse(kProgram);
  const SymInt batch = SymInt::Symbol("batch");
  Specialized(module, {{s0, batch}});
  const SymbolInfo* info = module->symbols().Find(batch);
  ASSERT_NE(info, nullptr);
  EXPECT_EQ(info->range, (SymRange{2, 16}));
  EXPECT_EQ(info->divisor, 2);
  EXPECT_EQ(info->hint, 6);
}

TEST(SpecializeSymbols, TakesValuesThatStandOnEachOther) {
  auto module = Parse(kProgram);
  const std::string text = Specialized(module, {{s1, 2 * s0}, {s0, 4}});
  EXPECT_TRUE(absl::StrContains(text, "%x: f32[4, 4], %y: f32[8, 4]")) << text;
  EXPECT_TRUE(module->symbols().symbols().empty());
}

TEST(SpecializeSymbols, ReplacesWhatHasOneValueLeft) {
  auto module = Parse(R"(
func @main(%x: f32[s0], %y: f32[s1], %z: f32[s2]) -> f32[s0]
    where s1 == 2*s0 + 1, s2 + s0 <= 8, 1 <= s2 {
  return %x
}
)");
  const std::string text = Specialized(module, {{s0, 7}});
  EXPECT_TRUE(absl::StrContains(text, "%x: f32[7], %y: f32[15], %z: f32[1]")) << text;
}

TEST(SpecializeSymbols, LeavesTheModuleAloneWhenAFactRulesTheValueOut) {
  auto module = Parse(kProgram);
  const std::string before = PrintModule(*module);
  EXPECT_TRUE(absl::StrContains(Specialized(module, {{s0, 7}}), "s0 % 2 == 0 would not hold"));
  EXPECT_TRUE(absl::StrContains(Specialized(module, {{s0, 18}}), "s0 <= 16 would not hold"));
  EXPECT_TRUE(absl::StrContains(Specialized(module, {{s0, 16}, {s1, 5}}), "would not hold"));
  EXPECT_TRUE(absl::StrContains(Specialized(module, {{s0, s0 + 1}}), "defined by itself"));
  EXPECT_TRUE(absl::StrContains(Specialized(module, {{s0, s1}, {s1, s0 + 2}}), "by itself"));
  EXPECT_TRUE(absl::StrContains(Specialized(module, {{s2, 1}}), "no such symbol"));
  EXPECT_TRUE(absl::StrContains(Specialized(module, {{s0, 4}, {s0, 6}}), "it is 4 as well"));
  EXPECT_EQ(PrintModule(*module), before);
}

TEST(SpecializeSymbols, RefusesSizesThatDependOnData) {
  auto module = Parse(R"(
func @main(%x: f32[s0]) -> i64[u0, 1] {
  %0 = nonzero(%x) : i64[u0, 1]
  return %0
}
)");
  const SymInt u0 = SymInt::Symbol("u0");
  EXPECT_TRUE(absl::StrContains(Specialized(module, {{u0, 3}}), "u0 depends on data"));
  EXPECT_TRUE(absl::StrContains(Specialized(module, {{s0, u0}}), "u0 depends on data"));
}

TEST(SpecializeSymbols, NamesTheOpThatCannotDoWithTheSizes) {
  auto module = Parse(R"(
func @main(%x: f32[s0], %y: f32[s1]) -> f32[broadcast(s0, s1)] {
  %0 = add(%x, %y) : f32[broadcast(s0, s1)]  loc("fc/add")
  return %0
}
)");
  const absl::Status status = SpecializeSymbols(*module, {{s0, 2}, {s1, 3}});
  EXPECT_TRUE(absl::StrContains(status.message(), "\"fc/add\", add: ")) << status;
}

TEST(SpecializeSymbols, IsAPass) {
  auto pipeline =
      Pipeline::Parse("specialize_symbols{values=\"s0=6;s1=2*s0;s9=1\"}", BuiltinPasses());
  ASSERT_TRUE(pipeline.ok()) << pipeline.status();
  auto module = Parse(kProgram);
  const PassManager manager(*std::move(pipeline));
  PassContext context;
  for (int i = 0; i < 2; ++i) {
    const absl::Status status = manager.Run(*module, context);
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_TRUE(absl::StrContains(PrintModule(*module), "%y: f32[12, 4]"));
  }
}

}  // namespace
}  // namespace weft
