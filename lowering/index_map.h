// The index at which a value is read, as a function of the loops of a nest.
#ifndef WEFT_LOWERING_INDEX_MAP_H_
#define WEFT_LOWERING_INDEX_MAP_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "lowering/kernel.h"
#include "lowering/plan.h"

namespace weft {

class SymbolTable;

// The index along one dim: offset + strides * loops + terms.
struct Index {
  SymInt offset = 0;
  std::vector<SymInt> strides;  // One per loop.
  std::vector<IndexTerm> terms;
};
// One index per dim of a value.
using Indices = std::vector<Index>;

bool operator==(const Index& a, const Index& b);
uint64_t HashOf(const Indices& indices);

Index ZeroIndex(size_t loops);
Index LoopIndex(size_t loops, size_t loop);
// A value of the body as an index: in [0, bound) after `bound` is added to negative values.
Index TermIndex(size_t loops, int value, SymInt bound);
Index operator+(Index a, const Index& b);
Index operator+(Index a, SymInt offset);
// Terms stay even if the factor is 0, because a value out of bounds is still an error.
Index operator*(Index a, SymInt factor);
bool IsZero(const Index& index);

// Sizes, simplified and compared under the facts about their symbols.
class Sizes {
 public:
  explicit Sizes(const SymbolTable* symbols) : symbols_(symbols) {}
  bool Equal(SymInt a, SymInt b) const;
  // True if `a` <= `b` for every assignment.
  bool AtMost(SymInt a, SymInt b) const;
  SymInt Simplify(SymInt s) const;
  const SymbolTable& symbols() const { return *symbols_; }

 private:
  const SymbolTable* symbols_;
};

// The indices at which an operand of dims `from`, broadcast to `to`, is read where the result is
// read at `at`.
Indices BroadcastIndices(const Sizes& sizes, const Indices& at, absl::Span<const SymInt> from,
                         absl::Span<const SymInt> to);

// Dims [a_begin, a_end) of one shape that correspond to [b_begin, b_end) of another; dims of size 1
// may be in between.
struct DimGroup {
  std::vector<int> a;
  std::vector<int> b;
};
// Nullopt unless the shapes have equal products of sizes.
std::optional<std::vector<DimGroup>> GroupDims(const Sizes& sizes, absl::Span<const SymInt> a,
                                               absl::Span<const SymInt> b);

// The indices in dims `to` of the element that has the indices `at` in dims `from`; nullopt if that
// requires a division.
std::optional<Indices> ReshapeIndices(const Sizes& sizes, const Indices& at,
                                      absl::Span<const SymInt> extents,
                                      absl::Span<const SymInt> from, absl::Span<const SymInt> to);

// The access to `view` at the indices `at`.
Access AccessOf(const View& view, const Indices& at, size_t loops);

// Row-major strides.
std::vector<SymInt> DenseStrides(absl::Span<const SymInt> dims);
bool IsDense(const Sizes& sizes, const View& view);
// The view's elements in row-major order with other dims; nullopt if strides cannot express that.
std::optional<View> ReshapeView(const Sizes& sizes, const View& view,
                                absl::Span<const SymInt> dims);

}  // namespace weft

#endif  // WEFT_LOWERING_INDEX_MAP_H_
