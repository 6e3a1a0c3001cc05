// Matmul of 8-bit floats.
#include "graph/ir/numeric_contract.h"
#include "graph/ops/nn/product.h"
#include "graph/ops/ops.h"
#include "graph/ops/support/build.h"
#include "graph/ops/support/op.h"

namespace weft::ops {
namespace {

absl::Status Verify(const OpArgs& args) {
  for (int i = 0; i < 2; ++i) {
    const DType dtype = args.type(i).dtype();
    if (dtype == DType::kF8E4M3 || dtype == DType::kF8E5M2) continue;
    return Invalid("operand ", i, " must be of f8e4m3 or f8e5m2, got ", DTypeName(dtype));
  }
  WEFT_RETURN_IF_ERROR(CheckRankAtLeast(args, 0, 1));
  return CheckRankAtLeast(args, 1, 2);
}

absl::StatusOr<Types> Infer(const OpArgs& args) {
  WEFT_ASSIGN_OR_RETURN(const Types types, InferMatmul(args));
  return Types{types[0].WithDType(DType::kF32)};
}

// Exact, as the elements are numbers of f32.
std::vector<Value*> Decompose(Builder& b, const OpArgs& args) {
  Value* self = Convert(b, args.operand(0), DType::kF32);
  return {b.Op(matmul, {self, Convert(b, args.operand(1), DType::kF32)})};
}

}  // namespace

WEFT_DEFINE_OP(matmul_float8, OpSpec("matmul_float8(Tensor self, Tensor other) -> Tensor",
                                     "matmul(self, other) in f32 of 8-bit floats, each of f8e4m3 "
                                     "or f8e5m2. ATen: aten::_scaled_mm without its scales.")
                                  .Verify(Verify)
                                  .Infer(Infer)
                                  .Decompose(Decompose)
                                  .Flops(FlopsOfMatmul)
                                  .Samples(R"(
matmul_float8(f8e4m3[3, 40], f8e4m3[40, 5])
matmul_float8(f8e5m2[2, 3, 33], f8e4m3[33, 17])
matmul_float8(f8e4m3[2, 3, 4], f8e5m2[2, 4, 5])
matmul_float8(f8e4m3[4], f8e4m3[4, 5])
matmul_float8(f8e5m2[3, 0], f8e5m2[0, 2])
matmul_float8(f8e4m3[0, 3], f8e4m3[3, 2])
matmul_float8(f8e4m3[3, 4], f8e4m3[5, 2]) ! "the contracted sizes: 4 and 5 differ"
matmul_float8(f32[3, 4], f8e4m3[4, 2]) ! "operand 0 must be of f8e4m3 or f8e5m2, got f32"
matmul_float8(f8e4m3[3, 4], f8e4m3[4]) ! "at least rank 2"
)"));

}  // namespace weft::ops
