#include "lowering/step_cost.h"

#include <vector>

#include "graph/ir/attrs.h"
#include "graph/ir/op_def.h"
#include "graph/ops/nn.h"
#include "graph/sym/sym_ops.h"

namespace weft {
namespace {

SymInt BytesOf(DType dtype, SymInt numel) { return CeilDiv(numel * DTypeBits(dtype), 8); }

// The elements that are there: those along a stride of 0 are one.
SymInt DistinctElements(const View& view) {
  SymInt numel = 1;
  for (int d = 0; d < view.type.rank(); ++d) {
    if (!view.strides[d].Is(0)) numel = numel * view.type.dim(d);
  }
  return numel;
}

bool IsArithmetic(ScalarOp op) { return op > ScalarOp::kBitcast && op != ScalarOp::kSelect; }

class NestCost {
 public:
  explicit NestCost(const Nest& nest)
      : nest_(nest), rows_(Product(nest.outer)), points_(rows_ * Product(nest.inner)) {}

  SymInt Flops() const {
    SymInt flops = 0;
    for (const Stage& stage : nest_.stages) {
      const std::vector<bool> inner = MovesInside(stage);
      int64_t per_point = static_cast<int64_t>(stage.reductions.size());
      int64_t per_row = 0;
      for (size_t i = 0; i < stage.body.size(); ++i) {
        if (!IsArithmetic(stage.body[i].op)) continue;
        ++(inner[i] ? per_point : per_row);
      }
      flops = flops + points_ * per_point + rows_ * per_row;
    }
    return flops;
  }

  // Elements that gathers of the argument read; 0 without any.
  SymInt Gathered(int arg) const {
    for (const Stage& stage : nest_.stages) {
      for (const Instr& i : stage.body) {
        if (i.op == ScalarOp::kLoad && i.access.arg == arg && !i.access.terms.empty()) {
          return stage.per_row ? rows_ : points_;
        }
      }
    }
    return 0;
  }

 private:
  bool Moves(const std::vector<SymInt>& strides) const {
    for (size_t l = nest_.outer.size(); l < strides.size(); ++l) {
      if (!strides[l].Is(0)) return true;
    }
    return false;
  }

  // Which instructions differ from point to point of the inner loops.
  std::vector<bool> MovesInside(const Stage& stage) const {
    std::vector<bool> inner(stage.body.size(), false);
    for (size_t n = 0; n < stage.body.size(); ++n) {
      const Instr& i = stage.body[n];
      bool moves = i.op == ScalarOp::kRow;
      if (i.op == ScalarOp::kIndex) {
        moves = i.loop >= static_cast<int>(nest_.outer.size());
      }
      for (int operand : i.operands) {
        moves = moves || (operand >= 0 && inner[operand]);
      }
      if (i.op == ScalarOp::kLoad) {
        moves = moves || Moves(i.access.strides);
        for (const IndexTerm& t : i.access.terms) {
          moves = moves || inner[t.value];
        }
      }
      inner[n] = moves;
    }
    return inner;
  }

  const Nest& nest_;
  const SymInt rows_;
  const SymInt points_;
};

SymInt RoutineFlops(const Step& step) {
  const SymInt out = step.results[0].type.numel();
  if (step.op == &ops::matmul || step.op == &ops::linear) {
    return out * step.args[0].type.dims().back() * 2;
  }
  if (step.op == &ops::convolution) {
    const Type weight = step.args[1].type;
    return out * Product(weight.dims().subspan(1)) * 2;
  }
  if (step.op == &ops::scaled_dot_product_attention) {
    const Type key = step.args[1].type;
    const SymInt length = key.dim(key.rank() - 2);
    return (step.args[0].type.numel() + out) * length * 2;
  }
  if (step.op == &ops::max_pool || step.op == &ops::avg_pool) {
    const ops::PoolAttrView pool(Attrs(&step.op->schema(), step.attrs));
    SymInt taps = 1;
    for (int64_t k : pool.kernel_size()) taps = taps * SymInt(k);
    return out * taps;
  }
  return out;
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
        gathered = gathered + NestCost(nest).Gathered(static_cast<int>(a));
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
  if (step.kind == StepKind::kKernel) {
    for (const Nest& nest : plan.kernels[step.kernel].nests) {
      cost.flops = cost.flops + NestCost(nest).Flops();
    }
  } else if (step.kind == StepKind::kLibrary) {
    const int after = static_cast<int>(step.epilogue.size());
    cost.flops = RoutineFlops(step) + results * after;
  } else if (step.kind != StepKind::kCopy) {
    cost.flops = results;
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
