#include "passes/engine/cost/cost.h"

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "graph/ir/node.h"
#include "graph/ir/op_def.h"
#include "graph/ir/op_registry.h"
#include "graph/ir/op_schema.h"
#include "graph/ops/ops.h"
#include "graph/sym/sym_ops.h"
#include "passes/engine/cost/tables.h"

namespace weft {
namespace {

using Way = CostCoverage::Way;

// How an op is counted: one of the members says it.
struct Counting {
  Way way = Way::kMissing;
  SymInt (*flops)(const Node&) = nullptr;
  int64_t of_result = 0;
  int64_t of_operand = 0;
  const char* reason = nullptr;
};

// These move elements, fill in values or hold the graph together, and their
// traits do not say so.
absl::flat_hash_set<const OpDef*> MovingOps() {
  return {&ops::arange,   &ops::compress,   &ops::constant,        &ops::copy_,
          &ops::eye,      &ops::item,       &ops::max_unpool,      &ops::nonzero,
          &ops::pad,      &ops::range,      &ops::return_,         &ops::scatter,
          &ops::scatter_, &ops::scatter_nd, &ops::scatter_nd_,     &ops::sym_constant,
          &ops::tril,     &ops::triu,       &ops::view_as_complex, &ops::view_as_real};
}

absl::flat_hash_map<const OpDef*, Counting> MakeTable() {
  absl::flat_hash_map<const OpDef*, Counting> table;
  const auto add = [&](const OpDef* op, Way way) -> Counting& {
    Counting& counting = table[op];
    counting.way = way;
    return counting;
  };
  for (const OpDef* op : MovingOps()) add(op, Way::kMovement);
  for (const cost::Rate& rate : cost::PointwiseRates()) {
    add(rate.op, Way::kTable).of_result = rate.flops;
  }
  for (const cost::Rate& rate : cost::ReductionRates()) {
    add(rate.op, Way::kTable).of_operand = rate.flops;
  }
  for (const auto& rows : {cost::PointwiseRows(), cost::ProductRows(), cost::WindowRows()}) {
    for (const cost::Row& row : rows) {
      add(row.op, Way::kTable).flops = row.flops;
    }
  }
  for (const cost::Uncounted& entry : cost::UncountedOps()) {
    add(entry.op, Way::kUncounted).reason = entry.reason;
  }
  return table;
}

Counting CountingOf(const OpDef& op) {
  static const auto& table = *new absl::flat_hash_map<const OpDef*, Counting>(MakeTable());
  const auto it = table.find(&op);
  if (it != table.end()) return it->second;
  Counting counting;
  if (!op.schema().regions.empty()) {
    counting.way = Way::kNested;
  } else if (op.has(kPointwise)) {
    counting.way = Way::kPointwise;
    counting.of_result = 1;
  } else if (op.has(kDataMovement)) {
    counting.way = Way::kMovement;
  } else if (op.has(kReduction)) {
    counting.way = Way::kReduction;
    counting.of_operand = 1;
  } else {
    counting.reason = "no table of costs has the op";
  }
  return counting;
}

SymInt FlopsOf(const Node& node) {
  const Counting counting = CountingOf(node.op());
  if (counting.reason != nullptr) return SymInt::Invalid();
  if (counting.flops != nullptr) return counting.flops(node);
  if (counting.of_result > 0) {
    return cost::ResultSize(node) * counting.of_result;
  }
  if (counting.of_operand > 0) {
    return cost::OperandSize(node) * counting.of_operand;
  }
  return 0;
}

// What is written: results with users, but not views, whose bytes are there
// already, nor what stands for a written operand, of which `src` is written.
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

namespace cost {

SymInt ResultSize(const Node& node, int i) {
  const Type type = node.result(i)->type();
  return type.is_tensor() ? type.numel() : SymInt(0);
}

SymInt OperandSize(const Node& node, int i) {
  const Type type = node.operand(i)->type();
  return type.is_tensor() ? type.numel() : SymInt(0);
}

}  // namespace cost

SymInt BytesOf(Type type) {
  if (!type.is_tensor()) return 0;
  const int bits = DTypeBits(type.dtype());
  if (bits % 8 == 0) return type.numel() * (bits / 8);
  return CeilDiv(type.numel() * bits, 8);
}

bool ReadsPart(const OpDef& op) {
  return op.schema().views || &op == &ops::index_select || &op == &ops::gather ||
         &op == &ops::gather_nd;
}

const char* UncountedReason(const OpDef& op) { return CountingOf(op).reason; }

NodeCost CostOf(const Node& node) {
  if (node.Is(ops::constant) || node.Is(ops::return_)) return {};
  NodeCost cost;
  cost.flops = FlopsOf(node);
  cost.read = ReadBytes(node);
  cost.written = WrittenBytes(node);
  return cost;
}

std::vector<CostCoverage> CostCoverageOf(const OpRegistry& registry) {
  std::vector<CostCoverage> coverage;
  for (const OpDef* op : registry.All()) {
    coverage.push_back({std::string(op->name()), CountingOf(*op).way});
  }
  return coverage;
}

}  // namespace weft
