#include "passes/quantize/insert_fake_quantize.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/ir/annotations.h"
#include "graph/ir/builder.h"
#include "graph/ir/graph.h"
#include "graph/ir/node.h"
#include "graph/ops/elementwise.h"
#include "graph/ops/quant.h"
#include "graph/ops/shape.h"
#include "passes/engine/pass_context.h"
#include "passes/quantize/params_layout.h"
#include "passes/quantize/replace_reads.h"

namespace weft {
namespace {

bool IsFake(const Node& node) {
  return node.Is(ops::fake_quantize) && !FindNote(node.result(), kFakeQuantizeKey).empty();
}

class FakeQuantizer {
 public:
  FakeQuantizer(Graph& graph, const std::vector<SiteGroup>& groups, const SeenStates& states,
                PassContext& context)
      : graph_(graph), groups_(groups), states_(states), context_(context) {}

  // One for a value and group.
  absl::StatusOr<Value*> Replace(const QuantRead& read) {
    const SiteGroup& group = groups_[read.group];
    // Derived specs, and what a run before this one has made.
    if (group.spec.scheme == QuantScheme::kDerived || IsFake(*read.user) ||
        FindNote(read.value, kFakeQuantizeKey) == ToText(group.spec)) {
      return read.value;
    }
    const auto [it, added] = made_.try_emplace({read.value, read.group}, read.value);
    if (!added) return it->second;
    if (!context_.StartRewrite({NumericContract::kApproximate, "fake-quantize", ""})) {
      return read.value;
    }
    auto made = Make(read, group);
    if (!made.ok()) {
      return absl::Status(made.status().code(),
                          absl::StrCat(ToString(group.sites[0]), ": ", made.status().message()));
    }
    context_.Count("fake");
    source_[*made] = SourceOf(read.value);
    return made_[{read.value, read.group}] = *made;
  }

 private:
  // The value before all fake quantization.
  const Value* SourceOf(const Value* value) const {
    const auto it = source_.find(value);
    return it == source_.end() ? value : it->second;
  }

  absl::StatusOr<Value*> Make(const QuantRead& read, const SiteGroup& group) {
    const Value* source = SourceOf(read.value);
    const auto seen = states_.find({source, group.observer});
    const bool observed = seen != states_.end();
    Node* before = read.before;
    // The observer stands right behind the value.
    if (observed && source == read.value) before = seen->second->node()->next();
    Builder b(&graph_, before);
    b.set_provenance((read.value->node() != nullptr ? read.value->node() : before)->provenance());
    WEFT_ASSIGN_OR_RETURN(const ScaleOperands scales,
                          Scales(b, read, group, observed ? seen->second : nullptr));
    WEFT_RETURN_IF_ERROR(b.status());
    Value* fake = BuildFakeQuantize(b, group.spec, read.value, scales);
    WEFT_RETURN_IF_ERROR(b.status());
    SetNote(fake, kFakeQuantizeKey, ToText(group.spec));
    return fake;
  }

  absl::StatusOr<ScaleOperands> Scales(Builder& b, const QuantRead& read, const SiteGroup& group,
                                       Value* state) const {
    const QuantSpec& spec = group.spec;
    if (spec.scheme == QuantScheme::kFixed) {
      WEFT_ASSIGN_OR_RETURN(const QuantParams params, ParamsOfRanges(spec, {ValueRange()}));
      return BuildScales(b, spec, params, {});
    }
    if (state != nullptr) return BuildScalesOfState(b, spec, state);
    if (NeedsObserver(group)) {
      return absl::FailedPreconditionError(
          "its observer was there before, without fake_quantize behind it");
    }
    if (!spec.dynamic) WEFT_RETURN_IF_ERROR(CheckOneWeight(group));
    WEFT_RETURN_IF_ERROR(LayoutOfScales(spec, read.value->type().rank()).status());
    return BuildDynamicScales(b, spec, read.value);
  }

  Graph& graph_;
  const std::vector<SiteGroup>& groups_;
  const SeenStates& states_;
  PassContext& context_;
  absl::flat_hash_map<std::pair<const Value*, int>, Value*> made_;
  absl::flat_hash_map<const Value*, const Value*> source_;
};

bool ComputesScales(const Node& node) {
  return node.Is(ops::choose_qparams) || node.Is(ops::convert) || node.Is(ops::slice);
}

// A node for scales that nothing reads, and those before it.
void EraseUnread(Node* node) {
  if (node == nullptr || !ComputesScales(*node)) return;
  for (int i = 0; i < node->num_results(); ++i) {
    if (node->result(i)->has_uses()) return;
  }
  Node* before = node->operand(0)->node();
  node->graph()->EraseNode(node);
  EraseUnread(before);
}

}  // namespace

absl::Status InsertFakeQuantize(Graph& graph, const std::vector<SiteGroup>& groups,
                                const SeenStates& states, PassContext& context) {
  FakeQuantizer quantizer(graph, groups, states, context);
  return ReplaceReads(graph, groups, [&](const QuantRead& read) { return quantizer.Replace(read); })
      .status();
}

int64_t RemoveFakeQuantize(Graph& graph) {
  std::vector<Node*> made;
  for (Node* node : graph.nodes()) {
    if (IsFake(*node)) made.push_back(node);
  }
  for (Node* node : made) {
    const ops::FakeQuantizeView view(*node);
    Node* scales = view.scale()->node();
    Value* value = view.self();
    SetNote(node->result(), kFakeQuantizeKey, "");
    node->result()->ReplaceAllUsesWith(value);
    graph.EraseNode(node);
    EraseUnread(scales);
  }
  return static_cast<int64_t>(made.size());
}

}  // namespace weft
