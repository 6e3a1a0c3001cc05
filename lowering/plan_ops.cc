#include "lowering/plan_ops.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "graph/ir/attr.h"
#include "lowering/plan_facts.h"

namespace weft {
namespace {

bool SamePlaces(const View& arg, const View& result) {
  return arg.type.is_tensor() && result.type.is_tensor() && arg.type.dims() == result.type.dims() &&
         arg.strides == result.strides;
}

}  // namespace

const ScalarBody* FindScalarBody(const PlanOps& ops, const Epilogue& epilogue, DType dtype) {
  const bool bias = epilogue.kind == Epilogue::Kind::kBias;
  if (!bias && epilogue.schema == nullptr) return nullptr;
  const absl::string_view name = bias ? "add" : absl::string_view(epilogue.schema->name);
  const AttrList* attrs = bias ? AttrList::Empty() : epilogue.attrs;
  const size_t args = epilogue.kind == Epilogue::Kind::kUnary ? 2 : 3;
  for (const ScalarBody& body : ops.bodies) {
    const bool same = body.op == name && body.attrs == attrs && body.dtype == dtype;
    if (same && body.kernel.args.size() == args) return &body;
  }
  return nullptr;
}

bool Applies(const Epilogue& epilogue, absl::string_view op) {
  return epilogue.kind != Epilogue::Kind::kBias && epilogue.schema != nullptr &&
         epilogue.schema->name == op;
}

int AccumulatedArg(const Step& step) {
  if (step.kind != StepKind::kLibrary || step.results.empty()) return -1;
  const absl::string_view op = step.op_name;
  if (op != "convolution" && op != "matmul" && op != "linear") return -1;
  std::vector<int> biases;
  for (const Epilogue& e : step.epilogue) {
    if (e.kind == Epilogue::Kind::kBias) {
      biases.push_back(e.arg);
      continue;
    }
    if (e.kind != Epilogue::Kind::kBinary || !Applies(e, "add")) return -1;
    if (std::count(biases.begin(), biases.end(), e.arg) > 0) return -1;
    return SamePlaces(step.args[e.arg], step.results[0]) ? e.arg : -1;
  }
  return -1;
}

int UpdatedArg(const Step& step) {
  const bool fits = step.kind == StepKind::kLibrary && !step.args.empty() &&
                    step.results.size() == 1 && step.epilogue.empty() &&
                    SamePlaces(step.args[0], step.results[0]);
  return fits ? 0 : -1;
}

void SetPlanOps(std::shared_ptr<const PlanOps> ops, Plan* plan) {
  for (Plan* p : AllPlans(plan)) p->ops = ops;
}

}  // namespace weft
