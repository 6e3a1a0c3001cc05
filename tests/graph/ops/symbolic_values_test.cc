#include "graph/ops/symbolic_values.h"

#include <memory>
#include <string>

#include "gmock/gmock.h"
#include "graph/ir/builder.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ops/ops.h"
#include "graph/ops/registry.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"

namespace weft {
namespace {

// The elements of the function's only result, as text; "?" when unknown.
std::string Evaluated(const std::string& text) {
  auto module = ParseModule(text, ops::Registry());
  EXPECT_TRUE(module.ok()) << module.status();
  if (!module.ok()) return "";
  SymbolicValues values(**module);
  const auto* elements = values.Of((*module)->main()->output(0));
  return elements == nullptr ? "?" : ToString(*elements);
}

std::string Main(const std::string& result, const std::string& body) {
  return "func @main(%x: f32[s0, s1], %n: i64[2]) -> " + result + " where 1 <= s0 <= 64 {\n" +
         body + "}\n";
}

TEST(SymbolicValues, MovesElements) {
  EXPECT_EQ(Evaluated(Main("i64[2]", R"(
  %a = sym_constant(values=[s0, s1, 3], size=[3]) : i64[3]
  %i = constant(dense<[2, 0]>) : i64[2]
  %r = index_select(%a, %i, dim=0) : i64[2]
  return %r
)")),
            "[3, s0]");
  EXPECT_EQ(Evaluated(Main("i32[3]", R"(
  %a = sym_constant(values=[s0, s1], size=[2], dtype=i32) : i32[2]
  %b = sym_constant(values=[-1], size=[1], dtype=i32) : i32[1]
  %c = cat(%a, %b, dim=0) : i32[3]
  return %c
)")),
            "[s0, s1, -1]");
}

TEST(SymbolicValues, KeepsKnownElementsBesideUnknownOnes) {
  EXPECT_EQ(Evaluated(Main("i64[1]", R"(
  %a = sym_constant(values=[s0], size=[1]) : i64[1]
  %c = cat(%n, %a, dim=0) : i64[3]
  %r = slice(%c, dim=0, start=2) : i64[1]
  return %r
)")),
            "[s0]");
  EXPECT_EQ(Evaluated(Main("i64[3]", R"(
  %a = sym_constant(values=[s0], size=[1]) : i64[1]
  %c = cat(%n, %a, dim=0) : i64[3]
  return %c
)")),
            "?");
}

TEST(SymbolicValues, Computes) {
  EXPECT_EQ(Evaluated(Main("i64[2]", R"(
  %a = sym_constant(values=[s0, s1], size=[2]) : i64[2]
  %b = sym_constant(values=[2], size=[]) : i64[]
  %c = mul(%a, %b) : i64[2]
  %d = add(%c, %a) : i64[2]
  %e = div(%d, %b, rounding_mode="floor") : i64[2]
  %f = neg(%e) : i64[2]
  return %f
)")),
            "[-((3*s0) // 2), -((3*s1) // 2)]");
}

TEST(SymbolicValues, ReducesAllElements) {
  EXPECT_EQ(Evaluated(Main("i64[]", R"(
  %a = sym_constant(values=[s0, s1, 3], size=[3]) : i64[3]
  %p = prod(%a) : i64[]
  return %p
)")),
            "[3*s0*s1]");
  EXPECT_EQ(Evaluated(Main("i64[1]", R"(
  %a = sym_constant(values=[s0, s1, 3], size=[1, 3]) : i64[1, 3]
  %p = sum(%a, dim=[1]) : i64[1]
  return %p
)")),
            "[s0 + s1 + 3]");
  EXPECT_EQ(Evaluated(Main("i64[1]", R"(
  %p = sum(%n, keepdim=true) : i64[1]
  return %p
)")),
            "?");
}

TEST(SymbolicValues, DividesTowardZeroWhereNothingIsNegative) {
  const std::string body = R"(
  %a = sym_constant(values=[OPERAND], size=[1]) : i64[1]
  %b = sym_constant(values=[2], size=[1]) : i64[1]
  %c = div(%a, %b, rounding_mode="trunc") : i64[1]
  return %c
)";
  const auto with = [&](const std::string& operand) {
    std::string text = body;
    return Main("i64[1]", text.replace(text.find("OPERAND"), 7, operand));
  };
  EXPECT_EQ(Evaluated(with("s0")), "[s0 // 2]");
  EXPECT_EQ(Evaluated(with("-s0")), "?");
}

TEST(SymbolicValues, DecidesComparisons) {
  // A requested size of -1 or 1 leaves the size that there is, as in Expand.
  EXPECT_EQ(Evaluated(Main("i64[3]", R"(
  %a = sym_constant(values=[s0, -1, s1], size=[3]) : i64[3]
  %m = sym_constant(values=[-1], size=[1]) : i64[1]
  %one = sym_constant(values=[1], size=[1]) : i64[1]
  %e = eq(%a, %m) : bool[3]
  %w = where(%e, %one, %a) : i64[3]
  return %w
)")),
            "[s0, 1, s1]");
  EXPECT_EQ(Evaluated(Main("bool[1]", R"(
  %a = sym_constant(values=[s0], size=[1]) : i64[1]
  %m = sym_constant(values=[5], size=[1]) : i64[1]
  %e = eq(%a, %m) : bool[1]
  return %e
)")),
            "?");
  // Unknown elements are equal to nothing, not even to themselves.
  EXPECT_EQ(Evaluated(Main("bool[2]", R"(
  %c = add(%n, %n) : i64[2]
  %e = eq(%c, %c) : bool[2]
  return %e
)")),
            "?");
}

TEST(SymbolicValues, EvaluatesConstants) {
  EXPECT_EQ(Evaluated(Main("i32[1]", R"(
  %a = constant(dense<[2147483647]>) : i32[1]
  %b = constant(dense<[1]>) : i32[1]
  %c = add(%a, %b) : i32[1]
  return %c
)")),
            "[-2147483648]");
}

// A chain as long as the graph: no recursion.
TEST(SymbolicValues, FollowsLongChains) {
  Module module(ops::Registry());
  Graph* graph = module.AddFunction("main");
  Builder b(graph);
  Value* one = b.Op(
      ops::sym_constant, {},
      {{"values", std::vector<SymInt>{SymInt::Symbol("s0")}}, {"size", std::vector<int64_t>{1}}});
  SymbolicValues values(module);
  Value* v = one;
  for (int i = 0; i < 200000; ++i) v = b.Op(ops::neg, {b.Op(ops::add, {v, one})});
  ASSERT_TRUE(b.status().ok()) << b.status();
  ASSERT_NE(values.Of(v), nullptr);
  EXPECT_EQ(ToString(*values.Of(v)), "[s0]");
  // And what is added later.
  v = b.Op(ops::add, {v, one});
  EXPECT_EQ(ToString(*values.Of(v)), "[2*s0]");
  EXPECT_EQ(values.Of(graph->AddInput(Type::Scalar(DType::kI64))), nullptr);
}

}  // namespace
}  // namespace weft
