// Conversion between dtypes.
#include <algorithm>
#include <cmath>
#include <limits>

#include "graph/ops/support/fold.h"
#include "graph/ops/support/op.h"
#include "graph/ops/support/symbolic.h"
#include "graph/sym/sym_facts.h"

namespace weft::ops {
namespace {

absl::StatusOr<Types> Infer(const OpArgs& args) {
  return Types{args.type(0).WithDType(args.attrs().Dtype("dtype"))};
}

// Rounds toward zero; NaN and values out of range give `least`, as the conversion instructions of
// x86 do.
int64_t Truncate(double v, int64_t least) {
  const double end = -static_cast<double>(least);
  const double whole = std::trunc(v);
  return whole >= -end && whole < end ? static_cast<int64_t>(whole) : least;
}

// Narrow integers take the low bits of a 32-bit one, u32 those of a 64-bit one.
void WriteTruncated(const std::vector<double>& values, HostTensor* out) {
  constexpr int64_t kLeast64 = std::numeric_limits<int64_t>::min();
  constexpr int64_t kLeast32 = std::numeric_limits<int32_t>::min();
  const DType dtype = out->dtype();
  const bool wide = dtype == DType::kI64 || dtype == DType::kU64 || dtype == DType::kU32;
  std::vector<int64_t> ints;
  ints.reserve(values.size());
  for (double v : values) {
    if (dtype == DType::kU64 && v >= 0x1p63 && v < 0x1p64) {
      ints.push_back(static_cast<int64_t>(static_cast<uint64_t>(v)));
    } else {
      ints.push_back(Truncate(v, wide ? kLeast64 : kLeast32));
    }
  }
  Write(ints, out);
}

// For floats of a byte.
void WriteSaturated(const std::vector<double>& values, HostTensor* out) {
  uint8_t* bytes = out->data<uint8_t>();
  for (size_t i = 0; i < values.size(); ++i) {
    bytes[i] = static_cast<uint8_t>(EncodeFloat(out->dtype(), values[i], true));
  }
}

absl::Status Eval(EvalContext& c) {
  const HostTensor& in = c.in(0);
  HostTensor& out = c.out(0);
  const DType to = out.dtype();
  if (to == DType::kBool) {
    const auto values = ReadComplex(in);
    std::vector<int64_t> truth(values.size());
    std::transform(values.begin(), values.end(), truth.begin(),
                   [](const auto& v) { return v != 0.0; });
    Write(truth, &out);
  } else if (IsComplex(in.dtype()) || IsComplex(to)) {
    WriteComplex(ReadComplex(in), &out);
  } else if (IsFloat(to) && DTypeBits(to) == 8 && c.attrs().Bool("saturate")) {
    WriteSaturated(in.ReadDoubles(), &out);
  } else if (IsFloat(in.dtype()) && IsInt(to)) {
    WriteTruncated(in.ReadDoubles(), &out);
  } else {
    return EvalUnary(c, [](auto x) { return x; });
  }
  return absl::OkStatus();
}

// Integers stay what they are, as they are taken to fit.
bool SymbolicEval(SymbolicEvalContext& c) {
  const bool to_bool = c.out_type().dtype() == DType::kBool;
  return SymbolicUnary(
      c, [&](SymInt a) { return to_bool ? KnownNot(KnownTruth(c.symbols().ProveEq(a, 0))) : a; });
}

// To the same dtype.
Folded Fold(const OpArgs& args) { return FoldTo(args, 0); }

}  // namespace

WEFT_DEFINE_OP(convert,
               OpSpec("convert(Tensor self, ScalarType dtype, bool saturate=True) -> Tensor",
                      "The same numbers in another dtype. Floats round to nearest even; "
                      "overflow gives infinity, of 8-bit floats the largest value, or with "
                      "saturate=false their infinity or NaN. f4e2m1 always gives the "
                      "largest value, and minus zero for NaN. f8e8m0 has the nearest power of "
                      "two to the magnitude, ties to the larger one, and 2^-127 for 0, as in "
                      "PyTorch. Floats become integers toward "
                      "zero; what does not fit, NaN too, becomes what x86 makes of it, as "
                      "in PyTorch and ONNX Runtime there: the least 64-bit integer for "
                      "i64, u64 and u32, else the least 32-bit one, of which narrower "
                      "dtypes keep the low bits. Integers keep their low bits. bool is "
                      "`self != 0`. Complex numbers lose their imaginary part. ATen: "
                      "aten::_to_copy; `saturate` is ONNX's.")
                   .Traits(kPointwise)
                   .Infer(Infer)
                   .Fold(Fold)
                   .Eval(Eval)
                   .SymbolicEval(SymbolicEval)
                   .Flops(PerResult{0})
                   .Samples(R"(
convert(f32[2, 3], dtype=f64)
convert(f32[2, 3], dtype=f32)
convert(f32[6]{nan, inf, -1.5, 1.5, 300, -inf}, dtype=u8)
convert(i64[3]{-1, 256, 130}, dtype=i8)
convert(i32[3], dtype=i64)
convert(f32[3]{0, nan, 0.5}, dtype=bool)
convert(f32[4]{1000, -inf, nan, 0.3}, dtype=f8e4m3)
convert(f32[4]{1000, -inf, nan, 0.3}, dtype=f8e5m2, saturate=false)
convert(bool[2], dtype=bf16)
convert(i32[4]{-9, 3, 7, 9}, dtype=i4)
convert(f32[9]{0.25, 0.26, 0.75, 1.25, -2.5, 3.5, 5.1, inf, nan}, dtype=f4e2m1)
convert(f4e2m1[9]{-6..6}, dtype=f32)
convert(f32[9]{0, -1, 1.4, 1.5, 3, 1e38, 3e38, inf, nan}, dtype=f8e8m0)
convert(f64[3]{1e-40, 3e38, -inf}, dtype=f8e8m0, saturate=false)
convert(f8e8m0[5]{0.01..3}, dtype=bf16)
convert(i32[5]{-9, 0, 3, 5, 7}, dtype=f4e2m1)
convert(c64[2], dtype=c128)
convert(f32[2], dtype=c64)
)"));

}  // namespace weft::ops
