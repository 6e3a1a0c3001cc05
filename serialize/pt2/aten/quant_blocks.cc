// Quantisation by token, group and block: torch.ops.quantized_decomposed and
// torch.ops.torchao.
#include "graph/ir/builder.h"
#include "graph/ops/ops.h"
#include "serialize/pt2/aten/quant_parts.h"
#include "serialize/pt2/aten/tables.h"
#include "serialize/pt2/build.h"

namespace weft::pt2 {
namespace {

// --- Rows and groups ----------------------------------------------------------------

Granularity ByToken(AtenCall& c, const Value* x) { return InBlocks(x, RowBlocks(c, x)); }

void QuantizePerToken(AtenCall& c) {
  Value* x = c.T("input");
  c.Return(QuantizeLinear(c, x, c.T("scales"), c.T("zero_points"), c.Dtype("dtype", DType::kI8),
                          ByToken(c, x)));
}

void DequantizePerToken(AtenCall& c) {
  Value* q = c.T("input");
  c.Return(DequantizeLinear(c, q, c.T("scales"), c.T("zero_points"),
                            c.Dtype("output_dtype", DType::kF32), ByToken(c, q)));
}

// `group_size` elements of each row; a longer group is the whole row.
Granularity ByGroup(AtenCall& c, const Value* x, const Value* scales) {
  const int64_t size = c.Int("group_size");
  if (RankOf(x) != 2 || size < 1) c.Fail("groups need a matrix and a positive group_size");
  const bool row = DimOf(x, 1).Is(size) || DimOf(scales, RankOf(scales) - 1).Is(1);
  return InBlocks(x, {1, row ? -1 : size});
}

void QuantizePerGroup(AtenCall& c) {
  Value* x = c.T("input");
  Value* scales = c.T("scales");
  c.Return(QuantizeLinear(c, x, scales, c.T("zero_points"), c.Dtype("dtype", DType::kI8),
                          ByGroup(c, x, scales)));
}

void DequantizePerGroup(AtenCall& c) {
  Value* q = c.T("input");
  Value* scales = c.T("scales");
  c.Return(DequantizeLinear(c, q, scales, c.OptT("zero_points"),
                            c.Dtype("output_dtype", DType::kF32), ByGroup(c, q, scales)));
}

// --- torchao's blocks ---------------------------------------------------------------

void QuantizeAffine(AtenCall& c) {
  Value* x = c.T("input");
  c.Return(QuantizeLinear(c, x, c.T("scale"), c.OptT("zero_point"),
                          c.Dtype("output_dtype", DType::kI8), InBlocks(x, BlocksOf(c, x))));
}

void DequantizeAffine(AtenCall& c) {
  Value* q = c.T("input");
  c.Return(DequantizeLinear(c, q, c.T("scale"), c.OptT("zero_point"),
                            c.Dtype("output_dtype", DType::kF32), InBlocks(q, BlocksOf(c, q))));
}

// --- Products and casts -------------------------------------------------------------

// Weights of i8 with a scale for each row; summed in f32.
void WeightInt8Matmul(AtenCall& c) {
  Value* x = c.T("self");
  Value* weight = c.T("mat2");
  Value* w = DequantizeLinear(c, weight, c.T("scales"), nullptr, DType::kF32, AlongAxis(weight, 0));
  Value* y = c.Op(ops::linear, {Convert(c, x, DType::kF32), w, nullptr});
  c.Return(Convert(c, y, DTypeOf(x)));
}

void ConvertWithoutFusing(AtenCall& c) {
  c.Return(Convert(c, c.T("input"), c.Dtype("dtype", DType::kF32)));
}

constexpr AtenOp kTable[] = {
    {"_weight_int8pack_mm(Tensor self, Tensor mat2, Tensor scales) -> Tensor", WeightInt8Matmul},
    {"quantized_decomposed::convert_element_type.no_fuse(Tensor input, ScalarType dtype) -> "
     "Tensor",
     ConvertWithoutFusing},
    {"quantized_decomposed::dequantize_per_channel_group(Tensor input, Tensor scales, Tensor? "
     "zero_points, int quant_min, int quant_max, ScalarType dtype, int group_size, ScalarType "
     "output_dtype) -> Tensor",
     DequantizePerGroup},
    {"quantized_decomposed::dequantize_per_token(Tensor input, Tensor scales, Tensor zero_points, "
     "int quant_min, int quant_max, ScalarType dtype, ScalarType output_dtype) -> Tensor",
     DequantizePerToken},
    {"quantized_decomposed::quantize_per_channel_group(Tensor input, Tensor scales, Tensor "
     "zero_points, int quant_min, int quant_max, ScalarType dtype, int group_size) -> Tensor",
     QuantizePerGroup},
    {"quantized_decomposed::quantize_per_token(Tensor input, Tensor scales, Tensor zero_points, "
     "int quant_min, int quant_max, ScalarType dtype) -> Tensor",
     QuantizePerToken},
    {"torchao::dequantize_affine(Tensor input, SymInt[] block_size, Tensor scale, Tensor? "
     "zero_point, ScalarType input_dtype, Scalar? quant_min=None, Scalar? quant_max=None, "
     "ScalarType output_dtype=6) -> Tensor",
     DequantizeAffine},
    {"torchao::quantize_affine(Tensor input, SymInt[] block_size, Tensor scale, Tensor? "
     "zero_point, ScalarType output_dtype, Scalar? quant_min=None, Scalar? quant_max=None) -> "
     "Tensor",
     QuantizeAffine},
};

}  // namespace

absl::Span<const AtenOp> QuantBlocksTable() { return kTable; }

}  // namespace weft::pt2
