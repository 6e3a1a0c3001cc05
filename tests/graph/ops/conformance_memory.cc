// Views and writes.
#include <set>
#include <vector>

#include "graph/ir/builder.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/op_args.h"
#include "graph/ir/op_def.h"
#include "graph/ir/op_schema.h"
#include "graph/ir/value.h"
#include "graph/ops/evaluate.h"
#include "graph/ops/ops.h"
#include "graph/ops/registry.h"
#include "graph/ops/samples.h"
#include "graph/ops/support/eval.h"
#include "gtest/gtest.h"
#include "tests/graph/ops/conformance_case.h"
#include "tests/support/tensor_compare.h"

namespace weft {
namespace {

// The row-major numbers of the base's elements that result `result` shows.
std::vector<int64_t> ShownBy(const OpCase& c, int result) {
  const HostTensor& base = c.inputs[0];
  std::vector<int64_t> numbers(base.numel());
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = i;
  // Seen as another dtype, elements stay where they are.
  if (&c.op == &ops::bitcast) return numbers;
  const auto shown =
      Evaluate(c.op, c.sample.attrs, {HostTensor::FromInts(DType::kI64, base.dims(), numbers)});
  EXPECT_TRUE(shown.ok()) << shown.status();
  return shown.ok() ? (*shown)[result].ReadInts() : numbers;
}

// The inverse of result `result` on the case's input and `update`.
absl::StatusOr<HostTensor> Inverted(const OpCase& c, int result, const HostTensor& update) {
  Module module(ops::Registry());
  Graph* graph = module.AddFunction("main");
  Value* base = graph->AddInput(c.types[0]);
  Value* value = graph->AddInput(update.type());
  Builder b(graph);
  Value* const none = nullptr;
  OpArgs args;
  args.op = &c.op;
  args.operands = {&none, 1};
  args.types = {c.types.data(), 1};
  args.attr_list = c.sample.attrs;
  args.symbols = &module.symbols();
  Value* inverse = c.op.invert_view()(b, args, result, base, value);
  if (!b.status().ok()) return b.status();
  EXPECT_EQ(inverse->type(), base->type());
  graph->SetOutputs({inverse});
  auto outputs = EvaluateGraph(*graph, {c.inputs[0], update});
  if (!outputs.ok()) return outputs.status();
  return (*outputs)[0];
}

bool CheckView(const OpCase& c, int result) {
  const std::vector<int64_t> shown = ShownBy(c, result);
  const HostTensor& now = c.outputs[result];
  Sample other;
  other.operands.push_back({now.type(), {}, {}, {}});
  const HostTensor update = SampleInputs(other, kSeed + 1)[0];
  const auto got = Inverted(c, result, update);
  const bool twice = std::set<int64_t>(shown.begin(), shown.end()).size() != shown.size();
  EXPECT_FALSE(got.ok() && twice) << "shows an element twice";
  if (!got.ok()) return false;
  const DType dtype = c.inputs[0].dtype();
  HostTensor stored = update;
  if (dtype != update.dtype()) {
    stored = (*Evaluate(c.op, AttrList::Get({AttrValue(dtype)}), {update}))[0];
  }
  HostTensor want(dtype, c.inputs[0].dims());
  std::vector<int64_t> all(want.numel());
  for (size_t i = 0; i < all.size(); ++i) all[i] = i;
  ops::Gather(c.inputs[0], all, &want);
  ops::Scatter(stored, shown, &want);
  EXPECT_EQ(ExactDifference(*got, want), "") << "inverse of result " << result;
  return true;
}

}  // namespace

bool CheckViews(const OpCase& c) {
  const OpSchema& schema = c.op.schema();
  EXPECT_EQ(schema.views, c.op.invert_view() != nullptr)
      << "views have an inverse, and nothing else has";
  if (!schema.views) return true;
  bool inverted = true;
  for (size_t i = 0; i < c.outputs.size(); ++i) {
    const int viewed = schema.ViewedOperand(static_cast<int>(i));
    if (viewed < 0) continue;
    EXPECT_EQ(viewed, 0) << "the base is the first operand";
    inverted = CheckView(c, static_cast<int>(i)) && inverted;
  }
  return inverted;
}

void CheckWrites(const OpCase& c) {
  const OpSchema& schema = c.op.schema();
  EXPECT_EQ(schema.writes, c.op.functional() != nullptr)
      << "ops that write have a functional twin, and nothing else has";
  if (!schema.writes) return;
  EXPECT_TRUE(c.op.has(kSideEffect));
  for (size_t i = 0; i < schema.operands.size(); ++i) {
    bool stands = !schema.operands[i].written;
    for (size_t r = 0; r < schema.results.size(); ++r) {
      stands |= schema.WrittenOperand(static_cast<int>(r)) == static_cast<int>(i);
    }
    EXPECT_TRUE(stands) << "no result is the written " << schema.operands[i].name;
  }
  Module module(ops::Registry());
  Graph* graph = module.AddFunction("main");
  std::vector<Value*> operands;
  for (Type t : c.types) operands.push_back(graph->AddInput(t));
  Builder b(graph);
  OpArgs args;
  args.op = &c.op;
  args.operands = operands;
  args.types = c.types;
  args.attr_list = c.sample.attrs;
  args.symbols = &module.symbols();
  graph->SetOutputs(c.op.functional()(b, args));
  ASSERT_TRUE(b.status().ok()) << b.status();
  EXPECT_FALSE(module.HasWrites());
  const auto got = EvaluateGraph(*graph, c.inputs);
  ASSERT_TRUE(got.ok()) << got.status();
  ExpectExact(*got, c.outputs, "functional twin");
}

}  // namespace weft
