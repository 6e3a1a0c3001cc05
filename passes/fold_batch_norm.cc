#include "passes/fold_batch_norm.h"

#include <optional>
#include <vector>

#include "base/status_macros.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ops/elementwise.h"
#include "graph/ops/nn.h"
#include "graph/ops/shape.h"
#include "graph/tensor/tensor.h"
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

// The operand of `node` that `other` is not; null if `node` is no such op of two operands.
Value* OtherOperand(const Node* node, const OpDef& op, const Value* other) {
  if (node == nullptr || !node->Is(op)) return nullptr;
  if (node->operand(0) == other) return node->operand(1);
  return node->operand(1) == other ? node->operand(0) : nullptr;
}

// True for gamma / sqrt(var + eps) of the batch norm.
bool IsScaleOf(const ops::BatchNormView& norm, const Value* scale) {
  const Value* root = OtherOperand(scale->node(), ops::mul, norm.weight());
  if (root == nullptr || !root->IsResultOf(ops::rsqrt)) return false;
  const Value* eps = OtherOperand(root->node()->operand(0)->node(), ops::add, norm.running_var());
  const HostTensor* literal = eps == nullptr ? nullptr : LiteralOf(eps);
  if (literal == nullptr || literal->numel() != 1) return false;
  const HostTensor wanted = HostTensor::Scalar(literal->dtype(), norm.eps());
  return literal->ReadDoubles() == wanted.ReadDoubles();
}

// The vector of the channels that was reshaped to broadcast; null for others.
Value* ChannelsOf(const Value* v) {
  if (!v->IsResultOf(ops::reshape)) return nullptr;
  Value* channels = v->node()->operand(0);
  const Type type = v->type();
  const bool second = type.rank() >= 2 && channels->type().rank() == 1 &&
                      type.dim(1) == channels->type().dim(0) && type.numel() == type.dim(1);
  return second ? channels : nullptr;
}

// product / scale + bias, as `keep` makes it.
struct Unscaled {
  Node* product = nullptr;
  Value* scale = nullptr;
  Value* bias = nullptr;  // Null: none.
};

std::optional<Unscaled> UnscaledOf(const Node& node) {
  const ops::BatchNormView norm(node);
  Unscaled found;
  const Value* y = norm.input();
  if (y->IsResultOf(ops::add) && y->has_one_use()) {
    found.bias = ChannelsOf(y->node()->operand(1));
    if (found.bias == nullptr) return std::nullopt;
    y = y->node()->operand(0);
  }
  if (!y->IsResultOf(ops::div) || !y->has_one_use()) return std::nullopt;
  found.scale = ChannelsOf(y->node()->operand(1));
  if (found.scale == nullptr || !IsScaleOf(norm, found.scale)) return std::nullopt;
  found.product = ProductOf(*y->node());
  if (found.product == nullptr || ops::BiasedProductView(*found.product).bias() != nullptr) {
    return std::nullopt;
  }
  return found;
}

class BatchNormFolder {
 public:
  BatchNormFolder(Graph& graph, PassContext& context, const FoldBatchNormOptions& options)
      : context_(context), options_(options), rewriter_(&graph) {}

  absl::Status Visit(Node* node) {
    if (!node->Is(ops::batch_norm)) return absl::OkStatus();
    Node* product = ProductOf(*node);
    const auto unscaled = options_.keep ? std::nullopt : UnscaledOf(*node);
    if ((product == nullptr && !unscaled) ||
        !context_.StartRewrite({NumericContract::kReassociating, "fold-batch-norm", ""})) {
      return absl::OkStatus();
    }
    rewriter_.Begin(node, "fold-batch-norm", context_.num_rewrites());
    const ops::BatchNormView norm(*node);
    const std::vector<Value*> made = unscaled        ? FoldBack(norm, *unscaled)
                                     : options_.keep ? Keep(norm, *product)
                                                     : Fold(norm, *product);
    WEFT_RETURN_IF_ERROR(rewriter_.status());
    WEFT_RETURN_IF_ERROR(rewriter_.ReplaceRoot(made));
    context_.Count("norms");
    return absl::OkStatus();
  }

 private:
  std::vector<Value*> Fold(const ops::BatchNormView& norm, const Node& product) {
    const ops::BiasedProductView view(product);
    Value* scale = ScaleOf(norm);
    Value* operands[] = {view.input(), ScaledWeight(view.weight(), scale),
                         ShiftedBias(view.bias(), norm, scale)};
    return rewriter_.Create(product.op(), operands, product.attr_list());
  }

  std::vector<Value*> Keep(const ops::BatchNormView& norm, const Node& product) {
    const ops::BiasedProductView view(product);
    Value* scale = ScaleOf(norm);
    Value* operands[] = {view.input(), ScaledWeight(view.weight(), scale), nullptr};
    Value* y = rewriter_.Create(product.op(), operands, product.attr_list())[0];
    if (y == nullptr) return {nullptr};
    y = rewriter_.Op(ops::div, {y, AlongChannels(scale, y->type().rank())});
    if (view.bias() != nullptr) {
      y = rewriter_.Op(ops::add, {y, AlongChannels(view.bias(), product.result()->type().rank())});
    }
    return {rewriter_.Op(ops::batch_norm,
                         {y, norm.weight(), norm.bias(), norm.running_mean(), norm.running_var()},
                         {{"eps", norm.eps()}})};
  }

  std::vector<Value*> FoldBack(const ops::BatchNormView& norm, const Unscaled& unscaled) {
    const ops::BiasedProductView view(*unscaled.product);
    Value* operands[] = {view.input(), view.weight(),
                         ShiftedBias(unscaled.bias, norm, unscaled.scale)};
    return rewriter_.Create(unscaled.product->op(), operands, unscaled.product->attr_list());
  }

  Value* AlongChannels(Value* v, int rank) {
    std::vector<SymInt> size(rank, SymInt(1));
    size[1] = v->type().dim(0);
    return rewriter_.Op(ops::reshape, {v}, {{"size", size}});
  }

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
  const FoldBatchNormOptions& options_;
  Rewriter rewriter_;
};

class FoldBatchNormPass : public Pass {
 public:
  explicit FoldBatchNormPass(const FoldBatchNormOptions& options) : options_(options) {}
  absl::string_view name() const override { return "fold_batch_norm"; }
  absl::string_view doc() const override {
    return "Puts batch norms into weights that need not be constants, as nodes.";
  }
  void VisitOptions(OptionVisitor& visitor) override {
    visitor.Visit("keep", &options_.keep,
                  "scale weights alone, for training with the statistics of batches");
  }
  NumericContract max_contract() const override { return NumericContract::kReassociating; }
  absl::Status Run(Module& module, PassContext& context) override {
    for (Graph* graph : module.AllGraphs()) {
      BatchNormFolder folder(*graph, context, options_);
      for (Node* node : graph->nodes()) WEFT_RETURN_IF_ERROR(folder.Visit(node));
    }
    return absl::OkStatus();
  }

 private:
  FoldBatchNormOptions options_;
};

}  // namespace

std::unique_ptr<Pass> CreateFoldBatchNormPass(const FoldBatchNormOptions& options) {
  return std::make_unique<FoldBatchNormPass>(options);
}

std::unique_ptr<Pass> CreateFoldBatchNormPass() { return CreateFoldBatchNormPass({}); }

}  // namespace weft
