// Shared by ops that combine the elements along some dims.
//
// Their schema is f(Tensor self, int[] dim=[], bool keepdim=False); an empty list means all dims.
#ifndef WEFT_GRAPH_OPS_SUPPORT_REDUCE_H_
#define WEFT_GRAPH_OPS_SUPPORT_REDUCE_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/ir/op_eval.h"
#include "graph/ops/support/eval.h"
#include "graph/ops/support/infer.h"

namespace weft {
struct Folded;
struct OpArgs;
}  // namespace weft

namespace weft::ops {

// Self's dtype with the remaining dims. The second form refuses bool, the third everything except
// floats; complex is always refused.
absl::StatusOr<Types> InferReduction(const OpArgs& args);
absl::StatusOr<Types> InferNumericReduction(const OpArgs& args);
absl::StatusOr<Types> InferFloatReduction(const OpArgs& args);

// For ops that return a single element unchanged: along dims of size 1 that are kept, the result is
// self. Along a dim without elements it is a literal, if small.
Folded FoldReduction(const OpArgs& args);
// Only the second case.
Folded FoldEmptyReduction(const OpArgs& args);

// For each element of `dims`, in row-major order, the row-major index of the element into which it
// is reduced. `axes` is ascending.
std::vector<int64_t> ReductionTargets(absl::Span<const int64_t> dims, absl::Span<const int> axes);

// out(0)[i] = f(the elements that are reduced into it, in row-major order), in the domain of the
// operand; `f` takes a span.
template <typename Fn>
absl::Status EvalReduction(EvalContext& c, Fn f) {
  const HostTensor& self = c.in(0);
  WEFT_ASSIGN_OR_RETURN(const std::vector<int> axes,
                        ReducedAxes(c.attrs().Ints("dim"), self.rank()));
  return VisitDomain(self.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const std::vector<T> x = Read<T>(self);
    const std::vector<int64_t> target = ReductionTargets(self.dims(), axes);
    const int64_t results = c.out(0).numel();
    const int64_t each = results == 0 ? 0 : static_cast<int64_t>(x.size()) / results;
    std::vector<T> grouped(x.size());
    std::vector<int64_t> filled(results);
    for (size_t i = 0; i < x.size(); ++i) {
      grouped[target[i] * each + filled[target[i]]++] = x[i];
    }
    std::vector<Stored<decltype(f(absl::MakeConstSpan(grouped)))>> y(results);
    for (int64_t i = 0; i < results; ++i) {
      y[i] = f(absl::MakeConstSpan(grouped).subspan(i * each, each));
    }
    Write(y, &c.out(0));
    return absl::OkStatus();
  });
}

// Combines the elements in order; `empty` if there are none. A single element is unchanged (0 + -0
// is 0).
template <typename T, typename Fn>
T Accumulate(absl::Span<const T> x, T empty, Fn f) {
  if (x.empty()) return empty;
  T acc = x[0];
  for (T v : x.subspan(1)) acc = f(acc, v);
  return acc;
}

// The smallest (largest) value of a dtype: infinite if it has infinities.
template <typename T>
T LowestOf(DType dtype);
template <typename T>
T HighestOf(DType dtype);
template <>
double LowestOf(DType dtype);
template <>
double HighestOf(DType dtype);
template <>
int64_t LowestOf(DType dtype);
template <>
int64_t HighestOf(DType dtype);
template <>
uint64_t LowestOf(DType dtype);
template <>
uint64_t HighestOf(DType dtype);

}  // namespace weft::ops

#endif  // WEFT_GRAPH_OPS_SUPPORT_REDUCE_H_
