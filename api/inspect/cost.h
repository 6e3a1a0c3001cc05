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
  int64_t bytes = 0;  // Read and written.
};

struct ProgramCost {
  int64_t flops = 0;
  // What any program must move: inputs and constants that are used, as much of
  // them as is read, and outputs, once each.
  int64_t bytes = 0;
  // What the nodes move, one by one; a fused group is one.
  int64_t node_bytes = 0;
  std::map<std::string, OpCost> by_op;
  // Ops that are not or not fully counted, and why.
  std::map<std::string, std::string> uncounted;
};

// Of one run with these sizes, by the names of symbols; others have their
// hints. Nested graphs count as often as they run where the sizes tell (scan,
// fused groups), else once, which `uncounted` tells: of two branches the first.
// InvalidArgument for an unknown symbol and for one that has neither.
absl::StatusOr<ProgramCost> CostOf(const Graph& graph,
                                   const std::map<std::string, int64_t>& sizes = {});

// Every op and how it is counted, one a line; the last line counts them.
std::string DescribeCosts(const OpRegistry& ops);

}  // namespace weft

#endif  // WEFT_API_INSPECT_COST_H_
