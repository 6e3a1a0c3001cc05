// Evaluation on symbolic elements: what the SymbolicEval of ops share.
//
// An element that no rule knows stays unknown, Invalid(). Conditions are 1 or 0 where the facts
// about the symbols decide them, and unknown elsewhere.
#ifndef WEFT_GRAPH_OPS_SUPPORT_SYMBOLIC_H_
#define WEFT_GRAPH_OPS_SUPPORT_SYMBOLIC_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "graph/ir/op_symbolic_eval.h"
#include "graph/ops/support/eval.h"
#include "graph/sym/sym_int.h"
#include "graph/sym/sym_prove.h"

namespace weft::ops {

// 1, 0 or unknown.
SymInt KnownTruth(Proof proof);
// 1 - condition.
SymInt KnownNot(SymInt condition);
bool IsNotNegative(const SymbolicEvalContext& c, SymInt a);

// Each element of the result from the elements of the operands that are broadcast to it, unknown
// ones among them.
template <size_t N, typename Fn>
bool SymbolicPointwise(SymbolicEvalContext& c, Fn fn) {
  const std::vector<int64_t> out = *c.out_type().static_dims();
  std::array<std::vector<int64_t>, N> strides;
  for (size_t k = 0; k < N; ++k) {
    strides[k] = BroadcastStrides(*c.in_type(static_cast<int>(k)).static_dims(), out);
  }
  ForEachOffset<N>(out, strides, [&](int64_t i, const std::array<int64_t, N>& at) {
    std::array<SymInt, N> x;
    for (size_t k = 0; k < N; ++k) x[k] = c.in(static_cast<int>(k))[at[k]];
    c.out()[i] = fn(x);
  });
  return true;
}

// `fn` on known elements; unknown operands give unknown results.
bool SymbolicUnary(SymbolicEvalContext& c, absl::FunctionRef<SymInt(SymInt)> fn);
bool SymbolicBinary(SymbolicEvalContext& c, absl::FunctionRef<SymInt(SymInt, SymInt)> fn);

// All elements of operand 0 combined into a result of one element, whatever dims the op names;
// nothing for other results, and of no elements.
bool SymbolicReduction(SymbolicEvalContext& c, absl::FunctionRef<SymInt(SymInt, SymInt)> fn);

}  // namespace weft::ops

#endif  // WEFT_GRAPH_OPS_SUPPORT_SYMBOLIC_H_
