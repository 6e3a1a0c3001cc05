// Cumulative sums and products.
#include "graph/ops/support/op.h"
#include "graph/ops/support/sizes.h"

namespace weft::ops {
namespace {

absl::StatusOr<Types> Infer(const OpArgs& args) {
  WEFT_RETURN_IF_ERROR(CheckNumeric(args, 0));
  WEFT_RETURN_IF_ERROR(NormalizeDim(args.attrs().Int("dim"), args.type(0).rank()).status());
  return Types{args.type(0)};
}

// A single element is its own cumulative result.
Folded Fold(const OpArgs& args) {
  const Type self = args.type(0);
  const int dim = *NormalizeDim(args.attrs().Int("dim"), self.rank());
  if (!self.dim(dim).Is(1) || args.attrs().Bool("exclusive")) return {};
  return args.operand(0);
}

// Computes one line: `acc` combines all elements before the present one.
template <typename T, typename Fn>
void Run(const Split& split, int64_t o, int64_t n, const Attrs& attrs, T empty, Fn f,
         std::vector<T>* x) {
  const bool exclusive = attrs.Bool("exclusive");
  const bool reverse = attrs.Bool("reverse");
  T acc = empty;
  for (int64_t k = 0; k < split.size; ++k) {
    T& v = (*x)[split.At(o, reverse ? split.size - 1 - k : k, n)];
    const T next = k == 0 ? v : f(acc, v);
    v = exclusive ? acc : next;
    acc = next;
  }
}

template <typename Fn>
absl::Status EvalRunning(EvalContext& c, int empty, Fn f) {
  const HostTensor& self = c.in(0);
  const int dim = *NormalizeDim(c.attrs().Int("dim"), self.rank());
  return VisitDomain(self.dtype(), [&](auto zero) {
    using T = decltype(zero);
    std::vector<T> x = Read<T>(self);
    const Split split = SplitAt(self.dims(), dim);
    for (int64_t o = 0; o < split.outer; ++o) {
      for (int64_t n = 0; n < split.inner; ++n) {
        Run<T>(split, o, n, c.attrs(), static_cast<T>(empty), f, &x);
      }
    }
    Write(x, &c.out(0));
    return absl::OkStatus();
  });
}

absl::Status EvalSum(EvalContext& c) {
  return EvalRunning(c, 0, [](auto a, auto b) { return WrapAdd(a, b); });
}

absl::Status EvalProd(EvalContext& c) {
  return EvalRunning(c, 1, [](auto a, auto b) { return WrapMul(a, b); });
}

}  // namespace

WEFT_DEFINE_OP(cumsum, OpSpec("cumsum(Tensor self, int dim, bool exclusive=False, "
                              "bool reverse=False) -> Tensor",
                              "The sum of the elements up to each one along `dim`, "
                              "without it if `exclusive`, from the end if `reverse`. "
                              "Accumulates wide; integers wrap. ONNX: CumSum; "
                              "ATen: aten::cumsum.")
                           .Infer(Infer)
                           .Fold(Fold)
                           .Eval(EvalSum)
                           .Map(Absent{"an element depends on those before it"})
                           .Flops(PerOperand{1})
                           .Samples(R"(
cumsum(f32[2, 3], dim=0)
cumsum(f32[2, 3, 4], dim=-1, exclusive=true)
cumsum(i64[2, 3], dim=1, reverse=true)
cumsum(u64[5], dim=0, exclusive=true, reverse=true)
cumsum(f16[2, 2, 3, 2], dim=2)
cumsum(i8[5]{100..127}, dim=0)
cumsum(bf16[1], dim=0)
cumsum(f32[1, 2], dim=0, exclusive=true)
cumsum(f32[0, 2], dim=0)
cumsum(f32[2], dim=1) ! "dim 1 is out of range"
cumsum(f32[], dim=0) ! "out of range for a scalar"
cumsum(bool[2], dim=0) ! "integer or float"
)"));

WEFT_DEFINE_OP(cumprod, OpSpec("cumprod(Tensor self, int dim, bool exclusive=False, "
                               "bool reverse=False) -> Tensor",
                               "The product of the elements up to each one along `dim`, "
                               "without it if `exclusive`, from the end if `reverse`. "
                               "Accumulates wide; integers wrap. ONNX: CumProd; "
                               "ATen: aten::cumprod.")
                            .Infer(Infer)
                            .Fold(Fold)
                            .Eval(EvalProd)
                            .Map(Absent{"an element depends on those before it"})
                            .Flops(PerOperand{1})
                            .Samples(R"(
cumprod(f32[2, 3], dim=0)
cumprod(f32[2, 3, 4], dim=-1, exclusive=true)
cumprod(i64[2, 3], dim=1, reverse=true)
cumprod(f16[5], dim=0, exclusive=true, reverse=true)
cumprod(bf16[1], dim=0)
cumprod(f32[0, 2], dim=0)
cumprod(f32[2], dim=1) ! "dim 1 is out of range"
cumprod(bool[2], dim=0) ! "integer or float"
)"));

}  // namespace weft::ops
