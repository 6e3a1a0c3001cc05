// Every op of the registry against its own samples: one test case per op, no
// code per op. conformance_checks.h lists what is checked.
#include <string>

#include "absl/strings/match.h"
#include "graph/ir/builtin_ops.h"
#include "graph/ir/op_def.h"
#include "graph/ir/op_registry.h"
#include "graph/ir/op_schema.h"
#include "graph/ops/registry.h"
#include "graph/ops/samples.h"
#include "graph/sym/sym_facts.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "tests/graph/ops/conformance_checks.h"

namespace weft {
namespace {

class Conformance : public testing::TestWithParam<const OpDef*> {};

// The core's own ops and ops with nested graphs have no samples: tests of
// their own.
bool HasSamples(const OpDef& op) {
  return &op != &ops::constant && &op != &ops::return_ && op.schema().regions.empty();
}

// True when Infer refuses the sample once an operand has another dtype or rank.
bool CanBeWrong(const Sample& sample) {
  const std::vector<Type> right = SampleTypes(Instantiate(sample));
  for (size_t i = 0; i < right.size(); ++i) {
    if (!right[i].is_tensor()) continue;
    for (int d = 0; d < kNumDTypes; ++d) {
      for (int rank : {0, right[i].rank(), right[i].rank() + 1}) {
        std::vector<Type> types = right;
        std::vector<SymInt> dims(right[i].dims().begin(), right[i].dims().end());
        dims.resize(rank, SymInt(7));
        types[i] = Type::Tensor(static_cast<DType>(d), dims);
        SymbolTable symbols;
        if (!InferCase(*sample.op, types, sample.attrs, &symbols).ok()) {
          return true;
        }
      }
    }
  }
  return false;
}

void CheckInvalid(const Sample& sample) {
  SymbolTable symbols;
  const std::vector<Type> types = SampleTypes(sample);
  const auto inferred = InferCase(*sample.op, types, sample.attrs, &symbols);
  ASSERT_FALSE(inferred.ok()) << "is accepted, as " << inferred->size() << " results";
  EXPECT_TRUE(absl::StrContains(inferred.status().message(), sample.expected_error))
      << inferred.status();
}

// True if the result, if it is a view, has an inverse on this sample.
bool CheckValid(const Sample& sample) {
  const std::optional<OpCase> c = MakeCase(sample);
  if (!c) return false;
  CheckSymbolicInfer(*c);
  if (c->op.eval() != nullptr) {
    CheckDecomposition(*c);
    CheckRefusals(*c);
  }
  CheckText(*c);
  CheckStrides(*c);
  CheckSmallSizes(*c);
  CheckDTypes(*c);
  CheckSpecialValues(*c);
  CheckFolds(*c);
  CheckTraits(*c);
  CheckWrites(*c);
  return CheckViews(*c);
}

TEST_P(Conformance, Holds) {
  const OpDef& op = *GetParam();
  EXPECT_FALSE(op.doc().empty());
  EXPECT_TRUE(op.infer() != nullptr);
  if (!HasSamples(op)) return;
  EXPECT_TRUE(op.eval() != nullptr || op.is_composite()) << "cannot run";
  const auto samples = ParseSamples(op.samples(), ops::Registry());
  ASSERT_TRUE(samples.ok()) << samples.status();
  int valid = 0;
  int invalid = 0;
  bool can_be_wrong = false;
  bool can_be_written = false;
  for (const Sample& sample : *samples) {
    SCOPED_TRACE(sample.text);
    ASSERT_EQ(sample.op, &op);
    if (sample.expected_error.empty()) {
      ++valid;
      can_be_written = CheckValid(sample) || can_be_written;
      can_be_wrong = can_be_wrong || CanBeWrong(sample);
    } else {
      ++invalid;
      CheckInvalid(sample);
    }
  }
  EXPECT_GT(valid, 0) << "no valid sample";
  EXPECT_TRUE(can_be_written) << "no sample whose view has an inverse";
  EXPECT_TRUE(invalid > 0 || !can_be_wrong) << "no invalid sample";
}

INSTANTIATE_TEST_SUITE_P(Ops, Conformance, testing::ValuesIn(ops::Registry().All()),
                         [](const testing::TestParamInfo<const OpDef*>& info) {
                           std::string name(info.param->name());
                           for (char& ch : name) ch = ch == '.' ? '_' : ch;
                           return name;
                         });

}  // namespace
}  // namespace weft
