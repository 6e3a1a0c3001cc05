// The text form of modules: printed text parses back, and errors name their place. Single literals,
// sizes and types are in text_parts_test.cc.
#include "graph/text/text.h"

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "graph/ir/builder.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/sym/sym_facts.h"
#include "graph/verify/verifier.h"
#include "gtest/gtest.h"
#include "tests/graph/ir/test_ops.h"

namespace weft {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::unique_ptr<Module> Parse(absl::string_view text) {
  auto module = ParseModule(text, test_ops::Registry(), "f.weft");
  if (!module.ok()) {
    ADD_FAILURE() << module.status() << "\nin\n" << text;
    return nullptr;
  }
  return *std::move(module);
}

// The text after parsing and printing; also checks that this is stable.
std::string Reprint(absl::string_view text) {
  auto module = Parse(text);
  if (module == nullptr) return "";
  const std::string printed = PrintModule(*module);
  auto again = Parse(printed);
  if (again == nullptr) return printed;
  EXPECT_EQ(PrintModule(*again), printed);
  EXPECT_EQ(PrintModule(*module->Clone()), printed);
  return printed;
}

void ExpectStable(absl::string_view text) { EXPECT_EQ(Reprint(text), std::string(text)); }

std::string Error(absl::string_view text) {
  auto module = ParseModule(text, test_ops::Registry(), "f.weft");
  if (module.ok()) {
    ADD_FAILURE() << "parsed:\n" << text;
    return "";
  }
  EXPECT_EQ(module.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(module.status().message());
}

// The error of one line within a function of input %x: f32[2, 3].
std::string LineError(absl::string_view line) {
  return Error(absl::StrCat("func @main(%x: f32[2, 3]) {\n", line, "\nreturn %x\n}\n"));
}

TEST(Text, PrintsAFunction) {
  ExpectStable(R"(func @main(%x: f32[s0, 128], %w: f32[128] {param="fc.weight"}) -> f32[s0, 128]
    where 1 <= s0 <= 4096, s0 % 8 == 0 {
  %0 = add(%x, %w) : f32[s0, 128]
  %1 = softmax(%0, dim=1) : f32[s0, 128]  loc("fc/softmax")
  return %1
}
)");
}

TEST(Text, InfersOmittedTypesAndRenumbers) {
  EXPECT_EQ(Reprint(R"(
// A comment.
func @main(%x: f32[2, s0]) {
  %7 = relu(%x)  // Another; s0 // 2 would be a size.
  %out = add(%7,
             %x)
  // A third.
  return %out
})"),
            R"(func @main(%x: f32[2, s0]) -> f32[2, s0] {
  %0 = relu(%x) : f32[2, s0]
  %1 = add(%0, %x) : f32[2, s0]
  return %1
}
)");
}

TEST(Text, WrapsLongSignaturesAndNamesOutputs) {
  ExpectStable(R"(func @main(
      %x: f32[128, 128] {param="encoder.layers.0.weight"},
      %y: f32[128, 128] {param="encoder.layers.1.weight"},
      %z: i64[] {value=dense<3>})
    -> (%a: f32[128, 128], %"b c": f32[128, 128]) {
  return %x, %y
}
)");
}

TEST(Text, NamesInitialValuesAndWriteBacks) {
  ExpectStable(R"(func @main(
      %n: i64[] {param="count", initial=dense<3>},
      %"a b": f32[2])
    -> (f32[2], i64[] {writes=%n}, f32[2] {writes=%"a b"}) {
  return %"a b", %n, %"a b"
}
)");
  EXPECT_THAT(Error("func @main(%x: f32[2], %y: f32[2]) -> (f32[2] {writes=%x},"
                    " f32[2]) {\nreturn %x, %y\n}"),
              HasSubstr("outputs that are written to inputs come last"));
  EXPECT_THAT(Error("func @main(%x: f32[2], %y: f32[2]) -> (f32[2] {writes=%y},"
                    " f32[2] {writes=%x}) {\nreturn %x, %y\n}"),
              HasSubstr("written inputs stand in order, each once"));
  EXPECT_THAT(Error("func @main(%x: f32[2]) -> (f32[2] {writes=%z}) {\n"
                    "return %x\n}"),
              HasSubstr("undefined value %z"));
  EXPECT_THAT(Error("func @main(%x: f32[2] {initial=dense<[1.0]> : f32[1]}) {\n"
                    "return %x\n}"),
              HasSubstr("a value of type f32[1] for an input of type f32[2]"));
}

TEST(Text, QuotesNamesThatAreNoIdentifiers) {
  ExpectStable(R"(func @"my main"(
      %"0": f32[2],
      %"a b": f32[2],
      %"c\"\x01\n": f32[2],
      %n.x_1: f32[2])
    -> f32[2] {
  %0 = add(%"0", %"a b") : f32[2]
  %1 = add(%0, %"c\"\x01\n") : f32[2]
  %2 = add(%1, %n.x_1) : f32[2]
  return %2
}
)");
}

TEST(Text, PrintsEveryKindOfOperandAndResult) {
  ExpectStable(R"(func @main(%x: f32[4], %w: f32[4]) -> () {
  %0 = cat(%x) : f32[4]
  %1 = cat(%x, %w, %0) : f32[12]
  %2 = layer(%x, none, %w) : f32[4]
  %3 = layer(%x, none, none, eps=0.1) : f32[4]
  %4, %5 = topk(%x, k=2) : f32[2], i64[2]
  %6, %7, %8 = split(%x, sizes=[1, 1, 2]) : f32[1], f32[1], f32[2]
  split(%x, sizes=[])
  trace(%2, label="hello")
  return
}
)");
}

TEST(Text, MayLeaveOutOptionalOperandsAtTheEnd) {
  EXPECT_THAT(Reprint("func @main(%x: f32[4]) {\n%0 = layer(%x)\nreturn %0\n}"),
              HasSubstr("%0 = layer(%x, none, none) : f32[4]"));
}

TEST(Text, PrintsEveryKindOfAttribute) {
  ExpectStable(R"(func @main(%x: f32[s0, s1]) -> f32[s0, s1] {
  %0 = zoo(%x, b=true, i=-3, s=2*s0 + 1, f=-inf, t="a\n\"\\", d=bf16, is=[1, -2], ss=[s0 // 2, s0 % 8, min(s0, s1), -s0 + max(4, s1)], fs=[0.1, 1e+30, nan, -0.0], ts=["", "x"]) : f32[s0, s1]
  %1 = zoo(%x, b=false, i=-9223372036854775808, s=0, f=1.0, t="", d=f8e4m3, is=[], ss=[], fs=[], ts=[], oi=4, of=none) : f32[s0, s1]
  return %1
}
)");
}

TEST(Text, TakesIntegersForFloats) {
  EXPECT_THAT(Reprint("func @main() {\n%0 = full(size=[2], value=-3)\nreturn "
                      "%0\n}"),
              HasSubstr("%0 = full(size=[2], value=-3.0) : f32[2]"));
}

TEST(Text, KeepsNanPayloadsOfAttributes) {
  ExpectStable(R"(func @main() -> f32[2] {
  %0 = full(size=[2], value=0x7ff8000000000001) : f32[2]
  return %0
}
)");
}

TEST(Text, KeepsProvenanceInAnyOrder) {
  ExpectStable(R"(func @main(%x: f32[2]) -> f32[2] {
  %0 = relu(%x) : f32[2]  loc("b")
  %1 = relu(%0) : f32[2]  loc("a", "b")
  %2 = relu(%1) : f32[2]  loc("\"c\"")
  return %2
}
)");
}

TEST(Text, LeavesOutLocationsOnDemand) {
  auto module = Parse("func @main(%x: f32[2]) {\n%0 = relu(%x) loc(\"a\")\nreturn %0\n}");
  PrintOptions options;
  options.locations = false;
  EXPECT_THAT(PrintModule(*module, options), Not(HasSubstr("loc")));
  EXPECT_THAT(PrintModule(*module), HasSubstr("loc(\"a\")"));
}

// --- Symbols ---------------------------------------------------------------

TEST(Text, KeepsEveryFactAboutSymbols) {
  ExpectStable(
      R"(func @main(%x: f32[s0, s1, s2, s3]) -> f32[s0, s1, s2, s3]
    where 1 <= s0, s1 <= 7, hint(s1) = 4, s2 % 8 == 0, unbacked s3, -inf <= s3 <= 9 {
  return %x
}

func @other(%x: f32[s1]) -> f32[s1]
    where s1 <= 7, hint(s1) = 4 {
  return %x
}

where 5 <= s9, unbacked u7
)");
}

TEST(Text, QuotesSymbolsThatAreNoIdentifiers) {
  ExpectStable(
      R"(func @main(%x: f32["batch size", 2*"min" + 1]) -> f32["batch size", 2*"min" + 1]
    where 3 <= "min", "batch size" % 2 == 0 {
  return %x
}
)");
}

TEST(Text, RefusesFactsThatLeaveNoValue) {
  const auto parse = [](absl::string_view facts) {
    return ParseModule(absl::StrCat("func @main(%x: f32[s0]) where ", facts, " {\nreturn %x\n}"),
                       test_ops::Registry());
  };
  for (const char* facts :
       {"5 <= s0 <= 4", "5 <= s0 <= 7, s0 % 8 == 0", "-inf <= s0 <= -1, 0 <= s0",
        "9223372036854775807 <= s0, s0 % 8 == 0"}) {
    const auto module = parse(facts);
    EXPECT_THAT(std::string(module.status().message()), HasSubstr("no value for s0")) << facts;
  }
  for (const char* facts : {"8 <= s0 <= 15, s0 % 8 == 0", "9223372036854775807 <= s0",
                            "unbacked s0, -inf <= s0, -9 <= s0 <= -7, s0 % 8 == 0"}) {
    const auto module = parse(facts);
    EXPECT_TRUE(module.ok()) << facts << ": " << module.status();
  }
}

TEST(Text, DeclaresEverySymbol) {
  auto module = Parse("func @main(%x: f32[s0, s1]) {\nreturn %x\n}");
  EXPECT_NE(module->symbols().Find(SymInt::Symbol("s0")), nullptr);
  EXPECT_EQ(module->symbols().Fresh("s").ToString(), "s2");
}

TEST(Text, KeepsUnbackedSymbolsAndTheirEdges) {
  const std::string text =
      R"(func @main(%x: f32[4]) -> f32[u0]
    where unbacked u0, -inf <= u0 {
  %0 = item(%x) : symint[u0]
  %1 = range(%0) : i64[u0]
  %2 = full(size=[u0]) : f32[u0]
  return %2
}
)";
  ExpectStable(text);
  auto module = Parse(text);
  const Node* full = module->main()->output(0)->node();
  ASSERT_EQ(full->num_symbol_operands(), 1);
  EXPECT_TRUE(full->symbol_operand(0)->IsResultOf(test_ops::item));
}

TEST(Text, SymbolsOfDataDependentResultsAreUnbacked) {
  // As above without the clause.
  EXPECT_THAT(Reprint(R"(func @main(%x: f32[4]) -> f32[u0] {
  %0 = item(%x) : symint[u0]
  %1 = full(size=[u0]) : f32[u0]
  return %1
})"),
              HasSubstr("where unbacked u0, -inf <= u0"));
  EXPECT_THAT(Reprint("func @main(%x: f32[4]) {\n%0 = nonzero(%x)\n"
                      "return %0\n}"),
              HasSubstr("%0 = nonzero(%x) : i64[u0, 1]"));
}

TEST(Text, AcceptsRefinedTypes) {
  ExpectStable(R"(func @main(%x: f32[s0, 3]) -> f32[4, 3] {
  %0 = relu(%x) : f32[4, 3]
  return %0
}
)");
}

// --- Constants -------------------------------------------------------------

TEST(Text, PrintsSmallConstantsInPlace) {
  ExpectStable(R"(func @main() -> f32[2, 3] {
  %0 = constant(dense<[[1.0, 2.5, 0.1], [-0.0, inf, nan]]>) : f32[2, 3]
  %1 = constant("fc.bias" dense<[1, -2]>) : i8[2]
  %2 = constant(dense<7>) : u64[]
  %3 = constant(dense<[]>) : f32[0, 3]
  %4 = constant(dense<[true, false]>) : bool[2]
  %5 = constant(dense<[(1.0, -2.5)]>) : c64[1]
  return %0
}
)");
}

TEST(Text, PrintsLargeConstantsInABlock) {
  const std::string text = Reprint(R"(
func @main(%x: f32[17] {value=@w}) {
  %0 = constant(@w)
  %1 = constant(@v) : i64[20]
  return %0, %1
}
constants {
  @v : i64[20] = dense<7>
  @w "fc.weight" : f32[17] = dense<[1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1, 2, 3, 4, 5, 6, 7]>
})");
  EXPECT_THAT(text, HasSubstr("%x: f32[17] {value=@c0}"));
  EXPECT_THAT(text, HasSubstr("%0 = constant(@c0) : f32[17]"));
  EXPECT_THAT(text, HasSubstr("%1 = constant(@c1) : i64[20]"));
  EXPECT_THAT(text, HasSubstr("\nconstants {\n  @c0 \"fc.weight\" : f32[17] = "
                              "base64\"AACAPwAAAEA"));
}

TEST(Text, OmittedConstantsCannotBeRead) {
  auto module = Parse("func @main() {\n%0 = constant(dense<1>) : f32[32]\nreturn %0\n}");
  PrintOptions options;
  options.constants = false;
  const std::string text = PrintModule(*module, options);
  EXPECT_THAT(text, HasSubstr("@c0 : f32[32] = omitted"));
  EXPECT_THAT(Error(text), HasSubstr("were left out"));
}

TEST(Text, PrintGraphIsSelfContained) {
  auto module = Parse(R"(func @f(%x: f32[2]) {
  return %x
}
func @main() {
  %0 = constant(dense<1>) : f32[32]
  return %0
})");
  const std::string text = PrintGraph(*module->main());
  EXPECT_EQ(Reprint(text), text);
}

// --- Regions ---------------------------------------------------------------

constexpr absl::string_view kNested =
    R"(func @main(%p: bool[], %x: f32[2]) -> f32[2] {
  %0 = cond(%p, %x) : f32[2]  loc("if") {
    then_graph(%a: f32[2]) -> f32[2] {
      %0 = relu(%a) : f32[2]
      %1 = relu(%0) : f32[2]
      return %1
    }
    else_graph @own(%a: f32[2]) -> f32[2] {
      %0 = constant(dense<true>) : bool[]
      %1 = cond(%0, %a) : f32[2] {
        then_graph(%a: f32[2]) -> f32[2] {
          return %a
        }
        else_graph(%a: f32[2]) -> f32[2] {
          return %a
        }
      }
      return %1
    }
  }
  %1 = relu(%0) : f32[2]
  return %1
}
)";

TEST(Text, PrintsNestedGraphs) { ExpectStable(kNested); }

TEST(Text, NestedGraphsSeeOnlyTheirInputs) {
  EXPECT_THAT(Error(R"(func @main(%p: bool[], %x: f32[2]) {
  %0 = cond(%p) {
    then_graph() { %1 = relu(%x) return %1 }
    else_graph() { return }
  }
  return
})"),
              HasSubstr("f.weft:3:30: undefined value %x (nested graphs see "
                        "nothing but their inputs)"));
}

TEST(Text, UnbackedSymbolsReachNestedGraphs) {
  const std::string text = R"(func @main(%p: bool[], %x: f32[4]) -> f32[u0]
    where unbacked u0 {
  %0 = nonzero(%x) : i64[u0, 1]
  %1 = cond(%p, %0) : f32[u0] {
    then_graph(%n: i64[u0, 1]) -> f32[u0] {
      %0 = full(size=[u0]) : f32[u0]
      return %0
    }
    else_graph(%n: i64[u0, 1]) -> f32[u0] {
      %0 = full(size=[u0], value=1.0) : f32[u0]
      return %0
    }
  }
  return %1
}
)";
  ExpectStable(text);
}

std::string DeepRegions(int n) {
  std::string text = "func @main(%p: bool[]) {\n";
  for (int i = 0; i < n; ++i) {
    text += "cond(%p, %p) { then_graph(%p: bool[], %q: bool[]) {\n";
  }
  for (int i = 0; i < n; ++i) {
    text += "return } else_graph(%p: bool[], %q: bool[]) { return } }\n";
  }
  return text + "return\n}";
}

TEST(Text, NestingIsBounded) {
  Parse(DeepRegions(100));
  EXPECT_THAT(Error(DeepRegions(101)), HasSubstr("more than 100 nested graphs"));
  EXPECT_THAT(Error(DeepRegions(100000)), HasSubstr("more than 100 nested graphs"));
  const std::string parens(100000, '(');
  EXPECT_THAT(LineError("%0 = softmax(%x, dim=" + parens),
              HasSubstr("more than 100 nested parentheses"));
  const std::string brackets(100000, '[');
  EXPECT_THAT(LineError("%0 = constant(dense<" + brackets + ">) : f32[2]"),
              HasSubstr("expected a number"));
  Parse("func @main() {\n%0 = full(size=[" + std::string(100000, '-') + "4])\nreturn %0\n}");
}

TEST(Text, PrintsDeepGraphsBuiltInMemory) {
  // Deeper than what parses, but printing must not overflow the stack.
  Module module(test_ops::Registry());
  Graph* graph = module.AddFunction("main");
  for (int i = 0; i < 20000; ++i) {
    auto then_graph = std::make_unique<Graph>(&module, "then_graph");
    auto else_graph = std::make_unique<Graph>(&module, "else_graph");
    Graph* inner = then_graph.get();
    Value* p = graph->AddInput(Type::Scalar(DType::kBool), "p");
    std::vector<std::unique_ptr<Graph>> regions;
    regions.push_back(std::move(then_graph));
    regions.push_back(std::move(else_graph));
    graph->CreateNode(test_ops::cond, {p}, AttrList::Empty(), {}, nullptr, std::move(regions));
    graph = inner;
  }
  EXPECT_GT(PrintModule(module).size(), 20000u);
}

// --- Errors ----------------------------------------------------------------

TEST(TextErrors, NameTheirPlace) {
  EXPECT_EQ(Error("func @main(%x: f32[2]) {\n  %0 = rellu(%x)\n"),
            "f.weft:2:8: unknown op \"rellu\"; is it relu?");
  EXPECT_EQ(LineError("  %0 = relu(%y)"), "f.weft:2:13: undefined value %y");
  EXPECT_EQ(LineError("%0 = relu(%x)\n%0 = relu(%x)"), "f.weft:3:1: value %0 is defined twice");
  EXPECT_EQ(LineError("%x = relu(%x)"), "f.weft:2:1: value %x is defined twice");
  EXPECT_EQ(Error("func @f(%x: f32[2], %x: f32[2])"), "f.weft:1:21: input %x is defined twice");
  EXPECT_EQ(Error("func @f() { return }\nfunc @f() { return }"),
            "f.weft:2:6: function @f is defined twice");
}

TEST(TextErrors, Operands) {
  EXPECT_THAT(LineError("%0 = relu()"), HasSubstr(":2:6: relu takes 1 operand, not 0"));
  EXPECT_THAT(LineError("%0 = relu(%x, %x)"), HasSubstr("relu takes 1 operand, not 2"));
  EXPECT_THAT(LineError("%0 = relu(none)"),
              HasSubstr(":2:11: operand x of relu is a tensor, found none"));
  EXPECT_THAT(LineError("%0 = range(%x)"),
              HasSubstr("operand n of range is a symint, found f32[2, 3]"));
  EXPECT_THAT(LineError("%0 = softmax(dim=1, %x)"),
              HasSubstr(":2:21: operands stand before attributes"));
  EXPECT_THAT(LineError("%0, %1 = relu(%x)"), HasSubstr("relu has 1 result, 2 are named"));
  EXPECT_THAT(LineError("relu(%x)"), HasSubstr("relu has 1 result, 0 are named"));
}

TEST(TextErrors, Attributes) {
  EXPECT_THAT(LineError("%0 = softmax(%x)"), HasSubstr(":2:6: softmax: attribute dim is missing"));
  EXPECT_THAT(LineError("%0 = softmax(%x, axis=1)"),
              HasSubstr(":2:18: softmax has no attribute \"axis\"; it has dim"));
  EXPECT_THAT(LineError("%0 = softmax(%x, dim=1, dim=1)"),
              HasSubstr("attribute dim is given twice"));
  EXPECT_THAT(LineError("%0 = softmax(%x, dim=\"1\")"), HasSubstr("expected"));
  EXPECT_THAT(LineError("%0 = softmax(%x, dim=s0)"),
              HasSubstr("expected a constant integer, found s0"));
  EXPECT_THAT(LineError("%0 = softmax(%x, dim=1.5)"), HasSubstr("expected a size, found \"1.5\""));
  EXPECT_THAT(LineError("%0 = softmax(%x, dim=9223372036854775808)"),
              HasSubstr("the integer passes 64 bits"));
  EXPECT_THAT(LineError("%0 = softmax(%x, dim=99999999999999999999)"),
              HasSubstr("the integer passes 64 bits"));
  EXPECT_THAT(LineError("%0 = softmax(%x, dim=none)"), HasSubstr("reserved"));
  EXPECT_THAT(LineError("%0 = full(size=[2], dtype=f31)"), HasSubstr("expected a dtype"));
  EXPECT_THAT(LineError("%0 = full(size=[2], value=1e999)"), HasSubstr("too large"));
  EXPECT_THAT(LineError("%0 = full(size=[4611686018427387904*2])"), HasSubstr("passes 64 bits"));
  EXPECT_THAT(LineError("trace(%x, label=\"a\\q\")"), HasSubstr("unknown escape"));
  EXPECT_THAT(LineError("trace(%x, label=\"a"), HasSubstr("found an unterminated string"));
}

TEST(TextErrors, Types) {
  EXPECT_THAT(LineError("%0 = softmax(%x, dim=5)"),
              HasSubstr(":2:6: softmax: dim 5 is out of range"));
  EXPECT_THAT(LineError("%0 = relu(%x) : f32[2, 4]"),
              HasSubstr(":2:17: type f32[2, 4] of result 0 of relu does not match the "
                        "inferred f32[2, 3]"));
  EXPECT_THAT(LineError("%0 = relu(%x) : f32[2, 3], f32[2, 3]"),
              HasSubstr("relu has 1 result, not 2"));
  EXPECT_THAT(LineError("%0 = relu(%x) : f31[2, 3]"),
              HasSubstr("expected a type such as f32[2, 3], found \"f31\""));
  EXPECT_THAT(LineError("%0 = relu(%x) : f32"), HasSubstr("expected \"[\""));
  EXPECT_THAT(LineError("%0 = item(%x) : f32[2]"),
              HasSubstr("type f32[2] of result 0 of item is not of the form symint["));
  EXPECT_THAT(Error("func @f(%x: f32[2]) -> f32[3] {\nreturn %x\n}"),
              HasSubstr(":1:24: output 0 has type f32[2], not f32[3]"));
  EXPECT_THAT(Error("func @f(%x: f32[2]) -> () {\nreturn %x\n}"),
              HasSubstr("1 output where the signature has 0"));
}

TEST(TextErrors, UnbackedSymbols) {
  EXPECT_THAT(Error(R"(func @main(%x: f32[4]) where unbacked u0 {
  %0 = full(size=[u0])
  %1 = item(%x) : symint[u0]
  return %0
})"),
              HasSubstr("f.weft:2:8: the unbacked symbol u0 is used before its "
                        "definition"));
  EXPECT_THAT(Error(R"(func @main(%x: f32[4]) {
  %0 = item(%x) : symint[u0]
  %1 = item(%x) : symint[u0]
  return
})"),
              HasSubstr("f.weft:3:19: the unbacked symbol u0 is defined twice"));
  EXPECT_THAT(LineError("%0 = nonzero(%x) : i64[u0]"),
              HasSubstr(":2:20: type i64[u0] of result 0 of nonzero is not of "
                        "the form i64["));
}

TEST(TextErrors, Constants) {
  EXPECT_THAT(LineError("%0 = constant(dense<1>)"), HasSubstr("the literal needs a type"));
  EXPECT_THAT(LineError("%0 = constant(@nope)"), HasSubstr("no constant is called @nope"));
  EXPECT_THAT(LineError("%0 = constant(dense<[1, 2, 3]>) : f32[2]"),
              HasSubstr(":2:21: the list has 3 items where the type has 2"));
  EXPECT_THAT(LineError("%0 = constant(dense<[300]>) : u8[1]"),
              HasSubstr(":2:22: the value does not fit in u8"));
  EXPECT_THAT(LineError("%0 = constant(dense<[-1]>) : u8[1]"), HasSubstr("does not fit in u8"));
  EXPECT_THAT(LineError("%0 = constant(dense<1>) : f32[1000000000000]"),
              HasSubstr("one value for more than 65536 elements"));
  EXPECT_THAT(LineError("%0 = constant(dense<1>) : f32[s0]"),
              HasSubstr("a literal cannot have the type f32[s0]"));
  EXPECT_THAT(LineError("%0 = constant(dense<1"), HasSubstr("no \">\" ends"));
  const auto block = [](absl::string_view entry) {
    return Error(absl::StrCat("constants {\n", entry, "\n}"));
  };
  EXPECT_THAT(block("@a : f32[1000000000000] = base64\"AAAA\""), HasSubstr("the data has 3 bytes"));
  EXPECT_THAT(block("@a : f32[4611686018427387904, 4] = base64\"AAAA\""),
              HasSubstr("passes 64 bits"));
  EXPECT_THAT(block("@a : f32[1] = base64\"?\""), HasSubstr("not base64"));
  EXPECT_THAT(block("@a : i8[1] = dense<1>\n@a : i8[1] = dense<1>"),
              HasSubstr(":3:1: @a is defined twice"));
}

TEST(TextErrors, Facts) {
  EXPECT_THAT(Error("func @f(%x: f32[s0]) where s0 + 1 { return }"),
              HasSubstr("s0 + 1 is a size, not a condition"));
  EXPECT_THAT(Error("func @f(%x: f32[s0]) where 5 <= s0 <= 4 { return }"),
              HasSubstr("no value for s0"));
  EXPECT_THAT(Error("func @f(%x: f32[s0]) where s0 <= 4, 7 <= s0 { return }"),
              HasSubstr("no value for s0"));
  EXPECT_THAT(Error("func @f(%x: f32[s0]) where s0 <= 4, s0 == 3*s1 + 5 { return }"),
              HasSubstr("contradicts"));
  EXPECT_THAT(Error("func @f(%x: f32[s0]) where s0 - 3 == s0 + 2 { return }"),
              HasSubstr("the condition holds for no sizes"));
  EXPECT_THAT(Error("func @f(%x: f32[s0]) { return }\nwhere unbacked s0"),
              HasSubstr("as a backed symbol"));
}

TEST(TextErrors, Structure) {
  EXPECT_THAT(Error("module {}"), HasSubstr("expected func, constants or where"));
  EXPECT_THAT(Error("func @f() {"), HasSubstr("found the end of the text"));
  EXPECT_THAT(Error("func f() { return }"), HasSubstr("such as @main"));
  EXPECT_THAT(Error("func @f(%0: f32[2]) { return }"), HasSubstr("no number"));
  EXPECT_THAT(LineError("%0a = relu(%x)"), HasSubstr("expected"));
  EXPECT_THAT(Error("func @f() where s0 % 0 == 0 { return }"), HasSubstr("positive integer"));
  EXPECT_THAT(Error("func @f() where s0 % 9223372036854775807 == 0, "
                    "s0 % 9223372036854775806 == 0 { return }"),
              HasSubstr("pass 64 bits"));
  EXPECT_THAT(Error("func @f(%x: f32[2]) { return none }"), HasSubstr("expected \"}\""));
}

// Every prefix and many mutations of a text either parse or fail cleanly.
TEST(TextErrors, AnyBytesGiveAStatus) {
  const std::string seed =
      absl::StrCat(kNested,
                   "func @g(%x: f32[s0 // 2] {value=dense<[1, 2]> : f32[2], param=\"p\"}) -> (%y: "
                   "f32[s0 // 2]) where 1 <= s0 <= 4, hint(s0) = 4, unbacked u0 {\n"
                   "%0 = zoo(%x, b=true, i=-3, s=2*s0 + 1, f=1e3, t=\"a\", d=f32, is=[1], "
                   "ss=[min(s0, 3)], fs=[nan], ts=[\"x\"]) loc(\"l\")\n"
                   "%1 = constant(@c0) %2 = constant(dense<[(1, 2)]>) : c64[1]\n"
                   "%3 = nonzero(%x) : i64[u0, 1]\nreturn %0\n}\n"
                   "constants { @c0 \"n\" : f32[1] = base64\"AACAPw==\" }\n");
  Parse(seed);
  for (size_t i = 0; i < seed.size(); ++i) {
    ParseModule(seed.substr(0, i), test_ops::Registry()).status().IgnoreError();
  }
  uint64_t state = 12345;
  const auto random = [&state](uint64_t n) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (state >> 33) % n;
  };
  const std::string tokens[] = {"%",  "@c0", "(",   "[",  "]",      "{",    "}",
                                "//", "-",   "%x",  "9",  "\"",     "none", ":",
                                "%0", ",",   "f32", "<=", "dense<", "\xff", "*"};
  for (int i = 0; i < 20000; ++i) {
    std::string text = seed;
    for (uint64_t n = random(3) + 1; n > 0; --n) {
      const size_t at = random(text.size());
      switch (random(3)) {
        case 0:
          text.erase(at, random(8));
          break;
        case 1:
          text.insert(at, tokens[random(std::size(tokens))]);
          break;
        default:
          text.replace(at, 1, tokens[random(std::size(tokens))]);
      }
    }
    auto module = ParseModule(text, test_ops::Registry());
    if (!module.ok()) continue;
    const std::string printed = PrintModule(**module);
    auto again = ParseModule(printed, test_ops::Registry());
    ASSERT_TRUE(again.ok()) << again.status() << "\n" << printed;
    ASSERT_EQ(PrintModule(**again), printed);
  }
}

// --- Single nodes ----------------------------------------------------------

TEST(Text, PrintNodeUsesIds) {
  auto module = Parse(
      "func @main(%x: f32[2]) {\n%0 = relu(%x)\n%1 = "
      "relu(%0)\n%2 = layer(%1)\nreturn %2\n}");
  const Node* node = module->main()->output(0)->node();
  EXPECT_EQ(PrintNode(*node), "%3 = layer(%2, none, none) : f32[2]");
  EXPECT_EQ(PrintNode(*module->main()->first_node()), "%1 = relu(%x) : f32[2]");
  EXPECT_EQ(PrintNode(*module->main()->return_node()), "return(%3)");
}

}  // namespace
}  // namespace weft
