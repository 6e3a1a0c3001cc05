// ElementMap: which elements of its operands an element of a result is made from, as an op's Map
// gives it.
//
// The map is a function of variables: first the indices of the element, one for each dim of the
// result; then the reduced ones, which run over extents of their own; then the gathered ones, which
// are elements of integer operands. Indices into operands are affine in the variables, with
// symbolic factors. Its text form shows all of it:
//
//   (d0, d1) -> %0[d0, 2*d1 + 3]                            a slice
//   (d0, d1) -> combine(%0[d0, d1], %1[d1])                 a broadcast addition
//   (d0), r0 < s0 -> combine(%0[d0, r0])                    a sum
//   (d0, d1), g0 = %1[d0] < 5 -> %0[g0, d1]                 an index_select
//   (d0) -> %0[d0 + -1] if 0 <= d0 + -1 < s0 else 0         a pad
//   (d0) -> %0#same                                         a reshape
#ifndef WEFT_GRAPH_IR_OP_MAP_H_
#define WEFT_GRAPH_IR_OP_MAP_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "graph/ir/attrs.h"
#include "graph/sym/sym_int.h"
#include "graph/tensor/type.h"

namespace weft {

class AttrList;
class Node;
class OpDef;
class SymbolTable;

// factor * variable. A factor of 0 says that the variable's dim is the one that is broadcast.
struct MapTerm {
  int var = 0;
  SymInt factor = 1;
};

// How a number outside of [0, size) becomes one inside.
enum class MapBoundary {
  kNone,     // It lies inside.
  kWrap,     // Modulo the size.
  kEdge,     // The nearest one.
  kReflect,  // Mirrored at the first and the last one, which are not repeated.
};

// offset + the sum of the terms. At most one term for each variable.
struct MapIndex {
  SymInt offset = 0;
  std::vector<MapTerm> terms;
  MapBoundary boundary = MapBoundary::kNone;
  SymInt size = 0;  // Of the operand's dim; where there is a boundary.
};

// 0 <= index, and index < size where that is valid.
struct MapGuard {
  MapIndex index;
  SymInt size = SymInt::Invalid();
};

// A variable: the element of operand `operand` at `at`, which is a function of the result's
// indices. The op fails where it is not in [-size, size); `size` is added to negative ones.
struct MapGather {
  int operand = 0;
  std::vector<MapIndex> at;
  SymInt size = 0;
};

// The element of an operand that is read.
struct OperandAccess {
  enum class Form {
    kIndices,     // `at` has the index along each dim.
    kSameNumber,  // That of the result's row-major number; `at` is empty.
    kNumber,      // `at` is the element's row-major number.
  };
  int operand = 0;
  Form form = Form::kIndices;
  std::vector<MapIndex> at;
  // All of them hold where the element is read.
  std::vector<MapGuard> guards;
};

struct ElementMap {
  enum class Kind {
    // The element is that of the first access whose guards hold, bit for bit; where those of none
    // do, the only element of operand `otherwise`, or zero (-1).
    kMove,
    // The element is computed from those of all accesses, for all values of the reduced variables.
    kCombine,
  };
  Kind kind = Kind::kMove;
  int rank = 0;                 // Of the result.
  std::vector<SymInt> reduced;  // Extents.
  std::vector<MapGather> gathers;
  std::vector<OperandAccess> accesses;
  int otherwise = -1;

  int first_reduced() const { return rank; }
  int first_gathered() const { return rank + static_cast<int>(reduced.size()); }
  // A move of one access whose indices are affine in those of the result alone, without a
  // condition: strides can express it where the operand lies in memory.
  bool IsStrided() const;
};

// The use of an op, as its Map sees it: result `result` of an op with operands and results of these
// types. Types of absent operands are Type().
struct MapArgs {
  const OpDef* op = nullptr;
  const AttrList* attr_list = nullptr;
  absl::Span<const Type> operands;
  absl::Span<const Type> results;
  int result = 0;
  const SymbolTable* symbols = nullptr;

  Attrs attrs() const;
  bool has(int i) const {
    return i < static_cast<int>(operands.size()) && operands[i].kind() != Type::Kind::kNone;
  }
  Type out() const { return results[result]; }
  // Equal by the facts about the symbols.
  bool Equal(SymInt a, SymInt b) const;
};

// By the op's Map; nothing where it has none, or none for these attributes.
std::optional<ElementMap> MapOf(const MapArgs& args);
// With the facts of `symbols`, or of the node's module.
std::optional<ElementMap> MapOf(const Node& node, int result, const SymbolTable& symbols);
std::optional<ElementMap> MapOf(const Node& node, int result = 0);

// For each dim of the first access the variable that is its index: a move of whole dims, or a
// reduction. Nothing where an index is another function of the variables, or there are more
// accesses.
std::optional<std::vector<int>> PlainVariables(const ElementMap& map);
// The dims of the first access whose index is a reduced variable, ascending.
std::vector<int> ReducedDims(const ElementMap& map);

// The map of every op that is kPointwise: the operands' elements at the same broadcast position.
std::optional<ElementMap> MapPointwise(const MapArgs& args);
// The indices of an operand of dims `from` that is broadcast to `to`, whose indices are the
// variables from `var` on. The index along a dim that may be 1 has the factor `from != 1`.
std::vector<MapIndex> BroadcastMapIndices(const MapArgs& args, absl::Span<const SymInt> from,
                                          absl::Span<const SymInt> to, int var = 0);

std::string ToString(const ElementMap& map);

}  // namespace weft

#endif  // WEFT_GRAPH_IR_OP_MAP_H_
