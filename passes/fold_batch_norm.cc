#include "passes/fold_batch_norm.h"

#include <vector>

#include "base/status_macros.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ops/elementwise.h"
#include "graph/ops/nn.h"
#include "graph/ops/shape.h"
#include "passes/engine/rewrite/rewriter.h"

namespace weft {
namespace {

// The product whose channels the batch norm scales; null where there is none to fold into.
Node* ProductOf(const Node& norm) {
  const Value* x = norm.operand(0);
  Node* node = x->node();
  if (node == nullptr || !x->has_one_use()) return nullptr;
  const bool channels_first =
      node->Is(ops::convolution) && !ops::ConvolutionView(*node).transposed();
  const bool matrix = node->Is(ops::linear) && x->type().rank() == 2;
  if (!channels_first && !matrix) return nullptr;
  const DType dtype = x->type().dtype();
  for (const Node* reader : {static_cast<const Node*>(node), &norm}) {
    for (int i = 0; i < reader->num_operands(); ++i) {
      if (reader->has_operand(i) && reader->operand(i)->type().dtype() != dtype) return nullptr;
    }
  }
  return node;
}

class BatchNormFolder {
 public:
  BatchNormFolder(Graph& graph, PassContext& context) : context_(context), rewriter_(&graph) {}

  absl::Status Visit(Node* node) {
    Node* product = node->Is(ops::batch_norm) ? ProductOf(*node) : nullptr;
    if (product == nullptr ||
        !context_.StartRewrite({NumericContract::kReassociating, "fold-batch-norm", ""})) {
      return absl::OkStatus();
    }
    rewriter_.Begin(node, "fold-batch-norm", context_.num_rewrites());
    const ops::BatchNormView norm(*node);
    const ops::BiasedProductView view(*product);
    Value* scale = ScaleOf(norm);
    Value* operands[] = {view.input(), ScaledWeight(view.weight(), scale),
                         ShiftedBias(view.bias(), norm, scale)};
    const std::vector<Value*> made =
        rewriter_.Create(product->op(), operands, product->attr_list());
    WEFT_RETURN_IF_ERROR(rewriter_.status());
    WEFT_RETURN_IF_ERROR(rewriter_.ReplaceRoot(made));
    context_.Count("norms");
    return absl::OkStatus();
  }

 private:
  Value* ScaleOf(const ops::BatchNormView& norm) {
    Value* eps = rewriter_.Scalar(norm.running_var()->type().dtype(), norm.eps());
    Value* variance = rewriter_.Op(ops::add, {norm.running_var(), eps});
    return rewriter_.Op(ops::mul, {norm.weight(), rewriter_.Op(ops::rsqrt, {variance})});
  }

  // The first dim of a weight has the channels.
  Value* ScaledWeight(Value* weight, Value* scale) {
    std::vector<SymInt> size(weight->type().rank(), SymInt(1));
    size[0] = weight->type().dim(0);
    Value* rows = rewriter_.Op(ops::reshape, {scale}, {{"size", size}});
    return rewriter_.Op(ops::mul, {weight, rows});
  }

  Value* ShiftedBias(Value* bias, const ops::BatchNormView& norm, Value* scale) {
    if (bias == nullptr) {
      Value* shift = rewriter_.Op(ops::mul, {norm.running_mean(), scale});
      return rewriter_.Op(ops::sub, {norm.bias(), shift});
    }
    Value* centred = rewriter_.Op(ops::sub, {bias, norm.running_mean()});
    return rewriter_.Op(ops::add, {rewriter_.Op(ops::mul, {centred, scale}), norm.bias()});
  }

  PassContext& context_;
  Rewriter rewriter_;
};

class FoldBatchNormPass : public Pass {
 public:
  absl::string_view name() const override { return "fold_batch_norm"; }
  absl::string_view doc() const override {
    return "Puts batch norms into weights that need not be constants, as nodes.";
  }
  NumericContract max_contract() const override { return NumericContract::kReassociating; }
  absl::Status Run(Module& module, PassContext& context) override {
    for (Graph* graph : module.AllGraphs()) {
      BatchNormFolder folder(*graph, context);
      for (Node* node : graph->nodes()) WEFT_RETURN_IF_ERROR(folder.Visit(node));
    }
    return absl::OkStatus();
  }
};

}  // namespace

std::unique_ptr<Pass> CreateFoldBatchNormPass() { return std::make_unique<FoldBatchNormPass>(); }

}  // namespace weft
