// Which products become products of integers or of narrow floats: decisions that are made without
// an edit, printed, and applied by fuse_quantized.
#ifndef WEFT_PASSES_FUSE_QUANTIZED_DECISION_H_
#define WEFT_PASSES_FUSE_QUANTIZED_DECISION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "graph/target/target.h"
#include "graph/tensor/tensor.h"
#include "passes/fuse/decision.h"

namespace weft {

// Constant weights of 8 bits as matmul_integer and convolution_integer take them: less their zero
// points if that fits in i8, else as they are, with their zero points.
struct ByteWeights {
  HostTensor bytes;
  HostTensor zero_points;  // Invalid: none.
};

// A matmul, linear or convolution of two operands.
struct IntegerProduct {
  Node* node = nullptr;
  int channel_dim = 0;  // The dim of the result that has its channels.
  int weight_axis = 0;  // The same of the second operand.
  int64_t length = 0;   // Products that are summed for an element; 0: not constant.
  // For a target that takes the integers as they are (matmul_integer, convolution_integer); without
  // bytes for the others.
  ByteWeights weights;
  // Such a target takes the second operand as it is, with its zero point.
  bool as_it_is = false;
  // The operands are floats of 8 bits, which the target takes (matmul_float8).
  bool float8 = false;
};

// One whose operands are dequantized integers of at most 8 bits, or floats of 8 bits.
struct QuantizedCandidate {
  IntegerProduct product;
  // The first operand has one scale.
  bool one_scale = false;
  // The axis of the second operand's scales; -1: it has one scale.
  int64_t scale_axis = -1;
  // The second operand, if that is one constant for all of the first, which is of 8 bits; else
  // without bytes.
  ByteWeights weights;
  // Both operands of a matmul are of 8 bits, and the second has one zero point.
  bool of_bytes = false;
};

struct QuantizedDecision {
  std::vector<IntegerProduct> products;
  std::vector<NodeRefusal> refusals;
};

// One number for a whole tensor.
bool IsOne(Type type);

// In the graph's order.
std::vector<QuantizedCandidate> CollectQuantized(const Graph& graph);
QuantizedDecision DecideQuantized(const std::vector<QuantizedCandidate>& candidates,
                                  const Target& target);

// A product of i32 that has a bias, or whose second operand is no constant.
struct WideCandidate {
  IntegerProduct product;
  bool has_bias = false;
  // The nodes that compute the second operand from constants, in order; none: it is a constant, or
  // something else computes it.
  std::vector<Node*> weight_nodes;
  // Bytes of the largest tensor that they read, widened to 32 bits.
  int64_t weight_bytes = 0;
};

struct WideProduct {
  IntegerProduct product;
  bool moves_bias = false;          // The bias is added to the result.
  std::vector<Node*> weight_nodes;  // To be evaluated.
};

struct WideDecision {
  std::vector<WideProduct> products;
  std::vector<NodeRefusal> refusals;
};

std::vector<WideCandidate> CollectWide(const Graph& graph);
WideDecision DecideWide(std::vector<WideCandidate> candidates, int64_t max_bytes);

// "%2 = linear: a product of integers", or of 8-bit floats, then the refusals, a line each.
std::string ToString(const QuantizedDecision& decision);
// "%2 = linear: moves its bias, folds its weights", then the refusals, a line each.
std::string ToString(const WideDecision& decision);

}  // namespace weft

#endif  // WEFT_PASSES_FUSE_QUANTIZED_DECISION_H_
