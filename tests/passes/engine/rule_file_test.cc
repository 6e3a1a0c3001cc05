// Rules from text: parsing, matching, and errors of the check.
#include <memory>
#include <string>

#include "gmock/gmock.h"
#include "graph/ir/module.h"
#include "graph/ops/registry.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "passes/engine/rewrite/driver.h"
#include "passes/engine/rules/rule_set.h"

namespace weft {
namespace {

using testing::HasSubstr;

absl::StatusOr<std::unique_ptr<RuleSet>> Load(absl::string_view text) {
  return LoadRules(text, "test.rules", ops::Registry());
}

std::string Rewrite(const RuleSet& set, absl::string_view text) {
  auto module = ParseModule(text, ops::Registry());
  EXPECT_TRUE(module.ok()) << module.status();
  PassContext context;
  const absl::Span<const Rule> rules = set.rules();
  RewriteOptions options;
  options.fold = false;
  EXPECT_TRUE(ApplyRules(**module, context, {&rules, 1}, options).ok());
  return PrintModule(**module);
}

TEST(RuleFileTest, LoadsAndRewrites) {
  const auto set = Load(R"(
# Two rules.
rule sub-of-neg value-safe "x - -y = x + y" {
  x: float, y: float
  sub(x, neg(y)) => add(x, y)
}
rule swap-permutes bit-exact {
  permute(permute(x, dims=p), dims=q) => permute(x, dims=compose(p, q))
  where rank(x) >= 2
}
)");
  ASSERT_TRUE(set.ok()) << set.status();
  ASSERT_EQ((*set)->rules().size(), 2u);
  EXPECT_STREQ((*set)->rules()[0].name, "sub-of-neg");
  EXPECT_GT((*set)->standing(0).instances, 10);
  EXPECT_GT((*set)->standing(1).instances, 10);
  EXPECT_EQ(Rewrite(**set, R"(
func @main(%a: f32[s0, 3, 2], %b: f32[3, 2], %c: i32[2]) {
  %0 = neg(%b)
  %1 = sub(%a, %0)
  %2 = permute(%1, dims=[1, 2, 0])
  %3 = permute(%2, dims=[1, 2, 0])
  %4 = neg(%c)
  %5 = sub(%c, %4)
  return %3, %5
})"),
            R"(func @main(%a: f32[s0, 3, 2], %b: f32[3, 2], %c: i32[2]) -> (f32[2, s0, 3], i32[2]) {
  %0 = add(%a, %b) : f32[s0, 3, 2]
  %1 = permute(%0, dims=[2, 0, 1]) : f32[2, s0, 3]
  %2 = neg(%c) : i32[2]
  %3 = sub(%c, %2) : i32[2]
  return %1, %3
}
)");
}

TEST(RuleFileTest, GuardsOfSizesDtypesAndAttributes) {
  const auto set = Load(R"(
rule matrices-only bit-exact {
  x: f32[n, n]
  permute(permute(x, dims=[1, 0]) as t, dims=[1, 0]) => x
  where n >= 2, dtype(x) == f32, one_use(t)
})");
  ASSERT_TRUE(set.ok()) << set.status();
  const std::string square = Rewrite(**set, R"(
func @main(%a: f32[s0, s0]) where 2 <= s0 <= 64 {
  %0 = permute(%a, dims=[1, 0])
  %1 = permute(%0, dims=[1, 0])
  return %1
})");
  EXPECT_THAT(square, HasSubstr("return %a"));
  // The size may be 1.
  const std::string other = Rewrite(**set, R"(
func @main(%a: f32[s0, s0]) where 1 <= s0 <= 64 {
  %0 = permute(%a, dims=[1, 0])
  %1 = permute(%0, dims=[1, 0])
  return %1
})");
  EXPECT_THAT(other, HasSubstr("return %1"));
}

struct Refused {
  const char* name;
  const char* text;
  const char* message;
};
void PrintTo(const Refused& r, std::ostream* os) { *os << r.name; }

class RefusedTest : public testing::TestWithParam<Refused> {};

TEST_P(RefusedTest, WithMessage) {
  const auto set = Load(GetParam().text);
  ASSERT_FALSE(set.ok());
  EXPECT_THAT(std::string(set.status().message()), HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Text, RefusedTest,
    testing::Values(
        Refused{"Nothing", "rule", "test.rules:1:5: expected the rule's name"},
        Refused{"Contract", "rule r exactly { neg(x) => x }", "exactly is not a contract"},
        Refused{"Op", "rule r bit-exact {\n  nag(x) => x }",
                "test.rules:2:6: no op nag, did you mean \"neg\"?"},
        Refused{"Unbound", "rule r bit-exact { neg(x) => y }", "y is not bound by the pattern"},
        Refused{"Attribute", "rule r bit-exact { neg(x, a=1) => x }", "neg has no attribute a"},
        Refused{"Operands", "rule r bit-exact { add(x) => x }", "add has 1 operands"},
        Refused{"Effects", "rule r bit-exact { topk(x) => x }", "pure ops with one result"},
        Refused{"Class", "rule r bit-exact { x: real neg(x) => x }", "no dtype or class real"},
        Refused{"Twice",
                "rule r value-safe { neg(neg(x)) => x }\n"
                "rule r value-safe { neg(neg(x)) => x }",
                "a second rule r; see test.rules:1"},
        Refused{"Condition", "rule r bit-exact { neg(x) => x where rank(x) }",
                "expected a comparison"}),
    [](const auto& info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Wrong, RefusedTest,
    testing::Values(Refused{"Value", "rule r value-safe { x: float sub(x, y) => sub(y, x) }",
                            "rule r is wrong: the results differ"},
                    Refused{"NegativeZero", "rule r bit-exact { x: float add(x, 0.0) => x }",
                            "rule r is wrong"},
                    Refused{"LostBroadcast",
                            "rule r value-safe { x: float, y: float\n"
                            "  where(eq(x, x), x, y) => x }",
                            "rule r is wrong"},
                    Refused{"DType", "rule r value-safe { convert(x, dtype=t) => x }",
                            "rule r is wrong: the left side is"},
                    Refused{"Nan", "rule r value-safe { x: float mul(x, 0.0) => 0.0 }",
                            "rule r is wrong"},
                    Refused{"Reassociated",
                            "rule r value-safe { x: f32, y: f32, z: f32\n"
                            "  add(add(x, y), z) => add(x, add(y, z)) }",
                            "the results differ"},
                    Refused{"Axis",
                            "rule r bit-exact { x: f32[n, m]\n"
                            "  permute(sum(x, dim=[0], keepdim=true), dims=[1, 0]) =>\n"
                            "  permute(sum(x, dim=[1], keepdim=true), dims=[1, 0]) }",
                            "rule r is wrong"}),
    [](const auto& info) { return info.param.name; });

TEST(RuleFileTest, CounterexamplesAreWhole) {
  const auto set = Load("rule r value-safe { x: i32[2], y: i32[2] sub(x, y) => sub(y, x) }");
  const std::string message(set.status().message());
  EXPECT_THAT(message, HasSubstr("func @main(%x: i32[2], %y: i32[2])"));
  EXPECT_THAT(message, HasSubstr("becomes"));
  EXPECT_THAT(message, HasSubstr("%x = ["));
}

TEST(RuleFileTest, AssumedWithoutInstance) {
  // erf takes no complex numbers: there is nothing to test.
  const auto set = Load("rule r bit-exact { x: c64 neg(erf(x)) => x }");
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_EQ((*set)->standing(0).instances, 0);
  EXPECT_EQ(std::string((*set)->rules()[0].identity),
            "rule r bit-exact { x: c64 neg(erf(x)) => x }");
}

}  // namespace
}  // namespace weft
