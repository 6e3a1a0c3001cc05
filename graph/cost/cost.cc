#include "graph/cost/cost.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "graph/ir/node.h"
#include "graph/ir/op_def.h"
#include "graph/ir/op_flops.h"
#include "graph/ir/op_registry.h"
#include "graph/ir/op_schema.h"
#include "graph/ops/ops.h"
#include "graph/sym/sym_expr.h"
#include "graph/sym/sym_facts.h"
#include "graph/sym/sym_ops.h"

namespace weft {
namespace {

using Way = CostCoverage::Way;

Way WayOf(const OpDef& op) {
  const OpFlops& flops = op.flops();
  switch (flops.kind) {
    case OpFlops::Kind::kAbsent:
      return Way::kUncounted;
    case OpFlops::Kind::kPerResult:
    case OpFlops::Kind::kPerOperand:
      return flops.flops == 0 ? Way::kMovement : Way::kStated;
    case OpFlops::Kind::kFormula:
      return Way::kStated;
    case OpFlops::Kind::kByTraits:
      break;
  }
  if (!op.schema().regions.empty()) return Way::kNested;
  if (op.has(kPointwise)) return Way::kPointwise;
  if (op.has(kDataMovement)) return Way::kMovement;
  return op.has(kReduction) ? Way::kReduction : Way::kMissing;
}

void AddFlops(const Node& node, NodeCost* cost) {
  if (UncountedReason(node.op()) != nullptr) {
    cost->flops = SymInt::Invalid();
    return;
  }
  std::vector<Type> operands, results;
  for (int i = 0; i < node.num_operands(); ++i) {
    operands.push_back(node.has_operand(i) ? node.operand(i)->type() : Type());
  }
  for (int i = 0; i < node.num_results(); ++i) results.push_back(node.result(i)->type());
  const FlopsArgs args = {&node.op(), node.attr_list(), operands, results};
  cost->flops = CountFlops(args);
  cost->functions = CountFunctions(args);
}

// Results with users are written, but not views, whose bytes are there already, nor
// results that stand for a written operand, of which `src` is written.
SymInt WrittenBytes(const Node& node) {
  const OpSchema& schema = node.op().schema();
  if (schema.writes) return BytesOf(node.operand(node.num_operands() - 1)->type());
  if (schema.views) return 0;
  SymInt bytes = 0;
  for (int i = 0; i < node.num_results(); ++i) {
    if (!node.result(i)->has_uses()) continue;
    bytes = bytes + BytesOf(node.result(i)->type());
  }
  return bytes;
}

SymInt ReadBytes(const Node& node) {
  if (node.op().schema().views) return 0;
  SymInt bytes = 0;
  absl::flat_hash_set<const Value*> seen;
  for (int i = 0; i < node.num_operands(); ++i) {
    const Value* operand = node.operand(i);
    if (operand == nullptr || !seen.insert(operand).second) continue;
    const bool part = i == 0 && ReadsPart(node.op());
    const bool written = i == 0 && node.op().writes();
    if (written) continue;
    bytes = bytes + BytesOf(part ? node.result()->type() : operand->type());
  }
  return bytes;
}

}  // namespace

SymInt BytesOf(DType dtype, SymInt numel) {
  const int bits = DTypeBits(dtype);
  return bits % 8 == 0 ? numel * (bits / 8) : CeilDiv(numel * bits, 8);
}

SymInt BytesOf(Type type) {
  return type.is_tensor() ? BytesOf(type.dtype(), type.numel()) : SymInt(0);
}

bool ReadsPart(const OpDef& op) {
  return op.schema().views || &op == &ops::index_select || &op == &ops::gather ||
         &op == &ops::gather_nd;
}

std::optional<int64_t> UsualSize(SymInt size, const SymbolTable& symbols) {
  return Evaluate(size, [&](SymInt symbol) -> std::optional<int64_t> {
    const SymbolInfo* info = symbols.Find(symbol);
    if (info == nullptr) return kUsualSize;
    if (info->hint) return *info->hint;
    return std::min(std::max(kUsualSize, info->range.min), info->range.max);
  });
}

const char* UncountedReason(const OpDef& op) {
  switch (WayOf(op)) {
    case Way::kUncounted:
      return op.flops().reason;
    case Way::kMissing:
      return "the op does not say";
    default:
      return nullptr;
  }
}

NodeCost CostOf(const Node& node) {
  if (node.Is(ops::constant) || node.Is(ops::return_)) return {};
  NodeCost cost;
  AddFlops(node, &cost);
  cost.read = ReadBytes(node);
  cost.written = WrittenBytes(node);
  return cost;
}

bool IsCheap(const Node& node) {
  const OpFlops rate = FlopsRateOf(node.op());
  return node.op().has(kPointwise) && rate.kind == OpFlops::Kind::kPerResult && rate.flops <= 2 &&
         rate.functions == 0;
}

std::vector<CostCoverage> CostCoverageOf(const OpRegistry& registry) {
  std::vector<CostCoverage> coverage;
  for (const OpDef* op : registry.All()) {
    coverage.push_back({std::string(op->name()), WayOf(*op)});
  }
  return coverage;
}

}  // namespace weft
