// Layers as torch.nn has them: each opens a scope of its name, makes its
// parameters and returns its output.
#ifndef WEFT_EXAMPLES_MODELS_LAYERS_H_
#define WEFT_EXAMPLES_MODELS_LAYERS_H_

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "examples/models/net.h"

namespace weft {
class Value;
}  // namespace weft

namespace weft::models {

// --- Elementwise and shape ---------------------------------------------------

Value* Add(Net& net, Value* a, Value* b);
Value* Mul(Net& net, Value* a, Value* b);
Value* Sub(Net& net, Value* a, Value* b);
Value* Div(Net& net, Value* a, Value* b);
Value* Relu(Net& net, Value* x);
Value* Relu6(Net& net, Value* x);
Value* Tanh(Net& net, Value* x);
enum class GeluForm { kErf, kTanh };
Value* Gelu(Net& net, Value* x, GeluForm form = GeluForm::kErf);
Value* Softmax(Net& net, Value* x);  // Over the last dim.
Value* Reshape(Net& net, Value* x, const Dims& size);
Value* Permute(Net& net, Value* x, const std::vector<int64_t>& dims);

// --- Layers with parameters --------------------------------------------------

// x W^T + b.
Value* Linear(Net& net, absl::string_view name, Value* x, int64_t in, int64_t out,
              bool bias = true);
// Over the last dim, of `size` elements.
Value* LayerNorm(Net& net, absl::string_view name, Value* x, int64_t size, double eps);
// The table [rows, size] of an embedding, for use in several places.
Value* Table(Net& net, absl::string_view name, int64_t rows, int64_t size);
// Rows of the table.
Value* Embedding(Net& net, Value* table, Value* indices);

struct ConvShape {
  int64_t in, out, kernel;
  int64_t stride = 1;
  int64_t groups = 1;
};
// 2-D, without bias, padded so that stride 1 keeps the sizes.
Value* Conv(Net& net, absl::string_view name, Value* x, const ConvShape& shape);
// With running statistics. Weights lie around `scale`.
Value* BatchNorm(Net& net, absl::string_view name, Value* x, int64_t channels, double scale = 1);
// The mean of the plane: [N, C, H, W] to [N, C].
Value* GlobalAveragePool(Net& net, Value* x);

struct AttentionShape {
  SymInt batch, length;
  int64_t heads, head_size;
  int64_t key_heads = 0;  // Each for several heads of queries; 0: as many as there are of those.
  int64_t hidden() const { return heads * head_size; }
};
// [batch, length, hidden] to [batch, heads, length, head_size], and back.
Value* SplitHeads(Net& net, Value* x, const AttentionShape& shape);
Value* JoinHeads(Net& net, Value* x, const AttentionShape& shape);
// The number of heads; `mask` is added to the scores and may be null.
Value* Attention(Net& net, Value* query, Value* key, Value* value, Value* mask, bool is_causal,
                 const AttentionShape& shape);

}  // namespace weft::models

#endif  // WEFT_EXAMPLES_MODELS_LAYERS_H_
