// Parameters of quantisation that are chosen at run time: torch.ops.quantized_decomposed
// and torch.ops.torchao.
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "graph/ir/builder.h"
#include "graph/ops/ops.h"
#include "graph/ops/quant.h"
#include "graph/sym/sym_ops.h"
#include "serialize/pt2/aten/quant_parts.h"
#include "serialize/pt2/aten/tables.h"
#include "serialize/pt2/build.h"

namespace weft::pt2 {
namespace {

// Where the smallest scale is not an argument.
constexpr double kEpsF32 = 1.1920928955078125e-07;
constexpr double kLeastNormalF32 = 1.1754943508222875e-38;
constexpr double kLeastNormalF16 = 6.103515625e-05;

struct Chosen {
  Value* scale = nullptr;
  Value* zero = nullptr;
};

// The zero point is of an integer dtype that holds the limits.
Chosen Choose(AtenCall& c, Value* x, const QuantLimits& limits, DType like, bool symmetric,
              double eps, const Ints& blocks) {
  const auto dtype = DTypeFor(limits, like);
  if (!dtype) {
    c.Unsupported(absl::StrCat("a range from ", limits.low, " to ", limits.high));
    return {};
  }
  std::optional<int64_t> low, high;
  if (limits.low != IntMin(*dtype)) low = limits.low;
  if (limits.high != IntMax(*dtype)) high = limits.high;
  const std::vector<Value*> chosen =
      ops::BuildChooseQparams(c, x, *dtype, low, high, symmetric ? "symmetric" : "affine", eps,
                              /*axis=*/std::nullopt, /*block_size=*/0, blocks);
  return {chosen[0], chosen[1]};
}

// Of the whole tensor, as f64[1] and i64[1].
void ReturnVectors(AtenCall& c, Value* scale, Value* zero) {
  c.Return(Convert(c, Reshape(c, scale, {SymInt(1)}), DType::kF64));
  c.Return(Convert(c, Reshape(c, zero, {SymInt(1)}), DType::kI64));
}

void ChooseQParams(AtenCall& c) {
  const DType dtype = c.Dtype("dtype", DType::kI8);
  const Chosen chosen =
      Choose(c, Convert(c, c.T("input"), DType::kF32), QuantLimitsOf(c, dtype), dtype,
             /*symmetric=*/false, c.Float("eps"), {});
  ReturnVectors(c, chosen.scale, chosen.zero);
}

// Zero is in the middle of u8, whatever the limits.
void ChooseQParamsSymmetric(AtenCall& c) {
  const DType dtype = c.Dtype("dtype", DType::kI8);
  const Chosen chosen =
      Choose(c, Convert(c, c.T("input"), DType::kF32), QuantLimitsOf(c, dtype), dtype,
             /*symmetric=*/true, c.Float("eps"), {});
  ReturnVectors(c, chosen.scale, Number(c, DType::kI64, dtype == DType::kU8 ? 128 : 0));
}

// The largest magnitude of each row over 127, and zeros in the dtype of the scales.
void ChoosePerToken(AtenCall& c) {
  Value* x = c.T("input");
  if (c.Dtype("dtype", DType::kI8) != DType::kI8) {
    return c.Return(c.Unsupported("a dtype other than int8"));
  }
  const double least = static_cast<double>(1e-5f / 127.0f);
  const DType result = DTypeOf(x) == DType::kF16 ? DType::kF32 : DTypeOf(x);
  Value* scale =
      Choose(c, x, {-127, 127}, DType::kI8, /*symmetric=*/true, least, RowBlocks(c, x)).scale;
  c.Return(Convert(c, scale, result));
  c.Return(Zeros(c, DimsOf(scale), result));
}

// The zero point comes from the end of the range whose error is the smaller one.
void ChoosePerTokenAsymmetric(AtenCall& c) {
  Value* x = c.T("input");
  const Ints rows = {RankOf(x) - 1};
  Value* none = NumberLike(c, x, 0);
  Value* least = c.Op(ops::minimum, {Reduce(c, ops::amin, x, rows, true), none});
  Value* most = c.Op(ops::maximum, {Reduce(c, ops::amax, x, rows, true), none});
  Value* scale = Div(c, Sub(c, most, least), 255.0);
  scale = c.Op(ops::maximum, {scale, NumberLike(c, scale, kEpsF32)});
  const auto from = [&](double end, Value* v) { return Sub(c, NumberLike(c, v, end), v); };
  Value* low = Div(c, least, scale);
  Value* high = Div(c, most, scale);
  Value* error = Add(c, Add(c, low, -128.0), Add(c, high, 127.0));
  Value* zero =
      Where(c, c.Op(ops::gt, {error, NumberLike(c, error, 0)}), from(-128, low), from(127, high));
  zero = c.Op(ops::clamp, {zero, NumberLike(c, zero, -128), NumberLike(c, zero, 127)});
  c.Return(Convert(c, scale, DType::kF64));
  c.Return(Convert(c, c.Op(ops::round, {zero}), DType::kI64));
}

// The least and the largest element of each block, 0 included, with the sizes of scales.
struct Extrema {
  Value* least;
  Value* most;
};
Extrema ExtremaOf(AtenCall& c, Value* x, const Ints& blocks) {
  SymInts apart;
  Ints dims;
  for (int d = 0; d < RankOf(x); ++d) {
    const SymInt size = DimOf(x, d);
    if (blocks[d] > 1) apart.push_back(FloorDiv(size, blocks[d]));
    if (blocks[d] != 1) dims.push_back(static_cast<int64_t>(apart.size()));
    apart.push_back(blocks[d] > 1 ? SymInt(blocks[d]) : size);
  }
  const SymInts sizes = InBlocks(x, blocks).scale_size;
  x = Reshape(c, x, apart);
  Value* none = NumberLike(c, x, 0);
  const auto extreme = [&](const OpDef& op) {
    return Reshape(c, Reduce(c, op, x, dims, true), sizes);
  };
  return {c.Op(ops::minimum, {extreme(ops::amin), none}),
          c.Op(ops::maximum, {extreme(ops::amax), none})};
}

// The larger one of the scales that just hold the least and the largest element.
Value* ScaleWithoutClipping(AtenCall& c, Value* x, const QuantLimits& limits, double eps,
                            const Ints& blocks) {
  if (limits.low >= 0 || limits.high <= 0) return c.Unsupported("a range with one sign");
  const Extrema e = ExtremaOf(c, x, blocks);
  Value* low = Div(c, e.least, static_cast<double>(limits.low));
  Value* high = Div(c, e.most, static_cast<double>(limits.high));
  Value* scale = c.Op(ops::maximum, {low, high});
  return c.Op(ops::maximum, {scale, NumberLike(c, scale, eps)});
}

// Dims of blocks that are whole have no place in the results, unless `keepdim`.
SymInts SizesOfAffine(AtenCall& c, const Value* x, const Ints& blocks) {
  SymInts sizes;
  for (int d = 0; d < RankOf(x); ++d) {
    const SymInt size = DimOf(x, d);
    if (blocks[d] == -1 && !c.Bool("keepdim")) continue;
    sizes.push_back(blocks[d] == -1  ? SymInt(1)
                    : blocks[d] == 1 ? size
                                     : FloorDiv(size, blocks[d]));
  }
  return sizes;
}

double SmallestScale(DType dtype) {
  return dtype == DType::kF16 ? kLeastNormalF16 : kLeastNormalF32;
}

void ChooseAffine(AtenCall& c) {
  Value* x = c.T("input");
  const DType given = DTypeOf(x);
  const std::string mapping = c.Str("mapping_type");
  const QuantLimits limits = QuantLimitsOf(c, c.Dtype("target_dtype", DType::kI8));
  const double eps = c.Float("eps", SmallestScale(given));
  const Ints blocks = BlocksOf(c, x);
  const SymInts sizes = SizesOfAffine(c, x, blocks);
  // A symmetric range has its zero in the middle; PyTorch divides toward zero.
  const double middle = static_cast<double>((limits.low + limits.high + 1) / 2);
  Value* scale = nullptr;
  Value* zero = nullptr;
  if (mapping == "SYMMETRIC_NO_CLIPPING_ERR") {
    scale = ScaleWithoutClipping(c, x, limits, eps, blocks);
  } else if (mapping == "SYMMETRIC" || mapping == "ASYMMETRIC") {
    const bool symmetric = mapping == "SYMMETRIC";
    const Chosen chosen = Choose(c, x, limits, DType::kI8, symmetric, eps, blocks);
    scale = chosen.scale;
    if (!symmetric) zero = Convert(c, chosen.zero, c.Dtype("zero_point_dtype", DType::kI32));
  } else {
    return c.Return(c.Unsupported(absl::StrCat("mapping_type \"", mapping, "\"")));
  }
  scale = Convert(c, Reshape(c, scale, sizes), given);
  if (zero == nullptr) {
    zero = Full(c, sizes, Number(c, c.Dtype("zero_point_dtype", given), middle));
  }
  c.Return(Convert(c, scale, c.Dtype("scale_dtype", given)));
  c.Return(Reshape(c, zero, sizes));
}

constexpr AtenOp kTable[] = {
    {"quantized_decomposed::_choose_qparams_per_token_asymmetric_impl(Tensor input, ScalarType "
     "dtype) -> (Tensor, Tensor)",
     ChoosePerTokenAsymmetric},
    {"quantized_decomposed::choose_qparams.tensor(Tensor input, int quant_min, "
     "int quant_max, float eps, ScalarType dtype) -> (Tensor, Tensor)",
     ChooseQParams},
    {"quantized_decomposed::choose_qparams_per_token(Tensor input, ScalarType dtype) -> (Tensor, "
     "Tensor)",
     ChoosePerToken},
    {"quantized_decomposed::choose_qparams_per_token_asymmetric(Tensor input, ScalarType dtype) "
     "-> (Tensor, Tensor)",
     ChoosePerTokenAsymmetric},
    {"quantized_decomposed::choose_qparams_symmetric.tensor(Tensor input, int quant_min, int "
     "quant_max, float eps, ScalarType dtype) -> (Tensor, Tensor)",
     ChooseQParamsSymmetric},
    {"torchao::choose_qparams_affine(Tensor input, str mapping_type, SymInt[] block_size, "
     "ScalarType target_dtype, Scalar? quant_min=None, Scalar? quant_max=None, float? eps=None, "
     "ScalarType? scale_dtype=None, ScalarType? zero_point_dtype=None, bool keepdim=False) -> "
     "(Tensor, Tensor)",
     ChooseAffine},
};

}  // namespace

absl::Span<const AtenOp> QuantChooseTable() { return kTable; }

}  // namespace weft::pt2
