#include <cmath>

#include "absl/strings/str_cat.h"
#include "examples/exported/model_writer.h"
#include "examples/exported/models.h"

namespace weft::examples {
namespace {

using Strings = std::vector<std::string>;
using Scope = ModelWriter::Scope;

constexpr int kVocabulary = 256;
constexpr int kPositions = 64;
constexpr int kLayers = 2;
constexpr int kHidden = 64;
constexpr int kHeads = 4;
constexpr int kHeadSize = kHidden / kHeads;
constexpr int kFeedForward = 128;

std::string Cast(ModelWriter& w, const std::string& x, onnx::TensorProto::DataType to) {
  return w.Op("Cast", {x}, {IntAttr("to", to)});
}

std::string Transpose(ModelWriter& w, const std::string& x, absl::Span<const int64_t> perm) {
  return w.Op("Transpose", {x}, {IntsAttr("perm", perm)});
}

// A weight that is stored transposed, as exporters leave x @ W^T.
std::string Linear(ModelWriter& w, absl::string_view name, const std::string& x, int in, int out) {
  Scope scope(&w, name);
  const float bound = static_cast<float>(std::sqrt(3.0 / in));
  const std::string weight = w.Parameter("weight", {in, out}, -bound, bound);
  const std::string bias = w.Parameter("bias", {out}, -0.1f, 0.1f);
  const std::string product = w.Op("MatMul", {x, weight});
  return w.Op("Add", {bias, product});
}

std::string LayerNorm(ModelWriter& w, absl::string_view name, const std::string& x) {
  Scope scope(&w, name);
  const auto last = IntsAttr("axes", {-1});
  const std::string mean = w.Op("ReduceMean", {x}, {last});
  const std::string centered = w.Op("Sub", {x, mean});
  const std::string two = w.Float(2);
  const std::string squared = w.Op("Pow", {centered, two});
  const std::string variance = w.Op("ReduceMean", {squared}, {last});
  const std::string epsilon = w.Float(1e-5f);
  const std::string shifted = w.Op("Add", {variance, epsilon});
  const std::string deviation = w.Op("Sqrt", {shifted});
  const std::string normal = w.Op("Div", {centered, deviation});
  const std::string weight = w.Parameter("weight", {kHidden}, 0.8f, 1.2f);
  const std::string bias = w.Parameter("bias", {kHidden}, -0.1f, 0.1f);
  const std::string scaled = w.Op("Mul", {normal, weight});
  return w.Op("Add", {scaled, bias});
}

// x/2 * (1 + erf(x / sqrt(2)))
std::string Gelu(ModelWriter& w, const std::string& x) {
  Scope scope(&w, "activation");
  const std::string root = w.Float(1.41421354f);
  const std::string scaled = w.Op("Div", {x, root});
  const std::string erf = w.Op("Erf", {scaled});
  const std::string one = w.Float(1);
  const std::string sum = w.Op("Add", {erf, one});
  const std::string product = w.Op("Mul", {x, sum});
  const std::string half = w.Float(0.5f);
  return w.Op("Mul", {product, half});
}

// Token and position embeddings. The positions are a slice of a table, as long
// as the tokens.
std::string Embed(ModelWriter& w, const std::string& tokens) {
  Scope scope(&w, "embeddings");
  const std::string words = w.Parameter("word.weight", {kVocabulary, kHidden}, -1, 1);
  const std::string word = w.Op("Gather", {words, tokens});
  const std::string table = w.Parameter("position.weight", {1, kPositions, kHidden}, -1, 1);
  const std::string length = w.Size(tokens, 1);
  const std::string start = w.Ints({0});
  const std::string zero = w.Ints({0});
  const std::string end = w.Op("Unsqueeze", {length, zero});
  const std::string axes = w.Ints({1});
  const std::string steps = w.Ints({1});
  const std::string position = w.Op("Slice", {table, start, end, axes, steps});
  const std::string sum = w.Op("Add", {word, position});
  return LayerNorm(w, "norm", sum);
}

// (1 - mask) * -10000 as f32[batch, 1, 1, sequence].
std::string AttentionBias(ModelWriter& w, const std::string& mask) {
  const std::string one = w.Ints({1});
  const std::string rows = w.Op("Unsqueeze", {mask, one});
  const std::string two = w.Ints({2});
  const std::string heads = w.Op("Unsqueeze", {rows, two});
  const std::string narrow = Cast(w, heads, onnx::TensorProto::INT32);
  const std::string real = Cast(w, narrow, onnx::TensorProto::FLOAT);
  const std::string same = Cast(w, real, onnx::TensorProto::FLOAT);
  const std::string all = w.Float(1);
  const std::string hidden = w.Op("Sub", {all, same});
  const std::string low = w.Float(-10000);
  return w.Op("Mul", {hidden, low});
}

// [batch, sequence, hidden] to [batch, sequence, heads, head size]
std::string SplitHeads(ModelWriter& w, const std::string& x) {
  const std::string batch = w.Size(x, 0);
  const std::string length = w.Size(x, 1);
  return w.Reshape(x, {batch, length, absl::StrCat(kHeads), absl::StrCat(kHeadSize)});
}

std::string Attention(ModelWriter& w, const std::string& x, const std::string& bias) {
  Scope scope(&w, "attention");
  std::string query = Linear(w, "query", x, kHidden, kHidden);
  std::string key = Linear(w, "key", x, kHidden, kHidden);
  std::string value = Linear(w, "value", x, kHidden, kHidden);
  query = Transpose(w, SplitHeads(w, query), {0, 2, 1, 3});
  key = Transpose(w, SplitHeads(w, key), {0, 2, 1, 3});
  value = Transpose(w, SplitHeads(w, value), {0, 2, 1, 3});
  const std::string turned = Transpose(w, key, {0, 1, 3, 2});
  const std::string product = w.Op("MatMul", {query, turned});
  const std::string root = w.Float(std::sqrt(static_cast<float>(kHeadSize)));
  const std::string scores = w.Op("Div", {product, root});
  const std::string masked = w.Op("Add", {scores, bias});
  const std::string weights = w.Op("Softmax", {masked}, {IntAttr("axis", -1)});
  const std::string mixed = w.Op("MatMul", {weights, value});
  const std::string rows = Transpose(w, mixed, {0, 2, 1, 3});
  const std::string batch = w.Size(rows, 0);
  const std::string length = w.Size(rows, 1);
  const std::string joined = w.Reshape(rows, {batch, length, absl::StrCat(kHidden)});
  return Linear(w, "output", joined, kHidden, kHidden);
}

std::string Layer(ModelWriter& w, std::string x, const std::string& bias) {
  const std::string attended = Attention(w, x, bias);
  // Dropout that is switched off.
  const std::string kept = w.Op("Identity", {attended});
  x = w.Op("Add", {kept, x});
  x = LayerNorm(w, "norm1", x);
  std::string y = Linear(w, "linear1", x, kHidden, kFeedForward);
  y = Gelu(w, y);
  y = Linear(w, "linear2", y, kFeedForward, kHidden);
  y = w.Op("Identity", {y});
  x = w.Op("Add", {y, x});
  return LayerNorm(w, "norm2", x);
}

// tanh(linear(first token))
std::string Pool(ModelWriter& w, const std::string& x) {
  Scope scope(&w, "pooler");
  const std::string zero = w.Int(0);
  const std::string first = w.Op("Gather", {x, zero}, {IntAttr("axis", 1)});
  return w.Op("Tanh", {Linear(w, "dense", first, kHidden, kHidden)});
}

}  // namespace

std::string TransformerModel() {
  ModelWriter w("transformer", 2);
  const Strings shape = {"batch", "sequence"};
  const std::string tokens = w.Input("tokens", onnx::TensorProto::INT64, shape);
  const std::string mask = w.Input("mask", onnx::TensorProto::INT64, shape);
  const std::string bias = AttentionBias(w, mask);
  std::string x = Embed(w, tokens);
  for (int layer = 0; layer < kLayers; ++layer) {
    Scope scope(&w, absl::StrCat("layer.", layer));
    // Into a sequence-first layout, and out of it again.
    x = Transpose(w, x, {1, 0, 2});
    x = Transpose(w, x, {1, 0, 2});
    x = Layer(w, x, bias);
  }
  w.Output("hidden", x, Strings{"batch", "sequence", absl::StrCat(kHidden)});
  w.Output("pooled", Pool(w, x), Strings{"batch", absl::StrCat(kHidden)});
  return w.Serialize();
}

}  // namespace weft::examples
