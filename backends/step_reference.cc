#include "backends/step_reference.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/ir/op_def.h"
#include "graph/ir/op_schema.h"
#include "graph/ops/evaluate.h"
#include "graph/ops/ops.h"
#include "graph/tensor/tensor.h"
#include "lowering/finish_kernel.h"
#include "lowering/step_cost.h"

namespace weft {
namespace {

absl::Status NoRegions(int, absl::Span<const HostTensor>, std::vector<HostTensor>*) {
  return absl::InternalError("the op has no nested graphs");
}

// A bias along the channels of the result: the last dim, or dim 1 of a convolution.
absl::StatusOr<HostTensor> AlongChannels(const HostTensor& bias, const Step& step, int rank) {
  if (step.op != &ops::convolution) return bias;
  std::vector<int64_t> dims(rank - 1, 1);
  dims[0] = bias.numel();
  return bias.Contiguous().Reshaped(dims);
}

// Checks that only optional operands are absent.
absl::Status CheckOperands(const OpDef& op, absl::Span<const HostTensor> operands) {
  const auto& specs = op.schema().operands;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].valid() || (i < specs.size() && specs[i].optional)) continue;
    return absl::InternalError(absl::StrCat("operand ", i, " has no place in the plan"));
  }
  return absl::OkStatus();
}

absl::Status ApplyEpilogue(const Step& step, absl::Span<const HostTensor> operands,
                           HostTensor* result) {
  for (const Epilogue& e : step.epilogue) {
    std::vector<HostTensor> inputs = {*result};
    const OpDef* op = e.op;
    const AttrList* attrs = e.attrs;
    if (e.kind == Epilogue::Kind::kBias) {
      WEFT_ASSIGN_OR_RETURN(HostTensor bias, AlongChannels(operands[e.arg], step, result->rank()));
      inputs.push_back(std::move(bias));
      op = &ops::add;
      attrs = AttrList::Get({});
    } else if (e.kind == Epilogue::Kind::kBinary) {
      inputs.push_back(operands[e.arg]);
    }
    WEFT_ASSIGN_OR_RETURN(auto applied, Evaluate(*op, attrs, inputs, NoRegions));
    *result = std::move(applied[0]);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<HostTensor>> EvaluateStep(const Step& step, const AttrList* attrs,
                                                     absl::Span<const HostTensor> operands) {
  if (step.kind == StepKind::kCopy) {
    return std::vector<HostTensor>(operands.begin(), operands.end());
  }
  if (IsFinished(step)) return absl::UnimplementedError("a kernel finishes its result");
  // Operands of the epilogue are after those of the op.
  size_t own = operands.size();
  for (const Epilogue& e : step.epilogue) {
    if (e.arg >= 0) own = std::min(own, static_cast<size_t>(e.arg));
  }
  WEFT_RETURN_IF_ERROR(CheckOperands(*step.op, operands.first(own)));
  WEFT_ASSIGN_OR_RETURN(auto results, Evaluate(*step.op, attrs, operands.first(own), NoRegions));
  WEFT_RETURN_IF_ERROR(ApplyEpilogue(step, operands, &results[0]));
  return results;
}

namespace {

class OpStepEvaluator : public StepEvaluator {
 public:
  absl::StatusOr<std::vector<HostTensor>> Evaluate(
      const Step& step, const AttrList* attrs,
      absl::Span<const HostTensor> operands) const override {
    return EvaluateStep(step, attrs, operands);
  }

  bool DependsOnData(const Step& step) const override {
    return step.op != nullptr && step.op->has(kDataDependent);
  }

  void AddToProfile(const Plan& plan, const Step& step, const SymbolEnv& env,
                    profiler::Description* description) const override {
    const StepCost cost = CostOf(plan, step);
    description->flops = env.Eval(cost.flops).value_or(-1);
    description->bytes = env.Eval(cost.bytes).value_or(-1);
  }
};

}  // namespace

const StepEvaluator& OpEvaluator() {
  static const auto& evaluator = *new OpStepEvaluator();
  return evaluator;
}

}  // namespace weft
