#include "graph/target/target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ir/op_def.h"
#include "graph/ops/ops.h"
#include "graph/target/target_text.h"
#include "tests/support/parse.h"

namespace weft {
namespace {

using testing::HasSubstr;

constexpr char kText[] = R"(// A device that does not exist.
target "toy" {
  composites = [gelu, softmax]
  kernel_dtypes = [f32, i64]
  max_kernel_nodes = 8
  vector_bytes = 64
  l1_bytes = 16384
  function_work = 30
  routine gemm {
    ops = [matmul, linear]
    dtypes = [f32]
    absent_operands = [2]
    strided = [0, 1, result]
  }
  routine "conv 2d" {
    ops = [convolution]
    min_rank = 4
    max_rank = 4
    constant_attrs = [padding, groups]
    unit_attrs = [dilation]
    channel_dim = 1
    prefers_channels_last = true
    contract = "bit-exact"
  }
  routine pooling {
    ops = [max_pool]
    unused_results = [1]
  }
  epilogue {
    ops = [relu]
    routines = [gemm, "conv 2d"]
  }
  epilogue {
    ops = [add, sub]
    routines = ["conv 2d"]
    dtypes = [f32]
    operand_sizes = [same, channels]
    either_operand = true
  }
  epilogue {
    ops = [div]
    routines = [gemm]
    operand_sizes = [scalar]
    absent_attrs = [rounding_mode]
  }
}
)";

Target Toy() {
  auto target = ParseTarget(kText);
  EXPECT_TRUE(target.ok()) << target.status();
  return target.ok() ? *std::move(target) : Target();
}

TEST(TargetTextTest, PrintsWhatItReads) {
  const Target target = Toy();
  const std::string text = PrintTarget(target);
  const auto again = ParseTarget(text);
  ASSERT_TRUE(again.ok()) << again.status() << text;
  EXPECT_EQ(PrintTarget(*again), text);
  EXPECT_EQ(*again, target);
  EXPECT_EQ(HashTarget(*again), HashTarget(target));
  EXPECT_EQ(target.max_kernel_nodes, 8);
  EXPECT_EQ(target.vector_bytes, 64);
  EXPECT_EQ(target.l1_bytes, 16384);
  EXPECT_EQ(target.costs.function_work, 30);
  EXPECT_EQ(target.costs.division_work, Target().costs.division_work);
  ASSERT_EQ(target.routines.size(), 3u);
  EXPECT_EQ(target.routines[1].name, "conv 2d");
  EXPECT_EQ(target.routines[1].contract, NumericContract::kBitExact);
}

// Every field is part of the text: a change of it changes the hash.
TEST(TargetTextTest, HashesEveryField) {
  const Target target = Toy();
  const auto differs = [&](auto change) {
    Target changed = target;
    change(changed);
    EXPECT_NE(HashTarget(changed), HashTarget(target));
    EXPECT_NE(changed, target);
  };
  differs([](Target& t) { t.name = "other"; });
  differs([](Target& t) { t.composites.pop_back(); });
  differs([](Target& t) { t.kernel_dtypes.clear(); });
  differs([](Target& t) { t.max_kernel_nodes = 9; });
  differs([](Target& t) { t.max_kernel_inputs = 9; });
  differs([](Target& t) { t.max_row_elements = 9; });
  differs([](Target& t) { t.costs.division_work = 9; });
  differs([](Target& t) { t.costs.function_work = 9; });
  differs([](Target& t) { t.costs.row_work = 9; });
  differs([](Target& t) { t.costs.step_cost = 9; });
  differs([](Target& t) { t.costs.load_one_cost = 9; });
  differs([](Target& t) { t.costs.load_apart_cost = 9; });
  differs([](Target& t) { t.costs.store_apart_cost = 9; });
  differs([](Target& t) { t.costs.run_steps = 9; });
  differs([](Target& t) { t.costs.tail_steps = 9; });
  differs([](Target& t) { t.costs.streams = 9; });
  differs([](Target& t) { t.costs.stream_bytes = 9; });
  differs([](Target& t) { t.routines[0].name = "x"; });
  differs([](Target& t) { t.routines[0].ops.pop_back(); });
  differs([](Target& t) { t.routines[0].dtypes.clear(); });
  differs([](Target& t) { t.routines[0].result_dtypes = {DType::kF32}; });
  differs([](Target& t) { t.routines[0].min_rank = 1; });
  differs([](Target& t) { t.routines[0].max_rank = 1; });
  differs([](Target& t) { t.routines[0].constant_attrs = {"a"}; });
  differs([](Target& t) { t.routines[0].unit_attrs = {"a"}; });
  differs([](Target& t) { t.routines[0].absent_operands.clear(); });
  differs([](Target& t) { t.routines[0].unused_results = {0}; });
  differs([](Target& t) { t.routines[0].strided.clear(); });
  differs([](Target& t) { t.routines[0].channel_dim = 1; });
  differs([](Target& t) { t.routines[0].prefers_channels_last = true; });
  differs([](Target& t) { t.routines[0].contract = NumericContract::kApproximate; });
  differs([](Target& t) { t.epilogues[1].ops.pop_back(); });
  differs([](Target& t) { t.epilogues[1].routines.clear(); });
  differs([](Target& t) { t.epilogues[1].dtypes.clear(); });
  differs([](Target& t) { t.epilogues[1].operand_sizes.pop_back(); });
  differs([](Target& t) { t.epilogues[1].either_operand = false; });
  differs([](Target& t) { t.epilogues[1].absent_attrs = {"a"}; });
}

TEST(TargetTextTest, NamesThePlaceOfAnError) {
  const auto error = [](const std::string& text) {
    return std::string(ParseTarget(text, "my.target").status().message());
  };
  EXPECT_THAT(error("routine gemm {}"), HasSubstr("my.target:1:1: expected \"target\""));
  EXPECT_THAT(error("target t {\n  max_nodes = 3\n}"),
              HasSubstr("my.target:2:3: there is no field max_nodes; the fields are: composites"));
  EXPECT_THAT(error("target t { max_kernel_nodes = 0 }"), HasSubstr("must be at least 1"));
  EXPECT_THAT(error("target t { max_kernel_nodes = 99999999999999999999 }"), HasSubstr("1:31"));
  EXPECT_THAT(error("target t { routine r { dtypes = [f33] } }"),
              HasSubstr("expected an element type, found \"f33\""));
  EXPECT_THAT(error("target t { routine r { strided = [99999] } }"), HasSubstr("from -64 to 4096"));
  EXPECT_THAT(error("target t { epilogue { operand_sizes = [all] } }"),
              HasSubstr("same, channels, scalar or other"));
  EXPECT_THAT(error("target t { epilogue { either_operand = 1 } }"), HasSubstr("true or false"));
  EXPECT_THAT(error("target t { routine r { contract = \"exact\" } }"), HasSubstr("bit-exact"));
  EXPECT_THAT(error("target t {"), HasSubstr("expected"));
  EXPECT_THAT(error("target t {} target u {}"), HasSubstr("expected the end of the text"));
  EXPECT_FALSE(ParseTarget("target t { composites = [" + std::string(100000, ',')).ok());
}

// The routine of the first node of such an op.
const Routine* RoutineOf(const Target& target, const std::string& op, const std::string& body,
                         const std::string& inputs) {
  const auto module = Parse("func @main(" + inputs + ") {\n" + body + "\n}");
  for (const Node* node : module->main()->nodes()) {
    if (node->op().name() == op) return FindRoutine(target, *node);
  }
  ADD_FAILURE() << "no " << op;
  return nullptr;
}

std::string NameOf(const Routine* routine) { return routine == nullptr ? "" : routine->name; }

TEST(FindRoutineTest, ChecksWhatTheRoutineAsksFor) {
  const Target toy = Toy();
  const auto linear = [&](const std::string& dtype, const std::string& bias) {
    return NameOf(
        RoutineOf(toy, "linear", "%0 = linear(%x, %w, " + bias + ")\nreturn %0",
                  "%x: " + dtype + "[2, 3], %w: " + dtype + "[4, 3], %b: " + dtype + "[4]"));
  };
  EXPECT_EQ(linear("f32", "none"), "gemm");
  EXPECT_EQ(linear("f64", "none"), "");
  EXPECT_EQ(linear("f32", "%b"), "");
  const auto convolution = [&](const std::string& inputs, const std::string& attrs) {
    return NameOf(RoutineOf(toy, "convolution",
                            "%0 = convolution(%x, %w, none, " + attrs + ")\nreturn %0", inputs));
  };
  const std::string square = "%x: f32[1, 2, 5, 5], %w: f32[2, 2, 3, 3]";
  const std::string plain = "stride=[1, 1], padding=[1, 1], dilation=[1, 1]";
  EXPECT_EQ(convolution(square, plain), "conv 2d");
  EXPECT_EQ(convolution(square, "stride=[1, 1], padding=[-1, 1], dilation=[1, 1]"), "");
  EXPECT_EQ(convolution(square, "stride=[1, 1], padding=[2, 2], dilation=[2, 1]"), "");
  EXPECT_EQ(
      convolution("%x: f32[1, 2, 5], %w: f32[2, 2, 3]", "stride=[1], padding=[1], dilation=[1]"),
      "");
  const std::string pool =
      "%0, %1 = max_pool(%x, kernel_size=[2], stride=[2], padding=[0, 0], dilation=[1])\nreturn ";
  EXPECT_EQ(NameOf(RoutineOf(toy, "max_pool", pool + "%0", "%x: f32[1, 2, 6]")), "pooling");
  EXPECT_EQ(NameOf(RoutineOf(toy, "max_pool", pool + "%0, %1", "%x: f32[1, 2, 6]")), "");
}

TEST(FindRoutineTest, TakesNothingThatHasAnEffect) {
  Target target;
  target.routines.emplace_back();
  target.routines[0].ops = {"runtime_assert"};
  target.routines[0].result_dtypes = {DType::kF32};
  const auto module = Parse(
      "func @main(%x: f32[4], %c: bool[]) {\n  runtime_assert(%c, message=\"m\")\n  return %x\n}");
  for (const Node* node : module->main()->nodes()) EXPECT_EQ(FindRoutine(target, *node), nullptr);
}

TEST(TakesStridesTest, HoldsForListedOperands) {
  const Target toy = Toy();
  const Routine& gemm = toy.routines[0];
  EXPECT_TRUE(TakesStrides(gemm, 0));
  EXPECT_TRUE(TakesStrides(gemm, Routine::kResult));
  EXPECT_FALSE(TakesStrides(gemm, 2));
}

TEST(OperandSizesTest, TellsHowAnOperandBroadcasts) {
  const std::vector<SymInt> result = {2, 3, 4};
  const auto of = [&](std::vector<SymInt> operand) { return OperandSizesOf(operand, result, 1); };
  EXPECT_EQ(of({2, 3, 4}), OperandSizes::kSame);
  EXPECT_EQ(of({3, 1}), OperandSizes::kChannels);
  EXPECT_EQ(of({1, 3, 1}), OperandSizes::kChannels);
  EXPECT_EQ(of({}), OperandSizes::kScalar);
  EXPECT_EQ(of({1, 1, 1}), OperandSizes::kScalar);
  EXPECT_EQ(of({4}), OperandSizes::kOther);
  EXPECT_EQ(of({2, 1, 1}), OperandSizes::kOther);
  EXPECT_EQ(of({1, 2, 3, 4}), OperandSizes::kOther);
}

// True if a convolution's routine applies `op`, as its operand `operand`, when it stores.
bool Stores(const std::string& op, int operand, const std::string& inputs) {
  const Target toy = Toy();
  const auto module =
      Parse("func @main(%x: f32[2, 3, 5, 5], %w: f32[3, 3, 3, 3]" + inputs +
            ") {\n%0 = convolution(%x, %w, none, stride=[1, 1], padding=[1, 1], dilation=[1, 1])\n"
            "%1 = " +
            op + "\nreturn %1\n}");
  const Node* convolution = module->main()->first_node();
  while (!convolution->Is(ops::convolution)) convolution = convolution->next();
  const Node* stored = convolution->result()->first_use()->user();
  return TakesEpilogue(toy, *FindRoutine(toy, *convolution), *stored, operand);
}

TEST(TakesEpilogueTest, AsksForOpSizesAndPlace) {
  EXPECT_TRUE(Stores("relu(%0)", 0, ""));
  EXPECT_FALSE(Stores("exp(%0)", 0, ""));
  EXPECT_TRUE(Stores("add(%0, %y)", 0, ", %y: f32[2, 3, 5, 5]"));
  EXPECT_TRUE(Stores("sub(%y, %0)", 1, ", %y: f32[3, 1, 1]"));
  EXPECT_FALSE(Stores("add(%0, %y)", 0, ", %y: f32[]"));
  EXPECT_FALSE(Stores("add(%0, %y)", 0, ", %y: f32[2, 3, 1, 1]"));
  // The result must be the routine's, not a larger one.
  EXPECT_FALSE(Stores("add(%0, %y)", 0, ", %y: f32[7, 2, 3, 5, 5]"));
  EXPECT_FALSE(Stores("div(%0, %y)", 0, ", %y: f32[]"));
}

}  // namespace
}  // namespace weft
