// Shares of a whole along a dim.
#include <cmath>

#include "graph/ir/numeric_contract.h"
#include "graph/ops/ops.h"
#include "graph/ops/support/build.h"
#include "graph/ops/support/op.h"
#include "graph/ops/support/sizes.h"

namespace weft::ops {
namespace {

absl::StatusOr<Types> Infer(const OpArgs& args) {
  WEFT_RETURN_IF_ERROR(CheckFloat(args, 0));
  WEFT_RETURN_IF_ERROR(NormalizeDim(args.attrs().Int("dim"), args.type(0).rank()).status());
  return Types{args.type(0)};
}

// State shared by the decompositions.
struct Parts {
  Builder& b;
  const OpArgs& args;

  Value* Along(const OpDef& op, Value* v) const {
    return Reduce(b, op, v, {args.attrs().Int("dim")});
  }
  // x - max(x), in the dtype to compute in.
  Value* Shifted() const {
    Value* x = Convert(b, args.operand(0), ComputeDType(args.type(0).dtype()));
    return b.Op(sub, {x, Along(amax, x)});
  }
  std::vector<Value*> Back(Value* v) const { return {Convert(b, v, args.type(0).dtype())}; }
};

std::vector<Value*> DecomposeSoftmax(Builder& b, const OpArgs& args) {
  const Parts parts = {b, args};
  Value* e = b.Op(exp, {parts.Shifted()});
  return parts.Back(b.Op(div, {e, parts.Along(sum, e)}));
}

std::vector<Value*> DecomposeLogSoftmax(Builder& b, const OpArgs& args) {
  const Parts parts = {b, args};
  Value* x = parts.Shifted();
  Value* total = parts.Along(sum, b.Op(exp, {x}));
  return parts.Back(b.Op(sub, {x, b.Op(log, {total})}));
}

// Subtracts the maximum from one line; returns the sum of exponentials.
double Shift(const Split& split, int64_t o, int64_t n, std::vector<double>* x) {
  double m = -HUGE_VAL;
  for (int64_t i = 0; i < split.size; ++i) {
    const double v = (*x)[split.At(o, i, n)];
    if (std::isnan(v) || v > m) m = v;
    if (std::isnan(m)) break;
  }
  double total = 0;
  for (int64_t i = 0; i < split.size; ++i) {
    double& v = (*x)[split.At(o, i, n)];
    v -= m;
    total += std::exp(v);
  }
  return total;
}

template <bool kLog>
absl::Status Eval(EvalContext& c) {
  std::vector<double> x = c.in(0).ReadDoubles();
  const int dim = *NormalizeDim(c.attrs().Int("dim"), c.in(0).rank());
  const Split split = SplitAt(c.in(0).dims(), dim);
  for (int64_t o = 0; o < split.outer; ++o) {
    for (int64_t n = 0; n < split.inner; ++n) {
      const double total = Shift(split, o, n, &x);
      for (int64_t i = 0; i < split.size; ++i) {
        double& v = x[split.At(o, i, n)];
        v = kLog ? v - std::log(total) : std::exp(v) / total;
      }
    }
  }
  Write(x, &c.out(0));
  return absl::OkStatus();
}

// Positions along the dim, against that of the maximum.
std::vector<Value*> DecomposeHardmax(Builder& b, const OpArgs& args) {
  const Type self = args.type(0);
  const int dim = *NormalizeDim(args.attrs().Int("dim"), self.rank());
  std::vector<SymInt> size(self.rank(), SymInt(1));
  size[dim] = self.dim(dim);
  Value* positions = b.Op(arange, {}, {{"start", 0}, {"end", size[dim]}});
  positions = Reshape(b, positions, size);
  Value* best = b.Op(argmax, {args.operand(0)}, {{"dim", dim}, {"keepdim", true}});
  return {Convert(b, b.Op(eq, {positions, best}), self.dtype())};
}

absl::Status EvalHardmax(EvalContext& c) {
  const std::vector<double> x = c.in(0).ReadDoubles();
  std::vector<double> y(x.size());
  const int dim = *NormalizeDim(c.attrs().Int("dim"), c.in(0).rank());
  const Split split = SplitAt(c.in(0).dims(), dim);
  for (int64_t o = 0; o < split.outer; ++o) {
    for (int64_t n = 0; n < split.inner; ++n) {
      int64_t best = 0;
      for (int64_t i = 1; i < split.size; ++i) {
        const double v = x[split.At(o, i, n)];
        const double m = x[split.At(o, best, n)];
        if (!std::isnan(m) && (std::isnan(v) || v > m)) best = i;
      }
      if (split.size > 0) y[split.At(o, best, n)] = 1;
    }
  }
  Write(y, &c.out(0));
  return absl::OkStatus();
}

}  // namespace

WEFT_DEFINE_OP(softmax, OpSpec("softmax(Tensor self, int dim) -> Tensor",
                               "exp(self) along `dim`, divided by its sum, "
                               "without overflow. ONNX: Softmax; "
                               "ATen: aten::softmax.int.")
                            .Infer(Infer)
                            .Decompose(DecomposeSoftmax)
                            .DecomposeContract(NumericContract::kReassociating)
                            .Eval(Eval<false>)
                            .Flops(PerOperand{5, 2})
                            .Samples(R"(
softmax(f32[2, 3], dim=1)
softmax(f32[2, 3, 4], dim=0)
softmax(f16[2, 1, 3, 2], dim=-2)
softmax(f64[4]{1000..1001}, dim=0)
softmax(f32[2, 2]{-inf, -inf, 0, -inf}, dim=1)
softmax(f32[2]{nan, 1}, dim=0)
softmax(bf16[1], dim=0)
softmax(f32[0, 3], dim=0)
softmax(f32[2], dim=1) ! "dim 1 is out of range"
softmax(f32[], dim=0) ! "out of range for a scalar"
softmax(i32[2], dim=0) ! "a float"
)"));

WEFT_DEFINE_OP(log_softmax, OpSpec("log_softmax(Tensor self, int dim) -> Tensor",
                                   "The logarithm of softmax, without overflow. "
                                   "ONNX: LogSoftmax; ATen: aten::log_softmax.int.")
                                .Infer(Infer)
                                .Decompose(DecomposeLogSoftmax)
                                .DecomposeContract(NumericContract::kReassociating)
                                .Eval(Eval<true>)
                                .Flops(PerOperand{5, 1})
                                .Samples(R"(
log_softmax(f32[2, 3], dim=1)
log_softmax(f32[2, 3, 4], dim=0)
log_softmax(f16[2, 1, 3, 2], dim=-2)
log_softmax(f64[4]{1000..1001}, dim=0)
log_softmax(f32[2, 2]{-inf, -inf, 0, -inf}, dim=1)
log_softmax(bf16[1], dim=0)
log_softmax(f32[0, 3], dim=0)
log_softmax(f32[2], dim=1) ! "dim 1 is out of range"
log_softmax(i32[2], dim=0) ! "a float"
)"));

WEFT_DEFINE_OP(hardmax, OpSpec("hardmax(Tensor self, int dim) -> Tensor",
                               "1 at the first maximum along `dim` (NaN is the "
                               "largest), else 0. ONNX: Hardmax.")
                            .Infer(Infer)
                            .Decompose(DecomposeHardmax)
                            .DecomposeContract(NumericContract::kBitExact)
                            .Eval(EvalHardmax)
                            .Flops(PerOperand{2})
                            .Samples(R"(
hardmax(f32[2, 3], dim=1)
hardmax(f32[4]{1, 3, 3, 2}, dim=0)
hardmax(f16[2, 1, 3, 2], dim=-2)
hardmax(f32[3]{1, nan, nan}, dim=0)
hardmax(bf16[1], dim=0)
hardmax(f32[0, 3], dim=1)
hardmax(f32[2], dim=1) ! "dim 1 is out of range"
hardmax(i32[2], dim=0) ! "a float"
)"));

WEFT_SHARED_VIEW(AnySoftmax, softmax, log_softmax);

}  // namespace weft::ops
