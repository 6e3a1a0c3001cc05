// Parts of element maps (graph/ir/op_map.h), for the Map of ops.
#ifndef WEFT_GRAPH_OPS_SUPPORT_MAP_H_
#define WEFT_GRAPH_OPS_SUPPORT_MAP_H_

#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "graph/ir/op_map.h"
#include "graph/sym/sym_int.h"

namespace weft::ops {

// offset + factor * variable.
MapIndex MapVar(int var, SymInt factor = 1, SymInt offset = 0);
// A number that no variable moves.
MapIndex MapNumber(SymInt offset);
// The variables [begin, end).
std::vector<MapIndex> MapVars(int begin, int end);

// A move from `at` of operand 0, to a result of `rank` dims.
ElementMap MapMove(int rank, std::vector<MapIndex> at);
// The elements in the same row-major order.
ElementMap MapSameNumber(int rank);

// For reductions of operand 0: combines the elements along `axes`, which are ascending; with
// `keepdim` they stay as dims of 1.
ElementMap MapReduced(const MapArgs& args, absl::Span<const int> axes, bool keepdim);
// The same by the attributes `dim` and `keepdim` of support/reduce.h.
std::optional<ElementMap> MapReduction(const MapArgs& args);

}  // namespace weft::ops

#endif  // WEFT_GRAPH_OPS_SUPPORT_MAP_H_
