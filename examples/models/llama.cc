// A decoder after Hugging Face's LlamaForCausalLM, a token a step: RMS norms, rotary positions,
// heads of queries that share keys, a gated MLP. Keys and values of the tokens before are inputs,
// which the step gives back with those of its token.
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "examples/models/families.h"
#include "examples/models/layers.h"
#include "graph/ir/value.h"
#include "graph/ops/ops.h"

namespace weft::models {
namespace {

struct Config {
  int64_t layers, heads, key_heads, head_size, inner, vocabulary, positions;
  double eps, theta;
  int64_t hidden() const { return heads * head_size; }
  int64_t key_size() const { return key_heads * head_size; }
};

// SmolLM-135M.
constexpr Config kSmolLm = {30, 9, 3, 64, 1536, 49152, 2048, 1e-5, 1e4};
constexpr Config kSmall = {2, 4, 2, 8, 64, 97, 32, 1e-5, 1e4};

// What all layers read.
struct Step {
  AttentionShape shape;
  SymInt capacity;  // Tokens that a cache has room for.
  Value* cos = nullptr;
  Value* sin = nullptr;
  Value* here = nullptr;  // i64[1, 1, 1, 1]: the place of the token.
  Value* mask = nullptr;  // f32[capacity]: the lowest float behind the token, else 0.
};

Value* RmsNorm(Net& net, absl::string_view name, Value* x, const Config& config) {
  Net::Scope scope(net, name);
  Value* weight = net.Parameter("weight", {config.hidden()}, {0.8, 1.2});
  return net.Op(ops::rms_norm, {x, weight},
                {{"normalized_shape", Dims{config.hidden()}}, {"eps", config.eps}});
}

// The frequency of pair i is theta^(-2 i / head_size).
Value* Angles(Net& net, Value* position, const Config& config) {
  Value* pair =
      net.Op(ops::arange, {}, {{"start", SymInt(0)}, {"end", SymInt(config.head_size / 2)}});
  Value* exponent = net.Op(ops::convert, {pair}, {{"dtype", DType::kF32}});
  const double rate = -2 * std::log(config.theta) / static_cast<double>(config.head_size);
  Value* frequency = net.Op(ops::exp, {Mul(net, exponent, net.Scalar(rate))});
  return Mul(net, frequency, net.Op(ops::convert, {position}, {{"dtype", DType::kF32}}));
}

Step StepAt(Net& net, Value* position, SymInt batch, SymInt capacity, const Config& config) {
  Step step;
  step.shape = {batch, 1, config.heads, config.head_size, config.key_heads};
  step.capacity = capacity;
  Value* angles = Angles(net, position, config);
  step.cos = net.Op(ops::cos, {angles});
  step.sin = net.Op(ops::sin, {angles});
  Value* places = net.Op(ops::arange, {}, {{"start", SymInt(0)}, {"end", capacity}});
  step.here = Reshape(net, position, {1, 1, 1, 1});
  Value* lowest = net.Scalar(std::numeric_limits<float>::lowest());
  step.mask = net.Op(ops::where, {net.Op(ops::le, {places, position}), net.Scalar(0), lowest});
  return step;
}

// Keys or values of all tokens: the cache with those of this one.
class Cache {
 public:
  Cache(Net& net, absl::string_view name, const Step& step)
      : name_(name),
        before_(
            net.Input(absl::StrCat("past_", name), DType::kF32,
                      {step.shape.batch, step.shape.key_heads, step.capacity, step.shape.head_size},
                      {-1, 1})) {}

  Value* Add(Net& net, Value* token, const Step& step) {
    const Dims size = {step.shape.batch, step.shape.key_heads, 1, step.shape.head_size};
    Value* place = net.Op(ops::expand, {step.here}, {{"size", size}});
    after_ = net.Op(ops::scatter, {before_, place, token}, {{"dim", int64_t{2}}});
    return after_;
  }
  void Update(Net& net) const { net.Update(absl::StrCat("new_", name_), before_->index(), after_); }

 private:
  std::string name_;
  Value* before_;
  Value* after_ = nullptr;
};

Value* SelfAttention(Net& net, Value* x, Cache& keys, Cache& values, const Step& step,
                     const Config& config) {
  Net::Scope scope(net, "self_attn");
  const int64_t hidden = config.hidden();
  AttentionShape of_keys = step.shape;
  of_keys.heads = config.key_heads;
  const auto rotated = [&](Value* v) {
    return net.Op(ops::rotary_embedding, {v, step.cos, step.sin});
  };
  const auto linear = [&](absl::string_view name, int64_t out) {
    return Linear(net, name, x, hidden, out, /*bias=*/false);
  };
  Value* query = rotated(SplitHeads(net, linear("q_proj", hidden), step.shape));
  Value* key = rotated(SplitHeads(net, linear("k_proj", config.key_size()), of_keys));
  Value* value = SplitHeads(net, linear("v_proj", config.key_size()), of_keys);
  Value* y = Attention(net, query, keys.Add(net, key, step), values.Add(net, value, step),
                       step.mask, /*is_causal=*/false, step.shape);
  return Linear(net, "o_proj", JoinHeads(net, y, step.shape), hidden, hidden, /*bias=*/false);
}

Value* GatedMlp(Net& net, Value* x, const Config& config) {
  Net::Scope scope(net, "mlp");
  const int64_t hidden = config.hidden();
  Value* gate = Linear(net, "gate_proj", x, hidden, config.inner, /*bias=*/false);
  Value* up = Linear(net, "up_proj", x, hidden, config.inner, /*bias=*/false);
  Value* y = Mul(net, net.Op(ops::silu, {gate}), up);
  return Linear(net, "down_proj", y, config.inner, hidden, /*bias=*/false);
}

}  // namespace

absl::StatusOr<Model> BuildLlama(const ModelOptions& options) {
  const Config config = options.small ? kSmall : kSmolLm;
  Net net(options);
  const SymInt batch = net.Size("batch", 1, 256);
  const SymInt capacity = net.Size("sequence", net.Pick(256, 8), config.positions);
  Value* id =
      net.Input("input_ids", DType::kI64, {batch, 1}, {0, static_cast<double>(config.vocabulary)});
  // The number of tokens before.
  const auto position = static_cast<double>(net.Pick(200, 3));
  Value* place = net.Input("position", DType::kI64, {1}, {position, position + 1});
  const Step step = StepAt(net, place, batch, capacity, config);
  std::vector<Cache> caches;
  for (int64_t i = 0; i < config.layers; ++i) {
    caches.emplace_back(net, absl::StrCat("key_", i), step);
    caches.emplace_back(net, absl::StrCat("value_", i), step);
  }
  Net::Scope scope(net, "model");
  Value* words = Table(net, "embed_tokens", config.vocabulary, config.hidden());
  Value* x = Embedding(net, words, id);
  for (int64_t i = 0; i < config.layers && net.ok(); ++i) {
    Net::Scope layer(net, absl::StrCat("layers.", i));
    Value* y = RmsNorm(net, "input_layernorm", x, config);
    x = Add(net, x, SelfAttention(net, y, caches[2 * i], caches[2 * i + 1], step, config));
    y = RmsNorm(net, "post_attention_layernorm", x, config);
    x = Add(net, x, GatedMlp(net, y, config));
  }
  x = RmsNorm(net, "norm", x, config);
  // The head is tied to the table of words.
  net.Output("logits", net.Op(ops::linear, {x, words, nullptr}));
  for (const Cache& cache : caches) cache.Update(net);
  return net.Finish();
}

}  // namespace weft::models
