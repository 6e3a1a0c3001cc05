// Matmuls, linears and convolutions of one input and several constant weights, as one with all
// weights: a decision that is made without an edit, printed, and applied.
#ifndef WEFT_PASSES_FUSE_HORIZONTAL_PRODUCTS_H_
#define WEFT_PASSES_FUSE_HORIZONTAL_PRODUCTS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "passes/engine/pass_context.h"
#include "passes/fuse/decision.h"

namespace weft {

class Graph;

// A matmul, linear or convolution of which others are that read the same input.
struct ProductCandidate {
  Node* node = nullptr;
  int position = 0;     // In the graph.
  int weight_dim = 0;   // The dim of the weight that has the result's channels.
  int channel_dim = 0;  // The same of the result.
  // The weight, and the bias if any, are constants.
  bool is_constant = false;
  // Equal for products that can be one: dtype of the weight and its sizes but for the channels,
  // attributes, and the activation of a convolution.
  std::string weight;
  std::string attrs;
  std::string activation;
};

// Candidates of one op and one input, at least two, in the graph's order.
using ProductFamily = std::vector<ProductCandidate>;

struct ProductMerge {
  std::vector<ProductCandidate> products;  // At least two.
  // Unary pointwise ops that all results go through, by product: they are applied before the split.
  std::vector<std::vector<Node*>> activations;
};

struct ProductDecision {
  std::vector<ProductMerge> merges;
  std::vector<FuseRefusal> refusals;
};

// In the order of their first members.
std::vector<ProductFamily> CollectProducts(const Graph& graph);
ProductDecision DecideProducts(const std::vector<ProductFamily>& families);
// Counters: products, products_merged.
absl::Status ApplyProducts(Graph& graph, const ProductDecision& decision, PassContext& context);

// "products: %2 = linear, %3 = linear, then relu", then the refusals, a line each.
std::string ToString(const ProductDecision& decision);

}  // namespace weft

#endif  // WEFT_PASSES_FUSE_HORIZONTAL_PRODUCTS_H_
