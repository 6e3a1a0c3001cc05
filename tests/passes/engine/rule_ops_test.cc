// Ops of rule files: their meaning, and errors that name the place.
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "graph/ir/module.h"
#include "graph/ir/op_def.h"
#include "graph/ir/op_registry.h"
#include "graph/ir/op_schema.h"
#include "graph/ops/evaluate.h"
#include "graph/ops/registry.h"
#include "graph/tensor/tensor.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "passes/engine/rules/rule_set.h"
#include "passes/pipelines.h"

namespace weft {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

absl::StatusOr<std::unique_ptr<RuleSet>> Load(absl::string_view text) {
  return LoadRules(text, "test.rules", ops::Registry());
}

std::string Message(absl::string_view text) {
  const auto set = Load(text);
  return set.ok() ? "fine" : std::string(set.status().message());
}

// The registry with the ops of the text.
class OwnOps {
 public:
  explicit OwnOps(absl::string_view text) : registry_(ops::Registry()) {
    auto set = Load(text);
    EXPECT_TRUE(set.ok()) << set.status();
    if (!set.ok()) return;
    set_ = *std::move(set);
    for (const RuleSet::OwnOp& own : set_->ops()) registry_.Register(own.op);
  }

  std::unique_ptr<Module> Parse(absl::string_view text) const {
    auto module = ParseModule(text, registry_);
    EXPECT_TRUE(module.ok()) << module.status();
    return module.ok() ? *std::move(module) : nullptr;
  }
  std::string ParseError(absl::string_view text) const {
    return std::string(ParseModule(text, registry_).status().message());
  }
  const RuleSet& set() const { return *set_; }
  const OpDef& op(absl::string_view name) const { return *registry_.Find(name); }

 private:
  std::unique_ptr<RuleSet> set_;
  OpRegistry registry_;
};

// The module's text after the composites are replaced.
std::string Decomposed(Module& module) {
  PassContext context;
  auto pass = BuiltinPasses().Create("decompose");
  EXPECT_TRUE(pass->Run(module, context).ok());
  return PrintModule(module);
}

TEST(RuleOpsTest, AnOpIsItsFormula) {
  const OwnOps own(R"(
# The op comes before the rule that makes it.
op swish_of(x, float beta = 1.0) "Swish." onnx "acme.nn::Swish" = x * sigmoid(beta * x)
op twice_of(x) = swish_of(x, beta=2) + 1
rule make-swish bit-exact { x: f32  mul(x, sigmoid(x)) => swish_of(x) }
)");
  ASSERT_THAT(own.set().ops(), SizeIs(2));
  EXPECT_THAT(own.set().rules(), SizeIs(1));
  EXPECT_GT(own.set().standing(0).instances, 10);
  const OpDef& swish = own.op("swish_of");
  EXPECT_EQ(swish.schema_text(), "swish_of(Tensor x, float beta=1.0) -> Tensor");
  EXPECT_EQ(swish.doc(), "Swish.");
  EXPECT_TRUE(swish.has(kPointwise));
  EXPECT_EQ(own.set().ops()[0].onnx->domain, "acme.nn");
  EXPECT_EQ(own.set().ops()[0].onnx->type, "Swish");
  EXPECT_FALSE(own.set().ops()[1].onnx.has_value());
  const auto module = own.Parse(R"(
func @main(%x: f32[n]) {
  %0 = swish_of(%x)
  %1 = twice_of(%0)
  return %1
})");
  ASSERT_NE(module, nullptr);
  EXPECT_THAT(PrintModule(*module), HasSubstr("%0 = swish_of(%x) : f32[n]\n  %1 = twice_of(%0)"));
  EXPECT_THAT(Decomposed(*module), AllOf(HasSubstr("sigmoid"), Not(HasSubstr("_of"))));
}

TEST(RuleOpsTest, OperatorsBindAsInC) {
  const OwnOps own(R"(
op f(x, y) = -x * x - 3 / (y + 1) * 2 - 1 < y
op g(x, int n = -2) = where(x == 1, n, x) >= 1.5e0
)");
  const auto f = Evaluate(own.op("f"), AttrList::Empty(),
                          {HostTensor::FromDoubles(DType::kF64, {3}, {1, 2, 0}),
                           HostTensor::FromDoubles(DType::kF64, {}, {-4})});
  ASSERT_TRUE(f.ok()) << f.status();
  // -x*x + 1 < -4.
  EXPECT_THAT((*f)[0].ReadInts(), ElementsAre(0, 0, 0));
  const auto less = Evaluate(own.op("f"), AttrList::Empty(),
                             {HostTensor::FromDoubles(DType::kF64, {3}, {1, 2.5, -3}),
                              HostTensor::FromDoubles(DType::kF64, {}, {-4})});
  ASSERT_TRUE(less.ok()) << less.status();
  EXPECT_THAT((*less)[0].ReadInts(), ElementsAre(0, 1, 1));
  const auto g = Evaluate(own.op("g"), AttrList::Get({AttrValue(7)}),
                          {HostTensor::FromDoubles(DType::kF32, {3}, {1, 1.5, 1.25})});
  ASSERT_TRUE(g.ok()) << g.status();
  EXPECT_THAT((*g)[0].ReadInts(), ElementsAre(1, 1, 0));
}

// In f16 the sum would lose all digits behind the point.
TEST(RuleOpsTest, NarrowFloatsAreRoundedOnce) {
  const OwnOps own("op shift_of(x) = (x + 1000) - 1000\nop bits_of(x) = bitcast(x, dtype=i16) + 1");
  const auto x = HostTensor::FromDoubles(DType::kF16, {2}, {0.125, -0.0625});
  const auto y = Evaluate(own.op("shift_of"), AttrList::Empty(), {x});
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_EQ((*y)[0].dtype(), DType::kF16);
  EXPECT_THAT((*y)[0].ReadDoubles(), ElementsAre(0.125, -0.0625));
  const auto bits = Evaluate(own.op("bits_of"), AttrList::Empty(), {x});
  ASSERT_TRUE(bits.ok()) << bits.status();
  EXPECT_EQ((*bits)[0].ReadInts()[0], 0x3001);
}

TEST(RuleOpsTest, NumbersTakeTheDTypeBesideThem) {
  const OwnOps own(R"(
op half_of(x) = x * 0.5
op mixed_of(x) = convert(x, dtype=f32) * 0.5
op less_of(x) = x - 1
)");
  const std::string call = "func @main(%x: i32[2]) {\n  %0 = half_of(%x)\n  return %0\n}";
  EXPECT_THAT(own.ParseError(call), HasSubstr("half_of: 0.5 is not a value of i32"));
  const auto x = HostTensor::FromInts(DType::kI32, {2}, {3, -4});
  const auto y = Evaluate(own.op("mixed_of"), AttrList::Empty(), {x});
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_THAT((*y)[0].ReadDoubles(), ElementsAre(1.5, -2));
  const auto less = Evaluate(own.op("less_of"), AttrList::Empty(), {x});
  ASSERT_TRUE(less.ok()) << less.status();
  EXPECT_THAT((*less)[0].ReadInts(), ElementsAre(2, -5));
}

TEST(RuleOpsTest, TypesThatDoNotFitNameTheOpOfTheFormula) {
  const OwnOps own("op norm_of(x) = x / sum(x, dim=[1])");
  EXPECT_FALSE(own.op("norm_of").has(kPointwise));
  EXPECT_THAT(own.ParseError("func @main(%x: f32[2]) {\n  %0 = norm_of(%x)\n  return %0\n}"),
              AllOf(HasSubstr("norm_of: sum: "), HasSubstr("dim 1 is out of range")));
}

struct Refused {
  const char* text;
  const char* message;
};

TEST(RuleOpsTest, TextsThatAreRefused) {
  const std::vector<Refused> cases = {
      {"rul", "test.rules:1:1: expected 'rule' or 'op'"},
      {"op", "test.rules:1:3: expected the op's name"},
      {"op relu(x) = x + x", "test.rules:1:4: there is an op called relu already"},
      {"op f() = 1", "an op takes operands first"},
      {"op f(x = 1) = x + x", "test.rules:1:8: expected ',' or ')'"},
      {"op f(x, x) = x + x", "two arguments have one name"},
      {"op f(int n, x) = x + n", "an op takes operands first, then attributes"},
      {"op f(x, real n) = x + n", "test.rules:1:15: schema \"f(Tensor x, real n) -> Tensor\""},
      {"op f(x, int n = 0.5) = x + n", "n cannot be 0.5"},
      {"op f(x, str s = \"a, b)\") = x + x", "the default of s cannot be"},
      {"op f(x, Graph g) = x + x", "neither lists of tensors nor graphs"},
      {"op f(Tensor[] x) = x + x", "neither lists of tensors nor graphs"},
      {"op f(x)", "test.rules:1:8: expected '='"},
      {"op f(x) = ", "test.rules:1:11: expected a value"},
      {"op f(x) = x", "a formula must apply an op"},
      {"op f(x) = 2", "a formula must apply an op"},
      {"op f(x, y) = neg(x)", "the formula does not use y"},
      {"op f(x) =\n  x + y", "test.rules:2:7: y is neither an operand nor an attribute of f"},
      {"op f(x, str s) = x + s", "attribute s is neither int nor float"},
      {"op f(x) = nag(x)", "no op nag, did you mean \"neg\"?"},
      {"op f(x) = f(x)", "no op f"},
      {"op f(x) = topk(x)", "pure ops with one result"},
      {"op f(x) = add(x)", "add has 1 operands"},
      {"op f(x) = neg(x, a=1)", "neg has no attribute a"},
      {"op f(x) = permute(x)", "permute: attribute dims is missing"},
      {"op f(x) = sum(x, keepdim=true, keepdim=true)", "a second value for keepdim"},
      {"op f(x) = sum(x, keepdim=3)", "keepdim cannot be 3"},
      {"op f(x) = sum(x, keepdim=maybe)", "maybe is not a value"},
      {"op f(x, int n) = sum(x, keepdim=n)", "n has another type than sum's keepdim"},
      {"op f(x) = (x + 1", "expected ')'"},
      {"op f(x) = x + 1e", "expected a number"},
      {"op f(x) onnx \"Swish\" = x + x", "test.rules:1:14: expected \"domain::Type\""},
      {"op f(x) onnx \"ai.onnx::Relu\" = x + x", "\"ai.onnx\" cannot be a domain"},
      {"op f(x) onnx \"a::A\" = x + x\nop g(x) onnx \"a::A\" = x + x",
       "test.rules:2:14: there is an op for a::A already"},
      {"op f(x) = x + x\nop f(x) = x * x", "test.rules:2:4: there is an op called f already"},
  };
  for (const Refused& c : cases) EXPECT_THAT(Message(c.text), HasSubstr(c.message)) << c.text;
}

// Texts that would cost time or stack are refused early.
TEST(RuleOpsTest, HostileTextsAreRefused) {
  const std::string deep(100000, '(');
  EXPECT_THAT(Message("op f(x) = " + deep + "x"), HasSubstr("at most 64 levels deep"));
  const std::string minuses(100000, '-');
  EXPECT_THAT(Message("op f(x) = " + minuses + "x"), HasSubstr("at most 64 levels deep"));
  std::string calls;
  for (int i = 0; i < 100000; ++i) calls += "neg(";
  EXPECT_THAT(Message("op f(x) = " + calls + "x"), HasSubstr("at most 64 levels deep"));
  std::string sum = "x";
  for (int i = 0; i < 100000; ++i) sum += " + x";
  EXPECT_THAT(Message("op f(x) = " + sum), HasSubstr("at most 256 nodes"));
  std::string arguments = "x";
  for (int i = 0; i < 1000; ++i) absl::StrAppend(&arguments, ", x", i);
  EXPECT_THAT(Message("op f(" + arguments + ") = x + x"), HasSubstr("at most 32 operands"));
  // Each op has twice the nodes of the one before.
  std::string doubling = "op f0(x) = x + x\n";
  for (int i = 1; i < 40; ++i) {
    absl::StrAppend(&doubling, "op f", i, "(x) = f", i - 1, "(f", i - 1, "(x))\n");
  }
  EXPECT_THAT(Message(doubling), HasSubstr("nodes with those of its ops' formulas"));
  std::string chain = "op f0(x) = x + x\n";
  for (int i = 1; i < 40; ++i) absl::StrAppend(&chain, "op f", i, "(x) = f", i - 1, "(x)\n");
  EXPECT_THAT(Message(chain), HasSubstr("more than 16 deep"));
}

}  // namespace
}  // namespace weft
