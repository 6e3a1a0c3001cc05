#include "passes/fuse_quantized.h"

#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/status_macros.h"
#include "graph/ir/constant_store.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ops/elementwise.h"
#include "graph/ops/evaluate.h"
#include "graph/ops/nn.h"
#include "graph/ops/quant.h"
#include "graph/ops/shape.h"
#include "graph/tensor/tensor.h"
#include "passes/engine/rewrite/rewriter.h"
#include "passes/fuse/logs.h"
#include "passes/fuse_quantized/decision.h"

namespace weft {
namespace {

// The value of the last node.
absl::StatusOr<HostTensor> EvaluateNodes(const std::vector<Node*>& nodes) {
  absl::flat_hash_map<const Value*, HostTensor> made;
  for (const Node* node : nodes) {
    std::vector<HostTensor> inputs;
    for (int i = 0; i < node->num_operands(); ++i) {
      const HostTensor* literal = LiteralOf(node->operand(i));
      inputs.push_back(literal != nullptr ? *literal : made.at(node->operand(i)));
    }
    WEFT_ASSIGN_OR_RETURN(std::vector<HostTensor> results,
                          Evaluate(node->op(), node->attr_list(), inputs));
    made[node->result()] = std::move(results[0]);
  }
  return made.at(nodes.back()->result());
}

// Makes what the decisions say.
class QuantizedFuser {
 public:
  QuantizedFuser(Graph& graph, PassContext& context) : context_(context), rewriter_(&graph) {}

  absl::Status Apply(const QuantizedDecision& decision) {
    AddRemarks(decision.refusals, context_);
    for (const IntegerProduct& p : decision.products) WEFT_RETURN_IF_ERROR(Quantize(p));
    return absl::OkStatus();
  }

  absl::Status Apply(const WideDecision& decision) {
    AddRemarks(decision.refusals, context_);
    for (const WideProduct& p : decision.products) WEFT_RETURN_IF_ERROR(Simplify(p));
    return absl::OkStatus();
  }

 private:
  // [C] as it broadcasts along the channels of the result.
  Value* AlongChannels(Value* v, const IntegerProduct& p) {
    if (IsOne(v->type())) return v->type().rank() == 0 ? v : Reshaped(v, {});
    const int rank = p.node->result()->type().rank();
    if (p.channel_dim == rank - 1) return v;
    std::vector<SymInt> dims(rank - p.channel_dim, SymInt(1));
    dims[0] = v->type().dim(0);
    return Reshaped(v, dims);
  }
  Value* Reshaped(Value* v, const std::vector<SymInt>& dims) {
    return ops::BuildReshape(rewriter_, v, dims);
  }
  Value* Widened(Value* v) { return ops::BuildConvert(rewriter_, v, DType::kI32); }

  // The integers less their zero point.
  Value* Centered(const ops::DequantizeLinearView& dequantize) {
    Value* wide = Widened(dequantize.self());
    if (dequantize.zero_point() == nullptr) return wide;
    Value* zero = Widened(dequantize.zero_point());
    const Type type = zero->type();
    if (IsOne(type)) {
      if (type.rank() == 1) zero = Reshaped(zero, {});
    } else {
      const int64_t axis = dequantize.axis();
      const int rank = wide->type().rank();
      std::vector<SymInt> dims(axis < 0 ? -axis : rank - axis, SymInt(1));
      dims[0] = type.dim(0);
      zero = Reshaped(zero, dims);
    }
    return ops::BuildSub(rewriter_, wide, zero);
  }

  // The sum of products in i32, or in f32 of floats.
  Value* Sum(const IntegerProduct& p) {
    const ops::DequantizeLinearView x(*p.node->operand(0)->node());
    const ops::DequantizeLinearView w(*p.node->operand(1)->node());
    if (p.float8) {
      Value* weights = w.self();
      if (p.node->Is(ops::linear)) weights = ops::BuildPermute(rewriter_, weights, {1, 0});
      return ops::BuildMatmulFloat8(rewriter_, x.self(), weights);
    }
    if (p.as_it_is) {
      return ops::BuildMatmulInteger(rewriter_, x.self(), w.self(), x.zero_point(), w.zero_point());
    }
    if (p.weights.bytes.valid()) return NarrowSum(p, x);
    std::vector<Value*> operands = {Centered(x), Centered(w)};
    operands.resize(p.node->num_operands(), nullptr);
    const std::vector<Value*> made = rewriter_.Create(p.node->op(), operands, p.node->attr_list());
    return made.empty() ? nullptr : made[0];
  }

  Value* NarrowSum(const IntegerProduct& p, const ops::DequantizeLinearView& x) {
    Value* weights = Constant(p.weights.bytes);
    Value* zero_points = p.weights.zero_points.valid() ? Constant(p.weights.zero_points) : nullptr;
    if (p.node->Is(ops::convolution)) {
      const std::vector<Value*> made =
          rewriter_.Create(ops::convolution_integer,
                           {x.self(), weights, x.zero_point(), zero_points}, p.node->attr_list());
      return made.empty() ? nullptr : made[0];
    }
    if (p.node->Is(ops::linear)) weights = ops::BuildPermute(rewriter_, weights, {1, 0});
    return ops::BuildMatmulInteger(rewriter_, x.self(), weights, x.zero_point(), zero_points);
  }

  Value* Build(const IntegerProduct& p) {
    const ops::DequantizeLinearView x(*p.node->operand(0)->node());
    const ops::DequantizeLinearView w(*p.node->operand(1)->node());
    Value* sum = Sum(p);
    Value* one = x.scale();
    if (one->type().rank() == 1) one = Reshaped(one, {});
    Value* scale = ops::BuildMul(rewriter_, AlongChannels(w.scale(), p), one);
    Value* real = ops::BuildConvert(rewriter_, sum, DType::kF32);
    real = ops::BuildMul(rewriter_, real, scale);
    if (Value* bias = p.node->Is(ops::matmul) ? nullptr : ops::BiasedProductView(*p.node).bias()) {
      real = ops::BuildAdd(rewriter_, real, AlongChannels(bias, p));
    }
    return real;
  }

  absl::Status Quantize(const IntegerProduct& p) {
    if (!context_.StartRewrite({NumericContract::kReassociating, "quantized", ""})) {
      return absl::OkStatus();
    }
    rewriter_.Begin(p.node, "quantized", context_.num_rewrites());
    Value* value = Build(p);
    WEFT_RETURN_IF_ERROR(rewriter_.status());
    WEFT_RETURN_IF_ERROR(rewriter_.ReplaceRoot({&value, 1}));
    context_.Count("quantized");
    return absl::OkStatus();
  }

  absl::Status Simplify(const WideProduct& wide) {
    const IntegerProduct& p = wide.product;
    if (!context_.StartRewrite({NumericContract::kBitExact, "integers", ""})) {
      return absl::OkStatus();
    }
    rewriter_.Begin(p.node, "integers", context_.num_rewrites());
    std::vector<Value*> operands(p.node->num_operands(), nullptr);
    operands[0] = p.node->operand(0);
    operands[1] = p.node->operand(1);
    if (!wide.weight_nodes.empty()) {
      WEFT_ASSIGN_OR_RETURN(const HostTensor weights, EvaluateNodes(wide.weight_nodes));
      operands[1] = Constant(weights);
      context_.Count("weights");
    }
    const std::vector<Value*> made = rewriter_.Create(p.node->op(), operands, p.node->attr_list());
    WEFT_RETURN_IF_ERROR(rewriter_.status());
    Value* sum = made[0];
    if (wide.moves_bias) {
      Value* bias = ops::BiasedProductView(*p.node).bias();
      sum = ops::BuildAdd(rewriter_, sum, AlongChannels(bias, p));
      context_.Count("biases");
    }
    WEFT_RETURN_IF_ERROR(rewriter_.status());
    return rewriter_.ReplaceRoot({&sum, 1});
  }

  Value* Constant(const HostTensor& tensor) {
    ConstantStore& constants = rewriter_.module().constants();
    const int first_new = constants.size();
    Value* value = rewriter_.Constant(tensor);
    if (constants.size() > first_new) constants.MarkDerived(first_new);
    return value;
  }

  PassContext& context_;
  Rewriter rewriter_;
};

class FuseQuantizedPass : public Pass {
 public:
  explicit FuseQuantizedPass(const FuseQuantizedOptions& options) : options_(options) {}
  absl::string_view name() const override { return "fuse_quantized"; }
  const LogComponent& log() const override { return fusion_log; }
  absl::string_view doc() const override {
    return "Products of quantized tensors become products of integers.";
  }
  void VisitOptions(OptionVisitor& visitor) override {
    visitor.Visit("max_bytes", &options_.max_bytes, "of a constant that is widened to 32 bits");
  }
  NumericContract max_contract() const override { return NumericContract::kReassociating; }
  absl::Status Run(Module& module, PassContext& context) override {
    for (Graph* graph : module.AllGraphs()) {
      QuantizedFuser fuser(*graph, context);
      WEFT_RETURN_IF_ERROR(
          fuser.Apply(DecideQuantized(CollectQuantized(*graph), context.target())));
      WEFT_RETURN_IF_ERROR(fuser.Apply(DecideWide(CollectWide(*graph), options_.max_bytes)));
    }
    return absl::OkStatus();
  }

 private:
  FuseQuantizedOptions options_;
};

}  // namespace

std::unique_ptr<Pass> CreateFuseQuantizedPass(const FuseQuantizedOptions& options) {
  return std::make_unique<FuseQuantizedPass>(options);
}

std::unique_ptr<Pass> CreateFuseQuantizedPass() { return CreateFuseQuantizedPass({}); }

}  // namespace weft
