// Pointwise functions of one float over all magnitudes: infinities, NaN and numbers where the
// reference has them. A vector library's function may end before the largest argument.
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/cpu/executable.h"
#include "backends/cpu/target.h"
#include "graph/ir/builder.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ir/op_def.h"
#include "graph/ir/op_registry.h"
#include "graph/ir/op_schema.h"
#include "graph/ops/evaluate.h"
#include "graph/ops/ops.h"
#include "graph/ops/registry.h"
#include "graph/tensor/tensor.h"
#include "gtest/gtest.h"
#include "lowering/lower.h"
#include "tests/support/tensor_compare.h"

namespace weft::cpu {
namespace {

// Numbers of both signs, some 30 between two powers of two.
template <typename T, typename Bits>
HostTensor Everything(DType dtype, int kept_bits) {
  std::vector<double> values;
  const T largest = std::numeric_limits<T>::max();
  Bits end;
  std::memcpy(&end, &largest, sizeof end);
  const Bits step = Bits{1} << (sizeof(Bits) * 8 - kept_bits);
  for (Bits bits = 0; bits < end - step; bits += step) {
    T value;
    std::memcpy(&value, &bits, sizeof value);
    values.push_back(value);
    values.push_back(-value);
  }
  for (double value : {HUGE_VAL, -HUGE_VAL, double{largest}, -double{largest}, double{NAN}}) {
    values.push_back(value);
  }
  const int64_t n = static_cast<int64_t>(values.size());
  return HostTensor::FromDoubles(dtype, {n}, values);
}

// Ops whose intermediate results overflow where the result does not, as they do in PyTorch.
bool Overflows(const OpDef& op) { return &op == &ops::hardswish; }

class Ranges : public testing::TestWithParam<const OpDef*> {};

TEST_P(Ranges, AreThoseOfTheReference) {
  const OpDef& op = *GetParam();
  const HostTensor inputs[] = {Everything<float, uint32_t>(DType::kF32, 14),
                               Everything<double, uint64_t>(DType::kF64, 17)};
  for (const HostTensor& input : inputs) {
    Module module(ops::Registry());
    Graph* main = module.AddFunction("main");
    Value* x = main->AddInput(Type::Tensor(input.dtype(), {SymInt(input.numel())}));
    Builder b(main, nullptr, {/*fold=*/false});
    Value* y = b.Op(op, {x});
    ASSERT_TRUE(b.status().ok()) << b.status();
    main->SetOutputs({y});
    const auto want = Evaluate(op, y->node()->attr_list(), {&input, 1});
    ASSERT_TRUE(want.ok()) << want.status();
    auto plan = Lower(*main, CpuTarget());
    ASSERT_TRUE(plan.ok()) << plan.status();
    auto executable = Executable::Create(*std::move(plan), {});
    ASSERT_TRUE(executable.ok()) << executable.status();
    const auto got = (*executable)->Run({input});
    ASSERT_TRUE(got.ok()) << got.status();
    EXPECT_EQ(Difference((*got)[0], (*want)[0], ToleranceOf(input.dtype())), "")
        << DTypeName(input.dtype());
  }
}

// Pointwise ops of one float operand that need no attribute.
std::vector<const OpDef*> Functions() {
  std::vector<const OpDef*> functions;
  for (const OpDef* op : ops::Registry().All()) {
    const OpSchema& schema = op->schema();
    if (!op->has(kPointwise)) continue;
    if (schema.operands.size() != 1 || schema.results.size() != 1 || schema.writes) continue;
    if (schema.operands[0].variadic || !schema.regions.empty() || Overflows(*op)) continue;
    bool given = true;
    for (const AttrSpec& attr : schema.attrs) given &= attr.optional || attr.default_value;
    if (!given) continue;
    const Type type = Type::Tensor(DType::kF32, {SymInt(4)});
    Module module(ops::Registry());
    Graph* main = module.AddFunction("main");
    Builder b(main, nullptr, {/*fold=*/false});
    Value* y = b.Op(*op, {main->AddInput(type)});
    if (b.status().ok() && y->type() == type) functions.push_back(op);
  }
  return functions;
}

INSTANTIATE_TEST_SUITE_P(Ops, Ranges, testing::ValuesIn(Functions()),
                         [](const auto& info) { return std::string(info.param->name()); });

}  // namespace
}  // namespace weft::cpu
