#include "examples/models/layers.h"

#include <cmath>
#include <limits>

#include "graph/ir/value.h"
#include "graph/ops/ops.h"

namespace weft::models {

// --- Elementwise and shape ---------------------------------------------------

Value* Add(Net& net, Value* a, Value* b) { return net.Op(ops::add, {a, b}); }
Value* Mul(Net& net, Value* a, Value* b) { return net.Op(ops::mul, {a, b}); }
Value* Sub(Net& net, Value* a, Value* b) { return net.Op(ops::sub, {a, b}); }
Value* Div(Net& net, Value* a, Value* b) { return net.Op(ops::div, {a, b}); }
Value* Relu(Net& net, Value* x) { return net.Op(ops::relu, {x}); }
Value* Tanh(Net& net, Value* x) { return net.Op(ops::tanh, {x}); }

Value* Relu6(Net& net, Value* x) { return net.Op(ops::clamp, {x, net.Scalar(0), net.Scalar(6)}); }

Value* Gelu(Net& net, Value* x, GeluForm form) {
  return net.Op(ops::gelu, {x}, {{"approximate", form == GeluForm::kTanh ? "tanh" : "none"}});
}

Value* Softmax(Net& net, Value* x) { return net.Op(ops::softmax, {x}, {{"dim", -1}}); }

Value* Reshape(Net& net, Value* x, const Dims& size) {
  return net.Op(ops::reshape, {x}, {{"size", size}});
}

Value* Permute(Net& net, Value* x, const std::vector<int64_t>& dims) {
  return net.Op(ops::permute, {x}, {{"dims", dims}});
}

// --- Layers with parameters --------------------------------------------------

Value* Linear(Net& net, absl::string_view name, Value* x, int64_t in, int64_t out, bool bias) {
  Net::Scope scope(net, name);
  const double bound = 1 / std::sqrt(static_cast<double>(in));
  Value* weight = net.Parameter("weight", {out, in}, {-bound, bound});
  Value* offset = bias ? net.Parameter("bias", {out}, {-bound, bound}) : nullptr;
  return net.Op(ops::linear, {x, weight, offset});
}

Value* LayerNorm(Net& net, absl::string_view name, Value* x, int64_t size, double eps) {
  Net::Scope scope(net, name);
  Value* weight = net.Parameter("weight", {size}, {0.8, 1.2});
  Value* bias = net.Parameter("bias", {size}, {-0.1, 0.1});
  return net.Op(ops::native_layer_norm, {x, weight, bias},
                {{"normalized_shape", Dims{size}}, {"eps", eps}});
}

Value* Table(Net& net, absl::string_view name, int64_t rows, int64_t size) {
  Net::Scope scope(net, name);
  return net.Parameter("weight", {rows, size}, {-0.5, 0.5});
}

Value* Embedding(Net& net, Value* table, Value* indices) {
  return net.Op(ops::index_select, {table, indices}, {{"dim", 0}});
}

Value* Conv(Net& net, absl::string_view name, Value* x, const ConvShape& shape) {
  Net::Scope scope(net, name);
  const int64_t fan_in = shape.in / shape.groups * shape.kernel * shape.kernel;
  // He: keeps the variance through a relu.
  const double bound = std::sqrt(6.0 / static_cast<double>(fan_in));
  Value* weight = net.Parameter(
      "weight", {shape.out, shape.in / shape.groups, shape.kernel, shape.kernel}, {-bound, bound});
  const SymInt stride = shape.stride;
  const SymInt pad = shape.kernel / 2;
  return net.Op(ops::convolution, {x, weight, nullptr},
                {{"stride", Dims{stride, stride}},
                 {"padding", Dims{pad, pad}},
                 {"dilation", Dims{1, 1}},
                 {"groups", shape.groups}});
}

Value* BatchNorm(Net& net, absl::string_view name, Value* x, int64_t channels, double scale) {
  Net::Scope scope(net, name);
  Value* weight = net.Parameter("weight", {channels}, {0.8 * scale, 1.2 * scale});
  Value* bias = net.Parameter("bias", {channels}, {-0.1, 0.1});
  Value* mean = net.Parameter("running_mean", {channels}, {-0.2, 0.2});
  Value* var = net.Parameter("running_var", {channels}, {0.7, 1.3});
  return net.Op(ops::batch_norm, {x, weight, bias, mean, var});
}

Value* GlobalAveragePool(Net& net, Value* x) {
  return net.Op(ops::mean, {x}, {{"dim", Dims{2, 3}}});
}

Value* SplitHeads(Net& net, Value* x, const AttentionShape& shape) {
  Value* split = Reshape(net, x, {shape.batch, shape.length, shape.heads, shape.head_size});
  return Permute(net, split, {0, 2, 1, 3});
}

Value* JoinHeads(Net& net, Value* x, const AttentionShape& shape) {
  return Reshape(net, Permute(net, x, {0, 2, 1, 3}), {shape.batch, shape.length, shape.hidden()});
}

namespace {

// Lowest floats where key j comes after query i.
Value* HideFuture(Net& net, Value* scores, SymInt length) {
  Value* places = net.Op(ops::arange, {}, {{"start", SymInt(0)}, {"end", length}});
  Value* rows = Reshape(net, places, {length, 1});
  Value* seen = net.Op(ops::ge, {rows, places});
  Value* lowest = net.Scalar(std::numeric_limits<float>::lowest());
  return net.Op(ops::where, {seen, scores, lowest});
}

// Every head of keys or values once for each head of queries that reads it.
Value* RepeatHeads(Net& net, Value* x, const AttentionShape& shape) {
  if (x == nullptr || shape.key_heads == 0) return x;
  const SymInt length = x->type().dim(2);
  const SymInt repeats = shape.heads / shape.key_heads;
  x = Reshape(net, x, {shape.batch, shape.key_heads, 1, length, shape.head_size});
  x = net.Op(ops::expand, {x},
             {{"size", Dims{shape.batch, shape.key_heads, repeats, length, shape.head_size}}});
  return Reshape(net, x, {shape.batch, shape.heads, length, shape.head_size});
}

}  // namespace

Value* Attention(Net& net, Value* query, Value* key, Value* value, Value* mask, bool is_causal,
                 const AttentionShape& shape) {
  if (!net.options().written_attention) {
    return net.Op(ops::scaled_dot_product_attention, {query, key, value, mask},
                  {{"is_causal", is_causal}, {"enable_gqa", shape.key_heads != 0}});
  }
  key = RepeatHeads(net, key, shape);
  value = RepeatHeads(net, value, shape);
  Value* turned = Permute(net, key, {0, 1, 3, 2});
  const double root = std::sqrt(static_cast<double>(shape.head_size));
  Value* scores = net.Op(ops::matmul, {query, turned});
  scores = Mul(net, scores, net.Scalar(1 / root));
  if (is_causal) scores = HideFuture(net, scores, shape.length);
  if (mask != nullptr) scores = Add(net, scores, mask);
  return net.Op(ops::matmul, {Softmax(net, scores), value});
}

}  // namespace weft::models
