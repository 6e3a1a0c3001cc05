#include "passes/freeze.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/ir/builtin_ops.h"
#include "graph/ir/constant_store.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ops/nn.h"
#include "graph/ops/shape.h"
#include "graph/tensor/tensor.h"
#include "passes/engine/rewrite/rewriter.h"
#include "passes/freeze/fold_channels.h"

namespace weft {
namespace {

// The constant whose transpose the matmul reads; null for other nodes.
Value* TransposedWeight(const Node& node) {
  if (!node.Is(ops::matmul)) return nullptr;
  const Value* operand = ops::MatmulView(node).other();
  if (operand->type().rank() != 2 || !operand->IsResultOf(ops::permute)) return nullptr;
  const ops::PermuteView permute(*operand->node());
  const std::vector<int64_t> dims = permute.dims();
  Value* weight = permute.self();
  const bool swaps = dims.size() == 2 && dims[0] % 2 != 0;
  return swaps && LiteralOf(weight) != nullptr ? weight : nullptr;
}

// matmul(x, w') = linear(x, w) for a constant matrix w, which avoids a transposed copy.
absl::Status TakeTransposedWeights(Graph& graph, PassContext& context) {
  Rewriter rewriter(&graph);
  for (Node* node : graph.nodes()) {
    Value* weight = TransposedWeight(*node);
    if (weight == nullptr) continue;
    if (!context.StartRewrite({NumericContract::kBitExact, "transposed-weight", ""})) break;
    rewriter.Begin(node, "transposed-weight", context.num_rewrites());
    Value* made = ops::BuildLinear(rewriter, ops::MatmulView(*node).self(), weight);
    WEFT_RETURN_IF_ERROR(rewriter.status());
    WEFT_RETURN_IF_ERROR(rewriter.ReplaceRoot({&made, 1}));
    context.Count("transposed_weights");
  }
  return absl::OkStatus();
}

class FreezePass : public Pass {
 public:
  explicit FreezePass(const FreezeOptions& options) : options_(options) {}
  absl::string_view name() const override { return "freeze"; }
  absl::string_view doc() const override {
    return "Makes constants of parameters; folds scales of channels into "
           "products; takes transposed weights as they lie.";
  }
  void VisitOptions(OptionVisitor& visitor) override {
    visitor.Visit("preserve", &options_.preserve, "names of inputs or parameters that stay inputs");
    visitor.Visit("fold_channels", &options_.fold_channels,
                  "fold batch norms and scales into products");
  }
  NumericContract max_contract() const override { return NumericContract::kReassociating; }
  absl::Status Run(Module& module, PassContext& context) override {
    for (const auto& function : module.functions()) {
      Freeze(*function, context);
    }
    for (Graph* graph : module.AllGraphs()) {
      WEFT_RETURN_IF_ERROR(TakeTransposedWeights(*graph, context));
    }
    if (!options_.fold_channels) return absl::OkStatus();
    for (Graph* graph : module.AllGraphs()) {
      WEFT_RETURN_IF_ERROR(FoldChannels(*graph, context));
    }
    return absl::OkStatus();
  }

 private:
  // The reason that the input stays one; "": it becomes a constant.
  std::string ReasonToStay(const Graph& graph, int input) const {
    const InputInfo& info = graph.input_info(input);
    const auto& writes = graph.write_backs();
    if (std::find(writes.begin(), writes.end(), input) != writes.end()) {
      return "written";
    }
    for (const std::string& name : options_.preserve) {
      if (name == info.name || name == info.param) return "preserved";
    }
    return "";
  }

  void Freeze(Graph& graph, PassContext& context) {
    std::vector<int> kept;
    std::map<int, Value*> constants;  // By id: tied weights are one value.
    for (int i = 0; i < graph.num_inputs(); ++i) {
      const int id = graph.input_info(i).initial;
      const std::string reason = id < 0 ? "" : ReasonToStay(graph, i);
      if (!reason.empty()) context.Count(reason);
      const bool stays = id < 0 || !reason.empty() ||
                         graph.input(i)->type() != graph.module().constants().tensor(id).type() ||
                         !context.StartRewrite({NumericContract::kBitExact, "freeze", ""});
      if (stays) {
        kept.push_back(i);
        continue;
      }
      Value*& constant = constants[id];
      if (constant == nullptr) constant = MakeConstant(graph, id);
      graph.input(i)->ReplaceAllUsesWith(constant);
      context.Count("frozen");
    }
    if (static_cast<int>(kept.size()) < graph.num_inputs()) {
      graph.KeepInputs(kept);
    }
    for (auto& [id, constant] : constants) {
      if (!constant->has_uses()) graph.EraseNode(constant->node());
    }
  }

  static Value* MakeConstant(Graph& graph, int id) {
    const Type type = graph.module().constants().tensor(id).type();
    Node* node = graph.CreateNode(ops::constant, {}, AttrList::Get({AttrValue(id)}), {&type, 1},
                                  graph.first_node());
    return node->result();
  }

  FreezeOptions options_;
};

}  // namespace

std::unique_ptr<Pass> CreateFreezePass(const FreezeOptions& options) {
  return std::make_unique<FreezePass>(options);
}

std::unique_ptr<Pass> CreateFreezePass() { return CreateFreezePass({}); }

}  // namespace weft
