// Values made from nothing but sizes and scalars.
#include <cmath>
#include <limits>

#include "graph/ops/support/op.h"
#include "graph/ops/support/sizes.h"
#include "graph/sym/sym_range.h"

namespace weft::ops {
namespace {

absl::StatusOr<Types> InferArange(const OpArgs& args) {
  const Attrs attrs = args.attrs();
  if (!IsInt(attrs.Dtype("dtype"))) {
    return Invalid("dtype must be an integer, got ", DTypeName(attrs.Dtype("dtype")));
  }
  const SymInt step = attrs.Sym("step");
  if (step.Is(0)) return Invalid("step is 0");
  return Types{Type::Tensor(attrs.Dtype("dtype"), {StepsBetween(*args.symbols, attrs.Sym("start"),
                                                                attrs.Sym("end"), step)})};
}

absl::Status EvalArange(EvalContext& c) {
  const int64_t start = c.attrs().Int("start");
  const int64_t step = c.attrs().Int("step");
  std::vector<int64_t> values(c.out(0).numel());
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = WrapAdd(start, WrapMul(static_cast<int64_t>(i), step));
  }
  Write(values, &c.out(0));
  return absl::OkStatus();
}

absl::StatusOr<Types> InferRange(const OpArgs& args) {
  WEFT_RETURN_IF_ERROR(CheckSameDType(args));
  WEFT_RETURN_IF_ERROR(CheckNumeric(args, 0));
  for (int i = 0; i < 3; ++i) WEFT_RETURN_IF_ERROR(CheckRank(args, i, 0));
  return Types{Type::Tensor(args.type(0).dtype(), {FreshSize(args, 0, SymRange::kMax)})};
}

// max(ceil((limit - start) / delta), 0); infinite or NaN for bad floats.
double LengthOf(double start, double limit, double delta) {
  const double length = std::ceil((limit - start) / delta);
  return length < 0 ? 0 : length;
}

template <typename T>
double LengthOf(T start, T limit, T delta) {
  const bool up = delta > 0;
  if (up ? start >= limit : start <= limit) return 0;
  const uint64_t gap = up ? WrapSub<uint64_t>(limit, start) : WrapSub<uint64_t>(start, limit);
  const uint64_t step = up ? delta : WrapSub<uint64_t>(0, delta);
  return static_cast<double>(gap / step + (gap % step != 0));
}

absl::Status EvalRange(EvalContext& c) {
  const DType dtype = c.in(0).dtype();
  return VisitDomain(dtype, [&](auto zero) -> absl::Status {
    using T = decltype(zero);
    const T start = Read<T>(c.in(0))[0];
    const T delta = Read<T>(c.in(2))[0];
    if (delta == 0) return Invalid("delta is 0");
    const double length = LengthOf(start, Read<T>(c.in(1))[0], delta);
    // Larger lengths cannot be allocated and are refused in Allocate.
    constexpr double kMost = 0x1p60;
    if (!(length <= kMost)) return Invalid("the length is not finite");
    WEFT_ASSIGN_OR_RETURN(HostTensor out,
                          HostTensor::Allocate(dtype, {static_cast<int64_t>(length)}));
    std::vector<T> values(out.numel());
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = WrapAdd(start, WrapMul(static_cast<T>(i), delta));
    }
    Write(values, &out);
    c.set_out(0, std::move(out));
    return absl::OkStatus();
  });
}

absl::StatusOr<Types> InferEye(const OpArgs& args) {
  const Attrs attrs = args.attrs();
  const SymInt size[] = {attrs.Sym("n"), attrs.Sym("m")};
  WEFT_RETURN_IF_ERROR(CheckSizesNotNegative(args, size, "size"));
  if (IsComplex(attrs.Dtype("dtype"))) return Invalid("dtype must be real");
  return Types{Type::Tensor(attrs.Dtype("dtype"), size)};
}

absl::Status EvalEye(EvalContext& c) {
  const int64_t k = c.attrs().Int("k");
  std::vector<int64_t> ones;
  ForEachIndex(c.out(0).dims(),
               [&](absl::Span<const int64_t> index) { ones.push_back(index[1] - index[0] == k); });
  if (IsFloat(c.out(0).dtype())) {
    Write(std::vector<double>(ones.begin(), ones.end()), &c.out(0));
  } else {
    Write(ones, &c.out(0));
  }
  return absl::OkStatus();
}

}  // namespace

WEFT_DEFINE_OP(arange, OpSpec("arange(SymInt start, SymInt end, SymInt step=1, "
                              "ScalarType dtype=i64) -> Tensor",
                              "The integers start, start + step, ... before `end` "
                              "(after it for a negative step), in an integer dtype "
                              "that keeps their low bits. ATen: aten::arange.")
                           .Infer(InferArange)
                           .Eval(EvalArange)
                           .Map(Absent{"it has no operands"})
                           .Flops(PerResult{0})
                           .Samples(R"(
arange(start=0, end=5)
arange(start=2, end=11, step=3, dtype=i32)
arange(start=5, end=-3, step=-2)
arange(start=5, end=5)
arange(start=5, end=1, dtype=u8)
arange(start=0, end=20, dtype=i4)
arange(start=0, end=1, dtype=u64)
arange(start=0, end=5, step=0) ! "step is 0"
arange(start=0, end=5, dtype=f32) ! "must be an integer, got f32"
)"));

WEFT_DEFINE_OP(range, OpSpec("range(Tensor start, Tensor limit, Tensor delta) "
                             "-> Tensor",
                             "start, start + delta, ... before `limit`: a length "
                             "that depends on the values. ONNX: Range; "
                             "ATen: aten::arange of tensors.")
                          .Traits(kDataDependent)
                          .Infer(InferRange)
                          .Eval(EvalRange)
                          .Flops(PerResult{0})
                          .Samples(R"(
range(f32[]{0}, f32[]{1}, f32[]{0.3})
range(i64[]{2}, i64[]{11}, i64[]{3})
range(i32[]{5}, i32[]{-3}, i32[]{-2})
range(u64[]{1}, u64[]{4}, u64[]{1})
range(f16[]{1}, f16[]{0}, f16[]{1})
range(i8[]{-100}, i8[]{100}, i8[]{100})
range(f32[]{0}, f32[]{1}, f32[1]{1}) ! "delta must have rank 0"
range(f32[], i32[], f32[]) ! "different dtypes"
range(bool[], bool[], bool[]) ! "integer or float"
)"));

WEFT_DEFINE_OP(eye, OpSpec("eye(SymInt n, SymInt m, int k=0, "
                           "ScalarType dtype=f32) -> Tensor",
                           "n rows and m columns with ones on diagonal k "
                           "(positive: above the main one), else zeros. "
                           "ONNX: EyeLike; ATen: aten::eye.m.")
                        .Infer(InferEye)
                        .Eval(EvalEye)
                        .Map(Absent{"it has no operands"})
                        .Flops(PerResult{0})
                        .Samples(R"(
eye(n=3, m=3)
eye(n=2, m=4, k=1, dtype=i64)
eye(n=4, m=2, k=-2, dtype=f16)
eye(n=2, m=2, k=5, dtype=bool)
eye(n=0, m=2, dtype=u64)
eye(n=1, m=1, dtype=i4)
eye(n=-1, m=2) ! "size[0] is negative"
eye(n=1, m=2, dtype=c64) ! "dtype must be real"
)"));

}  // namespace weft::ops
