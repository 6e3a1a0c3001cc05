// Every op's SymbolicEval against its Eval, on the op's samples: elements of the operands become
// symbols, and what the rule says of the result must hold for the values that they stand for.
#include <cstdint>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/ir/attr.h"
#include "graph/ir/op_args.h"
#include "graph/ir/op_def.h"
#include "graph/ir/op_registry.h"
#include "graph/ir/op_symbolic_eval.h"
#include "graph/ops/evaluate.h"
#include "graph/ops/ops.h"
#include "graph/ops/registry.h"
#include "graph/ops/samples.h"
#include "graph/sym/sym_expr.h"
#include "graph/sym/sym_facts.h"
#include "gtest/gtest.h"

namespace weft {
namespace {

using Elements = SymbolicEvalContext::Elements;

bool IsTracked(Type type) {
  return type.is_tensor() && (type.dtype() == DType::kI32 || type.dtype() == DType::kI64 ||
                              type.dtype() == DType::kBool);
}

// The sample as it is, and with small i64 elements in the place of those that are not bool.
std::vector<Sample> Variants(const Sample& sample) {
  Sample ints = sample;
  for (SampleOperand& operand : ints.operands) {
    if (!operand.type.is_tensor() || operand.type.dtype() == DType::kBool) continue;
    operand = {operand.type.WithDType(DType::kI64), {}, {}, {}};
  }
  return {sample, ints};
}

// Symbols that stand for integers, one for each. What is declared of a symbol leaves other values
// open, and shows the sign of some.
class Symbols {
 public:
  SymInt Of(int64_t value, bool truth) {
    const std::string name = absl::StrCat(truth ? "b" : value < 0 ? "m" : "p", std::abs(value));
    const SymInt symbol = SymInt::Symbol(name);
    if (!values_.emplace(name, value).second) return symbol;
    SymbolInfo info;
    info.symbol = symbol;
    info.unbacked = true;
    info.range = truth            ? SymRange{0, 1}
                 : value % 2 == 0 ? SymRange{value - 1, value + 2}
                                  : SymRange{value < 0 ? value - 2 : 0, value + 1};
    table_.Declare(info);
    return symbol;
  }
  std::optional<int64_t> ValueOf(SymInt s) const {
    return weft::Evaluate(s, [&](SymInt symbol) -> std::optional<int64_t> {
      return values_.at(std::string(symbol.name()));
    });
  }
  const SymbolTable& table() const { return table_; }

 private:
  SymbolTable table_;
  std::map<std::string, int64_t> values_;
};

// Constants, symbols and, in odd rounds, unknown elements. Zeros of integers are constants:
// symbolic divisors are taken not to be 0.
Elements ElementsOf(const HostTensor& t, int operand, uint64_t seed, Symbols* symbols) {
  Elements elements;
  for (int64_t value : t.ReadInts()) {
    const uint64_t kind = (elements.size() + 2 * operand + seed / 2) % 4;
    if (kind == 0 || (value == 0 && t.dtype() != DType::kBool)) {
      elements.push_back(value);
    } else if (kind == 1 && seed % 2 == 1) {
      elements.push_back(SymInt::Invalid());
    } else {
      elements.push_back(symbols->Of(value, t.dtype() == DType::kBool));
    }
  }
  return elements;
}

struct Tally {
  int known = 0;
  int symbolic = 0;
};

void CheckRule(const Sample& sample, uint64_t seed, Tally* tally) {
  const std::vector<HostTensor> inputs = SampleInputs(sample, seed);
  const auto want = Evaluate(*sample.op, sample.attrs, inputs);
  if (!want.ok() || want->size() != 1) return;  // A dtype that the op does not take.
  const Type out = Type::Tensor((*want)[0].dtype(), ToSymInts((*want)[0].dims()));
  if (!IsTracked(out)) return;
  Symbols symbols;
  std::vector<Elements> elements;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!IsTracked(sample.operands[i].type)) return;
    elements.push_back(ElementsOf(inputs[i], static_cast<int>(i), seed, &symbols));
  }
  std::vector<const Elements*> in;
  for (const Elements& e : elements) in.push_back(&e);
  SymbolicEvalContext context(*sample.op, sample.attrs, symbols.table(), in, SampleTypes(sample),
                              out);
  if (!sample.op->symbolic_eval()(context)) return;
  const std::vector<int64_t> right = (*want)[0].ReadInts();
  ASSERT_EQ(context.out().size(), right.size()) << sample.text;
  for (size_t i = 0; i < right.size(); ++i) {
    const SymInt element = context.out()[i];
    if (!element.is_valid()) continue;
    const std::optional<int64_t> value = symbols.ValueOf(element);
    ASSERT_TRUE(value.has_value()) << sample.text << ": " << element;
    ++tally->known;
    if (!element.is_constant()) ++tally->symbolic;
    EXPECT_EQ(*value, right[i]) << sample.text << ", seed " << seed << ", element " << i << ": "
                                << element;
  }
}

Tally CheckAll(const OpDef& op) {
  Tally tally;
  const auto samples = ParseSamples(op.samples(), ops::Registry());
  EXPECT_TRUE(samples.ok()) << samples.status();
  if (!samples.ok()) return tally;
  for (const Sample& sample : *samples) {
    if (!sample.expected_error.empty()) continue;
    for (const Sample& variant : Variants(Instantiate(sample))) {
      for (uint64_t seed = 0; seed < 16; ++seed) CheckRule(variant, seed, &tally);
    }
  }
  return tally;
}

TEST(SymbolicEval, HoldsForEveryValueOfTheSymbols) {
  for (const OpDef* op : ops::Registry().All()) {
    if (op->symbolic_eval() == nullptr) continue;
    EXPECT_GT(CheckAll(*op).known, 0) << op->name() << " has no sample that its rule knows";
  }
}

TEST(SymbolicEval, KnowsArithmeticAndDecisions) {
  for (const OpDef* op :
       {&ops::add, &ops::sub, &ops::mul, &ops::neg, &ops::maximum, &ops::minimum, &ops::div,
        &ops::remainder, &ops::fmod, &ops::where, &ops::convert, &ops::sum, &ops::prod}) {
    EXPECT_GT(CheckAll(*op).symbolic, 0) << op->name();
  }
  for (const OpDef* op :
       {&ops::eq, &ops::ne, &ops::lt, &ops::le, &ops::gt, &ops::ge, &ops::logical_and,
        &ops::logical_or, &ops::logical_not, &ops::sym_constant}) {
    EXPECT_GT(CheckAll(*op).known, 0) << op->name();
  }
}

// A condition that the facts do not decide is unknown, and so is a quotient toward zero of what may
// be negative.
TEST(SymbolicEval, LeavesOpenWhatIsNotKnown) {
  Symbols symbols;
  const Type type = Type::Tensor(DType::kI64, {2});
  const Elements a = {symbols.Of(-2, false), SymInt(0)};
  const Elements b = {symbols.Of(-4, false), SymInt(2)};
  const std::vector<const Elements*> in = {&a, &b};
  SymbolicEvalContext less(ops::lt, nullptr, symbols.table(), in, {type, type},
                           Type::Tensor(DType::kBool, {2}));
  ASSERT_TRUE(ops::lt.symbolic_eval()(less));
  EXPECT_FALSE(less.out()[0].is_valid());
  EXPECT_EQ(less.out()[1], SymInt(1));
  const auto samples = ParseSamples("fmod(i64[2], i64[2])\nadd(bool[2], bool[2])", ops::Registry());
  ASSERT_TRUE(samples.ok()) << samples.status();
  SymbolicEvalContext rest(ops::fmod, (*samples)[0].attrs, symbols.table(), in, {type, type}, type);
  ASSERT_TRUE(ops::fmod.symbolic_eval()(rest));
  EXPECT_FALSE(rest.out()[0].is_valid());
  EXPECT_EQ(rest.out()[1], SymInt(0));
}

}  // namespace
}  // namespace weft
