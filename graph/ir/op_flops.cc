#include "graph/ir/op_flops.h"

#include "graph/ir/op_def.h"
#include "graph/ir/op_schema.h"

namespace weft {
namespace {

SymInt SizeOf(absl::Span<const Type> types, int i) {
  if (i >= static_cast<int>(types.size()) || !types[i].is_tensor()) return 0;
  return types[i].numel();
}

}  // namespace

OpFlops FlopsRateOf(const OpDef& op) {
  OpFlops rate = op.flops();
  if (rate.kind != OpFlops::Kind::kByTraits) return rate;
  if (op.has(kPointwise)) {
    rate.kind = OpFlops::Kind::kPerResult;
    rate.flops = 1;
  } else if (op.has(kReduction)) {
    rate.kind = OpFlops::Kind::kPerOperand;
    rate.flops = 1;
  }
  return rate;
}

Attrs FlopsArgs::attrs() const { return Attrs(&op->schema(), attr_list); }

bool FlopsArgs::has(int i) const {
  return i < static_cast<int>(operands.size()) && operands[i].kind() != Type::Kind::kNone;
}

SymInt FlopsArgs::result_size(int i) const { return SizeOf(results, i); }

SymInt FlopsArgs::operand_size(int i) const { return SizeOf(operands, i); }

SymInt CountFlops(const FlopsArgs& args) {
  const OpFlops rate = FlopsRateOf(*args.op);
  switch (rate.kind) {
    case OpFlops::Kind::kPerResult:
      return args.result_size() * rate.flops;
    case OpFlops::Kind::kPerOperand:
      return args.operand_size() * rate.flops;
    case OpFlops::Kind::kFormula:
      return rate.formula(args);
    case OpFlops::Kind::kAbsent:
      return SymInt::Invalid();
    case OpFlops::Kind::kByTraits:
      break;
  }
  return 0;
}

SymInt CountFunctions(const FlopsArgs& args) {
  const OpFlops rate = FlopsRateOf(*args.op);
  const bool of_operand = rate.kind == OpFlops::Kind::kPerOperand;
  return (of_operand ? args.operand_size() : args.result_size()) * rate.functions;
}

}  // namespace weft
