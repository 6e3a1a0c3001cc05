#include "lowering/epilogues.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "graph/ir/builder.h"
#include "graph/ir/node.h"
#include "graph/ops/elementwise.h"
#include "graph/ops/ops.h"
#include "graph/tensor/tensor.h"

namespace weft {
namespace {

// The number of a bound, which may be absent; false if it is not a number.
bool IsNumber(const Value* bound, double* number) {
  if (bound == nullptr) return true;
  const HostTensor* literal = LiteralOf(bound);
  if (literal == nullptr || literal->numel() != 1) return false;
  *number = literal->ReadDoubles()[0];
  return true;
}

}  // namespace

const AttrList* HardtanhOfClamp(const Node& node) {
  if (!node.Is(ops::clamp) || !IsFloat(node.result()->type().dtype())) return nullptr;
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  const ops::ClampView clamp(node);
  if (!IsNumber(clamp.min(), &least) || !IsNumber(clamp.max(), &most) || !(least <= most)) {
    return nullptr;
  }
  return ops::HardtanhAttrs(least, most);
}

int AccumulatedArg(const Step& step) {
  if (step.kind != StepKind::kLibrary || step.results.empty()) return -1;
  if (step.op != &ops::convolution && step.op != &ops::matmul && step.op != &ops::linear) return -1;
  std::vector<int> biases;
  for (const Epilogue& e : step.epilogue) {
    if (e.kind == Epilogue::Kind::kBias) {
      biases.push_back(e.arg);
      continue;
    }
    if (e.kind != Epilogue::Kind::kBinary || e.op != &ops::add) return -1;
    if (std::count(biases.begin(), biases.end(), e.arg) > 0) return -1;
    const View& arg = step.args[e.arg];
    const View& result = step.results[0];
    const bool same = arg.type.is_tensor() && result.type.is_tensor() &&
                      arg.type.dims() == result.type.dims() && arg.strides == result.strides;
    return same ? e.arg : -1;
  }
  return -1;
}

bool AppliesEpilogue(const Target& target, const Node& library, const Node& op, int operand) {
  const Routine* routine = FindRoutine(target, library);
  if (routine == nullptr) return false;
  const AttrList* bounds = HardtanhOfClamp(op);
  if (bounds == nullptr) return TakesEpilogue(target, *routine, op, operand);
  const Type type = op.result()->type();
  return operand == 0 && type == op.operand(0)->type() &&
         TakesEpilogue(target, *routine, ops::hardtanh, bounds, 0, type, Type());
}

}  // namespace weft
