// Scales and zero points from the elements themselves.
#include <algorithm>
#include <cmath>

#include "graph/ir/numeric_contract.h"
#include "graph/ops/ops.h"
#include "graph/ops/quant/arithmetic.h"
#include "graph/ops/quant/scales.h"
#include "graph/ops/shape.h"
#include "graph/ops/support/build.h"
#include "graph/ops/support/extrema.h"
#include "graph/ops/support/op.h"
#include "graph/ops/support/reduce.h"

namespace weft::ops {
namespace {

bool IsSymmetric(const Attrs& attrs) { return attrs.Str("scheme") == "symmetric"; }

absl::Status VerifyScheme(const Attrs& attrs) {
  const std::string& scheme = attrs.Str("scheme");
  const DType dtype = attrs.Dtype("dtype");
  if (scheme != "affine" && scheme != "symmetric") {
    return Invalid("unknown scheme \"", scheme, "\" (affine, symmetric)");
  }
  // f32 holds these integers, and the differences of two.
  if (!IsQuantizedDType(dtype) || DTypeBits(dtype) > 16) {
    return Invalid("dtype must be an integer of at most 16 bits, an 8-bit float or f4e2m1, got ",
                   DTypeName(dtype));
  }
  if (IsFloat(dtype) && !IsSymmetric(attrs)) {
    return Invalid("floats have no zero point: scheme must be \"symmetric\"");
  }
  if (attrs.Float("eps") < 0) return Invalid("eps is negative: ", attrs.Float("eps"));
  return VerifyRange(dtype, attrs);
}

absl::Status Verify(const OpArgs& args) {
  const Attrs attrs = args.attrs();
  const int rank = args.type(0).rank();
  WEFT_RETURN_IF_ERROR(CheckFloat(args, 0));
  WEFT_RETURN_IF_ERROR(VerifyScheme(attrs));
  WEFT_RETURN_IF_ERROR(VerifyBlocks(attrs, rank));
  const bool blocks = attrs.Int("block_size") != 0;
  if (attrs.Has("axis")) {
    if (!attrs.Ints("block_shape").empty()) {
      return Invalid("axis and block_shape exclude each other");
    }
    WEFT_RETURN_IF_ERROR(NormalizeDim(attrs.Int("axis"), rank).status());
  } else if (blocks) {
    return Invalid("block_size needs an axis");
  }
  return absl::OkStatus();
}

// The sizes of blocks by dim; -1 is the whole dim.
std::vector<int64_t> SharesOf(const Attrs& attrs, int rank) {
  std::vector<int64_t> blocks = BlocksOf(attrs, rank);
  if (!blocks.empty()) return blocks;
  blocks.assign(rank, -1);
  if (attrs.Has("axis")) blocks[*NormalizeDim(attrs.Int("axis"), rank)] = 1;
  return blocks;
}

// The dims of the results: those of blocks, or one or none.
std::vector<SymInt> ScaleDims(const Attrs& attrs, absl::Span<const SymInt> dims) {
  const int rank = static_cast<int>(dims.size());
  std::vector<SymInt> size;
  const std::vector<int64_t> blocks = BlocksOf(attrs, rank);
  for (size_t d = 0; d < blocks.size(); ++d) size.push_back(BlockCount(dims[d], blocks[d]));
  if (blocks.empty() && attrs.Has("axis")) {
    size.push_back(dims[*NormalizeDim(attrs.Int("axis"), rank)]);
  }
  return size;
}

absl::StatusOr<Types> Infer(const OpArgs& args) {
  const Attrs attrs = args.attrs();
  const std::vector<SymInt> size = ScaleDims(attrs, args.type(0).dims());
  return Types{Type::Tensor(ComputeDType(args.type(0).dtype()), size),
               Type::Tensor(attrs.Dtype("dtype"), size)};
}

// The steps of a scale: those of the whole range, of half of it for a symmetric scheme.
double StepsOf(const Attrs& attrs) {
  const DType dtype = attrs.Dtype("dtype");
  const QuantRange range = RangeOf(dtype, attrs);
  return IsSymmetric(attrs) ? (range.high - range.low) / 2 : range.high - range.low;
}

// The zero point of a symmetric scheme: 0 for signed integers, else the middle of the range.
int64_t MiddleOf(const Attrs& attrs) {
  const DType dtype = attrs.Dtype("dtype");
  if (!IsUnsignedInt(dtype)) return 0;
  const bool custom = attrs.Has("quant_min") || attrs.Has("quant_max");
  const QuantRange range = RangeOf(dtype, attrs);
  const int64_t sum = static_cast<int64_t>(range.low + range.high);
  return custom ? sum / 2 : (sum + 1) / 2;
}

// --- As nodes ---------------------------------------------------------------

// `x` with each block as a dim of its own, and these dims.
Value* Split(Builder& b, Value* x, const std::vector<int64_t>& blocks, std::vector<int64_t>* dims) {
  const Type type = x->type();
  std::vector<SymInt> more(2 * type.rank(), SymInt(0));
  std::vector<SymInt> size;
  bool cut = false;
  for (int d = 0; d < type.rank(); ++d) {
    if (blocks[d] == -1) dims->push_back(static_cast<int64_t>(size.size()));
    const SymInt count = BlockCount(type.dim(d), blocks[d]);
    size.push_back(blocks[d] == -1 ? type.dim(d) : count);
    if (blocks[d] < 2) continue;
    dims->push_back(static_cast<int64_t>(size.size()));
    size.push_back(blocks[d]);
    more[type.rank() + d] = count * blocks[d] - type.dim(d);
    cut = cut || !more[type.rank() + d].Is(0);
  }
  // Zeros: every range has one.
  if (cut) x = BuildPad(b, x, nullptr, more);
  return Reshape(b, x, size);
}

std::vector<Value*> Decompose(Builder& b, const OpArgs& args) {
  const Attrs attrs = args.attrs();
  const DType dtype = attrs.Dtype("dtype");
  const std::vector<SymInt> size = ScaleDims(attrs, args.type(0).dims());
  const DType wide = ComputeDType(args.type(0).dtype());
  const auto number = [&](double v) { return b.Scalar(wide, v); };
  std::vector<int64_t> dims;
  Value* x =
      Split(b, Convert(b, args.operand(0), wide), SharesOf(attrs, args.type(0).rank()), &dims);
  Value* least = b.Op(minimum, {Reshape(b, Reduce(b, amin, x, dims), size), number(0)});
  Value* most = b.Op(maximum, {Reshape(b, Reduce(b, amax, x, dims), size), number(0)});
  Value* width =
      IsSymmetric(attrs) ? b.Op(maximum, {b.Op(neg, {least}), most}) : b.Op(sub, {most, least});
  Value* scale = WithScalar(b, div, width, StepsOf(attrs));
  scale = WithScalar(b, maximum, scale, attrs.Float("eps"));
  if (IsSymmetric(attrs)) {
    Value* middle = Expand(b, number(static_cast<double>(MiddleOf(attrs))), size);
    return {scale, Convert(b, middle, dtype)};
  }
  const QuantRange range = RangeOf(dtype, attrs);
  Value* zero_point = b.Op(round, {b.Op(div, {least, scale})});
  zero_point = b.Op(sub, {number(range.low), zero_point});
  zero_point = b.Op(clamp, {zero_point, number(range.low), number(range.high)});
  return {scale, Convert(b, zero_point, dtype)};
}

// --- On the host ------------------------------------------------------------

struct Extrema {
  double least = 0;
  double most = 0;
};

// By scale.
std::vector<Extrema> ExtremaOf(const EvalContext& c) {
  const HostTensor& self = c.in(0);
  const std::vector<int64_t> blocks = SharesOf(c.attrs(), self.rank());
  std::vector<int64_t> counts;
  for (int d = 0; d < self.rank(); ++d) {
    counts.push_back(BlockCount(SymInt(self.dim(d)), blocks[d]).value());
  }
  const std::vector<int64_t> strides = ContiguousStrides(counts);
  const std::vector<double> x = Read<double>(self);
  std::vector<Extrema> extrema(Numel(counts));
  size_t i = 0;
  ForEachIndex(self.dims(), [&](absl::Span<const int64_t> index) {
    int64_t k = 0;
    for (size_t d = 0; d < index.size(); ++d) {
      if (blocks[d] != -1) k += index[d] / blocks[d] * strides[d];
    }
    extrema[k].least = Smaller(extrema[k].least, x[i]);
    extrema[k].most = Larger(extrema[k].most, x[i]);
    ++i;
  });
  return extrema;
}

absl::Status Eval(EvalContext& c) {
  const Attrs attrs = c.attrs();
  const DType wide = c.out(0).dtype();
  const QuantRange range = RangeOf(attrs.Dtype("dtype"), attrs);
  const double steps = StepsOf(attrs);
  const double eps = RoundTo(wide, attrs.Float("eps"));
  std::vector<double> scale;
  std::vector<int64_t> zero_point;
  for (const Extrema& e : ExtremaOf(c)) {
    const double width =
        IsSymmetric(attrs) ? Larger(-e.least, e.most) : RoundTo(wide, e.most - e.least);
    scale.push_back(Larger(RoundTo(wide, width / steps), eps));
    zero_point.push_back(MiddleOf(attrs));
    if (IsSymmetric(attrs)) continue;
    const double shift = std::nearbyint(RoundTo(wide, e.least / scale.back()));
    const double z = range.low - shift;
    zero_point.back() =
        std::isnan(z) ? 0 : static_cast<int64_t>(std::clamp(z, range.low, range.high));
  }
  Write(scale, &c.out(0));
  Write(zero_point, &c.out(1));
  return absl::OkStatus();
}

}  // namespace

WEFT_DEFINE_OP(choose_qparams,
               OpSpec("choose_qparams(Tensor self, ScalarType dtype, int? quant_min=None, "
                      "int? quant_max=None, str scheme=\"affine\", "
                      "float eps=1.1920928955078125e-07, int? axis=None, int block_size=0, "
                      "int[] block_shape=[]) -> (Tensor scale, Tensor zero_point)",
                      "The scales and zero points with which quantize_linear spreads self over "
                      "quant_min to quant_max, for the whole tensor, for each slice along "
                      "axis, or for blocks as there. With the least and the largest element, 0 "
                      "included: affine has the scale (largest - least) / (quant_max - "
                      "quant_min) and the zero point quant_min - round(least / scale), "
                      "clamped; symmetric has the scale max(-least, largest) / ((quant_max - "
                      "quant_min) / 2), and the zero point 0 or, for unsigned dtypes, the "
                      "middle. A scale is at least eps. It is an f32, or f64 for self of that "
                      "dtype; NaN gives NaN and the zero point 0. Of no elements the range is "
                      "0. PyTorch: quantized_decomposed::choose_qparams and "
                      "choose_qparams_symmetric, torchao::choose_qparams_affine; ONNX: "
                      "DynamicQuantizeLinear.")
                   .Verify(Verify)
                   .Infer(Infer)
                   .Decompose(Decompose)
                   .DecomposeContract(NumericContract::kBitExact)
                   .Eval(Eval)
                   .Flops(PerOperand{2})
                   .Samples(R"(
choose_qparams(f32[2, 3, 4], dtype=u8)
choose_qparams(f32[2, 3]{1..2}, dtype=i8)
choose_qparams(f32[2, 3]{-3..-1}, dtype=i8, quant_min=-127)
choose_qparams(f32[2, 3], dtype=i8, scheme="symmetric")
choose_qparams(f32[2, 3], dtype=u8, scheme="symmetric")
choose_qparams(f32[2, 3], dtype=u8, quant_max=127, scheme="symmetric")
choose_qparams(f32[2, 3], dtype=f8e4m3, scheme="symmetric", axis=0)
choose_qparams(f32[3, 2]{0..0}, dtype=i8, eps=0.000244140625)
choose_qparams(f32[2, 3, 4], dtype=i16, axis=1)
choose_qparams(f16[2, 3, 4], dtype=i8, scheme="symmetric", axis=-1)
choose_qparams(bf16[2, 7, 3], dtype=u4, axis=1, block_size=3)
choose_qparams(f32[2, 3, 4], dtype=i8, axis=-1, block_size=4)
choose_qparams(f64[5, 6], dtype=i4, scheme="symmetric", block_shape=[2, 4])
choose_qparams(f32[3, 2, 4], dtype=i8, block_shape=[1, 1, -1])
choose_qparams(f32[4]{nan, 1, 2, -5}, dtype=i8)
choose_qparams(f32[4]{inf, 1, 2, -5}, dtype=i8)
choose_qparams(f32[], dtype=u16)
choose_qparams(f32[0, 3], dtype=i8)
choose_qparams(f32[0, 3], dtype=i8, axis=1)
choose_qparams(i32[2], dtype=i8) ! "self must have a float dtype"
choose_qparams(f32[2], dtype=i32) ! "at most 16 bits"
choose_qparams(f32[2], dtype=f16, scheme="symmetric") ! "an 8-bit float or f4e2m1, got f16"
choose_qparams(f32[2], dtype=f8e4m3) ! "scheme must be \"symmetric\""
choose_qparams(f32[2], dtype=i8, scheme="both") ! "unknown scheme \"both\""
choose_qparams(f32[2], dtype=i8, quant_max=128) ! "from -128 to 128 is not within that of i8"
choose_qparams(f32[2], dtype=i8, eps=-1.0) ! "eps is negative"
choose_qparams(f32[2], dtype=i8, axis=1) ! "dim 1 is out of range"
choose_qparams(f32[2], dtype=i8, block_size=2) ! "block_size needs an axis"
choose_qparams(f32[2], dtype=i8, axis=0, block_shape=[2]) ! "exclude each other"
)"));

}  // namespace weft::ops
