// Floats as they are after quantization.
#include "graph/ir/numeric_contract.h"
#include "graph/ops/ops.h"
#include "graph/ops/quant.h"
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
  WEFT_RETURN_IF_ERROR(CheckFloat(args, 0));
  WEFT_RETURN_IF_ERROR(VerifyRange(dtype, args.attrs()));
  return VerifyScales(args, dtype);
}

std::vector<Value*> Decompose(Builder& b, const OpArgs& args) {
  const Attrs attrs = args.attrs();
  const DType dtype = attrs.Dtype("dtype");
  const int64_t axis = attrs.Int("axis");
  const int64_t block_size = attrs.Int("block_size");
  const std::vector<int64_t> shape = attrs.Ints("block_shape");
  Value* scale = args.operand(1);
  Value* zero_point = args.has(2) ? args.operand(2) : nullptr;
  Value* q = BuildQuantizeLinear(b, args.operand(0), scale, zero_point, dtype, axis, block_size,
                                 /*saturate=*/true, shape);
  // The dtype's own bounds are met already.
  if (attrs.Has("quant_min") || attrs.Has("quant_max")) {
    const QuantRange range = RangeOf(dtype, attrs);
    q = b.Op(clamp, {q, b.Scalar(dtype, range.low), b.Scalar(dtype, range.high)});
  }
  return {BuildDequantizeLinear(b, q, scale, zero_point, args.type(0).dtype(), axis, block_size,
                                shape)};
}

absl::Status Eval(EvalContext& c) {
  const Attrs attrs = c.attrs();
  const DType dtype = attrs.Dtype("dtype");
  const DType scale_dtype = c.in(1).dtype();
  const ElementQuantizer quantize{dtype, QuotientDType(scale_dtype, c.in(0).dtype()),
                                  /*saturate=*/true, RangeOf(dtype, attrs)};
  const DType wide = ProductDType(scale_dtype, c.in(0).dtype());
  const ScaleIndex index(c);
  std::vector<double> x = Read<double>(c.in(0));
  const std::vector<double> scale = Read<double>(c.in(1));
  std::vector<double> zero_point(scale.size(), 0);
  if (c.has(2)) zero_point = Read<double>(c.in(2));
  for (size_t i = 0; i < x.size(); ++i) {
    const int64_t k = index(static_cast<int64_t>(i));
    const double q = quantize(x[i], scale[k], zero_point[k]);
    x[i] = Dequantized(wide, q, scale[k], zero_point[k]);
  }
  Write(x, &c.out(0));
  return absl::OkStatus();
}

}  // namespace

WEFT_DEFINE_OP(fake_quantize,
               OpSpec("fake_quantize(Tensor self, Tensor scale, Tensor? zero_point, "
                      "ScalarType dtype, int? quant_min=None, int? quant_max=None, int axis=1, "
                      "int block_size=0, int[] block_shape=[]) -> Tensor",
                      "dequantize_linear of what quantize_linear gives, limited to quant_min "
                      "and quant_max, in the dtype of self; scales are as there. ATen: "
                      "aten::fake_quantize_per_tensor_affine and "
                      "fake_quantize_per_channel_affine, which multiply by 1 / scale.")
                   .Verify(Verify)
                   .Infer(InferSame)
                   .Decompose(Decompose)
                   .DecomposeContract(NumericContract::kReassociating)
                   .Eval(Eval)
                   .Flops(PerResult{7, 1})
                   .Samples(R"(
fake_quantize(f32[2, 3, 4]{-300..300}, f32[]{1.7}, u8[]{128}, dtype=u8)
fake_quantize(f32[7]{-2.5, -1.5, nan, 0.5, inf, 250, -inf}, f32[1]{1}, none, dtype=i8)
fake_quantize(f32[2, 3, 4]{-300..300}, f32[3]{0.5, 1, 2}, i8[3]{-1, 0, 5}, dtype=i8)
fake_quantize(f32[2, 3]{-300..300}, f32[3]{0.5, 1, 2}, none, dtype=i8, quant_min=-127)
fake_quantize(f32[2, 3]{-300..300}, f32[]{1}, u8[]{3}, dtype=u8, quant_min=1, quant_max=100)
fake_quantize(f32[2, 3]{nan, 0.5, 250, nan, -7, 3}, f32[]{1}, u8[]{3}, dtype=u8, quant_min=1, quant_max=100)
fake_quantize(f16[2, 6, 2], f32[2, 2, 2]{0.1..0.3}, u4[2, 2, 2], dtype=u4, block_size=3)
fake_quantize(bf16[3, 2, 4], f32[3, 2, 1]{0.1..0.3}, none, dtype=i4, quant_max=6, block_shape=[1, 1, -1])
fake_quantize(f64[2, 3], f64[]{0.01}, i32[]{3}, dtype=i32)
fake_quantize(f32[2, 3]{-900..900}, f32[]{0.5}, none, dtype=f8e4m3)
fake_quantize(f32[0, 3], f32[3], u8[3], dtype=u8)
fake_quantize(i32[2, 3], f32[], none, dtype=i8) ! "self must have a float dtype"
fake_quantize(f32[2, 3], f32[4], none, dtype=i8) ! "scale and dim 1: 4 and 3 differ"
fake_quantize(f32[2, 3], f32[3], i32[3], dtype=i8) ! "zero_point must have dtype i8"
fake_quantize(f32[2, 3], f32[], none, dtype=i64) ! "at most 32 bits"
fake_quantize(f32[2, 3], f32[], none, dtype=i8, quant_min=-129) ! "from -129 to 127 is not within that of i8"
fake_quantize(f32[2, 3], f32[], none, dtype=i8, quant_min=3, quant_max=3) ! "quant_min 3 must be less than quant_max 3"
fake_quantize(f32[2, 3], f32[], none, dtype=f8e5m2, quant_max=3) ! "quant_min and quant_max are of integers"
)"));

}  // namespace weft::ops
