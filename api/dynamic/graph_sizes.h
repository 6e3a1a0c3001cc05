// The size program of a graph that no plan has been made from.
#ifndef WEFT_API_DYNAMIC_GRAPH_SIZES_H_
#define WEFT_API_DYNAMIC_GRAPH_SIZES_H_

#include "backends/runtime/size_program.h"

namespace weft {

class Graph;

// Every symbol gets a value in each call, or the call is refused: variants are chosen by the
// values. `main` outlives the result and stays as it is.
SizeProgram MakeSizeProgram(const Graph& main);

}  // namespace weft

#endif  // WEFT_API_DYNAMIC_GRAPH_SIZES_H_
