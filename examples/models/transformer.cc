// Transformers: encoders after Hugging Face's BertModel, and GPT-2 with its
// language-model head.
#include <limits>

#include "absl/strings/str_cat.h"
#include "examples/models/families.h"
#include "examples/models/layers.h"
#include "graph/ir/builder.h"
#include "graph/ops/ops.h"

namespace weft::models {
namespace {

struct Config {
  int64_t layers, heads, head_size, inner, vocabulary, positions;
  double eps;
  int64_t hidden() const { return heads * head_size; }
};

constexpr Config kBert = {12, 12, 64, 3072, 30522, 512, 1e-12};
constexpr Config kMiniLm = {6, 12, 32, 1536, 30522, 512, 1e-12};
constexpr Config kGpt2 = {12, 12, 64, 3072, 50257, 1024, 1e-5};

// Two narrow layers of the same kind.
Config Shrunk(const Config& config) { return {2, 4, config.head_size / 8, 64, 97, 32, config.eps}; }

AttentionShape ShapeOf(Net& net, const Config& config) {
  return {net.Size("batch", 1, 4096), net.Size("sequence", net.Pick(128, 8), config.positions),
          config.heads, config.head_size};
}

// The first `length` rows of a table.
Value* FirstRows(Net& net, Value* table, SymInt length) {
  return net.Op(ops::slice, {table}, {{"dim", 0}, {"end", length}});
}

// --- Encoder -----------------------------------------------------------------

Value* Embeddings(Net& net, const Config& config, const AttentionShape& shape) {
  const Dims dims = {shape.batch, shape.length};
  const int64_t hidden = config.hidden();
  Value* ids =
      net.Input("input_ids", DType::kI64, dims, {0, static_cast<double>(config.vocabulary)});
  Value* types = net.Input("token_type_ids", DType::kI64, dims, {0, 2});
  Net::Scope scope(net, "embeddings");
  Value* words = Table(net, "word_embeddings", config.vocabulary, hidden);
  Value* places = Table(net, "position_embeddings", config.positions, hidden);
  Value* kinds = Table(net, "token_type_embeddings", 2, hidden);
  Value* x = Add(net, Embedding(net, words, ids), Embedding(net, kinds, types));
  x = Add(net, x, FirstRows(net, places, shape.length));
  return LayerNorm(net, "LayerNorm", x, hidden, config.eps);
}

// (1 - mask) times the lowest float, as f32[batch, 1, 1, length]. Small models,
// which are compared, get masks that hide something.
Value* MaskBias(Net& net, const AttentionShape& shape) {
  const double low = net.options().small ? 0 : 1;
  Value* mask = net.Input("attention_mask", DType::kI64, {shape.batch, shape.length}, {low, 2});
  Value* rows = Reshape(net, mask, {shape.batch, 1, 1, shape.length});
  Value* kept = net.Op(ops::convert, {rows}, {{"dtype", DType::kF32}});
  Value* hidden = Sub(net, net.Scalar(1), kept);
  return Mul(net, hidden, net.Scalar(std::numeric_limits<float>::lowest()));
}

Value* EncoderAttention(Net& net, Value* x, Value* mask, const Config& config,
                        const AttentionShape& shape) {
  Net::Scope scope(net, "attention");
  const int64_t hidden = config.hidden();
  const auto project = [&](absl::string_view name) {
    Net::Scope inner(net, "self");
    return SplitHeads(net, Linear(net, name, x, hidden, hidden), shape);
  };
  Value* query = project("query");
  Value* key = project("key");
  Value* value = project("value");
  Value* y = Attention(net, query, key, value, mask, /*is_causal=*/false, shape);
  y = JoinHeads(net, y, shape);
  Net::Scope output(net, "output");
  y = Linear(net, "dense", y, hidden, hidden);
  return LayerNorm(net, "LayerNorm", Add(net, y, x), hidden, config.eps);
}

Value* EncoderLayer(Net& net, Value* x, Value* mask, const Config& config,
                    const AttentionShape& shape) {
  const int64_t hidden = config.hidden();
  x = EncoderAttention(net, x, mask, config, shape);
  Value* y = Linear(net, "intermediate.dense", x, hidden, config.inner);
  y = Gelu(net, y);
  Net::Scope scope(net, "output");
  y = Linear(net, "dense", y, config.inner, hidden);
  return LayerNorm(net, "LayerNorm", Add(net, y, x), hidden, config.eps);
}

absl::StatusOr<Model> BuildEncoder(const Config& full, const ModelOptions& options) {
  const Config config = options.small ? Shrunk(full) : full;
  const int64_t hidden = config.hidden();
  Net net(options);
  const AttentionShape shape = ShapeOf(net, config);
  Value* x = Embeddings(net, config, shape);
  Value* mask = MaskBias(net, shape);
  for (int64_t i = 0; i < config.layers; ++i) {
    Net::Scope scope(net, absl::StrCat("encoder.layer.", i));
    x = EncoderLayer(net, x, mask, config, shape);
  }
  Value* first = net.Op(ops::select, {x}, {{"dim", 1}, {"index", 0}});
  net.Output("last_hidden_state", x);
  net.Output("pooler_output", Tanh(net, Linear(net, "pooler.dense", first, hidden, hidden)));
  return net.Finish();
}

// --- Decoder -----------------------------------------------------------------

// Query, key and value come out of one linear.
Value* DecoderAttention(Net& net, Value* x, const Config& config, const AttentionShape& shape) {
  Net::Scope scope(net, "attn");
  const int64_t hidden = config.hidden();
  Value* all = Linear(net, "c_attn", x, hidden, 3 * hidden);
  const auto part = [&](int64_t i) {
    Value* third =
        net.Op(ops::slice, {all}, {{"dim", 2}, {"start", i * hidden}, {"end", (i + 1) * hidden}});
    return SplitHeads(net, third, shape);
  };
  Value* query = part(0);
  Value* key = part(1);
  Value* value = part(2);
  Value* y = Attention(net, query, key, value, nullptr, /*is_causal=*/true, shape);
  return Linear(net, "c_proj", JoinHeads(net, y, shape), hidden, hidden);
}

Value* DecoderLayer(Net& net, Value* x, const Config& config, const AttentionShape& shape) {
  const int64_t hidden = config.hidden();
  Value* y = LayerNorm(net, "ln_1", x, hidden, config.eps);
  x = Add(net, x, DecoderAttention(net, y, config, shape));
  y = LayerNorm(net, "ln_2", x, hidden, config.eps);
  Net::Scope scope(net, "mlp");
  y = Linear(net, "c_fc", y, hidden, config.inner);
  y = Linear(net, "c_proj", Gelu(net, y, GeluForm::kTanh), config.inner, hidden);
  return Add(net, x, y);
}

}  // namespace

absl::StatusOr<Model> BuildBert(const ModelOptions& options) {
  return BuildEncoder(kBert, options);
}

absl::StatusOr<Model> BuildMiniLm(const ModelOptions& options) {
  return BuildEncoder(kMiniLm, options);
}

absl::StatusOr<Model> BuildGpt2(const ModelOptions& options) {
  const Config config = options.small ? Shrunk(kGpt2) : kGpt2;
  const int64_t hidden = config.hidden();
  Net net(options);
  const AttentionShape shape = ShapeOf(net, config);
  Value* ids = net.Input("input_ids", DType::kI64, {shape.batch, shape.length},
                         {0, static_cast<double>(config.vocabulary)});
  Value* words = Table(net, "wte", config.vocabulary, hidden);
  Value* places = Table(net, "wpe", config.positions, hidden);
  Value* x = Add(net, Embedding(net, words, ids), FirstRows(net, places, shape.length));
  for (int64_t i = 0; i < config.layers; ++i) {
    Net::Scope scope(net, absl::StrCat("h.", i));
    x = DecoderLayer(net, x, config, shape);
  }
  x = LayerNorm(net, "ln_f", x, hidden, config.eps);
  // The head is tied to the table of words.
  Net::Scope scope(net, "lm_head");
  net.Output("logits", net.Op(ops::linear, {x, words, nullptr}));
  return net.Finish();
}

}  // namespace weft::models
