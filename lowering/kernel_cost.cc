#include "lowering/kernel_cost.h"

#include <algorithm>
#include <vector>

#include "graph/sym/sym_ops.h"
#include "graph/target/target.h"

namespace weft {
namespace {

// Bounds what a target may say.
constexpr int64_t kMaxWork = 1 << 20;

bool IsArithmetic(ScalarOp op) { return op > ScalarOp::kBitcast && op != ScalarOp::kSelect; }

bool Moves(const Nest& nest, const std::vector<SymInt>& strides) {
  for (size_t l = nest.outer.size(); l < strides.size(); ++l) {
    if (!strides[l].Is(0)) return true;
  }
  return false;
}

// Which instructions differ from point to point of the inner loops.
std::vector<bool> MovesInside(const Nest& nest, const Stage& stage) {
  std::vector<bool> inner(stage.body.size(), false);
  for (size_t n = 0; n < stage.body.size(); ++n) {
    const Instr& i = stage.body[n];
    bool moves = i.op == ScalarOp::kRow;
    if (i.op == ScalarOp::kIndex) moves = i.loop >= static_cast<int>(nest.outer.size());
    for (int operand : i.operands) {
      moves = moves || (operand >= 0 && inner[operand]);
    }
    if (i.op == ScalarOp::kLoad) {
      moves = moves || Moves(nest, i.access.strides);
      for (const IndexTerm& t : i.access.terms) {
        moves = moves || inner[t.value];
      }
    }
    inner[n] = moves;
  }
  return inner;
}

}  // namespace

bool IsFunction(ScalarOp op) {
  switch (op) {
    case ScalarOp::kPow:
    case ScalarOp::kAtan2:
    case ScalarOp::kFmod:
    case ScalarOp::kRemainder:
    case ScalarOp::kFloorDiv:
    case ScalarOp::kTruncDiv:
      return true;
    default:
      return op >= ScalarOp::kExp && op <= ScalarOp::kSigmoid && !IsDivision(op);
  }
}

bool IsDivision(ScalarOp op) {
  return op == ScalarOp::kDiv || op == ScalarOp::kSqrt || op == ScalarOp::kRsqrt ||
         op == ScalarOp::kReciprocal;
}

int64_t WorkOf(ScalarOp op, const Target& target) {
  switch (op) {
    case ScalarOp::kConst:
    case ScalarOp::kSize:
    case ScalarOp::kIndex:
    case ScalarOp::kRow:
    case ScalarOp::kReduced:
      return 0;
    default:
      break;
  }
  if (IsDivision(op)) return std::min(target.costs.division_work, kMaxWork);
  return IsFunction(op) ? std::min(target.costs.function_work, kMaxWork) : 1;
}

SymInt FlopsOf(const Nest& nest) {
  const SymInt rows = Product(nest.outer);
  const SymInt points = rows * Product(nest.inner);
  SymInt flops = 0;
  for (const Stage& stage : nest.stages) {
    const std::vector<bool> inner = MovesInside(nest, stage);
    int64_t per_point = static_cast<int64_t>(stage.reductions.size());
    int64_t per_row = 0;
    for (size_t i = 0; i < stage.body.size(); ++i) {
      if (!IsArithmetic(stage.body[i].op)) continue;
      ++(inner[i] ? per_point : per_row);
    }
    flops = flops + points * per_point + rows * per_row;
  }
  return flops;
}

SymInt GatheredElements(const Nest& nest, int arg) {
  const SymInt rows = Product(nest.outer);
  for (const Stage& stage : nest.stages) {
    for (const Instr& i : stage.body) {
      if (i.op == ScalarOp::kLoad && i.access.arg == arg && !i.access.terms.empty()) {
        return stage.per_row ? rows : rows * Product(nest.inner);
      }
    }
  }
  return 0;
}

}  // namespace weft
