// Relations between the types inside and outside of nested graphs.
//
// A nested graph only sees its inputs. A size of one of its inputs that varies between runs is an
// unbacked symbol of the nested graph; such a symbol, and those that nodes of the nested graph
// define, have no meaning outside of it.
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

// OK if the op has all its nested graphs.
absl::Status CheckRegions(const OpArgs& args);
// OK if region `r` accepts values of these types: it has as many inputs, of equal dtypes and ranks,
// and no size is provably different.
absl::Status CheckRegionInputs(const OpArgs& args, int r, absl::Span<const Type> types);
// OK if the `carried` outputs of region `r` from `first_output` on can be its inputs from
// `first_input` on in the next run, and all outputs are tensors.
absl::Status CheckCarried(const OpArgs& args, int r, int first_input, int first_output,
                          int carried);

// Types of a nested graph's inputs and outputs. If a size of an input is a symbol of the nested
// graph, and the input has the same value in every run, the symbol is replaced by that value's
// size.
class RegionTypes {
 public:
  RegionTypes(const OpArgs& args, int r) : args_(args), graph_(*args.regions[r]) {}
  // Input `i` gets a value of this type in every run of the graph.
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

// Converts types inside of nested graphs to types of results.
class ResultTypes {
 public:
  explicit ResultTypes(const OpArgs& args);

  // The type of a result that has one of these types, which differ only in sizes. Sizes that
  // differ, or that nested graphs define, become fresh symbols, equal ones for equal origins.
  Type Join(absl::Span<const Type> alternatives);
  Type Export(Type type) { return Join({type}); }
  // The type of a value that a nested graph carries from step to step: `init` initially, `in` as an
  // input, `out` as an output.
  Type Carry(Type init, Type in, Type out);

 private:
  SymInt JoinSize(std::vector<SymInt> sizes);
  bool IsKnown(SymInt size) const;

  const OpArgs& args_;
  std::vector<SymInt> known_;  // Unbacked symbols of the operands.
  std::vector<std::pair<std::vector<SymInt>, SymInt>> joined_;
};

// The type with an additional first dim of that size.
Type Stacked(SymInt size, Type type);
// Stacks the tensors of each list, which must have one type, along a new first dim, and sets
// results from `first` on. For an empty list the result is empty, and sizes that its type does not
// give are 0.
absl::Status SetStacked(EvalContext& c, int first, absl::Span<const std::vector<HostTensor>> steps);

// The operand that input `input` of `node`'s nested graphs equals in every run: an operand of
// `cond`, a captured one of `loop` and `scan`. -1 for an input that varies between runs (an
// iteration, a carried value, a slice) and for other ops.
int CapturedOperand(const Node& node, int input);

// The first operand that is an input of `node`'s nested graphs in any form.
int FirstOperandSeen(const Node& node);

}  // namespace weft::ops

#endif  // WEFT_GRAPH_OPS_SUPPORT_REGION_H_
