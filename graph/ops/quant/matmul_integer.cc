// Matmul of quantized integers.
#include "graph/ops/nn/product.h"
#include "graph/ops/ops.h"
#include "graph/ops/quant/integers.h"
#include "graph/ops/support/op.h"

namespace weft::ops {
namespace {

absl::Status Verify(const OpArgs& args) {
  WEFT_RETURN_IF_ERROR(CheckRankAtLeast(args, 0, 1));
  WEFT_RETURN_IF_ERROR(CheckRankAtLeast(args, 1, 2));
  return VerifyIntegers(args, args.type(1).dim(args.type(1).rank() - 1));
}

absl::StatusOr<Types> Infer(const OpArgs& args) {
  WEFT_ASSIGN_OR_RETURN(const Types types, InferMatmul(args));
  return Types{types[0].WithDType(DType::kI32)};
}

std::vector<Value*> Decompose(Builder& b, const OpArgs& args) {
  Value* self = Centered(b, args, 0, 0);
  Value* other = Centered(b, args, 1, args.type(1).rank() - 1);
  return {b.Op(matmul, {self, other})};
}

}  // namespace

WEFT_DEFINE_OP(matmul_integer,
               OpSpec("matmul_integer(Tensor self, Tensor other, Tensor? self_zero_point, "
                      "Tensor? other_zero_point) -> Tensor",
                      "matmul(self - self_zero_point, other - other_zero_point) in i32, which "
                      "wraps. self has one zero point, other one or one for each column. ONNX: "
                      "MatMulInteger-10; ATen: aten::_int_mm.")
                   .Verify(Verify)
                   .Infer(Infer)
                   .Decompose(Decompose)
                   .Flops(FlopsOfMatmul)
                   .Samples(R"(
matmul_integer(u8[3, 40]{0..255}, i8[40, 5]{-128..127}, u8[]{128}, none)
matmul_integer(i8[3, 7]{-128..127}, i8[7, 19]{-128..127}, i8[]{-3}, none)
matmul_integer(u8[2, 3, 33]{0..255}, i8[33, 17]{-128..127}, none, none)
matmul_integer(u8[3, 4]{0..255}, u8[4, 5]{0..255}, u8[1]{7}, u8[5]{0..255})
matmul_integer(u8[4]{0..255}, i8[4, 5]{-128..127}, u8[]{255}, i8[]{-128})
matmul_integer(u8[2, 3, 4], i8[2, 4, 5], none, i8[5])
matmul_integer(u8[3, 0], i8[0, 2], u8[], none)
matmul_integer(u8[0, 3], i8[3, 2], none, none)
matmul_integer(u8[3, 4], i8[5, 2], none, none) ! "the contracted sizes: 4 and 5 differ"
matmul_integer(i32[3, 4], i8[4, 2], none, none) ! "operand 0 must be of i8 or u8, got i32"
matmul_integer(u8[3, 4], i8[4, 2], u8[3], none) ! "must have one zero point"
matmul_integer(u8[3, 4], i8[4, 2], i8[], none) ! "self_zero_point must have dtype u8"
matmul_integer(u8[3, 4], i8[4, 2], none, i8[3]) ! "zero points and channels: 3 and 2 differ"
matmul_integer(u8[3, 4], i8[4], none, none) ! "at least rank 2"
)"));

}  // namespace weft::ops
