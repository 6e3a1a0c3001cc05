// What is known of the contents of small integer tensors, as symbolic integers.
//
// Imported models compute sizes with tensors: Shape, Gather, Mul, Concat,
// Reshape. This follows such arithmetic, so that its results can become the
// symbolic attributes of ops.
//
// Rules, tried in this order for the node that defines a value:
//   constant              its elements
//   any pure op           evaluated, when all that it reads is constant
//   kDataMovement ops     evaluated on tensors of handles that stand for the
//                         symbolic elements
//   other ops             by their own SymbolicEval, if they have one
// Elements are taken to fit in the dtype.
#ifndef WEFT_GRAPH_OPS_SYMBOLIC_VALUES_H_
#define WEFT_GRAPH_OPS_SYMBOLIC_VALUES_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "graph/sym/sym_int.h"

namespace weft {

class Graph;
class Module;
class Node;
class Value;

class SymbolicValues {
 public:
  static constexpr int64_t kMaxElements = 256;

  // `module` outlives this. Values may be asked for while it grows; what is
  // known of a value does not change.
  explicit SymbolicValues(const Module& module) : module_(module) {}

  // The elements of an i32, i64 or bool tensor (true is 1) in row-major order;
  // the one integer of a symint value. Null when some element is unknown, or
  // there are more than kMaxElements.
  const std::vector<SymInt>* Of(const Value* value);

 private:
  // Unknown elements are Invalid().
  using Elements = std::vector<SymInt>;
  using Results = std::vector<std::optional<Elements>>;

  const Elements* Find(const Value* value) const;
  bool IsKnown(const Value* value) const;
  void Store(const Value* value, std::optional<Elements> elements);
  void Compute(const Value* value);

  Results Infer(const Node& node) const;
  std::optional<Results> EvaluateConstant(const Node& node) const;
  std::optional<Results> MoveData(const Node& node) const;
  std::optional<Elements> ByRule(const Node& node) const;
  // Elements of operand `i`, or of a literal of another dtype.
  const Elements* Operand(const Node& node, int i) const;

  const Module& module_;
  absl::flat_hash_map<std::pair<const Graph*, uint32_t>, std::unique_ptr<Elements>> known_;
};

}  // namespace weft

#endif  // WEFT_GRAPH_OPS_SYMBOLIC_VALUES_H_
