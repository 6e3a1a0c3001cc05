// Whether a row of a policy holds for a node.
#ifndef WEFT_PASSES_QUANTIZE_MATCH_ROW_H_
#define WEFT_PASSES_QUANTIZE_MATCH_ROW_H_

#include <string>

#include "absl/container/flat_hash_set.h"
#include "passes/quantize/policy.h"

namespace weft {

class Node;
class Type;
class Value;

// Why not; empty: it holds.
std::string WhyNoMatch(const QuantPolicy& policy, const QuantPolicy::Row& row, const Node& node,
                       const absl::flat_hash_set<const Value*>& constants);

// Tensors of f32, f16 and bf16: their scales are numbers of that dtype.
bool IsQuantizable(Type type);

}  // namespace weft

#endif  // WEFT_PASSES_QUANTIZE_MATCH_ROW_H_
