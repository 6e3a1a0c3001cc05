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
// Nodes that write, write: in a graph that has some, views share the memory of
// what they view (memory.h). The caller's tensors are never touched; what the
// program writes to its inputs comes out beside the outputs.
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
  // Runs of nested graphs, of all depths together; a loop that asks for more is
  // a ResourceExhausted error. -1: any number.
  int64_t max_region_runs = -1;
  // Called before and after each node, those of nested graphs included, and may change what
  // the node reads and what it gives: for estimates of what rounding does to a result.
  std::function<void(const Node&, std::vector<HostTensor>* operands)> edit_operands;
  std::function<void(const Node&, std::vector<HostTensor>* results)> edit_results;
  // Called in place of each run of a nested graph: gives the outputs that the run would give.
  std::function<absl::Status(const Node&, int region, absl::Span<const HostTensor> inputs,
                             std::vector<HostTensor>* outputs)>
      run_region;
  // Set to one tensor for each input: what it holds after the run, by writes of
  // nodes or by the graph's write-backs; invalid where it was not written.
  std::vector<HostTensor>* written = nullptr;
};

// Runs `graph` on `inputs`, one for each graph input, in order, and returns all
// outputs, write-backs included. Inputs lie apart in memory as far as writes
// are concerned. Errors: InvalidArgument when an input does not fit the
// signature (dtype, rank, a dim, a fact about a symbol, a value the program was
// specialised to) or data is out of an op's domain; Internal when an op
// contradicts its own Infer.
absl::StatusOr<std::vector<HostTensor>> Run(const Graph& graph, absl::Span<const HostTensor> inputs,
                                            const RunOptions& options = {});

// Runs one node of a graph without writes on these operands, invalid ones for those that are
// absent; `env` has values for the symbols of its attributes. Results that contradict the
// node's types are left to the caller. Options: those about single nodes and nested graphs.
absl::StatusOr<std::vector<HostTensor>> RunNode(const Node& node,
                                                absl::Span<const HostTensor> operands,
                                                const SymbolEnv& env,
                                                const RunOptions& options = {});

}  // namespace weft::reference

#endif  // WEFT_BACKENDS_REFERENCE_EXECUTOR_H_
