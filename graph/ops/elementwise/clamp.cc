// Limiting to a range.
#include "graph/ops/support/extrema.h"
#include "graph/ops/support/fold.h"
#include "graph/ops/support/op.h"

namespace weft::ops {
namespace {

// x = f(x, bound) where the bound broadcasts to x.
template <typename T, typename Fn>
void Apply(const HostTensor& bound, absl::Span<const int64_t> dims, Fn f, std::vector<T>* x) {
  if (!bound.valid()) return;
  const std::vector<T> limits = Read<T>(bound);
  ForEachOffset<1>(
      dims, {BroadcastStrides(bound.dims(), dims)},
      [&](int64_t i, const std::array<int64_t, 1>& at) { (*x)[i] = f((*x)[i], limits[at[0]]); });
}

absl::Status Eval(EvalContext& c) {
  return VisitDomain(c.in(0).dtype(), [&](auto zero) {
    using T = decltype(zero);
    HostTensor& out = c.out(0);
    const std::vector<T> self = Read<T>(c.in(0));
    std::vector<T> x(out.numel());
    ForEachOffset<1>(out.dims(), {BroadcastStrides(c.in(0).dims(), out.dims())},
                     [&](int64_t i, const std::array<int64_t, 1>& at) { x[i] = self[at[0]]; });
    Apply(
        c.in(1), out.dims(), [](T a, T b) { return Larger(a, b); }, &x);
    Apply(
        c.in(2), out.dims(), [](T a, T b) { return Smaller(a, b); }, &x);
    Write(x, &out);
    return absl::OkStatus();
  });
}

// Without bounds, or with the bounds of the clamp below, nothing changes.
Folded Fold(const OpArgs& args) {
  if (!args.has(1) && !args.has(2)) return FoldTo(args, 0);
  return FoldIdempotent(args);
}

}  // namespace

WEFT_DEFINE_OP(clamp, OpSpec("clamp(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor",
                             "minimum(maximum(self, min), max): max wins when the bounds cross, "
                             "NaN anywhere gives NaN. ATen: aten::clamp.Tensor.")
                          .Traits(kPointwise)
                          .Infer(InferBinaryNumeric)
                          .Fold(Fold)
                          .Eval(Eval)
                          .Flops(PerResult{2})
                          .Samples(R"(
clamp(f32[2, 3], f32[]{-1}, f32[]{1})
clamp(f32[2, 3], none, f32[3])
clamp(i32[3], i32[2, 1], none)
clamp(f16[3], none, none)
clamp(f32[2], f64[], none) ! "operands have different dtypes: f32 and f64"
clamp(bool[2], bool[], none) ! "integer or float"
)"));

}  // namespace weft::ops
