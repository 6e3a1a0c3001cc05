// Ops with nested graphs: inference, verification and evaluation. Modules are
// in the text form, without the types of results, so that parsing infers them.
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "graph/ir/builder.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ir/op_args.h"
#include "graph/ir/op_def.h"
#include "graph/ops/evaluate.h"
#include "graph/ops/ops.h"
#include "graph/ops/registry.h"
#include "graph/sym/sym_facts.h"
#include "graph/tensor/tensor.h"
#include "graph/text/text.h"
#include "graph/verify/verifier.h"
#include "gtest/gtest.h"

namespace weft {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Tensors = std::vector<HostTensor>;

std::unique_ptr<Module> Parse(const std::string& text) {
  auto module = ParseModule(text, ops::Registry());
  if (!module.ok()) {
    ADD_FAILURE() << module.status() << "\nin\n" << text;
    return nullptr;
  }
  // The printed text parses back and is verified again.
  const std::string printed = PrintModule(**module);
  auto again = ParseModule(printed, ops::Registry());
  if (!again.ok()) {
    ADD_FAILURE() << again.status() << "\nin\n" << printed;
    return nullptr;
  }
  EXPECT_EQ(PrintModule(**again), printed);
  return *std::move(module);
}

std::string Error(const std::string& text) {
  auto module = ParseModule(text, ops::Registry());
  return module.ok() ? "none" : std::string(module.status().message());
}

// Types of the outputs.
std::string TypesOf(const Module& module) {
  std::string text;
  for (const Value* v : module.main()->outputs()) {
    absl::StrAppend(&text, text.empty() ? "" : ", ", v->type().ToString());
  }
  return text;
}

Tensors Main(const Module& module, const Tensors& inputs) {
  auto outputs = EvaluateGraph(*module.main(), inputs);
  if (!outputs.ok()) {
    ADD_FAILURE() << outputs.status();
    return Tensors(4, HostTensor(DType::kI64, {0}));
  }
  return *std::move(outputs);
}

HostTensor I64(std::vector<int64_t> values) {
  return HostTensor::FromInts(DType::kI64, {static_cast<int64_t>(values.size())}, values);
}
HostTensor Scalar(int64_t value) { return HostTensor::ScalarInt(DType::kI64, value); }
HostTensor Bool(bool value) { return HostTensor::ScalarInt(DType::kBool, value); }

std::vector<int64_t> Ints(const HostTensor& t) { return t.ReadInts(); }
std::vector<int64_t> Dims(const HostTensor& t) { return {t.dims().begin(), t.dims().end()}; }

// --- cond -------------------------------------------------------------------

std::string Cond(const std::string& then_body, const std::string& else_body) {
  return absl::StrCat(R"(func @main(%p: bool[], %x: i64[s0]) {
  %y = cond(%p, %x) {
    then_graph(%a: i64[s0]) {)",
                      then_body, R"(}
    else_graph(%a: i64[s0]) {)",
                      else_body, R"(}
  }
  return %y
})");
}

TEST(Cond, KeepsTheTypeThatBothHave) {
  auto m = Parse(Cond("%b = neg(%a) return %b", "return %a"));
  ASSERT_NE(m, nullptr);
  EXPECT_EQ(TypesOf(*m), "i64[s0]");
  EXPECT_THAT(Ints(Main(*m, {Bool(true), I64({1, 2})})[0]), ElementsAre(-1, -2));
  EXPECT_THAT(Ints(Main(*m, {Bool(false), I64({1, 2})})[0]), ElementsAre(1, 2));
}

TEST(Cond, SizesThatDifferAreFresh) {
  auto m = Parse(Cond("%b = cat(%a, %a) return %b", "return %a"));
  ASSERT_NE(m, nullptr);
  EXPECT_EQ(TypesOf(*m), "i64[u0]");
  EXPECT_TRUE(m->symbols().IsUnbacked(SymInt::Symbol("u0")));
  EXPECT_EQ(Main(*m, {Bool(true), I64({1, 2})})[0].numel(), 4);
  EXPECT_EQ(Main(*m, {Bool(false), I64({1, 2})})[0].numel(), 2);
}

TEST(Cond, RangeOfAFreshSizeCoversBoth) {
  auto m =
      Parse(Cond("%b = arange(start=0, end=3) return %b", "%b = arange(start=0, end=7) return %b"));
  ASSERT_NE(m, nullptr);
  EXPECT_EQ(TypesOf(*m), "i64[u0]");
  EXPECT_EQ(m->symbols().RangeOf(SymInt::Symbol("u0")), (SymRange{3, 7}));
}

TEST(Cond, SymbolsOfNestedGraphsStayInside) {
  auto m = Parse(Cond("%i = nonzero(%a) return %i", "%i = nonzero(%a) return %i"));
  ASSERT_NE(m, nullptr);
  const Value* y = m->main()->output(0);
  EXPECT_EQ(y->type().rank(), 2);
  EXPECT_EQ(y->type().dim(1), SymInt(1));
  // Defined by the cond, not by the nonzero inside.
  EXPECT_EQ(m->main()->SymbolDefinition(y->type().dim(0)), y);
  EXPECT_THAT(Dims(Main(*m, {Bool(true), I64({0, 5, 6})})[0]), ElementsAre(2, 1));
}

TEST(Cond, EqualReasonsGiveEqualSizes) {
  auto m = Parse(R"(func @main(%p: bool[], %x: i64[s0]) {
  %y, %z = cond(%p, %x) {
    then_graph(%a: i64[s0]) { %b = cat(%a, %a) %c = neg(%b) return %b, %c }
    else_graph(%a: i64[s0]) { %b = neg(%a) return %a, %b }
  }
  return %y, %z
})");
  ASSERT_NE(m, nullptr);
  EXPECT_EQ(TypesOf(*m), "i64[u0], i64[u0]");
}

TEST(Cond, SizesOfItsOwnStandForThoseOfTheOperands) {
  auto m = Parse(R"(func @main(%p: bool[], %x: i64[s0]) where unbacked u7 {
  %y = cond(%p, %x) {
    then_graph(%a: i64[u7]) { return %a }
    else_graph(%a: i64[u7]) { %b = neg(%a) return %b }
  }
  return %y
})");
  ASSERT_NE(m, nullptr);
  EXPECT_EQ(TypesOf(*m), "i64[s0]");
  EXPECT_THAT(Ints(Main(*m, {Bool(false), I64({3})})[0]), ElementsAre(-3));
}

TEST(Cond, UnbackedSymbolsFromOutsideNeedAnOperandToComeBack) {
  auto m = Parse(R"(func @main(%p: bool[], %x: i64[4]) where unbacked u5 {
  %n = nonzero(%x) : i64[u5, 1]
  %y = cond(%p, %n) {
    then_graph(%a: i64[u5, 1]) { return %a }
    else_graph(%a: i64[u5, 1]) { %b = neg(%a) return %b }
  }
  %z = cond(%p) {
    then_graph() { %b = arange(start=0, end=u5) return %b }
    else_graph() { %b = arange(start=1, end=u5+1) return %b }
  }
  return %y, %z
})");
  ASSERT_NE(m, nullptr);
  EXPECT_EQ(TypesOf(*m), "i64[u5, 1], i64[u0]");
  EXPECT_THAT(Ints(Main(*m, {Bool(false), I64({0, 1, 0, 1})})[1]), ElementsAre(1, 2));
}

TEST(Cond, RefusesWhatDoesNotFit) {
  EXPECT_THAT(Error(Cond("%b = neg(%a) return %b, %a", "return %a")),
              HasSubstr("then_graph has 2 outputs and else_graph 1"));
  EXPECT_THAT(Error(Cond("%b = convert(%a, dtype=f32) return %b", "return %a")),
              HasSubstr("output 0 is f32[s0] of then_graph and i64[s0] of "
                        "else_graph"));
  EXPECT_THAT(Error(R"(func @main(%p: bool[], %x: i64[3]) {
  %y = cond(%p, %x) {
    then_graph(%a: i64[3], %b: i64[3]) { return %a }
    else_graph(%a: i64[3]) { return %a }
  }
  return %y
})"),
              HasSubstr("then_graph takes 2 inputs, not 1"));
  EXPECT_THAT(Error(R"(func @main(%p: bool[], %x: i64[3]) {
  %y = cond(%p, %x) {
    then_graph(%a: i64[3]) { return %a }
    else_graph(%a: i64[4]) { return %a }
  }
  return %y
})"),
              HasSubstr("input 0 of else_graph: i64[3] and i64[4] do not fit"));
  EXPECT_THAT(Error(R"(func @main(%p: bool[1], %x: i64[3]) {
  %y = cond(%p, %x) {
    then_graph(%a: i64[3]) { return %a }
    else_graph(%a: i64[3]) { return %a }
  }
  return %y
})"),
              HasSubstr("pred must have rank 0"));
}

// --- loop -------------------------------------------------------------------

// Doubles a sum and keeps it at each step, while it is below a captured limit.
constexpr char kDouble[] =
    R"(func @main(%n: i64[], %c: bool[], %x: i64[2], %l: i64[]) {
  %y, %ys = loop(%n, %c, %x, %l, num_carried=1) {
    body(%i: i64[], %b: bool[], %a: i64[2], %m: i64[]) {
      %d = add(%a, %a)
      %s = sum(%d)
      %go = lt(%s, %m)
      return %go, %d, %d
    }
  }
  return %y, %ys
})";

TEST(Loop, InfersCarriedAndStackedTypes) {
  auto m = Parse(kDouble);
  ASSERT_NE(m, nullptr);
  EXPECT_EQ(TypesOf(*m), "i64[2], i64[u0, 2]");
  EXPECT_EQ(m->main()->SymbolDefinition(SymInt::Symbol("u0")), m->main()->output(1));
}

TEST(Loop, RunsUntilTheTripCount) {
  auto m = Parse(kDouble);
  ASSERT_NE(m, nullptr);
  const Tensors out = Main(*m, {Scalar(3), Bool(true), I64({1, 2}), Scalar(99)});
  ASSERT_EQ(out.size(), 2u);
  EXPECT_THAT(Ints(out[0]), ElementsAre(8, 16));
  EXPECT_THAT(Dims(out[1]), ElementsAre(3, 2));
  EXPECT_THAT(Ints(out[1]), ElementsAre(2, 4, 4, 8, 8, 16));
}

TEST(Loop, RunsUntilTheConditionFails) {
  auto m = Parse(kDouble);
  ASSERT_NE(m, nullptr);
  const Tensors out = Main(*m, {Scalar(99), Bool(true), I64({1, 2}), Scalar(7)});
  ASSERT_EQ(out.size(), 2u);
  EXPECT_THAT(Ints(out[0]), ElementsAre(4, 8));
  EXPECT_THAT(Dims(out[1]), ElementsAre(2, 2));
}

TEST(Loop, WithoutStepsHasEmptyStackedResults) {
  auto m = Parse(kDouble);
  ASSERT_NE(m, nullptr);
  for (const auto& [trips, go] : {std::make_pair(0, true), {5, false}, {-1, true}}) {
    const Tensors out = Main(*m, {Scalar(trips), Bool(go), I64({1, 2}), Scalar(7)});
    ASSERT_EQ(out.size(), 2u);
    EXPECT_THAT(Ints(out[0]), ElementsAre(1, 2));
    EXPECT_THAT(Dims(out[1]), ElementsAre(0, 2));
    EXPECT_EQ(out[1].dtype(), DType::kI64);
  }
}

TEST(Loop, CountsIterations) {
  auto m = Parse(R"(func @main(%n: i64[], %c: bool[]) {
  %is = loop(%n, %c, num_carried=0) {
    body(%i: i64[], %b: bool[]) { return %b, %i }
  }
  return %is
})");
  ASSERT_NE(m, nullptr);
  EXPECT_EQ(TypesOf(*m), "i64[u0]");
  EXPECT_THAT(Ints(Main(*m, {Scalar(3), Bool(true)})[0]), ElementsAre(0, 1, 2));
}

// A carried size that grows is a symbol of the body.
TEST(Loop, SizesThatVaryAreFresh) {
  auto m = Parse(R"(func @main(%n: i64[], %c: bool[], %x: i64[2], %y: i64[s0])
    where unbacked u7 {
  %a, %b = loop(%n, %c, %x, %y, num_carried=2) {
    body(%i: i64[], %b: bool[], %a: i64[u7], %k: i64[s0]) {
      %g = cat(%a, %k)
      %z = neg(%k)
      return %b, %g, %z
    }
  }
  return %a, %b
})");
  ASSERT_NE(m, nullptr);
  EXPECT_EQ(TypesOf(*m), "i64[u0], i64[s0]");
  const Tensors out = Main(*m, {Scalar(3), Bool(true), I64({1, 2}), I64({5})});
  ASSERT_EQ(out.size(), 2u);
  EXPECT_THAT(Ints(out[0]), ElementsAre(1, 2, 5, -5, 5));
  EXPECT_THAT(Ints(out[1]), ElementsAre(-5));
}

// A size that the body does not know but keeps is that of the operand.
TEST(Loop, SizesThatStayAreThoseOfTheOperand) {
  auto m = Parse(R"(func @main(%n: i64[], %c: bool[], %x: i64[s0, 2])
    where unbacked u7, unbacked u8 {
  %a, %s = loop(%n, %c, %x, num_carried=1) {
    body(%i: i64[], %b: bool[], %a: i64[u7, u8]) {
      %z = neg(%a)
      return %b, %z, %z
    }
  }
  return %a, %s
})");
  ASSERT_NE(m, nullptr);
  EXPECT_EQ(TypesOf(*m), "i64[s0, 2], i64[u0, u1, u2]");
  const Tensors none = Main(*m, {Scalar(0), Bool(true), HostTensor(DType::kI64, {3, 2})});
  EXPECT_THAT(Dims(none[1]), ElementsAre(0, 0, 0));
}

TEST(Loop, RefusesWhatDoesNotFit) {
  const auto loop = [](const std::string& counts, const std::string& body) {
    return absl::StrCat("func @main(%n: i64[], %c: bool[], %x: i64[2]) {\n",
                        "  %y = loop(%n, %c, %x, num_carried=", counts, ") {\n    body", body,
                        "\n  }\n  return %y\n}");
  };
  EXPECT_THAT(Error(loop("2",
                         "(%i: i64[], %b: bool[], %a: i64[2]) "
                         "{ return %b, %a }")),
              HasSubstr("num_carried is 2 of 1 operands"));
  EXPECT_THAT(Error(loop("1", "(%i: i64[], %a: i64[2]) { return %i, %a }")),
              HasSubstr("body takes 2 inputs, not 3"));
  EXPECT_THAT(Error(loop("1",
                         "(%i: i64[], %b: bool[], %a: i64[2]) "
                         "{ return %b }")),
              HasSubstr("body has 1 outputs where 2 are needed"));
  EXPECT_THAT(Error(loop("1",
                         "(%i: i64[], %b: bool[], %a: i64[2]) "
                         "{ return %i, %a }")),
              HasSubstr("output 0 of body, carried: i64[] and bool[]"));
  EXPECT_THAT(Error(loop("1",
                         "(%i: i64[], %b: bool[], %a: i64[2]) "
                         "{ %z = cat(%a, %a) return %b, %z }")),
              HasSubstr("output 1 of body, carried: i64[4] and i64[2] do not"));
}

TEST(Loop, AStackedValueMustKeepItsShape) {
  auto m = Parse(R"(func @main(%n: i64[], %c: bool[], %x: i64[1])
    where unbacked u7 {
  %a, %s = loop(%n, %c, %x, num_carried=1) {
    body(%i: i64[], %b: bool[], %a: i64[u7]) {
      %g = cat(%a, %a)
      return %b, %g, %g
    }
  }
  return %a, %s
})");
  ASSERT_NE(m, nullptr);
  EXPECT_EQ(Main(*m, {Scalar(1), Bool(true), I64({1})})[1].numel(), 2);
  const auto out = EvaluateGraph(*m->main(), {Scalar(2), Bool(true), I64({1})});
  EXPECT_THAT(std::string(out.status().message()),
              HasSubstr("result 1 is i64[2] in one step and i64[4] in "
                        "another"));
}

TEST(Loop, Nests) {
  auto m = Parse(R"(func @main(%n: i64[], %c: bool[], %x: i64[]) {
  %y = loop(%n, %c, %x, %n, num_carried=1) {
    body(%i: i64[], %b: bool[], %a: i64[], %m: i64[]) {
      %d = loop(%m, %b, %a, num_carried=1) {
        body(%j: i64[], %e: bool[], %f: i64[]) {
          %g = add(%f, %f)
          return %e, %g
        }
      }
      return %b, %d
    }
  }
  return %y
})");
  ASSERT_NE(m, nullptr);
  EXPECT_EQ(TypesOf(*m), "i64[]");
  EXPECT_THAT(Ints(Main(*m, {Scalar(3), Bool(true), Scalar(1)})[0]), ElementsAre(512));
}

// --- scan -------------------------------------------------------------------

// Running sums of rows, times a captured factor.
constexpr char kScan[] = R"(func @main(%x: i64[2], %r: i64[s0, 2], %f: i64[]) {
  %y, %ys = scan(%x, %r, %f, num_carried=1, num_scanned=1) {
    body(%a: i64[2], %s: i64[2], %g: i64[]) {
      %d = add(%a, %s)
      %e = mul(%d, %g)
      return %d, %e
    }
  }
  return %y, %ys
})";

TEST(Scan, StacksOverTheScannedLength) {
  auto m = Parse(kScan);
  ASSERT_NE(m, nullptr);
  EXPECT_EQ(TypesOf(*m), "i64[2], i64[s0, 2]");
  const HostTensor rows = HostTensor::FromInts(DType::kI64, {3, 2}, {1, 2, 3, 4, 5, 6});
  const Tensors out = Main(*m, {I64({10, 20}), rows, Scalar(2)});
  ASSERT_EQ(out.size(), 2u);
  EXPECT_THAT(Ints(out[0]), ElementsAre(19, 32));
  EXPECT_THAT(Ints(out[1]), ElementsAre(22, 44, 28, 52, 38, 64));
}

TEST(Scan, OfNothingIsEmpty) {
  auto m = Parse(kScan);
  ASSERT_NE(m, nullptr);
  const Tensors out = Main(*m, {I64({1, 2}), HostTensor(DType::kI64, {0, 2}), Scalar(2)});
  ASSERT_EQ(out.size(), 2u);
  EXPECT_THAT(Ints(out[0]), ElementsAre(1, 2));
  EXPECT_THAT(Dims(out[1]), ElementsAre(0, 2));
}

TEST(Scan, SizesInsideAreTranslatedOrFresh) {
  auto m = Parse(R"(func @main(%r: i64[4, s0], %q: bool[s1, 3])
    where unbacked u7 {
  %a, %b = scan(%r, %q, num_carried=0, num_scanned=2) {
    body(%s: i64[u7], %p: bool[3]) {
      %n = neg(%s)
      %z = nonzero(%p)
      return %n, %z
    }
  }
  return %a, %b
})");
  ASSERT_NE(m, nullptr);
  const auto outputs = m->main()->outputs();
  EXPECT_EQ(outputs[0]->type().ToString(), "i64[4, s0]");
  const Type kept = outputs[1]->type();
  EXPECT_EQ(kept.dim(0), SymInt(4));
  EXPECT_EQ(m->main()->SymbolDefinition(kept.dim(1)), outputs[1]);
  EXPECT_EQ(m->symbols().RangeOf(kept.dim(1)), (SymRange{0, 3}));
}

TEST(Scan, RefusesWhatDoesNotFit) {
  const auto scan = [](const std::string& attrs, const std::string& body) {
    return absl::StrCat("func @main(%x: i64[2], %r: i64[3, 2], %q: i64[4]) {\n",
                        "  %y = scan(%x, %r, %q, ", attrs, ") {\n    body", body,
                        "\n  }\n  return %y\n}");
  };
  const std::string three = "(%a: i64[2], %s: i64[2], %q: i64[]) { return %a }";
  EXPECT_THAT(Error(scan("num_carried=1, num_scanned=2", three)),
              HasSubstr("length of operands[2]: 3 and 4 differ"));
  EXPECT_THAT(Error(scan("num_carried=1, num_scanned=3", three)),
              HasSubstr("num_scanned 3 of 3 operands"));
  EXPECT_THAT(Error(scan("num_carried=3, num_scanned=0", three)),
              HasSubstr("num_scanned 0 of 3 operands"));
  EXPECT_THAT(Error(scan("num_carried=1, num_scanned=1", three)),
              HasSubstr("input 2 of body: i64[4] and i64[] do not fit"));
}

// --- fused ------------------------------------------------------------------

constexpr char kFused[] = R"(func @main(%x: f32[s0, 4], %y: f32[4]) {
  %a, %b = fused(%x, %y, kind="pointwise") {
    body(%p: f32[s0, 4], %q: f32[4]) {
      %s = add(%p, %q)
      %r = relu(%s)
      return %r, %s
    }
  }
  return %a, %b
})";

TEST(Fused, HasTheTypesAndValuesOfItsBody) {
  auto m = Parse(kFused);
  ASSERT_NE(m, nullptr);
  EXPECT_EQ(TypesOf(*m), "f32[s0, 4], f32[s0, 4]");
  const Tensors out = Main(*m, {HostTensor::FromDoubles(DType::kF32, {1, 4}, {-3, 0, 1, 2}),
                                HostTensor::FromDoubles(DType::kF32, {4}, {1, -1, 1, 0})});
  ASSERT_EQ(out.size(), 2u);
  EXPECT_THAT(out[0].ReadDoubles(), ElementsAre(0, 0, 2, 2));
  EXPECT_THAT(out[1].ReadDoubles(), ElementsAre(-2, -1, 2, 2));
}

TEST(Fused, DecomposesIntoItsBody) {
  auto m = Parse(kFused);
  ASSERT_NE(m, nullptr);
  Node* node = m->main()->first_node();
  Builder b(m->main(), node);
  Node::ArgStorage storage;
  const auto values = node->op().decompose()(b, node->Args(&storage));
  ASSERT_EQ(values.size(), 2u);
  for (int i = 0; i < 2; ++i) node->result(i)->ReplaceAllUsesWith(values[i]);
  m->main()->EraseNode(node);
  EXPECT_TRUE(Verify(*m).ok());
  EXPECT_EQ(m->main()->num_nodes(), 2);
  EXPECT_TRUE(m->main()->output(0)->IsResultOf(ops::relu));
}

// A size that depends on data comes in with the operands.
TEST(Fused, KnowsSizesOfItsOperands) {
  auto m = Parse(R"(func @main(%x: f32[6]) {
  %n = nonzero(%x) : i64[u0, 1]
  %a = fused(%n, kind="pointwise") {
    body(%p: i64[u0, 1]) {
      %e = expand(%p, size=[u0, 2])
      return %e
    }
  }
  return %a
})");
  ASSERT_NE(m, nullptr);
  EXPECT_EQ(TypesOf(*m), "i64[u0, 2]");
  const Tensors out = Main(*m, {HostTensor::FromDoubles(DType::kF32, {6}, {0, 1, 0, 0, 2, 0})});
  EXPECT_THAT(Ints(out[0]), ElementsAre(1, 1, 4, 4));
}

TEST(Fused, RefusesWhatIsNoGroup) {
  const auto fused = [](const std::string& kind, const std::string& body) {
    return absl::StrCat("func @main(%x: f32[2], %y: i64[2]) {\n", "  %a = fused(%x, kind=\"", kind,
                        "\") {\n    body", body, "\n  }\n  return %a\n}");
  };
  EXPECT_EQ(Error(fused("gemm", "(%p: f32[2]) { return %p }")), "none");
  EXPECT_THAT(Error(fused("gem", "(%p: f32[2]) { return %p }")),
              HasSubstr("kind is \"gem\", not one of pointwise, reduction"));
  EXPECT_THAT(Error(fused("gemm", "(%p: f32[3]) { return %p }")),
              HasSubstr("input 0 of body: f32[2] and f32[3] do not fit"));
  EXPECT_THAT(Error(fused("gemm", "(%p: f32[2]) { %n = nonzero(%p) return %n }")),
              HasSubstr("sizes of nonzero in body depend on data"));
  EXPECT_THAT(Error(fused("gemm", "(%p: f32[2]) { %n = copy_(%p, %p) return %n }")),
              HasSubstr("copy_ in body has effects"));
}

}  // namespace
}  // namespace weft
