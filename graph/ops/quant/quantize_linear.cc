// Floats to scaled integers, or to narrow floats.
#include "graph/ir/numeric_contract.h"
#include "graph/ops/ops.h"
#include "graph/ops/quant/arithmetic.h"
#include "graph/ops/quant/scales.h"
#include "graph/ops/support/build.h"
#include "graph/ops/support/op.h"

namespace weft::ops {
namespace {

absl::Status Verify(const OpArgs& args) {
  const DType dtype = args.attrs().Dtype("dtype");
  if (!IsQuantizedDType(dtype)) {
    return Invalid("dtype must be an integer of at most 32 bits, an 8-bit float or f4e2m1, got ",
                   DTypeName(dtype));
  }
  if (args.type(0).dtype() != DType::kI32) {
    WEFT_RETURN_IF_ERROR(CheckFloat(args, 0));
  }
  return VerifyScales(args, dtype);
}

absl::StatusOr<Types> Infer(const OpArgs& args) {
  return Types{args.type(0).WithDType(args.attrs().Dtype("dtype"))};
}

// Reassociating: adding the zero point to the quotient of a narrow float rounds once more.
std::vector<Value*> Decompose(Builder& b, const OpArgs& args) {
  const DType dtype = args.attrs().Dtype("dtype");
  const DType quotient = QuotientDType(args.type(1).dtype(), args.type(0).dtype());
  // f64 holds every integer of 32 bits, f32 those of 16.
  const DType wide = DTypeBits(dtype) == 32 ? DType::kF64 : ComputeDType(quotient);
  Value* scale = Convert(b, args.operand(1), quotient);
  Value* y = b.Op(div, {Convert(b, args.operand(0), quotient), BroadcastScale(b, args, scale)});
  if (IsInt(dtype)) y = b.Op(round, {y});
  y = Convert(b, y, wide);
  if (args.has(2)) {
    Value* zero_point = Convert(b, args.operand(2), wide);
    y = b.Op(add, {y, BroadcastScale(b, args, zero_point)});
  }
  if (IsInt(dtype)) {
    y = b.Op(clamp, {y, b.Scalar(wide, static_cast<double>(IntMin(dtype))),
                     b.Scalar(wide, static_cast<double>(IntMax(dtype)))});
  }
  return {b.Op(convert, {y}, {{"dtype", dtype}, {"saturate", args.attrs().Bool("saturate")}})};
}

absl::Status Eval(EvalContext& c) {
  const DType dtype = c.attrs().Dtype("dtype");
  const ElementQuantizer quantize{dtype, QuotientDType(c.in(1).dtype(), c.in(0).dtype()),
                                  c.attrs().Bool("saturate"), RangeOf(dtype)};
  const ScaleIndex index(c);
  std::vector<double> y = Read<double>(c.in(0));
  const std::vector<double> scale = Read<double>(c.in(1));
  std::vector<double> zero_point(scale.size(), 0);
  if (c.has(2)) zero_point = Read<double>(c.in(2));
  for (size_t i = 0; i < y.size(); ++i) {
    const int64_t k = index(static_cast<int64_t>(i));
    y[i] = quantize(y[i], scale[k], zero_point[k]);
  }
  Write(y, &c.out(0));
  return absl::OkStatus();
}

}  // namespace

WEFT_DEFINE_OP(quantize_linear,
               OpSpec("quantize_linear(Tensor self, Tensor scale, Tensor? zero_point, "
                      "ScalarType dtype, int axis=1, int block_size=0, "
                      "bool saturate=True, int[] block_shape=[]) -> Tensor",
                      "self / scale, rounded to the nearest even integer, plus "
                      "zero_point, clamped to the range of dtype; for floats the "
                      "quotient is converted as `saturate` says. The quotient rounds to "
                      "the dtype of scale, where that is f8e8m0 to f32 (f64 if self is). One scale "
                      "is for the whole tensor, a vector of "
                      "them for the slices along axis, and with block_size they are for "
                      "blocks along axis; block_shape gives blocks a size for each dim, -1 "
                      "for all of it. ONNX: QuantizeLinear-24; ATen: "
                      "quantized_decomposed::quantize_per_tensor and "
                      "quantize_per_channel, which multiply by 1 / scale; block_shape is "
                      "torchao::quantize_affine's block_size.")
                   .Verify(Verify)
                   .Infer(Infer)
                   .Decompose(Decompose)
                   .DecomposeContract(NumericContract::kReassociating)
                   .Eval(Eval)
                   .Flops(PerResult{5, 1})
                   .Samples(R"(
quantize_linear(f32[2, 3, 4]{-300..300}, f32[]{1.7}, u8[]{128}, dtype=u8)
quantize_linear(f32[7]{-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 3.5}, f32[1]{1}, none, dtype=i8)
quantize_linear(f32[2, 3, 4]{-300..300}, f32[3]{0.5, 1, 2}, i8[3]{-1, 0, 5}, dtype=i8)
quantize_linear(f32[2, 3, 4], f32[4]{0.1..0.3}, i4[4]{-2..2}, dtype=i4, axis=-1)
quantize_linear(f32[2, 6, 2], f32[2, 2, 2]{0.1..0.3}, u4[2, 2, 2], dtype=u4, block_size=3)
quantize_linear(f32[7, 2], f32[3, 2]{0.1..0.3}, none, dtype=i16, axis=0, block_size=3)
quantize_linear(f32[2, 3]{-90000..90000}, f32[]{1}, u16[]{32768}, dtype=u16)
quantize_linear(f64[2, 3], f64[]{0.01}, i32[]{3}, dtype=i32)
quantize_linear(i32[2, 3]{-900..900}, f32[]{3}, none, dtype=i8)
quantize_linear(f16[2, 3], f16[]{0.03}, i8[]{3}, dtype=i8)
quantize_linear(bf16[2, 3], f32[]{0.03}, i8[]{3}, dtype=i8)
quantize_linear(f32[2, 3]{-900..900}, f32[]{0.5}, f8e4m3[]{0}, dtype=f8e4m3)
quantize_linear(f32[2, 3]{-90000..90000}, f32[]{0.5}, none, dtype=f8e5m2, saturate=false)
quantize_linear(f32[2, 8], f8e8m0[2, 2]{0.01..3}, none, dtype=f4e2m1, block_size=4)
quantize_linear(bf16[4, 6], f8e8m0[2, 2]{0.01..3}, none, dtype=f8e4m3, block_shape=[2, 4])
quantize_linear(f16[2, 3]{-9..9}, f8e8m0[]{0.5}, f4e2m1[]{0}, dtype=f4e2m1)
quantize_linear(i32[2, 3]{-900..900}, f8e8m0[3]{1..9}, i8[3], dtype=i8)
quantize_linear(f32[0, 3], f32[3], u8[3], dtype=u8)
quantize_linear(f32[3, 2, 4], f32[3, 1, 1]{0.1..0.3}, i8[3, 1, 1], dtype=i8, block_shape=[1, -1, -1])
quantize_linear(f32[3, 2, 4], f32[3, 2, 1]{0.1..0.3}, none, dtype=i8, block_shape=[1, 1, -1])
quantize_linear(f32[5, 6], f32[3, 2]{0.01..0.03}, none, dtype=f8e4m3, block_shape=[2, 4])
quantize_linear(f32[0, 3], f32[1, 3], u8[1, 3], dtype=u8, block_shape=[-1, 1])
quantize_linear(f32[2, 3], f32[4], none, dtype=i8) ! "scale and dim 1: 4 and 3 differ"
quantize_linear(f32[2, 3], f32[2, 3], none, dtype=i8) ! "scale must have rank 1"
quantize_linear(f32[2, 3], f32[3], i8[2], dtype=i8) ! "scale and zero_point: 3 and 2 differ"
quantize_linear(f32[2, 3], f32[3], u8[3], dtype=i8) ! "zero_point must have dtype i8"
quantize_linear(f32[2, 6], f32[2, 3], none, dtype=i8, block_size=4) ! "scale in dim 1: 3 and 2 differ"
quantize_linear(f32[2, 6], f32[3], none, dtype=i8, block_size=2) ! "scale must have rank 2"
quantize_linear(f32[2, 6], f32[6], none, dtype=i8, axis=2) ! "out of range"
quantize_linear(f32[2, 6], f32[1, 3], none, dtype=i8, block_shape=[2, 3]) ! "scale in dim 1: 3 and 2 differ"
quantize_linear(f32[2, 6], f32[1], none, dtype=i8, block_shape=[2, 6]) ! "scale must have rank 2"
quantize_linear(f32[2, 6], f32[1, 1], none, dtype=i8, block_shape=[2]) ! "must have 2 sizes, got 1"
quantize_linear(f32[2, 6], f32[1, 1], none, dtype=i8, block_shape=[2, 0]) ! "positive or -1, got 0"
quantize_linear(f32[2, 6], f32[1, 1], none, dtype=i8, block_size=2, block_shape=[2, 6]) ! "exclude each other"
quantize_linear(f32[2, 6], f32[], none, dtype=f16) ! "an 8-bit float or f4e2m1, got f16"
quantize_linear(f32[2, 6], f32[], none, dtype=f8e8m0) ! "an 8-bit float or f4e2m1, got f8e8m0"
quantize_linear(f32[2, 6], f4e2m1[], none, dtype=i8) ! "scale must have a float dtype"
quantize_linear(f32[2, 6], f32[], none, dtype=i64) ! "at most 32 bits"
quantize_linear(i8[2, 6], f32[], none, dtype=i8) ! "self must have a float dtype"
quantize_linear(f32[2, 6], i32[], none, dtype=i8) ! "scale must have a float dtype"
)"));

}  // namespace weft::ops
