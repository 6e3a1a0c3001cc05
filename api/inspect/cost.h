// What a program costs at given sizes: operations and bytes, as
// graph/cost/cost.h counts them.
#ifndef WEFT_API_INSPECT_COST_H_
#define WEFT_API_INSPECT_COST_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/cost/cost.h"

namespace weft {

class Graph;
class OpRegistry;

struct OpCost {
  int64_t nodes = 0;
  int64_t flops = 0;
  int64_t bytes = 0;  // Bytes read and written.
};

struct ProgramCost {
  int64_t flops = 0;
  // Bytes that any implementation must move: the used parts of inputs and constants, and outputs,
  // once each.
  int64_t bytes = 0;
  // Sum of the bytes that each node moves; a fused group counts as one node.
  int64_t node_bytes = 0;
  std::map<std::string, OpCost> by_op;
  // Ops that are not or not fully counted, with the reason.
  std::map<std::string, std::string> uncounted;
};

// The cost of one run with these sizes, by the names of symbols; other symbols have their hints.
// Nested graphs count once per run if the sizes determine the number of runs (scan, fused groups),
// else once, which `uncounted` reports; of two branches the first counts. InvalidArgument for an
// unknown symbol and for one without a size or hint.
absl::StatusOr<ProgramCost> CostOf(const Graph& graph,
                                   const std::map<std::string, int64_t>& sizes = {});

// A line for every op with the way it is counted; the last line has totals.
std::string DescribeCosts(const OpRegistry& ops);

}  // namespace weft

#endif  // WEFT_API_INSPECT_COST_H_
