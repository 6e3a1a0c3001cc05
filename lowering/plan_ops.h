// The ops of a plan as data, for programs that do not have the ops themselves.
//
// A program of the runtime and the kernels alone reads names and attributes of ops through their
// schemas, and computes the ops of an epilogue that a routine does not support by their scalar
// bodies. describe_ops.h makes both from the ops; the self-contained text form has both.
#ifndef WEFT_LOWERING_PLAN_OPS_H_
#define WEFT_LOWERING_PLAN_OPS_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "graph/ir/op_schema.h"
#include "lowering/plan.h"

namespace weft {

// An op of an epilogue on single elements, all of which have one dtype. The kernel has no loops: it
// reads the result so far and, for a binary op, the other operand, and stores the op's result.
struct ScalarBody {
  std::string op;
  const AttrList* attrs = nullptr;
  DType dtype = DType::kF32;
  Kernel kernel;
};

// Shared by a plan and its nested plans.
struct PlanOps {
  // The text of each schema (op_schema.h has the notation), by the name of the op.
  std::map<std::string, std::string> schemas;
  // The schemas that steps point to, if there are no ops that have them.
  std::vector<std::unique_ptr<const OpSchema>> owned;
  // Bodies of the ops of epilogues, in the order of the steps: for the dtype of the step's result,
  // and for f32 if that has 16 bits.
  std::vector<ScalarBody> bodies;
};

// Null if the plan has no body for the op and dtype. A bias is an addition.
const ScalarBody* FindScalarBody(const PlanOps& ops, const Epilogue& epilogue, DType dtype);

// True if the epilogue applies the op with this name. False for a bias.
bool Applies(const Epilogue& epilogue, absl::string_view op);

// The argument onto which the routine of a library step may accumulate (beta is 1, in BLAS terms):
// it is added to the result of a matmul or convolution, element by element, before anything except
// a bias, and has the result's dims and strides. -1: none.
int AccumulatedArg(const Step& step);

// The argument that the routine of a library step may update in place: the first one, if it has
// the result's dims and strides and there is no epilogue. -1: none.
int UpdatedArg(const Step& step);

// Sets the ops of the plan and its nested plans.
void SetPlanOps(std::shared_ptr<const PlanOps> ops, Plan* plan);

}  // namespace weft

#endif  // WEFT_LOWERING_PLAN_OPS_H_
