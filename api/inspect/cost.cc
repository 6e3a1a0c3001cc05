#include "api/inspect/cost.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/ir/builtin_ops.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ir/node_view.h"
#include "graph/ir/op_def.h"
#include "graph/ir/op_registry.h"
#include "graph/ops/control.h"
#include "graph/sym/sym_expr.h"
#include "graph/sym/sym_facts.h"

namespace weft {
namespace {

using Assignment = absl::flat_hash_map<SymInt, int64_t>;

absl::StatusOr<Assignment> Assign(const Graph& graph, const std::map<std::string, int64_t>& sizes) {
  Assignment values;
  const SymbolTable& table = graph.module().symbols();
  for (const SymbolInfo& info : table.symbols()) {
    if (info.hint) values[info.symbol] = *info.hint;
  }
  for (const auto& [name, size] : sizes) {
    const SymInt symbol = SymInt::Symbol(name);
    if (table.Find(symbol) == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat("the program has no symbol \"", name, "\""));
    }
    values[symbol] = size;
  }
  for (const Value* input : graph.inputs()) {
    if (!input->type().is_tensor()) continue;
    for (const SymInt dim : input->type().dims()) {
      if (!dim.is_symbol() || values.contains(dim)) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("the symbol \"", dim.name(), "\" has no value"));
    }
  }
  return values;
}

// The bytes read of each constant or input; equal constants have one id and count once.
class Sources {
 public:
  explicit Sources(const Graph& graph) : graph_(graph) {}

  // `evaluate` gives the bytes of an expression; expressions without a value are left out.
  template <typename Evaluate>
  int64_t Bytes(Evaluate evaluate) {
    for (const Value* input : graph_.inputs()) Add(input, evaluate);
    for (const Node* node : graph_.nodes()) {
      if (node->Is(ops::constant)) Add(node->result(), evaluate);
    }
    int64_t bytes = 0;
    for (const auto& [key, entry] : entries_) {
      bytes += std::min(entry.part, entry.whole);
    }
    return bytes;
  }

 private:
  struct Entry {
    int64_t whole = 0;
    int64_t part = 0;  // Bytes read, at most `whole`.
  };

  template <typename Evaluate>
  void Add(const Value* value, Evaluate evaluate) {
    // Inputs have keys below 0.
    const int64_t key = value->is_input() ? -1 - static_cast<int64_t>(value->index())
                                          : ops::ConstantView(*value->node()).id();
    Entry& entry = entries_[key];
    entry.whole = evaluate(BytesOf(value->type())).value_or(0);
    for (const Use* use = value->first_use(); use; use = use->next()) {
      const Node& user = *use->user();
      const bool part = use->operand_index() == 0 && ReadsPart(user.op());
      entry.part += part ? PartBytes(user, evaluate) : entry.whole;
    }
  }

  template <typename Evaluate>
  int64_t PartBytes(const Node& user, Evaluate evaluate) {
    int64_t bytes = 0;
    for (int i = 0; i < user.num_results(); ++i) {
      bytes += evaluate(BytesOf(user.result(i)->type())).value_or(0);
    }
    return bytes;
  }

  const Graph& graph_;
  std::map<int64_t, Entry> entries_;
};

class Counter {
 public:
  explicit Counter(Assignment values) : values_(std::move(values)) {}

  ProgramCost Count(const Graph& graph) {
    const auto evaluate = [&](SymInt s) { return ValueOf(s); };
    cost_.bytes = Sources(graph).Bytes(evaluate);
    absl::flat_hash_set<const Value*> outputs;
    for (const Value* output : graph.outputs()) {
      if (!outputs.insert(output).second) continue;
      cost_.bytes += ValueOf(BytesOf(output->type())).value_or(0);
    }
    pending_.push_back({&graph, 1, false});
    while (!pending_.empty()) {
      const Pending next = pending_.back();
      pending_.pop_back();
      for (const Node* node : next.graph->nodes()) CountNode(*node, next);
    }
    return std::move(cost_);
  }

 private:
  struct Pending {
    const Graph* graph;
    int64_t times;  // Number of runs.
    bool inside;    // Inside a fused group: its bytes do not leave the kernel.
  };

  std::optional<int64_t> ValueOf(SymInt s) const {
    if (!s.is_valid()) return std::nullopt;
    return Evaluate(s, [&](SymInt symbol) -> std::optional<int64_t> {
      const auto it = values_.find(symbol);
      if (it == values_.end()) return std::nullopt;
      return it->second;
    });
  }

  void CountNode(const Node& node, const Pending& in) {
    const int64_t times = in.times;
    if (node.Is(ops::constant)) return;
    const std::string name(node.op().name());
    OpCost& of_op = cost_.by_op[name];
    of_op.nodes += 1;
    if (node.num_regions() > 0) CountRegions(node, in);
    const NodeCost cost = CostOf(node);
    const auto read = ValueOf(cost.read);
    const auto written = ValueOf(cost.written);
    const auto flops = ValueOf(cost.flops);
    if (!read || !written) Uncounted(name, "a size is not known");
    if (!flops) {
      const char* reason = UncountedReason(node.op());
      Uncounted(name, reason != nullptr ? reason : "a size is not known");
    }
    if (!in.inside) {
      const int64_t bytes = times * (read.value_or(0) + written.value_or(0));
      of_op.bytes += bytes;
      cost_.node_bytes += bytes;
    }
    of_op.flops += times * flops.value_or(0);
    cost_.flops += times * flops.value_or(0);
  }

  void CountRegions(const Node& node, const Pending& in) {
    int64_t times = in.times;
    const std::string name(node.op().name());
    if (node.Is(ops::cond)) {
      Uncounted(name, "which branch runs depends on the data");
      pending_.push_back({node.region(0), times, in.inside});
      return;
    }
    if (node.Is(ops::loop)) {
      Uncounted(name, "the number of turns depends on the data");
    } else if (node.Is(ops::scan)) {
      const auto first = static_cast<int>(ops::ScanView(node).num_carried());
      const auto turns = ValueOf(node.operand(first)->type().dim(0));
      if (!turns) Uncounted(name, "a size is not known");
      times *= turns.value_or(1);
    }
    const bool inside = in.inside || node.Is(ops::fused);
    for (int i = 0; i < node.num_regions(); ++i) {
      pending_.push_back({node.region(i), times, inside});
    }
  }

  void Uncounted(const std::string& op, absl::string_view reason) {
    cost_.uncounted.emplace(op, reason);
  }

  Assignment values_;
  ProgramCost cost_;
  std::vector<Pending> pending_;
};

absl::string_view WayName(CostCoverage::Way way) {
  switch (way) {
    case CostCoverage::Way::kStated:
      return "stated";
    case CostCoverage::Way::kPointwise:
      return "pointwise";
    case CostCoverage::Way::kReduction:
      return "reduction";
    case CostCoverage::Way::kMovement:
      return "movement";
    case CostCoverage::Way::kNested:
      return "nested";
    case CostCoverage::Way::kUncounted:
      return "uncounted";
    case CostCoverage::Way::kMissing:
      return "missing";
  }
  return "missing";
}

}  // namespace

absl::StatusOr<ProgramCost> CostOf(const Graph& graph,
                                   const std::map<std::string, int64_t>& sizes) {
  WEFT_ASSIGN_OR_RETURN(Assignment values, Assign(graph, sizes));
  return Counter(std::move(values)).Count(graph);
}

std::string DescribeCosts(const OpRegistry& ops) {
  std::string text;
  std::map<absl::string_view, int> counts;
  for (const CostCoverage& entry : CostCoverageOf(ops)) {
    const absl::string_view way = WayName(entry.way);
    ++counts[way];
    const char* reason = UncountedReason(*ops.Find(entry.op));
    absl::StrAppend(&text, entry.op, ": ", way, reason == nullptr ? "" : absl::StrCat(", ", reason),
                    "\n");
  }
  for (const auto& [way, count] : counts) {
    absl::StrAppend(&text, count, " ", way, "  ");
  }
  text.replace(text.size() - 2, 2, "\n");
  return text;
}

}  // namespace weft
