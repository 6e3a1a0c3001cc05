// Parts that are cut out of programs, against the whole programs on the reference.
#include "api/inspect/extract.h"

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "api/check/seeded_inputs.h"
#include "backends/reference/executor.h"
#include "gmock/gmock.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ir/provenance.h"
#include "graph/sym/sym_facts.h"
#include "graph/tensor/tensor.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "tests/support/parse.h"
#include "tests/support/tensor_compare.h"

namespace weft {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// A residual block with weights, a mask that is computed beside it, and two outputs.
constexpr char kBlock[] = R"(
func @main(%x: f32[batch, 4], %mask: f32[batch, 4]) -> (%y: f32[batch, 4], %sum: f32[batch])
    where 1 <= batch <= 64, hint(batch) = 3 {
  %0 = constant("w" dense<[[1.0, 2.0, 0.5, 4.0], [5.0, 6.0, 7.0, 8.0],
                           [1.5, 2.5, 3.5, 4.5], [-1.0, -2.0, -3.0, -4.0]]>) : f32[4, 4]
  %1 = permute(%0, dims=[1, 0]) loc("weights")
  %2 = sin(%mask) loc("bend")
  %3 = matmul(%x, %1) loc("fc")
  %4 = add(%3, %2) loc("masked")
  %5 = tanh(%4) loc("act")
  %6 = add(%5, %x) loc("residual")
  %7 = sum(%6, dim=[1]) loc("total")
  return %6, %7
}
)";

using Tensors = std::map<std::string, HostTensor>;

// All values of a run by name: inputs, and first results by source.
Tensors RunWhole(const Module& module, uint64_t seed) {
  const Graph& main = *module.main();
  SeedOptions options;
  options.seed = seed;
  const auto inputs = MakeSeededInputs(main, options);
  EXPECT_TRUE(inputs.ok()) << inputs.status();
  Tensors values;
  for (int i = 0; i < main.num_inputs(); ++i) values[main.input_info(i).name] = (*inputs)[i];
  reference::RunOptions run;
  run.on_node = [&](const Node& node, absl::Span<const HostTensor> results) {
    for (const std::string& name : module.provenance().Names(node.provenance())) {
      if (!results.empty()) values[name] = results[0];
    }
  };
  const auto outputs = reference::Run(main, *inputs, run);
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  for (int i = 0; outputs.ok() && i < main.num_outputs(); ++i) {
    if (!main.output_names().empty()) values[main.output_names()[i]] = (*outputs)[i];
  }
  return values;
}

// Cuts the part out, and runs it on what the whole program computes there. The part's text.
std::string ExpectSame(const Module& whole, absl::string_view spec, const Tensors& sizes = {}) {
  SCOPED_TRACE(spec);
  auto part = Extract(whole, spec);
  EXPECT_TRUE(part.ok()) << part.status();
  if (!part.ok()) return "";
  const std::string text = PrintModule(**part);
  const Graph& main = *(*part)->main();
  for (const uint64_t seed : {1, 2, 3}) {
    const Tensors values = RunWhole(whole, seed);
    std::vector<HostTensor> inputs;
    for (int i = 0; i < main.num_inputs(); ++i) {
      const std::string& name = main.input_info(i).name;
      const bool there = values.count(name) > 0;
      EXPECT_TRUE(there || sizes.count(name) > 0) << name << "\n" << text;
      inputs.push_back(there ? values.at(name) : sizes.at(name));
    }
    const auto got = reference::Run(main, inputs);
    EXPECT_TRUE(got.ok()) << got.status() << "\n" << text;
    for (int i = 0; got.ok() && i < main.num_outputs(); ++i) {
      const std::string& name = main.output_names()[i];
      EXPECT_EQ(values.count(name), 1u) << name;
      if (values.count(name) > 0) {
        EXPECT_EQ(ExactDifference((*got)[i], values.at(name)), "") << name;
      }
    }
  }
  return text;
}

std::string ErrorOf(const Module& module, absl::string_view spec) {
  const auto part = Extract(module, spec);
  EXPECT_EQ(part.status().code(), absl::StatusCode::kInvalidArgument) << spec;
  return std::string(part.status().message());
}

TEST(Extract, BetweenValuesWhatCrossesBecomesInputs) {
  const auto module = Parse(kBlock);
  // The mask's sine does not depend on fc, so its value is an input; x is not read.
  EXPECT_THAT(
      ExpectSame(*module, "fc:act"),
      AllOf(HasSubstr("(%fc: f32[batch, 4], %bend: f32[batch, 4]) -> (%act: f32[batch, 4])"),
            HasSubstr("1 <= batch <= 64"), HasSubstr("hint(batch) = 3"), Not(HasSubstr("sin("))));
  // The weights are computed from constants alone and stay.
  EXPECT_THAT(ExpectSame(*module, "x:act"),
              AllOf(HasSubstr("(%x: f32[batch, 4], %bend: f32[batch, 4]) -> "),
                    HasSubstr("constant(\"w\""), HasSubstr("loc(\"weights\")")));
  EXPECT_THAT(ExpectSame(*module, "x,mask:act"), HasSubstr("sin(%mask)"));
  // In the order that is asked for.
  EXPECT_THAT(ExpectSame(*module, "mask,x:sum"),
              HasSubstr("(%mask: f32[batch, 4], %x: f32[batch, 4])"));
}

TEST(Extract, OpenEnds) {
  const auto module = Parse(kBlock);
  EXPECT_THAT(
      ExpectSame(*module, ":masked"),
      AllOf(HasSubstr("(%x: f32[batch, 4], %mask: f32[batch, 4])"), Not(HasSubstr("tanh"))));
  EXPECT_THAT(ExpectSame(*module, "act:"),
              AllOf(HasSubstr("(%act: f32[batch, 4], %x: f32[batch, 4])"),
                    HasSubstr("-> (%y: f32[batch, 4], %sum: f32[batch])"), Not(HasSubstr("tanh"))));
  EXPECT_THAT(ExpectSame(*module, ":weights"), HasSubstr("@main() -> "));
}

TEST(Extract, NumbersAreThoseOfTheText) {
  const auto module = Parse(kBlock);
  EXPECT_EQ(ExpectSame(*module, "%3:%5"), ExpectSame(*module, "fc:act"));
  EXPECT_EQ(ExpectSame(*module, "%4..%6"), ExpectSame(*module, "masked..residual"));
  EXPECT_EQ(ErrorOf(*module, "%8:"), "the program has no value %8 and has 8 results, from %0 on");
}

TEST(Extract, ListsOfNodes) {
  const auto module = Parse(kBlock);
  EXPECT_THAT(ExpectSame(*module, "act"),
              HasSubstr("(%masked: f32[batch, 4]) -> (%act: f32[batch, 4])"));
  EXPECT_THAT(ExpectSame(*module, "masked..residual"),
              AllOf(HasSubstr("%bend: f32[batch, 4],\n      %fc: f32[batch, 4])\n"),
                    HasSubstr("-> (%y: f32[batch, 4])")));
  // What leaves the list and comes back is an output and an input.
  EXPECT_THAT(ExpectSame(*module, "fc,act"),
              AllOf(HasSubstr("%x: f32[batch, 4],\n      %masked: f32[batch, 4])"),
                    HasSubstr("-> (%fc: f32[batch, 4], %act: f32[batch, 4])")));
  EXPECT_THAT(ExpectSame(*module, "*a*"),
              AllOf(HasSubstr("tanh"), HasSubstr("sum"), Not(HasSubstr("sin("))));
}

TEST(Extract, KeepsFactsAboutSizes) {
  const auto module = Parse(R"(
func @main(%x: f32[s0, s1], %y: f32[s0, 8]) -> f32[s0, s1]
    where 2 <= s0 <= 16, s1 % 4 == 0, s1 <= s0 + 20, 2 <= s1, hint(s0) = 4, hint(s1) = 8 {
  %0 = exp(%x) loc("a")
  %1 = neg(%0) loc("b")
  return %1
}
)");
  EXPECT_THAT(ExpectSame(*module, "a:b"),
              AllOf(HasSubstr("2 <= s0 <= 16"), HasSubstr("s1 % 4 == 0"),
                    HasSubstr("s0 >= s1 - 20"), HasSubstr("hint(s1) = 8")));
}

TEST(Extract, SizesThatNoInputGivesAreInputs) {
  const auto module = Parse(R"(
func @main(%x: f32[s0, 2]) -> f32[2*s0] where 1 <= s0 <= 9, hint(s0) = 5 {
  %0 = reshape(%x, size=[2*s0]) : f32[2*s0] loc("flat")
  %1 = exp(%0) loc("b")
  return %1
}
)");
  const HostTensor five = HostTensor::ScalarInt(DType::kI64, 5);
  EXPECT_THAT(ExpectSame(*module, "flat:b", {{"arg0", five}}), HasSubstr("symint[s0]"));
}

TEST(Extract, SizesThatDataDefines) {
  const auto module = Parse(R"(
func @main(%x: f32[6]) -> f32[u0] where unbacked u0, 0 <= u0 <= 6 {
  %0 = nonzero(%x) : i64[u0, 1] loc("where")
  %1 = reshape(%0, size=[u0]) : i64[u0] loc("flat")
  %2 = convert(%1, dtype=f32) : f32[u0] loc("float")
  %3 = sin(%2) loc("wave")
  return %3
}
)");
  EXPECT_THAT(ExpectSame(*module, "flat:wave"),
              AllOf(HasSubstr("%flat: i64[u0]"), HasSubstr("u0 <= 6"), Not(HasSubstr("unbacked"))));
  EXPECT_THAT(ExpectSame(*module, "x:wave"), HasSubstr("nonzero"));
}

TEST(Extract, KeepsParametersAndNotes) {
  const auto module = Parse(R"(
func @main(%x: f32[2], %w: f32[2] {param="fc.w", initial=dense<[1.0, 2.0]>}) -> f32[2] {
  %0 = mul(%x, %w) loc("a") note(quant="u8 affine")
  %1 = sin(%0) loc("b")
  return %1
}
)");
  EXPECT_THAT(ExpectSame(*module, "x:a"), AllOf(HasSubstr("{param=\"fc.w\", initial=dense<"),
                                                HasSubstr("quant=\"u8 affine\"")));
  EXPECT_THAT(ExpectSame(*module, "a:b"), HasSubstr("note(quant=\"u8 affine\")"));
}

TEST(Extract, NestedGraphsComeWhole) {
  const auto module = Parse(R"(
func @main(%p: bool[], %x: f32[s0, 4]) -> f32[s0, 4] where 1 <= s0, hint(s0) = 2 {
  %0 = exp(%x) loc("exp")
  %1 = cond(%p, %0) loc("branch") {
    then_graph(%a: f32[s0, 4]) {
      %b = add(%a, %a) loc("inner")
      return %b
    }
    else_graph(%a: f32[s0, 4]) {
      %b = neg(%a)
      return %b
    }
  }
  return %1
}
)");
  EXPECT_THAT(ExpectSame(*module, "exp:branch"), HasSubstr("then_graph"));
  EXPECT_THAT(ErrorOf(*module, "inner"),
              HasSubstr("\"inner\" is a node of @then_graph, not of @main"));
}

TEST(Extract, AChainOfAnyLength) {
  std::string text = "func @main(%v0: f32[2]) -> f32[2] {\n";
  constexpr int kLength = 30000;
  for (int i = 0; i < kLength; ++i) {
    absl::StrAppend(&text, "  %v", i + 1, " = neg(%v", i, ") loc(\"n", i, "\")\n");
  }
  absl::StrAppend(&text, "  return %v", kLength, "\n}\n");
  const auto module = Parse(text);
  const auto part = Extract(*module, "n10:n29990");
  ASSERT_TRUE(part.ok()) << part.status();
  EXPECT_EQ((*part)->num_nodes(), 29980);
}

TEST(Extract, Errors) {
  const auto module = Parse(kBlock);
  EXPECT_EQ(ErrorOf(*module, "residal:act"),
            "no node, input or output is called \"residal\", did you mean \"residual\"?");
  EXPECT_EQ(ErrorOf(*module, "act:fc"), "\"fc\" is not computed from what stands before the ':'");
  EXPECT_EQ(ErrorOf(*module, "act:act"), "\"act\" is not computed from what stands before the ':'");
  EXPECT_EQ(ErrorOf(*module, "fc,act:sum"), "nothing between reads \"fc\"");
  EXPECT_EQ(ErrorOf(*module, "act..fc"), "\"act\" comes after \"fc\"");
  EXPECT_EQ(ErrorOf(*module, "q*"), "no node matches \"q*\"");
  const auto dead = Parse(R"(
func @main(%x: f32[2]) -> f32[2] {
  %0 = sin(%x) loc("dead")
  return %x
}
)");
  EXPECT_EQ(ErrorOf(*dead, "dead:"), "no output depends on FROM");
  EXPECT_EQ(ErrorOf(*dead, "dead"), "nothing uses a result of these nodes");
  const auto writes = Parse(R"(
func @main(%x: f32[2]) -> f32[2] {
  %0 = copy_(%x, %x) loc("a")
  return %0
}
)");
  EXPECT_THAT(ErrorOf(*writes, "a"), HasSubstr("functionalize"));
}

TEST(ExtractSpec, Parses) {
  auto spec = ParseExtractSpec("a,\"b:\\\"1\",%3:c/d");
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_TRUE(spec->between);
  ASSERT_EQ(spec->from.size(), 3u);
  EXPECT_EQ(spec->from[1].name, "b:\"1");
  EXPECT_EQ(spec->from[2].name, "%3");
  ASSERT_EQ(spec->to.size(), 1u);
  EXPECT_EQ(spec->to[0].name, "c/d");
  spec = ParseExtractSpec("a.b..c,\"x..y*\",layer*");
  ASSERT_TRUE(spec.ok()) << spec.status();
  ASSERT_EQ(spec->nodes.size(), 3u);
  EXPECT_EQ(spec->nodes[0].name, "a.b");
  EXPECT_EQ(spec->nodes[0].last, "c");
  EXPECT_EQ(spec->nodes[1].name, "x..y*");
  EXPECT_FALSE(spec->nodes[1].pattern);
  EXPECT_TRUE(spec->nodes[2].pattern);
}

TEST(ExtractSpec, Errors) {
  const auto error = [](absl::string_view text) {
    return std::string(ParseExtractSpec(text).status().message());
  };
  EXPECT_EQ(error(""), "column 1: no names");
  EXPECT_EQ(error(":"), "column 2: no names");
  EXPECT_EQ(error("a,,b"), "column 3: a name is missing");
  EXPECT_EQ(error("a,"), "column 3: a name is missing");
  EXPECT_EQ(error("a:b:c"), "column 4: a second ':'; names with one stand in quotes");
  EXPECT_EQ(error("a,\"b"), "column 3: a '\"' is not closed");
  EXPECT_EQ(error("\"a\"b"), "column 4: expected ',', ':' or \"..\" after a name");
  EXPECT_EQ(error("a*:b"), "column 1: a list beside ':' has neither '*' nor ranges");
  EXPECT_EQ(error("a:b..c"), "column 3: a list beside ':' has neither '*' nor ranges");
  EXPECT_EQ(error("a*..b"), "column 1: a range has no '*'");
  EXPECT_EQ(error("a..b..c"), "column 5: expected ',' after a range");
}

TEST(ExtractSpec, Stars) {
  EXPECT_TRUE(MatchesStars("*", ""));
  EXPECT_TRUE(MatchesStars("a*c*e", "abcde"));
  EXPECT_TRUE(MatchesStars("*ab", "aab"));
  EXPECT_FALSE(MatchesStars("a*c", "acb"));
  EXPECT_FALSE(MatchesStars("", "a"));
  EXPECT_FALSE(MatchesStars(std::string(2000, '*') + "b", std::string(20000, 'a')));
}

}  // namespace
}  // namespace weft
