// Changes the sizes of a function's inputs.
#ifndef WEFT_PASSES_SIZES_RETYPE_H_
#define WEFT_PASSES_SIZES_RETYPE_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "graph/tensor/type.h"
#include "passes/sizes/needs.h"

namespace weft {

class Graph;
struct SizeAssumption;

// Gives the inputs of a function, which no node calls, these types, and infers again the types of
// nodes that depend on them; data-dependent sizes get fresh symbols. The nodes' assumptions are
// added to `assumptions`. With `follow`, numeric sizes of reshape and expand become expressions of
// the new sizes that have the same value for their hints: [2, 150528] becomes [s0, 150528] if the
// reshaped tensor has s0*150528 elements.
//
// An error names the node that does not support the sizes, or that has nested graphs with old
// sizes; the module is invalid then.
absl::Status RetypeInputs(Graph& graph, absl::Span<const Type> types, bool follow,
                          std::vector<SizeAssumption>* assumptions);

}  // namespace weft

#endif  // WEFT_PASSES_SIZES_RETYPE_H_
