#include "passes/fuse_quantized.h"

#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "graph/ir/constant_store.h"
#include "graph/ir/graph.h"
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

namespace weft {
namespace {

// What a product's operands are called, and where the result's channels are.
struct Product {
  Node* node = nullptr;
  int channel_dim = 0;  // Of the result.
  int weight_axis = 0;  // Of the second operand.
  int64_t length = 0;   // Of a sum; 0: not constant.
};

std::optional<Product> ProductOf(Node* node) {
  Product p;
  p.node = node;
  if (!node->Is(ops::matmul) && !node->Is(ops::linear) && !node->Is(ops::convolution)) {
    return std::nullopt;
  }
  const Type weight = node->operand(1)->type();
  const int rank = node->result()->type().rank();
  SymInt length = 1;
  if (node->Is(ops::convolution)) {
    if (ops::ConvolutionView(*node).transposed()) return std::nullopt;
    p.channel_dim = 1;
    for (int d = 1; d < weight.rank(); ++d) length = length * weight.dim(d);
  } else if (node->Is(ops::linear)) {
    p.channel_dim = rank - 1;
    length = weight.dim(1);
  } else {
    if (weight.rank() < 2 || node->operand(0)->type().rank() < 2) return std::nullopt;
    p.channel_dim = rank - 1;
    p.weight_axis = weight.rank() - 1;
    length = weight.dim(weight.rank() - 2);
  }
  p.length = length.is_constant() ? length.value() : 0;
  return p;
}

bool IsOne(const Type& type) { return type.rank() == 0 || (type.rank() == 1 && type.dim(0).Is(1)); }

// Null when the product has none.
Value* BiasOf(const Node& product) {
  return product.Is(ops::matmul) ? nullptr : ops::BiasedProductView(product).bias();
}

// The value is integers of at most 8 bits, dequantized to f32.
bool IsDequantized(const Value* value) {
  if (!value->IsResultOf(ops::dequantize_linear)) return false;
  const ops::DequantizeLinearView dequantize(*value->node());
  const DType dtype = dequantize.self()->type().dtype();
  return value->type().dtype() == DType::kF32 && IsInt(dtype) && DTypeBits(dtype) <= 8 &&
         dequantize.scale()->type().dtype() == DType::kF32 && dequantize.block_size() == 0;
}

// The axis of the scales, counted from the front.
int64_t AxisOf(const ops::DequantizeLinearView& dequantize) {
  const int64_t axis = dequantize.axis();
  return axis < 0 ? axis + dequantize.self()->type().rank() : axis;
}

// Why the product stays as it is; empty when both operands are dequantized as wanted,
// "-" when it is none of these at all.
std::string Objection(const Product& p) {
  constexpr int64_t kMost = 255 * 255;
  const Value* x = p.node->operand(0);
  const Value* w = p.node->operand(1);
  if (!IsDequantized(x) || !IsDequantized(w)) return "-";
  const ops::DequantizeLinearView left(*x->node()), right(*w->node());
  if (!IsOne(left.scale()->type())) return "its first operand has several scales";
  if (!IsOne(right.scale()->type()) && AxisOf(right) != p.weight_axis) {
    return "the scales of its second operand are not those of the result's channels";
  }
  if (p.length == 0 || p.length > std::numeric_limits<int32_t>::max() / kMost) {
    return "its sums could pass 32 bits";
  }
  return "";
}

// The value of what is computed from constants alone by ops that cost little.
std::optional<HostTensor> ConstantOf(const Value* value, int64_t max_bytes) {
  constexpr int kMaxDepth = 8;
  // A chain, whose other operands are constants.
  std::vector<const Node*> chain;
  const HostTensor* literal = LiteralOf(value);
  while (literal == nullptr) {
    const Node* node = value->node();
    const bool cheap = node != nullptr && chain.size() < kMaxDepth && node->num_results() == 1 &&
                       (node->Is(ops::convert) || node->Is(ops::sub) || node->Is(ops::reshape) ||
                        node->Is(ops::permute));
    if (!cheap) return std::nullopt;
    chain.push_back(node);
    value = node->operand(0);
    literal = LiteralOf(value);
  }
  if (literal->numel() * 4 > max_bytes) return std::nullopt;
  HostTensor result = *literal;
  for (size_t i = chain.size(); i-- > 0;) {
    std::vector<HostTensor> inputs = {result};
    for (int k = 1; k < chain[i]->num_operands(); ++k) {
      const auto other = ConstantOf(chain[i]->operand(k), max_bytes);
      if (!other.has_value()) return std::nullopt;
      inputs.push_back(*other);
    }
    auto results = Evaluate(chain[i]->op(), chain[i]->attr_list(), inputs);
    if (!results.ok()) return std::nullopt;
    result = std::move((*results)[0]);
  }
  return result;
}

class QuantizedFuser {
 public:
  QuantizedFuser(Graph& graph, const FuseQuantizedOptions& options, PassContext& context)
      : options_(options), context_(context), rewriter_(&graph) {}

  absl::Status VisitFloats(Node* node) {
    const auto product = ProductOf(node);
    if (!product.has_value()) return absl::OkStatus();
    const std::string objection = Objection(*product);
    if (objection.empty()) return Quantize(*product);
    if (objection == "-") return absl::OkStatus();
    context_.Count("refused");
    if (context_.wants_remarks()) {
      context_.AddRemark(RemarkOn(*node, RemarkKind::kMissed, objection));
    }
    return absl::OkStatus();
  }

  // The bias goes behind, and the weights become constant.
  absl::Status VisitIntegers(Node* node) {
    const auto product = ProductOf(node);
    if (!product.has_value() || node->result()->type().dtype() != DType::kI32) {
      return absl::OkStatus();
    }
    std::optional<HostTensor> weights;
    if (LiteralOf(node->operand(1)) == nullptr) {
      weights = ConstantOf(node->operand(1), options_.max_bytes);
    }
    if (BiasOf(*node) == nullptr && !weights.has_value()) return absl::OkStatus();
    return Simplify(*product, weights);
  }

 private:
  // [C] as it broadcasts along the channels of the result.
  Value* AlongChannels(Value* v, const Product& p) {
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
      std::vector<SymInt> dims(wide->type().rank() - AxisOf(dequantize), SymInt(1));
      dims[0] = type.dim(0);
      zero = Reshaped(zero, dims);
    }
    return ops::BuildSub(rewriter_, wide, zero);
  }

  Value* Build(const Product& p) {
    const ops::DequantizeLinearView x(*p.node->operand(0)->node());
    const ops::DequantizeLinearView w(*p.node->operand(1)->node());
    std::vector<Value*> operands = {Centered(x), Centered(w)};
    operands.resize(p.node->num_operands(), nullptr);
    const std::vector<Value*> made = rewriter_.Create(p.node->op(), operands, p.node->attr_list());
    if (made.empty()) return nullptr;
    Value* sum = made[0];
    Value* one = x.scale();
    if (one->type().rank() == 1) one = Reshaped(one, {});
    Value* scale = ops::BuildMul(rewriter_, AlongChannels(w.scale(), p), one);
    Value* real = ops::BuildConvert(rewriter_, sum, DType::kF32);
    real = ops::BuildMul(rewriter_, real, scale);
    if (Value* bias = BiasOf(*p.node)) {
      real = ops::BuildAdd(rewriter_, real, AlongChannels(bias, p));
    }
    return real;
  }

  absl::Status Quantize(const Product& p) {
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

  absl::Status Simplify(const Product& p, const std::optional<HostTensor>& weights) {
    Value* bias = BiasOf(*p.node);
    if (!context_.StartRewrite({NumericContract::kBitExact, "integers", ""})) {
      return absl::OkStatus();
    }
    rewriter_.Begin(p.node, "integers", context_.num_rewrites());
    std::vector<Value*> operands(p.node->num_operands(), nullptr);
    operands[0] = p.node->operand(0);
    operands[1] = weights.has_value() ? Constant(*weights) : p.node->operand(1);
    const std::vector<Value*> made = rewriter_.Create(p.node->op(), operands, p.node->attr_list());
    WEFT_RETURN_IF_ERROR(rewriter_.status());
    Value* sum = made[0];
    if (bias != nullptr) sum = ops::BuildAdd(rewriter_, sum, AlongChannels(bias, p));
    WEFT_RETURN_IF_ERROR(rewriter_.status());
    WEFT_RETURN_IF_ERROR(rewriter_.ReplaceRoot({&sum, 1}));
    if (bias != nullptr) context_.Count("biases");
    if (weights.has_value()) context_.Count("weights");
    return absl::OkStatus();
  }

  Value* Constant(const HostTensor& tensor) {
    ConstantStore& constants = rewriter_.module().constants();
    const int first_new = constants.size();
    Value* value = rewriter_.Constant(tensor);
    if (constants.size() > first_new) constants.MarkDerived(first_new);
    return value;
  }

  const FuseQuantizedOptions& options_;
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
      QuantizedFuser fuser(*graph, options_, context);
      for (Node* node : graph->nodes()) WEFT_RETURN_IF_ERROR(fuser.VisitFloats(node));
      for (Node* node : graph->nodes()) WEFT_RETURN_IF_ERROR(fuser.VisitIntegers(node));
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
