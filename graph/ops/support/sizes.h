// Computes symbolic sizes under the facts of a SymbolTable, and index arithmetic of ops that move
// elements.
#ifndef WEFT_GRAPH_OPS_SUPPORT_SIZES_H_
#define WEFT_GRAPH_OPS_SUPPORT_SIZES_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "graph/ops/support/eval.h"
#include "graph/tensor/tensor.h"

namespace weft {
class SymbolTable;
struct OpArgs;
}  // namespace weft

namespace weft::ops {

// Min and Max without operands that the facts show to be irrelevant.
SymInt KnownMin(const SymbolTable& symbols, SymInt a, SymInt b);
SymInt KnownMax(const SymbolTable& symbols, SymInt a, SymInt b);
// a - b, distributed over a Min or Max if exactly one of them is one: n - max(x, y) = min(n - x, n
// - y).
SymInt Difference(const SymbolTable& symbols, SymInt a, SymInt b);
// The number of values in start, start + step, ... before `end`; at least 0.
SymInt StepsBetween(const SymbolTable& symbols, SymInt start, SymInt end, SymInt step);

// A position among `n` elements; a negative one counts from the end. The least integer is the first
// position and the greatest one `n`, whatever `n` is.
SymInt FromEnd(const SymbolTable& symbols, SymInt position, SymInt n);
// The first position that a slice from `start` of a dim of size `n` takes, in [0, n].
SymInt SliceStart(const SymbolTable& symbols, SymInt start, SymInt n);

// Two sizes that must be equal: the constant one if there is one.
SymInt JoinSizes(SymInt a, SymInt b);
// Joins `other` into `dims`, which must have equal ranks; the dim `skip` is ignored (-1: none).
// Errors are "<what>: f32[2] and f32[3] differ in dim 0".
absl::Status JoinDims(const OpArgs& args, Type other, int skip, absl::string_view what,
                      std::vector<SymInt>* dims);

// "size[1] is negative: -3" for an entry that is provably negative.
absl::Status CheckSizesNotNegative(const OpArgs& args, absl::Span<const SymInt> sizes,
                                   absl::string_view what);

// A fresh unbacked symbol for a size in [`min`, `max`].
SymInt FreshSize(const OpArgs& args, int64_t min, int64_t max);

// The dims before, at and after `dim`: `outer` and `inner` are products. Without elements the
// products, which may not fit in 64 bits, are 0.
struct Split {
  int64_t outer = 1;
  int64_t size = 1;
  int64_t inner = 1;
  // Row-major index of element `i` of the line (o, n).
  int64_t At(int64_t o, int64_t i, int64_t n) const { return (o * size + i) * inner + n; }
};
Split SplitAt(absl::Span<const int64_t> dims, int dim);

int64_t Dot(absl::Span<const int64_t> a, absl::Span<const int64_t> b);

// Sets out's element at each index to in's element source(index), by row-major index; -1 leaves it
// unchanged.
template <typename Fn>
void MoveElements(const HostTensor& in, HostTensor* out, Fn source) {
  std::vector<int64_t> from;
  from.reserve(out->numel());
  ForEachIndex(out->dims(),
               [&](absl::Span<const int64_t> index) { from.push_back(source(index)); });
  Gather(in, from, out);
}

}  // namespace weft::ops

#endif  // WEFT_GRAPH_OPS_SUPPORT_SIZES_H_
