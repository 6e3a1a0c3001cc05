#include "lowering/step_cost.h"

#include <vector>

#include "graph/cost/cost.h"
#include "graph/ir/op_def.h"
#include "graph/ir/op_flops.h"
#include "graph/ir/op_schema.h"
#include "lowering/finish_kernel.h"
#include "lowering/kernel_cost.h"

namespace weft {
namespace {

// The elements that are there: those along a stride of 0 are one.
SymInt DistinctElements(const View& view) {
  SymInt numel = 1;
  for (int d = 0; d < view.type.rank(); ++d) {
    if (!view.strides[d].Is(0)) numel = numel * view.type.dim(d);
  }
  return numel;
}

// The count of the op itself; one for each element of the results where it has no count. Operands
// of an epilogue are not the op's: the epilogue is counted apart.
SymInt OwnFlops(const Plan& plan, const Step& step, SymInt results) {
  // A plan may come from a file.
  if (static_cast<int>(step.args.size()) < step.op->schema().num_fixed_operands()) return results;
  std::vector<Type> operands, types;
  for (const View& view : step.args) operands.push_back(view.present() ? view.type : Type());
  const int own = NumOwnArgs(plan, step);
  if (own < step.op->schema().num_fixed_operands()) return results;
  operands.resize(own);
  for (const Epilogue& epilogue : step.epilogue) {
    if (epilogue.arg >= 0) operands[epilogue.arg] = Type();
  }
  for (const View& view : step.results) types.push_back(view.type);
  const SymInt flops = CountFlops({step.op, step.attrs, operands, types});
  return flops.is_valid() ? flops : results;
}

}  // namespace

StepCost CostOf(const Plan& plan, const Step& step) {
  StepCost cost;
  for (size_t a = 0; a < step.args.size(); ++a) {
    const View& view = step.args[a];
    if (!view.present()) continue;
    SymInt elements = DistinctElements(view);
    if (step.kind == StepKind::kKernel) {
      SymInt gathered = 0;
      for (const Nest& nest : plan.kernels[step.kernel].nests) {
        gathered = gathered + GatheredElements(nest, static_cast<int>(a));
      }
      if (!gathered.Is(0)) elements = gathered;
    }
    cost.bytes = cost.bytes + BytesOf(view.type.dtype(), elements);
  }
  SymInt results = 0;
  for (const View& view : step.results) {
    if (!view.present()) continue;
    results = results + view.type.numel();
    cost.bytes = cost.bytes + BytesOf(view.type.dtype(), view.type.numel());
  }
  switch (step.kind) {
    case StepKind::kKernel:
      for (const Nest& nest : plan.kernels[step.kernel].nests) {
        cost.flops = cost.flops + FlopsOf(nest);
      }
      break;
    case StepKind::kLibrary:
      cost.flops =
          OwnFlops(plan, step, results) + results * static_cast<int64_t>(step.epilogue.size());
      if (!IsFinished(step)) break;
      for (const Nest& nest : plan.kernels[step.kernel].nests) {
        cost.flops = cost.flops + FlopsOf(nest);
      }
      break;
    case StepKind::kReference:
      cost.flops = OwnFlops(plan, step, results);
      break;
    case StepKind::kCopy:
    case StepKind::kControl:
      break;
  }
  return cost;
}

StepCost CostOf(const Plan& plan) {
  StepCost sum;
  for (const Step& step : plan.steps) {
    const StepCost cost = CostOf(plan, step);
    sum.flops = sum.flops + cost.flops;
    sum.bytes = sum.bytes + cost.bytes;
  }
  return sum;
}

}  // namespace weft
