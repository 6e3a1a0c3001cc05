#include "passes/fuse/decision.h"

#include <memory>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/substitute.h"
#include "absl/types/span.h"
#include "base/status_macros.h"
#include "graph/ir/builder.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/op_def.h"
#include "graph/ir/origin.h"
#include "graph/ir/provenance.h"
#include "graph/ops/control.h"
#include "passes/fuse/group.h"

namespace weft {
namespace {

// Groups that are made of kernels, each of which may run alone: `fused` nodes
// among them stay what they are.
bool IsOfKernels(absl::string_view kind) { return kind == "concat" || kind == "horizontal"; }

// The nested graph of one group while it is made.
class Body {
 public:
  Body(Module& module, absl::string_view kind)
      : graph_(std::make_unique<Graph>(&module, "body")), inlines_(!IsOfKernels(kind)) {}

  void Copy(Node* node) {
    std::vector<Value*> operands;
    for (int i = 0; i < node->num_operands(); ++i) {
      operands.push_back(Map(node->operand(i)));
    }
    if (node->Is(ops::fused) && inlines_) {
      const std::vector<Value*> values =
          InlineGraph(*node->region(0), operands, graph_.get(), nullptr);
      for (int i = 0; i < node->num_results(); ++i) {
        values_[node->result(i)] = values[i];
      }
      return;
    }
    CopyTo(node, operands);
  }

  const std::vector<Value*>& inputs() const { return inputs_; }
  std::unique_ptr<Graph> Finish(absl::Span<Value* const> outputs) {
    std::vector<Value*> values;
    for (Value* output : outputs) values.push_back(values_.at(output));
    graph_->SetOutputs(values);
    return std::move(graph_);
  }

 private:
  Value* Map(Value* value) {
    if (value == nullptr) return nullptr;
    auto it = values_.find(value);
    if (it != values_.end()) return it->second;
    if (ComesAlong(value)) {
      CopyTo(value->node(), {});
      return values_.at(value);
    }
    inputs_.push_back(value);
    return values_[value] = graph_->AddInput(value->type());
  }

  void CopyTo(Node* node, absl::Span<Value* const> operands) {
    std::vector<Type> types;
    for (int i = 0; i < node->num_results(); ++i) {
      types.push_back(node->result(i)->type());
    }
    Node* copy = graph_->CreateNode(node->op(), operands, node->attr_list(), types, nullptr,
                                    node->graph()->TakeRegions(node));
    copy->set_provenance(node->provenance());
    copy->set_origin(node->origin());
    for (int i = 0; i < node->num_results(); ++i) {
      values_[node->result(i)] = copy->result(i);
    }
  }

  std::unique_ptr<Graph> graph_;
  const bool inlines_;
  std::vector<Value*> inputs_;
  absl::flat_hash_map<const Value*, Value*> values_;
};

// Puts `nodes`, which stand together, into a `fused` node.
absl::Status Outline(Graph& graph, absl::Span<Node* const> nodes, absl::Span<Value* const> outputs,
                     absl::string_view kind, PassContext& context) {
  Module& module = graph.module();
  Body body(module, kind);
  ProvenanceId provenance = 0;
  OriginId origin = 0;
  for (Node* node : nodes) {
    body.Copy(node);
    provenance = module.provenance().Merge(provenance, node->provenance());
    origin = module.origins().Merge(origin, node->origin());
  }
  std::vector<std::unique_ptr<Graph>> regions;
  regions.push_back(body.Finish(outputs));
  std::vector<Type> types;
  for (Value* output : outputs) types.push_back(output->type());
  Node* fused = graph.CreateNode(ops::fused, body.inputs(), ops::FusedAttrs(kind), types,
                                 nodes.front(), std::move(regions));
  fused->set_provenance(provenance);
  fused->set_origin(module.origins().Rewrite(kind, context.num_rewrites(), &nodes.back()->op(),
                                             nodes.back()->id(), origin));
  for (size_t i = 0; i < outputs.size(); ++i) {
    outputs[i]->ReplaceAllUsesWith(fused->result(static_cast<int>(i)));
  }
  return absl::OkStatus();
}

void EraseConstants(Graph& graph, absl::Span<Node* const> constants) {
  for (Node* node : constants) {
    if (!node->has_uses()) graph.EraseNode(node);
  }
}

std::string ReasonOf(const FuseRefusal& refusal) {
  return refusal.limit < 0 ? refusal.reason : absl::Substitute(refusal.reason, refusal.limit);
}

void AddRemark(const FuseRefusal& refusal, PassContext& context) {
  Remark remark = RemarkOn(
      *refusal.consumer, RemarkKind::kMissed,
      absl::StrCat("not fused with ", refusal.producer->op().name(), ": ", ReasonOf(refusal)));
  remark.related = {refusal.producer->id()};
  context.AddRemark(std::move(remark));
}

}  // namespace

std::string NodeText(const Node& node) {
  return absl::StrCat("%", node.id(), " = ", node.op().name());
}

std::string ToString(const FuseRefusal& refusal) {
  return absl::StrCat(NodeText(*refusal.consumer), ": not fused with ", NodeText(*refusal.producer),
                      ": ", ReasonOf(refusal));
}

std::string ToString(const NodeRefusal& refusal) {
  return absl::StrCat(NodeText(*refusal.node), ": ", refusal.reason);
}

void AddRemarks(absl::Span<const FuseRefusal> refusals, PassContext& context) {
  if (!context.wants_remarks()) return;
  for (const FuseRefusal& refusal : refusals) AddRemark(refusal, context);
}

void AddRemarks(absl::Span<const NodeRefusal> refusals, PassContext& context) {
  for (const NodeRefusal& refusal : refusals) {
    context.Count("refused");
    if (!context.wants_remarks()) continue;
    context.AddRemark(RemarkOn(*refusal.node, RemarkKind::kMissed, refusal.reason));
  }
}

std::string ToString(const FusionDecision& decision) {
  const auto append_node = [](std::string* text, const Node* node) {
    absl::StrAppend(text, NodeText(*node));
  };
  std::string text;
  for (const FuseGroup& group : decision.groups) {
    absl::StrAppend(&text, group.kind, ": ",
                    absl::StrJoin(decision.units.NodesOf(group.unit), ", ", append_node), "\n");
  }
  for (const FuseRefusal& refusal : decision.refusals) {
    absl::StrAppend(&text, ToString(refusal), "\n");
  }
  return text;
}

absl::Status ApplyFusion(Graph& graph, const FusionDecision& decision, PassContext& context) {
  AddRemarks(decision.refusals, context);
  for (const auto& [name, count] : decision.counters) context.Count(name, count);
  if (decision.groups.empty()) return absl::OkStatus();
  const Units& units = decision.units;
  // All that is asked of the units, before any edit.
  struct Plan {
    absl::string_view kind;
    std::vector<Node*> nodes;
    std::vector<Value*> outputs;
  };
  std::vector<Plan> plans;
  std::vector<Node*> constants;
  absl::flat_hash_set<const Node*> seen;
  for (const FuseGroup& group : decision.groups) {
    if (!context.StartRewrite({NumericContract::kBitExact, group.kind, ""})) break;
    plans.push_back({group.kind, units.NodesOf(group.unit), OutputsOf(units, group.unit)});
    for (const Node* node : plans.back().nodes) {
      for (int i = 0; i < node->num_operands(); ++i) {
        Value* v = node->operand(i);
        if (v == nullptr || !ComesAlong(v)) continue;
        if (seen.insert(v->node()).second) constants.push_back(v->node());
      }
    }
  }
  if (plans.empty()) return absl::OkStatus();
  units.Reorder(graph);
  for (const Plan& plan : plans) {
    WEFT_RETURN_IF_ERROR(Outline(graph, plan.nodes, plan.outputs, plan.kind, context));
    context.Count("fused");
    context.Count(absl::StrCat("fused.", plan.kind));
    context.Count("fused_nodes", static_cast<int64_t>(plan.nodes.size()));
    for (size_t i = plan.nodes.size(); i-- > 0;) {
      graph.EraseNode(plan.nodes[i]);
    }
  }
  EraseConstants(graph, constants);
  return absl::OkStatus();
}

}  // namespace weft
