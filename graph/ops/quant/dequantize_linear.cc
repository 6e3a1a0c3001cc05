// Scaled integers, or narrow floats, to floats.
#include "graph/ir/numeric_contract.h"
#include "graph/ops/ops.h"
#include "graph/ops/quant/arithmetic.h"
#include "graph/ops/quant/scales.h"
#include "graph/ops/support/build.h"
#include "graph/ops/support/op.h"

namespace weft::ops {
namespace {

absl::Status Verify(const OpArgs& args) {
  const DType quantized = args.type(0).dtype();
  if (!IsQuantizedDType(quantized)) {
    return Invalid("self must be of integers of at most 32 bits, 8-bit floats or f4e2m1, got ",
                   DTypeName(quantized));
  }
  const DType dtype = args.attrs().Dtype("dtype");
  if (!IsFloat(dtype) || IsStorageFloat(dtype)) {
    return Invalid("dtype must be a float, got ", DTypeName(dtype));
  }
  // A zero point between two integers has the dtype of the scale.
  const DType scale = args.type(1).dtype();
  const bool between =
      IsInt(quantized) && args.has(2) && IsFloat(args.type(2).dtype()) && !IsStorageFloat(scale);
  return VerifyScales(args, between ? scale : quantized);
}

absl::StatusOr<Types> Infer(const OpArgs& args) {
  return Types{args.type(0).WithDType(args.attrs().Dtype("dtype"))};
}

// Bit-exact: the difference of integers is exact, and the product rounds as Eval's does.
std::vector<Value*> Decompose(Builder& b, const OpArgs& args) {
  const DType dtype = args.attrs().Dtype("dtype");
  const DType wide = ProductDType(args.type(1).dtype(), dtype);
  const DType quantized = args.type(0).dtype();
  Value* x = args.operand(0);
  if (args.has(2)) {
    // The difference of two integers is exact.
    const bool floats = !IsInt(quantized) || IsFloat(args.type(2).dtype());
    const DType exact = floats ? wide : DTypeBits(quantized) < 32 ? DType::kI32 : DType::kI64;
    Value* zero_point = Convert(b, args.operand(2), exact);
    x = b.Op(sub, {Convert(b, x, exact), BroadcastScale(b, args, zero_point)});
  }
  Value* scale = Convert(b, args.operand(1), wide);
  x = b.Op(mul, {Convert(b, x, wide), BroadcastScale(b, args, scale)});
  return {Convert(b, x, dtype)};
}

absl::Status Eval(EvalContext& c) {
  const DType dtype = c.attrs().Dtype("dtype");
  const DType wide = ProductDType(c.in(1).dtype(), dtype);
  const ScaleIndex index(c);
  std::vector<double> x = Read<double>(c.in(0));
  const std::vector<double> scale = Read<double>(c.in(1));
  std::vector<double> zero_point(scale.size(), 0);
  if (c.has(2)) zero_point = Read<double>(c.in(2));
  const bool floats = c.has(2) && IsFloat(c.in(2).dtype());
  for (size_t i = 0; i < x.size(); ++i) {
    const int64_t k = index(static_cast<int64_t>(i));
    const double q = floats ? RoundTo(wide, x[i]) : x[i];
    x[i] = Dequantized(wide, q, scale[k], zero_point[k]);
  }
  Write(x, &c.out(0));
  return absl::OkStatus();
}

}  // namespace

WEFT_DEFINE_OP(
    dequantize_linear,
    OpSpec("dequantize_linear(Tensor self, Tensor scale, Tensor? zero_point, "
           "ScalarType dtype=f32, int axis=1, int block_size=0, int[] block_shape=[]) -> Tensor",
           "(self - zero_point) * scale, with scales as in quantize_linear and a "
           "zero point of self's dtype or, for integers, of that of scale; "
           "the product rounds to f32, or f64 where scale or the result is "
           "f64, and then to dtype. ONNX: DequantizeLinear-24; ATen: "
           "quantized_decomposed::dequantize_per_tensor and "
           "dequantize_per_channel, torchao::dequantize_affine.")
        .Verify(Verify)
        .Infer(Infer)
        .Decompose(Decompose)
        .DecomposeContract(NumericContract::kBitExact)
        .Eval(Eval)
        .Flops(PerResult{2})
        .Samples(R"(
dequantize_linear(u8[2, 3, 4]{0..255}, f32[]{1.7}, u8[]{128})
dequantize_linear(i8[2, 3, 4]{-128..127}, f32[1]{1.7}, none)
dequantize_linear(i8[2, 3, 4]{-128..127}, f32[3]{0.1..0.3}, i8[3])
dequantize_linear(u4[2, 3, 4]{0..15}, f32[4]{0.1..0.3}, u4[4], axis=-1)
dequantize_linear(i4[2, 7, 2]{-8..7}, f16[2, 3, 2]{0.1..0.3}, i4[2, 3, 2], dtype=f16, block_size=3)
dequantize_linear(i16[6, 2], bf16[2, 2]{0.1..0.3}, none, dtype=bf16, axis=0, block_size=3)
dequantize_linear(u16[3]{0..65535}, f32[]{0.5}, u16[]{32768})
dequantize_linear(i32[2, 3]{-2000000000..2000000000}, f32[]{0.01}, i32[]{-2000000000})
dequantize_linear(i32[2, 3]{-900..900}, f64[3]{0.1..0.3}, none, dtype=f64)
dequantize_linear(f8e4m3[2, 3], f32[]{0.5}, f8e4m3[]{0})
dequantize_linear(f8e5m2[2, 3], f16[]{0.5}, none, dtype=f16)
dequantize_linear(f4e2m1[2, 8]{-6..6}, f8e8m0[2, 2]{0.01..3}, none, block_size=4)
dequantize_linear(f8e4m3[4, 6], f8e8m0[2, 2]{0.01..3}, none, dtype=bf16, block_shape=[2, 4])
dequantize_linear(f4e2m1[2, 8]{-6..6}, f32[2, 1]{0.1..0.3}, none, block_size=8)
dequantize_linear(u8[2, 3], f8e8m0[]{0.25}, u8[], dtype=f64)
dequantize_linear(i8[0, 3], f32[3], i8[3])
dequantize_linear(i8[3, 2, 4], f32[3, 2, 1]{0.1..0.3}, i8[3, 2, 1], block_shape=[1, 1, -1])
dequantize_linear(f8e4m3[5, 6], f32[3, 2]{0.1..0.3}, none, dtype=bf16, block_shape=[2, 4])
dequantize_linear(u4[3, 6]{0..15}, f32[3, 2]{0.1..0.3}, f32[3, 2]{6.5..8.5}, block_size=3)
dequantize_linear(i32[3]{16777217, -5, 7}, f16[]{0.5}, f16[]{0.25}, dtype=f16)
dequantize_linear(i8[2, 3], f32[2], none) ! "scale and dim 1: 2 and 3 differ"
dequantize_linear(i8[2, 3], f32[], u8[]) ! "zero_point must have dtype i8"
dequantize_linear(i8[2, 3], f16[], f32[]) ! "zero_point must have dtype f16"
dequantize_linear(f8e4m3[2, 3], f32[], f32[]) ! "zero_point must have dtype f8e4m3"
dequantize_linear(i8[2, 3], f32[1, 3], none, block_shape=[2, 2]) ! "scale in dim 1: 3 and 2 differ"
dequantize_linear(i8[2, 3], f32[], none, dtype=i8) ! "dtype must be a float"
dequantize_linear(i64[2, 3], f32[], none) ! "at most 32 bits"
dequantize_linear(f16[2, 3], f32[], none) ! "8-bit floats or f4e2m1, got f16"
dequantize_linear(f8e8m0[2, 3], f32[], none) ! "8-bit floats or f4e2m1, got f8e8m0"
dequantize_linear(i8[2, 3], f8e8m0[], f8e8m0[]) ! "zero_point must have dtype i8"
dequantize_linear(i8[2, 3], f32[], none, dtype=f4e2m1) ! "dtype must be a float"
dequantize_linear(i8[2, 3], f32[], none, block_size=-1) ! "block_size is negative"
)"));

}  // namespace weft::ops
