// Convolution of quantized integers.
#include "graph/ops/nn/product.h"
#include "graph/ops/ops.h"
#include "graph/ops/quant/integers.h"
#include "graph/ops/support/op.h"

namespace weft::ops {
namespace {

absl::Status Verify(const OpArgs& args) {
  const OpArgs two = WithoutZeroPoints(args);
  WEFT_RETURN_IF_ERROR(VerifyConvolution(two));
  return VerifyIntegers(args, args.type(1).dim(0));
}

absl::StatusOr<Types> Infer(const OpArgs& args) {
  WEFT_ASSIGN_OR_RETURN(const Types types, InferConvolution(WithoutZeroPoints(args)));
  return Types{types[0].WithDType(DType::kI32)};
}

// Padding adds zeros to the centered values.
std::vector<Value*> Decompose(Builder& b, const OpArgs& args) {
  Value* input = Centered(b, args, 0, 0);
  Value* weight = Centered(b, args, 1, 0);
  const std::vector<Value*> made = b.Create(convolution, {input, weight, nullptr}, args.attr_list);
  return {made.empty() ? nullptr : made[0]};
}

}  // namespace

WEFT_DEFINE_OP(convolution_integer,
               OpSpec("convolution_integer(Tensor input, Tensor weight, "
                      "Tensor? input_zero_point, Tensor? weight_zero_point, "
                      "SymInt[] stride, SymInt[] padding, SymInt[] dilation, "
                      "bool transposed=False, SymInt[] output_padding=[], "
                      "SymInt groups=1) -> Tensor",
                      "convolution(input - input_zero_point, weight - weight_zero_point) in i32, "
                      "which wraps; padding stands for the zero point. input has one zero point, "
                      "weight one or one for each slice of its dim 0. ONNX: ConvInteger-10.")
                   .Verify(Verify)
                   .Infer(Infer)
                   .Decompose(Decompose)
                   .Flops(FlopsOfConvolution)
                   .Samples(R"(
convolution_integer(u8[1, 16, 8, 7]{0..255}, i8[4, 16, 3, 3]{-128..127}, u8[]{128}, none, stride=[1, 1], padding=[1, 1], dilation=[1, 1])
convolution_integer(u8[1, 19, 9]{0..255}, i8[4, 19, 3]{-128..127}, u8[]{3}, none, stride=[2], padding=[0], dilation=[2])
convolution_integer(i8[2, 16, 5, 5]{-128..127}, i8[17, 16, 1, 1]{-128..127}, i8[]{-7}, none, stride=[2, 2], padding=[0, 0], dilation=[1, 1])
convolution_integer(u8[1, 2, 6, 5]{0..255}, u8[3, 2, 2, 3]{0..255}, none, u8[3]{0..255}, stride=[2, 1], padding=[0, 1, 1, 2], dilation=[1, 1])
convolution_integer(u8[1, 4, 5, 5]{0..255}, i8[6, 2, 3, 3]{-128..127}, u8[]{255}, none, stride=[1, 1], padding=[1, 1], dilation=[1, 1], groups=2)
convolution_integer(u8[1, 2, 5]{0..255}, i8[2, 3, 3]{-128..127}, u8[]{9}, none, stride=[1], padding=[0], dilation=[1], transposed=true)
convolution_integer(u8[0, 2, 5], i8[3, 2, 3], none, none, stride=[1], padding=[1], dilation=[1])
convolution_integer(u8[1, 2, 5], i8[3, 4, 3], none, none, stride=[1], padding=[1], dilation=[1]) ! "the input channels: 2 and 4 differ"
convolution_integer(f32[1, 2, 5], i8[3, 2, 3], none, none, stride=[1], padding=[1], dilation=[1]) ! "operand 0 must be of i8 or u8, got f32"
convolution_integer(u8[1, 2, 5], i8[3, 2, 3], u8[2], none, stride=[1], padding=[1], dilation=[1]) ! "must have one zero point"
convolution_integer(u8[1, 2, 5], i8[3, 2, 3], none, i8[2], stride=[1], padding=[1], dilation=[1]) ! "zero points and channels: 2 and 3 differ"
convolution_integer(u8[1, 2, 5], i8[3, 2], none, none, stride=[1], padding=[1], dilation=[1]) ! "weight must have rank 3"
)"));

}  // namespace weft::ops
