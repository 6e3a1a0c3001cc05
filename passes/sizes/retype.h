// A function whose inputs get other sizes.
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

// Gives the inputs of a function, which no node calls, these types, and infers
// those of the nodes that depend on them again; sizes that depend on data get
// fresh symbols. What the nodes then assume goes to `assumptions`. With `follow`, sizes
// of reshape and expand that are numbers become expressions of the new sizes
// where these have the same value for their hints: [2, 150528] becomes
// [s0, 150528] when the reshaped tensor has s0*150528 elements.
//
// An error names the node that cannot do with the sizes, or that holds nested
// graphs of old sizes; the module is of no use then.
absl::Status RetypeInputs(Graph& graph, absl::Span<const Type> types, bool follow,
                          std::vector<SizeAssumption>* assumptions);

}  // namespace weft

#endif  // WEFT_PASSES_SIZES_RETYPE_H_
