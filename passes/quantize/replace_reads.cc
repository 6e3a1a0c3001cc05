#include "passes/quantize/replace_reads.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "base/status_macros.h"
#include "graph/ir/graph.h"
#include "graph/ir/node.h"
#include "graph/ops/quant.h"

namespace weft {
namespace {

using ReplaceRead = absl::FunctionRef<absl::StatusOr<Value*>(const QuantRead& read)>;

// Users with operand indices, in the order of node ids.
std::vector<std::pair<Node*, int>> UsesOf(const Value* value) {
  std::vector<std::pair<Node*, int>> uses;
  for (const Use* use = value->first_use(); use != nullptr; use = use->next()) {
    // Edges to definitions of symbols come after the operands and stay.
    if (use->user()->Is(ops::observe) || use->operand_index() >= use->user()->num_operands()) {
      continue;
    }
    uses.push_back({use->user(), use->operand_index()});
  }
  std::sort(uses.begin(), uses.end(), [](const auto& a, const auto& b) {
    return std::pair(a.first->id(), a.second) < std::pair(b.first->id(), b.second);
  });
  return uses;
}

class ReadReplacer {
 public:
  ReadReplacer(Graph& graph, ReplaceRead replace) : graph_(graph), replace_(replace) {}

  absl::StatusOr<int64_t> Run(const std::vector<SiteGroup>& groups) {
    for (const bool values : {true, false}) {
      for (size_t i = 0; i < groups.size(); ++i) {
        for (const QuantSite& site : groups[i].sites) {
          if ((site.user == nullptr) != values) continue;
          const int group = static_cast<int>(i);
          WEFT_RETURN_IF_ERROR(values ? ReplaceAll(group, site.value) : ReplaceOne(group, site));
        }
      }
    }
    return replaced_;
  }

 private:
  absl::Status ReplaceAll(int group, Value* value) {
    Node* before = value->node() == nullptr ? graph_.first_node() : value->node()->next();
    for (const auto& [user, operand] : UsesOf(value)) {
      WEFT_RETURN_IF_ERROR(Replace({group, value, before, user}, operand));
    }
    return absl::OkStatus();
  }

  absl::Status ReplaceOne(int group, const QuantSite& site) {
    Value* seen = site.user->operand(site.operand);
    if (made_for_.contains({seen, group})) return absl::OkStatus();
    return Replace({group, seen, site.user, site.user}, site.operand);
  }

  absl::Status Replace(const QuantRead& read, int operand) {
    WEFT_ASSIGN_OR_RETURN(Value * by, replace_(read));
    if (by != read.value) made_for_.insert({by, read.group});
    read.user->set_operand(operand, by);
    ++replaced_;
    return absl::OkStatus();
  }

  Graph& graph_;
  ReplaceRead replace_;
  // Values that were made, with their groups.
  absl::flat_hash_set<std::pair<const Value*, int>> made_for_;
  int64_t replaced_ = 0;
};

}  // namespace

absl::StatusOr<int64_t> ReplaceReads(Graph& graph, const std::vector<SiteGroup>& groups,
                                     ReplaceRead replace) {
  return ReadReplacer(graph, replace).Run(groups);
}

}  // namespace weft
