// Attention as programs write it in single ops: the parts of
// softmax(mask(cap(query key^T scale))) value.
#ifndef WEFT_PASSES_FUSE_ATTENTION_MATCH_H_
#define WEFT_PASSES_FUSE_ATTENTION_MATCH_H_

#include <optional>
#include <string>
#include <vector>

namespace weft {

class Node;
class Value;

// What is done to the scores after the product, from the softmax inwards.
struct AttentionMask {
  Value* value = nullptr;
  // Bools: true where a key is seen. `hidden` is what stands elsewhere.
  bool is_bool = false;
  double hidden = 0;
  // What the scores are multiplied with after this mask.
  double factor = 1;
};

struct AttentionMatch {
  Node* root = nullptr;  // The second product.
  Node* softmax = nullptr;
  Node* product = nullptr;  // The first product.
  double scale = 1;
  double softcap = 0;
  std::vector<AttentionMask> masks;
  // Rows without a key that is seen are 0 in the program, too.
  bool safe = false;
  // Why it is no attention, though it looks like one; empty: it is one.
  std::string refusal;
};

// Whether `root` is a product with weights that a softmax makes. Then `match`
// has the parts, or the refusal. The cost is that of a few nodes.
bool MatchAttention(Node* root, AttentionMatch* match);

// The number that all elements are, through views too.
std::optional<double> SplatThroughViews(const Value* value);

}  // namespace weft

#endif  // WEFT_PASSES_FUSE_ATTENTION_MATCH_H_
