// The size program of a graph without a plan.
#ifndef WEFT_API_DYNAMIC_GRAPH_SIZES_H_
#define WEFT_API_DYNAMIC_GRAPH_SIZES_H_

#include "backends/runtime/size_program.h"

namespace weft {

class Graph;

// Every symbol gets a value in each call, or the call is refused, because variants are chosen by
// the values. `main` outlives the result and must not change.
SizeProgram MakeSizeProgram(const Graph& main);

}  // namespace weft

#endif  // WEFT_API_DYNAMIC_GRAPH_SIZES_H_
