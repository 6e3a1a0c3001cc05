// The families' tables: how the operations of an op are counted.
#ifndef WEFT_PASSES_ENGINE_COST_TABLES_H_
#define WEFT_PASSES_ENGINE_COST_TABLES_H_

#include <cstdint>

#include "absl/types/span.h"
#include "graph/sym/sym_int.h"

namespace weft {
class Node;
class OpDef;
}  // namespace weft

namespace weft::cost {

struct Row {
  const OpDef* op;
  // The operations of a node.
  SymInt (*flops)(const Node& node);
};

// A number of operations for each element.
struct Rate {
  const OpDef* op;
  int64_t flops;
};

struct Uncounted {
  const OpDef* op;
  const char* reason;
};

// Elements of a result or an operand.
SymInt ResultSize(const Node& node, int i = 0);
SymInt OperandSize(const Node& node, int i = 0);

absl::Span<const Rate> PointwiseRates();  // Of the first result.
absl::Span<const Rate> ReductionRates();  // Of the first operand.
absl::Span<const Row> PointwiseRows();
absl::Span<const Row> ProductRows();
absl::Span<const Row> WindowRows();
absl::Span<const Uncounted> UncountedOps();

}  // namespace weft::cost

#endif  // WEFT_PASSES_ENGINE_COST_TABLES_H_
