// Policies as text: the built-in ones, round trips, and errors that name their place.
#include "passes/quantize/policy.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "graph/ops/ops.h"
#include "graph/ops/registry.h"
#include "gtest/gtest.h"

namespace weft {
namespace {

using testing::HasSubstr;

absl::StatusOr<QuantPolicy> Parse(absl::string_view text) {
  return ParseQuantPolicy(text, "p.txt", ops::Registry());
}

std::string Error(absl::string_view text) {
  const absl::StatusOr<QuantPolicy> policy = Parse(text);
  return policy.ok() ? "parsed" : std::string(policy.status().message());
}

constexpr char kAll[] = R"(policy mine(bits=4, group=32) "for tests"
spec activation = u8 affine tensor histogram
weight weight = i$bits symmetric axis=1 block=$group min_max
spec bias = i32 derived axis=0
spec half = u8 fixed scale=0.5 zero_point=3
op convolution(activation, weight axis=-1, bias) -> half where transposed=false, groups=1
op linear(_, weight)
op matmul(_, weight) where matrices
op mul(activation, activation) where same_shape
fuse convolution + add(half) + relu|clamp
fuse linear + relu
propagate activation: max_pool, cat
exclude "head.*", "a*b", softmax, add
)";

TEST(QuantPolicy, PrintsWhatWasRead) {
  const absl::StatusOr<QuantPolicy> policy = Parse(kAll);
  ASSERT_TRUE(policy.ok()) << policy.status();
  EXPECT_EQ(ToText(*policy), kAll);
}

TEST(QuantPolicy, FillsTheTables) {
  const absl::StatusOr<QuantPolicy> parsed = Parse(kAll);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  const QuantPolicy& policy = *parsed;
  EXPECT_EQ(policy.name, "mine");
  EXPECT_EQ(policy.doc, "for tests");
  ASSERT_EQ(policy.rows.size(), 4u);
  const QuantPolicy::Row& row = policy.rows[0];
  EXPECT_EQ(row.op, &ops::convolution);
  ASSERT_EQ(row.operands.size(), 3u);
  EXPECT_TRUE(policy.specs[row.operands[1].spec].weight);
  EXPECT_EQ(ToText(policy.SpecOf(row.operands[1])), "i4 symmetric axis=-1 block=32 min_max");
  EXPECT_EQ(ToText(policy.SpecOf(row.result)), "u8 fixed scale=0.5 zero_point=3");
  ASSERT_EQ(row.conditions.size(), 2u);
  EXPECT_EQ(row.conditions[0].name, "transposed");
  EXPECT_TRUE(row.conditions[0].is_attr);
  EXPECT_EQ(row.conditions[0].value, 0);
  EXPECT_EQ(row.conditions[1].value, 1);
  EXPECT_EQ(policy.rows[1].operands[0].spec, -1);
  EXPECT_EQ(policy.rows[1].result.spec, -1);
  EXPECT_EQ(ToText(policy.SpecOf(policy.rows[1].operands[1])),
            "i4 symmetric axis=1 block=32 min_max");
  EXPECT_FALSE(policy.rows[3].conditions[0].is_attr);
  ASSERT_EQ(policy.fusions.size(), 2u);
  EXPECT_EQ(policy.fusions[0].first, &ops::convolution);
  ASSERT_EQ(policy.fusions[0].steps.size(), 2u);
  EXPECT_EQ(policy.specs[policy.fusions[0].steps[0].other].name, "half");
  EXPECT_THAT(policy.fusions[0].steps[1].ops, testing::ElementsAre(&ops::relu, &ops::clamp));
  EXPECT_EQ(policy.fusions[0].steps[1].other, -1);
  EXPECT_THAT(policy.excluded_names, testing::ElementsAre("head.*", "a*b"));
  EXPECT_THAT(policy.excluded_ops, testing::ElementsAre(&ops::softmax, &ops::add));
}

TEST(QuantPolicy, BuiltInOnesParseAndPrintBack) {
  for (const absl::string_view name : BuiltinQuantPolicies()) {
    const absl::StatusOr<QuantPolicy> policy = LoadQuantPolicy(name);
    ASSERT_TRUE(policy.ok()) << name << ": " << policy.status();
    EXPECT_EQ(policy->name, name);
    const std::string text = ToText(*policy);
    // LoadQuantPolicy takes the printed text, too.
    const absl::StatusOr<QuantPolicy> again = LoadQuantPolicy(text);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(ToText(*again), text);
  }
}

TEST(QuantPolicy, ParametersTakeThePlaceOfDefaults) {
  const absl::StatusOr<QuantPolicy> policy = LoadQuantPolicy("weight_only{bits=8,group=64}");
  ASSERT_TRUE(policy.ok()) << policy.status();
  EXPECT_EQ(ToText(policy->specs[0].spec), "i8 symmetric axis=1 block=64 mse");
  EXPECT_THAT(ToText(*policy), HasSubstr("policy weight_only(bits=8, group=64)"));
  EXPECT_EQ(ToText(LoadQuantPolicy("weight_only")->specs[0].spec),
            "i4 symmetric axis=1 block=32 mse");
  EXPECT_THAT(LoadQuantPolicy("weight_only{bit=8}").status().message(),
              HasSubstr("has no parameter bit, did you mean \"bits\"?"));
  EXPECT_THAT(LoadQuantPolicy("weight_only{bits=3}").status().message(),
              HasSubstr("\"i3\" is no dtype"));
  EXPECT_THAT(LoadQuantPolicy("weight_only{bits}").status().message(), HasSubstr("name=integer"));
}

TEST(QuantPolicy, UnknownNameComesWithACloseOne) {
  EXPECT_THAT(LoadQuantPolicy("x68").status().message(),
              HasSubstr("no policy is called \"x68\", did you mean \"x86\"?"));
}

TEST(QuantPolicy, CommentsRunToTheEndOfTheLine) {
  const absl::StatusOr<QuantPolicy> policy = LoadQuantPolicy(
      "# Mine.\npolicy p\nspec a = u8 affine mse  # the best\nop linear(a)  # one operand\n");
  ASSERT_TRUE(policy.ok()) << policy.status();
  EXPECT_EQ(ToText(policy->specs[0].spec), "u8 affine tensor mse");
}

// An error in the statement behind a head and a spec `a`, which stand on two lines.
std::string LineError(absl::string_view line) {
  return Error(absl::StrCat("policy p\nspec a = u8 affine\nweight w = i8 symmetric axis=0\n", line,
                            "\nop linear(a, w)\n"));
}

TEST(QuantPolicy, ErrorsNameThePlace) {
  EXPECT_THAT(Error("spec a = u8 affine"), HasSubstr("p.txt:1:1: expected 'policy'"));
  EXPECT_THAT(Error("policy p\nspec a = u8 affine\n"), HasSubstr("has a row `op`"));
  EXPECT_THAT(LineError("spec b = u8  afine"), HasSubstr("p.txt:4:14: a scheme follows"));
  EXPECT_THAT(LineError("spec a = u8 affine"), HasSubstr("p.txt:4:6: a second spec a"));
  EXPECT_THAT(LineError("op convolutoin(a)"),
              HasSubstr("p.txt:4:4: no op convolutoin, did you mean \"convolution\"?"));
  EXPECT_THAT(LineError("op linear(b)"), HasSubstr("p.txt:4:11: no spec b above"));
  EXPECT_THAT(LineError("op linear(a axis=1)"), HasSubstr("p.txt:4:13: the spec a has no axis"));
  EXPECT_THAT(LineError("op relu(a, a)"), HasSubstr("p.txt:4:4: relu has 1 operands"));
  EXPECT_THAT(LineError("op relu(_)"), HasSubstr("a row quantizes something"));
  EXPECT_THAT(LineError("op cat(a)"), HasSubstr("is not one tensor"));
  EXPECT_THAT(LineError("op cond(_, a)"), HasSubstr("without graphs"));
  EXPECT_THAT(LineError("op linear(a) where transpose=true"),
              HasSubstr("p.txt:4:20: linear has no attribute transpose"));
  EXPECT_THAT(LineError("op convolution(a) where transpose=true"),
              HasSubstr("did you mean \"transposed\"?"));
  EXPECT_THAT(LineError("op convolution(a) where stride=1"), HasSubstr("is no bool and no int"));
  EXPECT_THAT(LineError("op relu(a) where same_shape"), HasSubstr("relu has one operand"));
  EXPECT_THAT(LineError("fuse matmul + relu"), HasSubstr("p.txt:4:6: no row `op matmul` above"));
  EXPECT_THAT(LineError("op matmul(a, w)\nfuse matmul"), HasSubstr("p.txt:5:6: expected '+'"));
  EXPECT_THAT(LineError("op matmul(a, w)\nfuse matmul + topk"), HasSubstr("more than one result"));
  EXPECT_THAT(LineError("propagate a cat"), HasSubstr("p.txt:4:13: expected ':'"));
  EXPECT_THAT(LineError("propagate a: rellu"), HasSubstr("p.txt:4:14: no op rellu"));
  EXPECT_THAT(LineError("exclude \"x"), HasSubstr("the string has no end"));
  EXPECT_THAT(LineError("quantize all"), HasSubstr("p.txt:4:1: expected spec, weight"));
  EXPECT_THAT(LineError("spec b = i32 derived\nop linear(b, w)"), HasSubstr("behind two"));
}

TEST(QuantPolicy, StatementsMayStandOnOneLine) {
  const absl::StatusOr<QuantPolicy> policy =
      LoadQuantPolicy("policy p; spec a = u8 affine ; op linear(a); exclude \"x;y\"");
  ASSERT_TRUE(policy.ok()) << policy.status();
  EXPECT_EQ(ToText(*policy),
            "policy p\nspec a = u8 affine tensor min_max\nop linear(a)\nexclude \"x;y\"\n");
}

TEST(QuantPolicy, StarsStandForAnyText) {
  EXPECT_TRUE(MatchesGlob("*", ""));
  EXPECT_TRUE(MatchesGlob("layer4*", "layer4.1/conv"));
  EXPECT_TRUE(MatchesGlob("*conv*2", "a/conv/conv2"));
  EXPECT_TRUE(MatchesGlob("a*b*c", "aXbXbc"));
  EXPECT_TRUE(MatchesGlob("fc", "fc"));
  EXPECT_FALSE(MatchesGlob("fc", "fc2"));
  EXPECT_FALSE(MatchesGlob("", "a"));
  EXPECT_FALSE(MatchesGlob("a*b", "ab/c"));
  EXPECT_FALSE(MatchesGlob("*x", "y"));
}

}  // namespace
}  // namespace weft
