// Which products become matmul_nbits: decisions that are made without an edit, printed, and applied
// by fuse_nbits.
#ifndef WEFT_PASSES_FUSE_NBITS_DECISION_H_
#define WEFT_PASSES_FUSE_NBITS_DECISION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "graph/target/target.h"
#include "passes/fuse/decision.h"

namespace weft {

// A constant matrix of integers or f4e2m1 that is dequantized, as the second operand of a product;
// or one of [columns, groups, group] to whose groups constants are added before they are joined.
struct NbitsWeights {
  Node* dequantize = nullptr;
  const Value* offset = nullptr;  // The constant [columns, groups, 1]; null: none is added.
  bool rows = false;              // The constant is [columns, depth], else [depth, columns].
  int64_t columns = 0;
  int64_t depth = 0;  // Weights that are summed for an element.
  // Columns, and neighbouring weights of a column, that share a scale.
  int64_t shared_columns = 1;
  int64_t group = 1;
};

// A matmul or linear with such weights.
struct NbitsCandidate {
  Node* node = nullptr;
  NbitsWeights weights;
};

struct NbitsProduct {
  Node* node = nullptr;
  NbitsWeights weights;
  int bits = 4;
  int64_t group_size = 0;  // The attribute of matmul_nbits: the group, or beyond the whole depth.
};

struct NbitsDecision {
  std::vector<NbitsProduct> products;
  std::vector<NodeRefusal> refusals;
};

// In the graph's order.
std::vector<NbitsCandidate> CollectNbits(const Graph& graph);
NbitsDecision DecideNbits(const std::vector<NbitsCandidate>& candidates, const Target& target,
                          int64_t min_group);

// "%2 = linear: 4 bits in groups of 32", then the refusals, a line each.
std::string ToString(const NbitsDecision& decision);

}  // namespace weft

#endif  // WEFT_PASSES_FUSE_NBITS_DECISION_H_
