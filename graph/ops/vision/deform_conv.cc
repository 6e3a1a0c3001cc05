// Deformable convolution of any spatial rank.
#include <cmath>

#include "graph/ir/op_flops.h"
#include "graph/ops/support/op.h"
#include "graph/sym/sym_ops.h"

namespace weft::ops {
namespace {

// --- Types ------------------------------------------------------------------

enum Operand { kInput, kWeight, kOffset, kMask, kBias };

absl::Status VerifyAttrs(const Attrs& attrs, size_t n) {
  const auto check = [&](absl::string_view name, size_t length, int64_t least) -> absl::Status {
    const std::vector<int64_t> values = attrs.Ints(name);
    if (values.size() != length) {
      return Invalid(name, " must have ", length, " entries, got ", values.size());
    }
    for (int64_t v : values) {
      if (v < least) {
        return Invalid(name, " must be at least ", least, ", got ", v);
      }
    }
    return absl::OkStatus();
  };
  WEFT_RETURN_IF_ERROR(check("stride", n, 1));
  WEFT_RETURN_IF_ERROR(check("padding", 2 * n, 0));
  WEFT_RETURN_IF_ERROR(check("dilation", n, 1));
  for (absl::string_view name : {"groups", "offset_groups"}) {
    if (attrs.Int(name) < 1) return Invalid(name, " must be at least 1");
  }
  return absl::OkStatus();
}

absl::Status Verify(const OpArgs& args) {
  WEFT_RETURN_IF_ERROR(CheckSameDType(args));
  WEFT_RETURN_IF_ERROR(CheckFloat(args, kInput));
  WEFT_RETURN_IF_ERROR(CheckRankAtLeast(args, kInput, 3));
  const int rank = args.type(kInput).rank();
  for (int i : {kWeight, kOffset, kMask}) {
    WEFT_RETURN_IF_ERROR(CheckRank(args, i, rank));
  }
  WEFT_RETURN_IF_ERROR(CheckRank(args, kBias, 1));
  return VerifyAttrs(args.attrs(), rank - 2);
}

absl::Status CheckChannels(const OpArgs& args) {
  const Type weight = args.type(kWeight);
  const SymInt groups = args.attrs().Int("groups");
  const SymInt channels = args.type(kInput).dim(1);
  WEFT_RETURN_IF_ERROR(
      CheckEqualSizes(args, channels, weight.dim(1) * groups, "the input channels"));
  WEFT_RETURN_IF_ERROR(
      CheckEqualSizes(args, Mod(weight.dim(0), groups), 0, "weight's dim 0 modulo groups"));
  WEFT_RETURN_IF_ERROR(CheckEqualSizes(args, Mod(channels, args.attrs().Int("offset_groups")), 0,
                                       "the channels modulo offset_groups"));
  if (!args.has(kBias)) return absl::OkStatus();
  return CheckEqualSizes(args, args.type(kBias).dim(0), weight.dim(0), "bias and channels");
}

// Checks offset or mask, which has `each` elements per position of the kernel.
absl::Status CheckPositions(const OpArgs& args, int operand, int64_t each,
                            absl::Span<const SymInt> out) {
  if (!args.has(operand)) return absl::OkStatus();
  const Type type = args.type(operand);
  const std::string name = OperandName(args, operand);
  const SymInt taps = Product(args.type(kWeight).dims().subspan(2));
  WEFT_RETURN_IF_ERROR(CheckEqualSizes(args, type.dim(1),
                                       taps * each * args.attrs().Int("offset_groups"),
                                       absl::StrCat("dim 1 of ", name)));
  for (int i = 0; i < type.rank(); ++i) {
    if (i == 1) continue;
    WEFT_RETURN_IF_ERROR(CheckEqualSizes(
        args, type.dim(i), out[i], absl::StrCat("dim ", i, " of ", name, " and of the result")));
  }
  return absl::OkStatus();
}

absl::StatusOr<Types> Infer(const OpArgs& args) {
  const Type input = args.type(kInput);
  const Type weight = args.type(kWeight);
  const std::vector<int64_t> stride = args.attrs().Ints("stride");
  const std::vector<int64_t> padding = args.attrs().Ints("padding");
  const std::vector<int64_t> dilation = args.attrs().Ints("dilation");
  WEFT_RETURN_IF_ERROR(CheckChannels(args));
  std::vector<SymInt> dims = {input.dim(0), weight.dim(0)};
  const int n = input.rank() - 2;
  for (int i = 0; i < n; ++i) {
    dims.push_back(WindowedSize(input.dim(2 + i), weight.dim(2 + i), stride[i], dilation[i],
                                padding[i], padding[n + i]));
  }
  WEFT_RETURN_IF_ERROR(CheckPositions(args, kOffset, n, dims));
  WEFT_RETURN_IF_ERROR(CheckPositions(args, kMask, 1, dims));
  return Types{input.WithDims(dims)};
}

// --- Evaluation ---------------------------------------------------------------

// Elements of a plane and their weights in an interpolated value.
struct Sample {
  std::vector<int64_t> elements;
  std::vector<double> weights;
};

// The neighbours of a fractional position; those outside count as zero.
Sample Neighbours(absl::Span<const double> at, absl::Span<const int64_t> dims) {
  Sample s = {{0}, {1}};
  for (size_t i = 0; i < at.size(); ++i) {
    Sample next;
    // Also false for NaN.
    const bool near = at[i] > -1 && at[i] < static_cast<double>(dims[i]);
    const auto low = near ? static_cast<int64_t>(std::floor(at[i])) : -2;
    const double share = at[i] - static_cast<double>(low);
    for (int side : {0, 1}) {
      const int64_t p = low + side;
      if (p < 0 || p >= dims[i]) continue;
      for (size_t k = 0; k < s.elements.size(); ++k) {
        next.elements.push_back(s.elements[k] * dims[i] + p);
        next.weights.push_back(s.weights[k] * (side == 0 ? 1 - share : share));
      }
    }
    s = std::move(next);
  }
  return s;
}

// The operands and sizes of one evaluation.
struct Space {
  std::vector<double> x, w, offset, mask;
  std::vector<int64_t> in, kernel, out;  // Spatial dims.
  std::vector<int64_t> stride, padding, dilation;
  int64_t channels, outs, groups, offset_groups;

  explicit Space(EvalContext& c)
      : x(Read<double>(c.in(kInput))),
        w(Read<double>(c.in(kWeight))),
        offset(Read<double>(c.in(kOffset))),
        stride(c.attrs().Ints("stride")),
        padding(c.attrs().Ints("padding")),
        dilation(c.attrs().Ints("dilation")),
        channels(c.in(kInput).dim(1)),
        outs(c.in(kWeight).dim(0)),
        groups(c.attrs().Int("groups")),
        offset_groups(c.attrs().Int("offset_groups")) {
    if (c.has(kMask)) mask = Read<double>(c.in(kMask));
    const auto spatial = [](const HostTensor& t) {
      return std::vector<int64_t>(t.dims().begin() + 2, t.dims().end());
    };
    in = spatial(c.in(kInput));
    kernel = spatial(c.in(kWeight));
    out = spatial(c.out(0));
  }

  // The sample of kernel element `tap` at output `at`. `group` counts the offset groups of all
  // images.
  Sample At(int64_t group, int64_t tap, int64_t at) const {
    const int64_t n = static_cast<int64_t>(in.size());
    const int64_t taps = Numel(kernel);
    const int64_t plane = Numel(out);
    std::vector<double> position(n);
    int64_t k = tap;
    int64_t p = at;
    for (int64_t i = n - 1; i >= 0; --i) {
      const int64_t start = p % out[i] * stride[i] - padding[i];
      position[i] = static_cast<double>(start + k % kernel[i] * dilation[i]) +
                    offset[((group * taps + tap) * n + i) * plane + at];
      p /= out[i];
      k /= kernel[i];
    }
    Sample s = Neighbours(position, in);
    if (mask.empty()) return s;
    for (double& v : s.weights) v *= mask[(group * taps + tap) * plane + at];
    return s;
  }

  // Adds the contribution of one offset group to output `at` of image `image`.
  void Accumulate(int64_t image, int64_t offset_group, int64_t at, std::vector<double>* y) const {
    const int64_t taps = Numel(kernel);
    const int64_t group_size = channels / offset_groups;
    const int64_t per_group = channels / groups;
    for (int64_t tap = 0; tap < taps; ++tap) {
      const Sample s = At(image * offset_groups + offset_group, tap, at);
      for (int64_t i = 0; i < group_size; ++i) {
        const int64_t channel = offset_group * group_size + i;
        const double* from = &x[(image * channels + channel) * Numel(in)];
        double v = 0;
        for (size_t e = 0; e < s.elements.size(); ++e) {
          v += from[s.elements[e]] * s.weights[e];
        }
        const int64_t first = channel / per_group * (outs / groups);
        for (int64_t o = first; o < first + outs / groups; ++o) {
          (*y)[(image * outs + o) * Numel(out) + at] +=
              v * w[(o * per_group + channel % per_group) * taps + tap];
        }
      }
    }
  }
};

absl::Status Eval(EvalContext& c) {
  std::vector<double> y(c.out(0).numel(), 0.0);
  if (c.in(kInput).numel() > 0 && !y.empty()) {
    const Space space(c);
    const int64_t plane = Numel(space.out);
    ParallelFor(c.out(0).dim(0) * plane, [&](int64_t i) {
      for (int64_t g = 0; g < space.offset_groups; ++g) {
        space.Accumulate(i / plane, g, i % plane, &y);
      }
    });
  }
  if (c.has(kBias)) {
    const std::vector<double> bias = Read<double>(c.in(kBias));
    const int64_t plane = Numel(c.out(0).dims().subspan(2));
    for (size_t i = 0; i < y.size(); ++i) y[i] += bias[i / plane % bias.size()];
  }
  Write(y, &c.out(0));
  return absl::OkStatus();
}

// The product, and for each element that a kernel meets (those of one output channel stand for all
// of its group) an interpolation between 2^n neighbours.
SymInt Flops(const FlopsArgs& args) {
  const Type weight = args.operands[1];
  const SymInt taps = Product(weight.dims().subspan(2));
  const SymInt points =
      FloorDiv(args.result_size(), weight.dim(0)) * args.operands[0].dim(1) * taps;
  const int64_t corners = int64_t{1} << (weight.rank() - 2);
  const SymInt bias = args.has(4) ? args.result_size() : SymInt(0);
  return 2 * args.result_size() * Product(weight.dims().subspan(1)) + 2 * corners * points + bias;
}

}  // namespace

WEFT_DEFINE_OP(deform_conv,
               OpSpec("deform_conv(Tensor input, Tensor weight, Tensor offset, "
                      "Tensor? mask, Tensor? bias, int[] stride, int[] padding, "
                      "int[] dilation, int groups=1, int offset_groups=1) -> Tensor",
                      "Convolution whose kernel meets the input, interpolated linearly "
                      "and zero outside, at positions moved by `offset` "
                      "[N, offset_groups * taps * n, out...] and scaled by `mask` "
                      "[N, offset_groups * taps, out...]. `padding` holds all begins, "
                      "then all ends. TorchVision: deform_conv2d; ONNX: DeformConv-19.")
                   .Verify(Verify)
                   .Infer(Infer)
                   .Eval(Eval)
                   .Map(Absent{"no map of windows exists yet"})
                   .Flops(Flops)
                   .Samples(R"(
deform_conv(f32[1, 2, 5, 4], f32[3, 2, 2, 3], f32[1, 12, 4, 2], none, none, stride=[1, 1], padding=[0, 0, 0, 0], dilation=[1, 1])
deform_conv(f32[2, 4, 5, 5], f32[4, 2, 2, 2], f32[2, 16, 3, 6], f32[2, 8, 3, 6], f32[4], stride=[2, 1], padding=[1, 1, 0, 1], dilation=[1, 1], groups=2, offset_groups=2)
deform_conv(f32[1, 2, 7], f32[2, 2, 2], f32[1, 2, 5], f32[1, 2, 5], none, stride=[1], padding=[0, 0], dilation=[2])
deform_conv(f64[1, 1, 3, 3, 3], f64[1, 1, 2, 1, 2], f64[1, 12, 2, 3, 2], none, none, stride=[1, 1, 1], padding=[0, 0, 0, 0, 0, 0], dilation=[1, 1, 1])
deform_conv(f16[1, 2, 5], f16[2, 2, 2], f16[1, 2, 4], none, none, stride=[1], padding=[0, 0], dilation=[1])
deform_conv(bf16[1, 2, 5], bf16[2, 2, 2], bf16[1, 2, 4], none, none, stride=[1], padding=[0, 0], dilation=[1])
deform_conv(f32[0, 2, 5], f32[2, 2, 2], f32[0, 2, 4], none, none, stride=[1], padding=[0, 0], dilation=[1])
deform_conv(f32[1, 2, 5], f32[2, 3, 2], f32[1, 2, 4], none, none, stride=[1], padding=[0, 0], dilation=[1]) ! "the input channels: 2 and 3 differ"
deform_conv(f32[1, 2, 5], f32[2, 2, 2], f32[1, 3, 4], none, none, stride=[1], padding=[0, 0], dilation=[1]) ! "dim 1 of offset: 3 and 2 differ"
deform_conv(f32[1, 2, 5], f32[2, 2, 2], f32[1, 2, 3], none, none, stride=[1], padding=[0, 0], dilation=[1]) ! "dim 2 of offset and of the result: 3 and 4 differ"
deform_conv(f32[1, 2, 5], f32[2, 2, 2], f32[1, 2, 4], f32[1, 4, 4], none, stride=[1], padding=[0, 0], dilation=[1]) ! "dim 1 of mask: 4 and 2 differ"
deform_conv(f32[1, 2, 5], f32[2, 2, 2], f32[1, 2, 4], none, f32[3], stride=[1], padding=[0, 0], dilation=[1]) ! "bias and channels"
deform_conv(f32[1, 2, 5], f32[2, 2, 2], f32[1, 2, 4], none, none, stride=[1], padding=[0, 0], dilation=[1], offset_groups=4) ! "the channels modulo offset_groups"
deform_conv(f32[1, 2, 5], f32[2, 2, 2], f32[1, 2, 4], none, none, stride=[1], padding=[0], dilation=[1]) ! "padding must have 2 entries, got 1"
deform_conv(f32[1, 2, 5], f32[2, 2, 2], f32[1, 2, 4], none, none, stride=[0], padding=[0, 0], dilation=[1]) ! "stride must be at least 1"
deform_conv(f32[1, 2, 5], f32[2, 2], f32[1, 2, 4], none, none, stride=[1], padding=[0, 0], dilation=[1]) ! "weight must have rank 3"
deform_conv(i32[1, 2, 5], i32[2, 2, 2], i32[1, 2, 4], none, none, stride=[1], padding=[0, 0], dilation=[1]) ! "a float dtype"
)"));

}  // namespace weft::ops
