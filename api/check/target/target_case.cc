#include "api/check/target/target_case.h"

#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "api/check/region.h"
#include "base/shell_quote.h"
#include "base/status_macros.h"
#include "graph/ir/node.h"
#include "graph/ops/ops.h"
#include "graph/text/text.h"

namespace weft {
namespace {

constexpr int64_t kMaxTests = 2000;
// Seeded runs per candidate: a fault found earlier usually shows in one of a few.
constexpr int kMoreRuns = 8;

// The operands of nodes at most `hops` edges before `node` that no such node computes.
absl::flat_hash_set<const Value*> BoundaryOf(const Node& node, int hops) {
  absl::flat_hash_set<const Node*> inside = {&node};
  std::vector<const Node*> front = {&node};
  for (int h = 0; h < hops; ++h) {
    std::vector<const Node*> next;
    for (const Node* at : front) {
      for (int i = 0; i < at->num_operands(); ++i) {
        const Node* from = at->has_operand(i) ? at->operand(i)->node() : nullptr;
        if (from != nullptr && inside.insert(from).second) next.push_back(from);
      }
    }
    front = std::move(next);
  }
  absl::flat_hash_set<const Value*> boundary;
  for (const Node* at : inside) {
    for (int i = 0; i < at->num_operands(); ++i) {
      const Node* from = at->has_operand(i) ? at->operand(i)->node() : nullptr;
      const bool cut = from != nullptr && !inside.contains(from) && !from->Is(ops::constant);
      if (cut && at->operand(i)->type().is_tensor()) boundary.insert(at->operand(i));
    }
  }
  return boundary;
}

absl::StatusOr<std::unique_ptr<Module>> CutAround(const Node& node, int hops) {
  const Graph& graph = *node.graph();
  std::vector<const Value*> outputs;
  for (int r = 0; r < node.num_results(); ++r) {
    if (node.result(r)->has_uses()) outputs.push_back(node.result(r));
  }
  absl::flat_hash_set<const Value*> boundary;
  if (hops >= 0) boundary = BoundaryOf(node, hops);
  const RegionSpec spec = RegionUpTo(graph, outputs, boundary);
  return CutRegion(graph, spec, Unbound(FreeSymbols(graph, spec), spec.input_types));
}

}  // namespace

ModulePredicate DiffersOnTarget(TargetCheckOptions options) {
  return [options = std::move(options)](const Module& module) {
    const auto result = CheckOnTarget(module, options);
    return result.ok() && result->differs();
  };
}

std::string TargetCase::Command(const std::string& file) const {
  std::string command =
      absl::StrCat("run --target=", options.target, " --passes=none --verify=target");
  if (options.seed != 0) absl::StrAppend(&command, " --seed=", options.seed);
  for (const auto& [name, value] : options.backend) {
    absl::StrAppend(&command, " ", ShellQuote(absl::StrCat("--", name, "=", value)));
  }
  return absl::StrCat(command, " ", file);
}

std::string TargetCase::Text(const std::string& file) const {
  std::string head = absl::StrCat(difference.ToString(), Command(file));
  return absl::StrCat("// ", absl::StrReplaceAll(head, {{"\n", "\n// "}}), "\n",
                      PrintModule(*module));
}

absl::StatusOr<TargetCase> MakeTargetCase(const Module& module, const StepDifference& difference,
                                          const TargetCheckOptions& options) {
  TargetCase result;
  result.options = options;
  TargetCheckOptions quick = options;
  quick.more_runs = std::min(quick.more_runs, kMoreRuns);
  const ModulePredicate holds = DiffersOnTarget(quick);
  std::unique_ptr<Module> start;
  for (int hops : {0, 1, 2, 4, -1}) {
    if (difference.node == nullptr) break;
    auto region = CutAround(*difference.node, hops);
    if (!region.ok() || !holds(**region)) continue;
    start = *std::move(region);
    break;
  }
  if (start == nullptr && !holds(module)) {
    return absl::NotFoundError("seeded inputs do not show the difference");
  }
  ReduceOptions reduce;
  reduce.max_tests = kMaxTests;
  WEFT_ASSIGN_OR_RETURN(ReduceResult reduced,
                        Reduce(start != nullptr ? *start : module, holds, reduce));
  result.module = std::move(reduced.module);
  result.nodes_before = module.num_nodes();
  result.nodes_after = reduced.nodes_after;
  WEFT_ASSIGN_OR_RETURN(TargetCheckResult small, CheckOnTarget(*result.module, quick));
  result.difference = small.differs() ? *std::move(small.difference) : difference;
  return result;
}

}  // namespace weft
