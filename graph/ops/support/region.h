// Ops with nested graphs: how the types inside and outside go together.
//
// A nested graph sees its inputs alone. A size of one of its inputs that varies
// from run to run is an unbacked symbol of the nested graph; such a symbol, and
// those that nodes of the nested graph define, mean nothing outside of it.
#ifndef WEFT_GRAPH_OPS_SUPPORT_REGION_H_
#define WEFT_GRAPH_OPS_SUPPORT_REGION_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/ir/graph.h"
#include "graph/ir/op_args.h"
#include "graph/ir/value.h"

namespace weft {
class EvalContext;
class HostTensor;
class Node;
}  // namespace weft

namespace weft::ops {

// OK when the op has all its nested graphs.
absl::Status CheckRegions(const OpArgs& args);
// OK when region `r` takes values of these types: as many inputs, of equal
// dtypes and ranks, no size provably different.
absl::Status CheckRegionInputs(const OpArgs& args, int r, absl::Span<const Type> types);
// OK when the first `carried` outputs of region `r` may come in again as its
// inputs from `first_input` on, the outputs before them not counted; all
// outputs are tensors.
absl::Status CheckCarried(const OpArgs& args, int r, int first_input, int first_output,
                          int carried);

// Types of a nested graph's inputs and outputs. Where an input has a symbol of
// the nested graph as a size and always takes the same value, the symbol stands
// for that value's size and is replaced by it.
class RegionTypes {
 public:
  RegionTypes(const OpArgs& args, int r) : args_(args), graph_(*args.regions[r]) {}
  // Input `i` takes a value of this type whenever the graph runs.
  void Bind(int i, Type type);
  Type input(int i) const { return Replaced(graph_.input(i)->type()); }
  int num_outputs() const { return graph_.num_outputs(); }
  Type output(int i) const { return Replaced(graph_.output(i)->type()); }

 private:
  Type Replaced(Type type) const;

  const OpArgs& args_;
  const Graph& graph_;
  std::vector<std::pair<SymInt, SymInt>> sizes_;  // By symbol.
};

// Turns types inside of nested graphs into types of results.
class ResultTypes {
 public:
  explicit ResultTypes(const OpArgs& args);

  // The type of a result that is a value of one of these types, which differ
  // in sizes alone. Sizes in which they differ, or that nested graphs define,
  // become fresh symbols, equal ones for equal reasons.
  Type Join(absl::Span<const Type> alternatives);
  Type Export(Type type) { return Join({type}); }
  // The type of a value that a nested graph carries from step to step: it
  // begins as `init`, comes in as `in` and leaves as `out`.
  Type Carry(Type init, Type in, Type out);

 private:
  SymInt JoinSize(std::vector<SymInt> sizes);
  bool IsKnown(SymInt size) const;

  const OpArgs& args_;
  std::vector<SymInt> known_;  // Unbacked symbols of the operands.
  std::vector<std::pair<std::vector<SymInt>, SymInt>> joined_;
};

// The type with a first dim of that size.
Type Stacked(SymInt size, Type type);
// Sets results from `first` on: the tensors of each, which must be of one type,
// along a new first dim. Without tensors the result is empty, and sizes that its
// type does not know become 0.
absl::Status SetStacked(EvalContext& c, int first, absl::Span<const std::vector<HostTensor>> steps);

// The operand that input `input` of the nested graphs of `node` is, at every run of
// them: an operand of `cond`, a captured one of `loop` and `scan`. -1 for what differs
// from run to run (an iteration, a carried value, a slice) and for other ops.
int CapturedOperand(const Node& node, int input);

// The first operand that nested graphs of `node` see in any form.
int FirstOperandSeen(const Node& node);

}  // namespace weft::ops

#endif  // WEFT_GRAPH_OPS_SUPPORT_REGION_H_
