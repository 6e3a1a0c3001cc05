// Where the largest and the smallest element stand.
#include "graph/ops/support/map.h"
#include "graph/ops/support/op.h"
#include "graph/ops/support/sizes.h"
#include "graph/sym/sym_ops.h"

namespace weft::ops {
namespace {

absl::StatusOr<Types> Infer(const OpArgs& args) {
  WEFT_RETURN_IF_ERROR(CheckReal(args, 0));
  const Type self = args.type(0);
  WEFT_ASSIGN_OR_RETURN(const int dim, NormalizeDim(args.attrs().Int("dim"), self.rank()));
  if (!args.MayHold(GreaterEqual(self.dim(dim), 1))) {
    return Invalid("dim ", dim, " of ", self.ToString(), " has no elements");
  }
  const std::vector<SymInt> dims =
      DimsAfterReduction(self.dims(), {dim}, args.attrs().Bool("keepdim"));
  return Types{Type::Tensor(DType::kI64, dims)};
}

// The position of the best element; NaN is better than all others.
template <bool kLargest, typename T>
int64_t BestOf(const std::vector<T>& x, const Split& split, int64_t o, int64_t n, bool last) {
  int64_t best = 0;
  for (int64_t i = 1; i < split.size; ++i) {
    const T a = x[split.At(o, i, n)];
    const T b = x[split.At(o, best, n)];
    const bool equal = a == b || (IsNan(a) && IsNan(b));
    const bool better = !IsNan(b) && (IsNan(a) || (kLargest ? a > b : a < b));
    if (better || (last && equal)) best = i;
  }
  return best;
}

template <bool kLargest>
absl::Status Eval(EvalContext& c) {
  const HostTensor& self = c.in(0);
  const int dim = *NormalizeDim(c.attrs().Int("dim"), self.rank());
  const bool last = c.attrs().Bool("select_last_index");
  return VisitDomain(self.dtype(), [&](auto zero) {
    const auto x = Read<decltype(zero)>(self);
    const Split split = SplitAt(self.dims(), dim);
    std::vector<int64_t> y;
    for (int64_t o = 0; o < split.outer; ++o) {
      for (int64_t n = 0; n < split.inner; ++n) {
        y.push_back(BestOf<kLargest>(x, split, o, n, last));
      }
    }
    Write(y, &c.out(0));
    return absl::OkStatus();
  });
}

std::optional<ElementMap> Map(const MapArgs& args) {
  const int dim = *NormalizeDim(args.attrs().Int("dim"), args.operands[0].rank());
  return MapReduced(args, {dim}, args.attrs().Bool("keepdim"));
}

}  // namespace

WEFT_DEFINE_OP(argmax, OpSpec("argmax(Tensor self, int dim, "
                              "bool keepdim=False, "
                              "bool select_last_index=False) -> Tensor",
                              "i64: where along `dim` the largest element "
                              "stands, the first (or last) of equal ones; NaN "
                              "is the largest. ONNX: ArgMax; "
                              "ATen: aten::argmax.")
                           .Traits(kReduction)
                           .Infer(Infer)
                           .Eval(Eval<true>)
                           .Map(Map)
                           .Samples(R"(
argmax(f32[2, 3], dim=0)
argmax(f32[2, 3, 4], dim=-1, keepdim=true)
argmax(i64[2, 5]{0..2}, dim=1, select_last_index=true)
argmax(f16[4]{1, nan, 2, nan}, dim=0)
argmax(f16[4]{1, nan, 2, nan}, dim=0, select_last_index=true)
argmax(u64[2, 1, 3, 2], dim=1)
argmax(bool[4], dim=0)
argmax(f32[0, 2], dim=1)
argmax(f32[0, 2], dim=0) ! "has no elements"
argmax(f32[2], dim=1) ! "dim 1 is out of range"
argmax(f32[], dim=0) ! "out of range for a scalar"
)"));

WEFT_DEFINE_OP(argmin, OpSpec("argmin(Tensor self, int dim, "
                              "bool keepdim=False, "
                              "bool select_last_index=False) -> Tensor",
                              "i64: where along `dim` the smallest element "
                              "stands, the first (or last) of equal ones; NaN "
                              "is the smallest. ONNX: ArgMin; "
                              "ATen: aten::argmin.")
                           .Traits(kReduction)
                           .Infer(Infer)
                           .Eval(Eval<false>)
                           .Map(Map)
                           .Samples(R"(
argmin(f32[2, 3], dim=0)
argmin(f32[2, 3, 4], dim=-1, keepdim=true)
argmin(i64[2, 5]{0..2}, dim=1, select_last_index=true)
argmin(f16[4]{1, nan, 2, nan}, dim=0)
argmin(u64[2, 1, 3, 2], dim=1)
argmin(bool[4], dim=0)
argmin(f32[0, 2], dim=1)
argmin(f32[0, 2], dim=0) ! "has no elements"
argmin(c64[2], dim=0) ! "a real dtype"
)"));

WEFT_SHARED_VIEW(ArgReduction, argmax, argmin);

}  // namespace weft::ops
