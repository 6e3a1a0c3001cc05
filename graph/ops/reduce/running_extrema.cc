// Cumulative maximum and minimum, with positions.
#include "graph/ops/support/op.h"
#include "graph/ops/support/sizes.h"

namespace weft::ops {
namespace {

absl::StatusOr<Types> Infer(const OpArgs& args) {
  WEFT_RETURN_IF_ERROR(CheckReal(args, 0));
  WEFT_RETURN_IF_ERROR(NormalizeDim(args.attrs().Int("dim"), args.type(0).rank()).status());
  return Types{args.type(0), args.type(0).WithDType(DType::kI64)};
}

// The last one of equal elements wins. Only a NaN replaces a NaN.
template <typename T>
bool Replaces(T next, T best, bool largest) {
  if (IsNan(next)) return true;
  if (IsNan(best)) return false;
  return largest ? next >= best : next <= best;
}

absl::Status EvalRunning(EvalContext& c, bool largest) {
  const HostTensor& self = c.in(0);
  const int dim = *NormalizeDim(c.attrs().Int("dim"), self.rank());
  const Split split = SplitAt(self.dims(), dim);
  std::vector<int64_t> source(self.numel());
  std::vector<int64_t> position(source.size());
  WEFT_RETURN_IF_ERROR(VisitDomain(self.dtype(), [&](auto zero) {
    const auto x = Read<decltype(zero)>(self);
    for (int64_t o = 0; o < split.outer; ++o) {
      for (int64_t n = 0; n < split.inner; ++n) {
        int64_t best = 0;
        for (int64_t k = 0; k < split.size; ++k) {
          const int64_t at = split.At(o, k, n);
          if (Replaces(x[at], x[split.At(o, best, n)], largest)) best = k;
          source[at] = split.At(o, best, n);
          position[at] = best;
        }
      }
    }
    return absl::OkStatus();
  }));
  Gather(self, source, &c.out(0));
  Write(position, &c.out(1));
  return absl::OkStatus();
}

absl::Status EvalMax(EvalContext& c) { return EvalRunning(c, true); }
absl::Status EvalMin(EvalContext& c) { return EvalRunning(c, false); }

}  // namespace

WEFT_DEFINE_OP(cummax, OpSpec("cummax(Tensor self, int dim) -> (Tensor values, Tensor "
                              "indices)",
                              "The largest element up to each one along `dim` and where "
                              "(i64) it stands, of equal ones the last. NaN is above "
                              "all. ATen: aten::cummax.")
                           .Infer(Infer)
                           .Eval(EvalMax)
                           .Map(Absent{"an element depends on those before it"})
                           .Flops(PerOperand{1})
                           .Samples(R"(
cummax(f32[2, 5], dim=1)
cummax(i64[4, 3, 2]{0..2}, dim=0)
cummax(f16[5]{1, nan, 3, nan, 0}, dim=-1)
cummax(bool[2, 4], dim=1)
cummax(u64[0, 3], dim=0)
cummax(f32[], dim=0) ! "out of range for a scalar"
cummax(c64[2], dim=0) ! "a real dtype"
)"));

WEFT_DEFINE_OP(cummin, OpSpec("cummin(Tensor self, int dim) -> (Tensor values, Tensor "
                              "indices)",
                              "The smallest element up to each one along `dim` and "
                              "where (i64) it stands, of equal ones the last. NaN is "
                              "below all. ATen: aten::cummin.")
                           .Infer(Infer)
                           .Eval(EvalMin)
                           .Map(Absent{"an element depends on those before it"})
                           .Flops(PerOperand{1})
                           .Samples(R"(
cummin(f32[2, 5], dim=1)
cummin(i64[4, 3, 2]{0..2}, dim=0)
cummin(f16[5]{1, nan, 3, nan, 0}, dim=-1)
cummin(bool[2, 4], dim=1)
cummin(u64[0, 3], dim=0)
cummin(f32[], dim=0) ! "out of range for a scalar"
cummin(c64[2], dim=0) ! "a real dtype"
)"));

}  // namespace weft::ops
