// Evaluates one op on host tensors, for the reference executor, constant folding and the
// conformance tests.
#ifndef WEFT_GRAPH_OPS_EVALUATE_H_
#define WEFT_GRAPH_OPS_EVALUATE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/ir/op_eval.h"

namespace weft {

class AttrList;
class Graph;
class OpDef;

// Runs the op's Eval or, if it has none, its decomposition. `attrs` must have no symbols. Absent
// optional operands are invalid tensors, symint operands and results are i64 scalars. Results have
// the types that Infer gives for the inputs' types (an Internal error otherwise), with
// data-dependent sizes filled in. Result sizes that are too large are an error, not an allocation.
absl::StatusOr<std::vector<HostTensor>> Evaluate(const OpDef& op, const AttrList* attrs,
                                                 absl::Span<const HostTensor> inputs,
                                                 EvalContext::RegionRunner run_region);
// The same for ops without nested graphs.
absl::StatusOr<std::vector<HostTensor>> Evaluate(const OpDef& op, const AttrList* attrs,
                                                 absl::Span<const HostTensor> inputs);

// Evaluates the decomposition even if the op has an Eval.
absl::StatusOr<std::vector<HostTensor>> EvaluateDecomposed(const OpDef& op, const AttrList* attrs,
                                                           absl::Span<const HostTensor> inputs);

// Runs the nodes of a graph in order. Not tuned: executors do this better.
absl::StatusOr<std::vector<HostTensor>> EvaluateGraph(const Graph& graph,
                                                      absl::Span<const HostTensor> inputs);

// The type of an input or result as an operand or result of the schema: a tensor type, or
// symint[value]; Type() for an invalid tensor.
Type TypeOfValue(const HostTensor& tensor, bool symint);

}  // namespace weft

#endif  // WEFT_GRAPH_OPS_EVALUATE_H_
