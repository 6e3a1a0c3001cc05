// The reference executor: the judge of every other one.
//
// Runs any verified graph node by node, in order, through the ops' own Eval
// (or, without one, their decomposition). Slow and obvious on purpose: f32 and
// narrower floats are computed in double and rounded once per op.
//
// Symbols get their values from the inputs' shapes on entry and from the
// results of data-dependent nodes on the way; a result whose shape or dtype
// contradicts its type is an Internal error that names the node, so that a
// wrong Infer cannot hide.
//
// Nodes that write do write: in a graph that has such nodes, views share the memory of the viewed
// value (memory.h). The caller's tensors are never changed; the new values of written inputs are
// returned beside the outputs.
#ifndef WEFT_BACKENDS_REFERENCE_EXECUTOR_H_
#define WEFT_BACKENDS_REFERENCE_EXECUTOR_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backends/runtime/symbol_env.h"

namespace weft {
class Graph;
class HostTensor;
class Node;
}  // namespace weft

namespace weft::reference {

struct RunOptions {
  // Called after each node of the outermost graph, with its results.
  std::function<void(const Node&, absl::Span<const HostTensor>)> on_node;
  // Limit of the runs of nested graphs, at all depths together; a loop past it is a
  // ResourceExhausted error. -1: no limit.
  int64_t max_region_runs = -1;
  // Called before and after each node, including those of nested graphs. They may change operands
  // and results; this estimates the effect of rounding on a result.
  std::function<void(const Node&, std::vector<HostTensor>* operands)> edit_operands;
  std::function<void(const Node&, std::vector<HostTensor>* results)> edit_results;
  // Called instead of each run of a nested graph; must give the outputs of that run.
  std::function<absl::Status(const Node&, int region, absl::Span<const HostTensor> inputs,
                             std::vector<HostTensor>* outputs)>
      run_region;
  // If not null, set to one tensor per input: its value after the run, as changed by nodes or
  // write-backs; invalid if it was not written.
  std::vector<HostTensor>* written = nullptr;
};

// Runs `graph` on `inputs`, one per graph input, in order, and returns all outputs, write-backs
// included. For writes, inputs count as separate memory. Errors: InvalidArgument if an input does
// not fit the signature (dtype, rank, a dim, a fact about a symbol, a required value) or data is
// outside of an op's domain; Internal if an op contradicts its own Infer.
absl::StatusOr<std::vector<HostTensor>> Run(const Graph& graph, absl::Span<const HostTensor> inputs,
                                            const RunOptions& options = {});

// Runs one node of a graph without writes on these operands (invalid if absent); `env` has values
// for the symbols of its attributes. The caller checks the results against the node's types. Only
// options about single nodes and nested graphs apply.
absl::StatusOr<std::vector<HostTensor>> RunNode(const Node& node,
                                                absl::Span<const HostTensor> operands,
                                                const SymbolEnv& env,
                                                const RunOptions& options = {});

}  // namespace weft::reference

#endif  // WEFT_BACKENDS_REFERENCE_EXECUTOR_H_
