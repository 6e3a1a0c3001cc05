// A decomposition that is declared bit-exact gives Eval's bits on the op's
// samples, in every dtype that they can have, with infinities, NaN, zeros of
// either sign and extremes among the elements.
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "graph/ir/numeric_contract.h"
#include "graph/ir/op_args.h"
#include "graph/ir/op_def.h"
#include "graph/ir/op_eval.h"
#include "graph/ir/op_registry.h"
#include "graph/ops/evaluate.h"
#include "graph/ops/ops.h"
#include "graph/ops/registry.h"
#include "graph/ops/samples.h"
#include "gtest/gtest.h"
#include "tests/support/tensor_compare.h"

namespace weft {
namespace {

constexpr DType kFloats[] = {DType::kF64, DType::kF32, DType::kF16, DType::kBF16};

// The sample as it is, and with each float dtype in the place of its first
// operand's, where the op takes that.
std::vector<Sample> Variants(const Sample& sample) {
  std::vector<Sample> variants = {sample};
  if (sample.operands.empty()) return variants;
  const Type first = sample.operands[0].type;
  if (!first.is_tensor() || !IsFloat(first.dtype())) return variants;
  for (DType dtype : kFloats) {
    Sample variant = sample;
    for (auto& operand : variant.operands) {
      const bool same = operand.type.is_tensor() && operand.type.dtype() == first.dtype();
      if (same) operand.type = operand.type.WithDType(dtype);
    }
    variants.push_back(std::move(variant));
  }
  return variants;
}

// Every `stride`-th element of float operands becomes an edge value.
void AddEdges(std::vector<HostTensor>* inputs, int stride) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  constexpr double kEdges[] = {0.0,   -0.0, kInf,  -kInf, std::nan(""), 1.0,   -1.0,
                               65504, 6e-8, -6e-8, 1e-40, 3e38,         -3e38, 0.5};
  int next = 0;
  for (HostTensor& t : *inputs) {
    if (!t.valid() || !IsFloat(t.dtype())) continue;
    std::vector<double> values = t.ReadDoubles();
    for (size_t i = 0; i < values.size(); i += stride) {
      values[i] = kEdges[next++ % std::size(kEdges)];
    }
    t = HostTensor::FromDoubles(t.dtype(), t.dims(), values);
  }
}

// Number of comparisons; differences are failures if `exact`, and are counted otherwise.
struct Tally {
  int compared = 0;
  int different = 0;
};

void CompareOn(const Sample& sample, const std::vector<HostTensor>& inputs, Tally* tally,
               std::string* difference) {
  const auto want = Evaluate(*sample.op, sample.attrs, inputs);
  if (!want.ok()) return;  // A dtype that the op does not take.
  const auto got = EvaluateDecomposed(*sample.op, sample.attrs, inputs);
  ASSERT_TRUE(got.ok()) << sample.text << ": " << got.status();
  ASSERT_EQ(got->size(), want->size()) << sample.text;
  for (size_t i = 0; i < got->size(); ++i) {
    ++tally->compared;
    const std::string text = ExactDifference((*got)[i], (*want)[i]);
    if (text.empty()) continue;
    ++tally->different;
    *difference = sample.text + " as " + inputs[0].type().ToString() + ": " + text;
  }
}

Tally CompareAll(const OpDef& op, std::string* difference) {
  Tally tally;
  const auto samples = ParseSamples(op.samples(), ops::Registry());
  EXPECT_TRUE(samples.ok()) << samples.status();
  if (!samples.ok()) return tally;
  for (const Sample& symbolic : *samples) {
    if (!symbolic.expected_error.empty()) continue;
    for (const Sample& sample : Variants(Instantiate(symbolic))) {
      for (uint64_t seed = 0; seed < 8; ++seed) {
        std::vector<HostTensor> inputs = SampleInputs(sample, seed);
        if (seed % 2 == 1) AddEdges(&inputs, static_cast<int>(seed) / 2 + 1);
        CompareOn(sample, inputs, &tally, difference);
      }
    }
  }
  return tally;
}

TEST(DecomposeContracts, EveryCompositeHasOne) {
  for (const OpDef* op : ops::Registry().All()) {
    if (!op->is_composite()) continue;
    EXPECT_TRUE(op->known_decompose_contract().has_value())
        << op->name() << " does not state its DecomposeContract";
  }
}

TEST(DecomposeContracts, BitExactOnesGiveEqualBits) {
  std::set<std::string> exact;
  for (const OpDef* op : ops::Registry().All()) {
    if (!op->is_composite() || op->has(kControlFlow)) continue;
    if (op->decompose_contract() != NumericContract::kBitExact) continue;
    std::string difference;
    const Tally tally = CompareAll(*op, &difference);
    EXPECT_EQ(tally.different, 0) << op->name() << ": " << difference;
    EXPECT_GT(tally.compared, 8) << op->name();
    exact.emplace(op->name());
  }
  for (const char* name : {"stack", "depth_to_space", "hardmax", "hardtanh"}) {
    EXPECT_EQ(exact.count(name), 1u) << name;
  }
}

// The comparison can fail: these round differently, and it shows.
TEST(DecomposeContracts, ReassociatingOnesShow) {
  for (const OpDef* op : {&ops::softmax, &ops::gelu, &ops::hardswish}) {
    EXPECT_EQ(op->decompose_contract(), NumericContract::kReassociating);
    std::string difference;
    EXPECT_GT(CompareAll(*op, &difference).different, 0) << op->name();
  }
}

// Ops of other programs: nothing is known of their decompositions, except when
// they are what the op means.
Value* Identity(const OpArgs& args) { return args.operand(0); }
std::vector<Value*> Decompose(Builder&, const OpArgs& args) { return {Identity(args)}; }
absl::Status Eval(EvalContext& c) {
  c.set_out(0, c.in(0));
  return absl::OkStatus();
}
const OpDef meant("meant", OpSpec("meant(Tensor self) -> Tensor", "").Decompose(Decompose));
const OpDef evaluated(
    "evaluated", OpSpec("evaluated(Tensor self) -> Tensor", "").Decompose(Decompose).Eval(Eval));

TEST(DecomposeContracts, IsStatedByTheOp) {
  EXPECT_EQ(ops::dequantize_linear.decompose_contract(), NumericContract::kBitExact);
  EXPECT_EQ(ops::linear.decompose_contract(), NumericContract::kReassociating);
  EXPECT_EQ(ops::celu.known_decompose_contract(), NumericContract::kReassociating);
}

TEST(DecomposeContracts, OfOtherOps) {
  EXPECT_EQ(meant.decompose_contract(), NumericContract::kBitExact);
  EXPECT_FALSE(evaluated.known_decompose_contract().has_value());
  EXPECT_EQ(evaluated.decompose_contract(), NumericContract::kReassociating);
}

}  // namespace
}  // namespace weft
