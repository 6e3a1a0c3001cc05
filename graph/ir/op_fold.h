// Folded: the result of an op's Fold.
#ifndef WEFT_GRAPH_IR_OP_FOLD_H_
#define WEFT_GRAPH_IR_OP_FOLD_H_

#include <optional>
#include <utility>

#include "graph/tensor/tensor.h"

namespace weft {

class Value;

// The result of Fold for an op with one result: an existing value, a literal, or neither if the op
// does not fold.
struct Folded {
  Value* value = nullptr;
  std::optional<HostTensor> literal;

  Folded() = default;
  Folded(Value* v) : value(v) {}                   // NOLINT
  Folded(HostTensor t) : literal(std::move(t)) {}  // NOLINT
  explicit operator bool() const { return value || literal; }
};

}  // namespace weft

#endif  // WEFT_GRAPH_IR_OP_FOLD_H_
