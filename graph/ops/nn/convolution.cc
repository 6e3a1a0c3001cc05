// Convolution and transposed convolution of any spatial rank.
#include "graph/ir/op_flops.h"
#include "graph/ops/nn/product.h"
#include "graph/ops/support/op.h"
#include "graph/sym/sym_ops.h"

namespace weft::ops {
namespace {

// --- Types --------------------------------------------------------------------

absl::Status CheckLength(const Attrs& attrs, absl::string_view name, size_t length, size_t other) {
  const size_t n = attrs.Syms(name).size();
  if (n == length || n == other) return absl::OkStatus();
  return Invalid(name, " must have ", length, other == length ? "" : absl::StrCat(" or ", other),
                 " entries, got ", n);
}

absl::Status CheckPositive(const OpArgs& args, absl::string_view name) {
  for (SymInt s : args.attrs().Syms(name)) {
    if (args.MayHold(GreaterEqual(s, 1))) continue;
    return Invalid(name, " must be at least 1, got ", s.ToString());
  }
  return absl::OkStatus();
}

absl::Status VerifyAttrs(const OpArgs& args, size_t n) {
  const Attrs attrs = args.attrs();
  WEFT_RETURN_IF_ERROR(CheckLength(attrs, "stride", n, n));
  WEFT_RETURN_IF_ERROR(CheckLength(attrs, "padding", n, 2 * n));
  WEFT_RETURN_IF_ERROR(CheckLength(attrs, "dilation", n, n));
  WEFT_RETURN_IF_ERROR(CheckLength(attrs, "output_padding", n, 0));
  WEFT_RETURN_IF_ERROR(CheckPositive(args, "stride"));
  WEFT_RETURN_IF_ERROR(CheckPositive(args, "dilation"));
  const SymInt groups = attrs.Sym("groups");
  if (!args.MayHold(GreaterEqual(groups, 1))) {
    return Invalid("groups must be at least 1, got ", groups.ToString());
  }
  if (attrs.Bool("transposed")) return absl::OkStatus();
  for (SymInt s : attrs.Syms("output_padding")) {
    if (!s.Is(0)) return Invalid("output_padding is for transposed only");
  }
  return absl::OkStatus();
}

absl::Status Verify(const OpArgs& args) {
  WEFT_RETURN_IF_ERROR(CheckSameDType(args));
  WEFT_RETURN_IF_ERROR(CheckAccumulator(args, 0));
  WEFT_RETURN_IF_ERROR(CheckRank(args, 2, 1));
  return VerifyConvolution(args);
}

// The channels of the result.
absl::StatusOr<SymInt> InferChannels(const OpArgs& args) {
  const Attrs attrs = args.attrs();
  const Type weight = args.type(1);
  const bool transposed = attrs.Bool("transposed");
  const SymInt groups = attrs.Sym("groups");
  const SymInt in = transposed ? weight.dim(0) : weight.dim(1) * groups;
  const SymInt out = transposed ? weight.dim(1) * groups : weight.dim(0);
  WEFT_RETURN_IF_ERROR(CheckEqualSizes(args, args.type(0).dim(1), in, "the input channels"));
  WEFT_RETURN_IF_ERROR(
      CheckEqualSizes(args, Mod(weight.dim(0), groups), 0, "weight's dim 0 modulo groups"));
  if (args.has(2)) {
    WEFT_RETURN_IF_ERROR(CheckEqualSizes(args, args.type(2).dim(0), out, "bias and channels"));
  }
  return out;
}

// --- Evaluation -----------------------------------------------------------------

// One spatial dim. Source() is the position in the image of element `tap` of the window at `at`;
// -1 for padding. The windows of a transposed convolution are at the pixels of its input, and its
// image is the output.
struct Axis {
  int64_t image, windows, kernel, stride, before, dilation;

  int64_t Source(int64_t at, int64_t tap) const {
    const int64_t i = at * stride - before + tap * dilation;
    return i >= 0 && i < image ? i : -1;
  }
};

struct Space {
  std::vector<Axis> axes;
  int64_t image = 1, windows = 1, kernel = 1;

  explicit Space(EvalContext& c) {
    const Attrs attrs = c.attrs();
    const auto stride = attrs.Ints("stride");
    const auto padding = attrs.Ints("padding");
    const auto dilation = attrs.Ints("dilation");
    const bool transposed = attrs.Bool("transposed");
    for (int i = 0; i + 2 < c.in(0).rank(); ++i) {
      const int64_t in = c.in(0).dim(2 + i), out = c.out(0).dim(2 + i);
      axes.push_back({transposed ? out : in, transposed ? in : out, c.in(1).dim(2 + i), stride[i],
                      padding[i], dilation[i]});
      image *= axes.back().image;
      windows *= axes.back().windows;
      kernel *= axes.back().kernel;
    }
  }

  // For windows [begin, begin + count) and each tap, the element of the image that they meet, taps
  // first.
  std::vector<int64_t> Sources(int64_t begin, int64_t count) const {
    std::vector<int64_t> sources(kernel * count, 0);
    int64_t scale = 1;
    int64_t inner_windows = 1;
    int64_t inner_taps = 1;
    for (size_t i = axes.size(); i-- > 0;) {
      const Axis& axis = axes[i];
      std::vector<int64_t> at(count);
      for (int64_t j = 0; j < count; ++j) {
        at[j] = (begin + j) / inner_windows % axis.windows;
      }
      for (int64_t t = 0; t < kernel; ++t) {
        const int64_t tap = t / inner_taps % axis.kernel;
        int64_t* row = &sources[t * count];
        for (int64_t j = 0; j < count; ++j) {
          const int64_t s = axis.Source(at[j], tap);
          row[j] = s < 0 || row[j] < 0 ? -1 : row[j] + s * scale;
        }
      }
      scale *= axis.image;
      inner_windows *= axis.windows;
      inner_taps *= axis.kernel;
    }
    return sources;
  }
};

// Rows of a panel are (input channel, tap), columns are windows. Padding is zeros, which are
// multiplied like other elements: an infinite weight gives NaN there.
template <typename T>
void FillPanel(const Space& space, const T* input, const Panel& p, T* to) {
  const std::vector<int64_t> source = space.Sources(p.col, p.cols);
  for (int64_t r = 0; r < p.rows; ++r) {
    const T* plane = input + (p.row + r) / space.kernel * space.image;
    const int64_t* from = &source[(p.row + r) % space.kernel * p.cols];
    for (int64_t j = 0; j < p.cols; ++j) {
      to[r * p.stride + j] = from[j] < 0 ? T{0} : plane[from[j]];
    }
  }
}

template <typename T>
void AddBias(const HostTensor& bias, int64_t plane, std::vector<T>* y) {
  const std::vector<T> b = Read<T>(bias);
  for (size_t i = 0; i < y->size(); ++i) (*y)[i] += b[i / plane % b.size()];
}

template <typename T>
std::vector<T> Convolve(EvalContext& c, const Space& space, int64_t groups) {
  const std::vector<T> x = Read<T>(c.in(0)), w = Read<T>(c.in(1));
  const int64_t ins = c.in(0).dim(1) / groups, outs = c.out(0).dim(1) / groups;
  const int64_t depth = ins * space.kernel;
  return Multiply<T>({c.in(0).dim(0) * groups, outs, space.windows, depth,
                      [&](int64_t i) { return w.data() + i % groups * outs * depth; },
                      [&](int64_t i, const Panel& panel, T* to) {
                        FillPanel(space, x.data() + i * ins * space.image, panel, to);
                      }});
}

// For each group, matrices of (output channel, tap) by input channel.
template <typename T>
std::vector<T> TransposeWeights(const HostTensor& weight, int64_t groups, int64_t rows) {
  const std::vector<T> from = Read<T>(weight);
  const int64_t ins = weight.dim(0) / groups;
  std::vector<T> to(from.size());
  for (int64_t i = 0; i < static_cast<int64_t>(from.size()); ++i) {
    const int64_t in = i / rows;
    to[(in / ins * rows + i % rows) * ins + in % ins] = from[i];
  }
  return to;
}

// Each pixel times each element of the kernel is added where they meet. Nothing is added elsewhere:
// results that no pixel reaches are 0, also if weights are infinite.
template <typename T>
std::vector<T> ConvolveTransposed(EvalContext& c, const Space& space, int64_t groups) {
  const std::vector<T> x = Read<T>(c.in(0));
  const int64_t ins = c.in(0).dim(1) / groups, outs = c.out(0).dim(1) / groups;
  const int64_t rows = outs * space.kernel;
  const std::vector<T> w = TransposeWeights<T>(c.in(1), groups, rows);
  const std::vector<int64_t> places = space.Sources(0, space.windows);
  std::vector<T> y(c.out(0).numel(), T{0});
  for (int64_t i = 0; i < c.in(0).dim(0) * groups; ++i) {
    const std::vector<T> terms = Multiply<T>(
        {1, rows, space.windows, ins, [&](int64_t) { return w.data() + i % groups * rows * ins; },
         [&](int64_t, const Panel& panel, T* to) {
           CopyPanel(x.data() + i * ins * space.windows, space.windows, panel, to);
         }});
    ParallelFor(outs, [&](int64_t out) {
      const T* from = terms.data() + out * static_cast<int64_t>(places.size());
      T* plane = y.data() + (i * outs + out) * space.image;
      for (size_t j = 0; j < places.size(); ++j) {
        if (places[j] >= 0) plane[places[j]] += from[j];
      }
    });
  }
  return y;
}

absl::Status Eval(EvalContext& c) {
  const Space space(c);
  const int64_t groups = c.attrs().Sym("groups").value();
  const bool transposed = c.attrs().Bool("transposed");
  return VisitProductDomain(c.in(0).dtype(), [&](auto zero) {
    using T = decltype(zero);
    std::vector<T> y =
        transposed ? ConvolveTransposed<T>(c, space, groups) : Convolve<T>(c, space, groups);
    if (c.has(2)) AddBias(c.in(2), transposed ? space.image : space.windows, &y);
    Write(y, &c.out(0));
    return absl::OkStatus();
  });
}

}  // namespace

absl::Status VerifyConvolution(const OpArgs& args) {
  WEFT_RETURN_IF_ERROR(CheckRankAtLeast(args, 0, 3));
  WEFT_RETURN_IF_ERROR(CheckRank(args, 1, args.type(0).rank()));
  return VerifyAttrs(args, args.type(0).rank() - 2);
}

absl::StatusOr<Types> InferConvolution(const OpArgs& args) {
  const Attrs attrs = args.attrs();
  const Type input = args.type(0);
  const int n = input.rank() - 2;
  const auto stride = attrs.Syms("stride");
  const auto padding = attrs.Syms("padding");
  const auto dilation = attrs.Syms("dilation");
  const auto output_padding = attrs.Syms("output_padding");
  WEFT_ASSIGN_OR_RETURN(const SymInt channels, InferChannels(args));
  std::vector<SymInt> dims = {input.dim(0), channels};
  for (int i = 0; i < n; ++i) {
    const SymInt in = input.dim(2 + i);
    const SymInt kernel = args.type(1).dim(2 + i);
    const SymInt before = padding[i];
    const SymInt after = padding[static_cast<int>(padding.size()) == n ? i : n + i];
    if (attrs.Bool("transposed")) {
      const SymInt extra = output_padding.empty() ? SymInt(0) : output_padding[i];
      dims.push_back((in - 1) * stride[i] - before - after + dilation[i] * (kernel - 1) + extra +
                     1);
      continue;
    }
    const SymInt padded = in + before + after;
    const SymInt extent = dilation[i] * (kernel - 1) + 1;
    if (!args.MayHold(LessEqual(extent, padded))) {
      return Invalid("the kernel covers ", extent.ToString(), " of the ", padded.ToString(),
                     " elements of the padded dim ", 2 + i);
    }
    dims.push_back(WindowedSize(in, kernel, stride[i], dilation[i], before, after));
  }
  return Types{input.WithDims(dims)};
}

// Each element of the output (of the input, when transposed) meets a kernel.
SymInt FlopsOfConvolution(const FlopsArgs& args) {
  const SymInt points = args.attrs().Bool("transposed") ? args.operand_size() : args.result_size();
  const SymInt bias = args.has(2) ? args.result_size() : SymInt(0);
  return 2 * points * Product(args.operands[1].dims().subspan(1)) + bias;
}

WEFT_DEFINE_OP(convolution,
               OpSpec("convolution(Tensor input, Tensor weight, Tensor? bias, "
                      "SymInt[] stride, SymInt[] padding, SymInt[] dilation, "
                      "bool transposed=False, SymInt[] output_padding=[], "
                      "SymInt groups=1) -> Tensor",
                      "Cross-correlation of input [N, C, spatial...] with weight "
                      "[K, C/groups, kernel...], or its transpose with weight "
                      "[C, K/groups, kernel...]. `padding` has an entry for each spatial "
                      "dim, or two: all begins, then all ends; negative entries crop. "
                      "Padding is zeros, which weights multiply; in a transposed convolution "
                      "nothing is added where no element reaches. "
                      "ATen: aten::convolution, which pads evenly; ONNX: Conv-11 and "
                      "ConvTranspose-11.")
                   .Verify(Verify)
                   .Infer(InferConvolution)
                   .Eval(Eval)
                   .Map(Absent{"no map of windows exists yet"})
                   .Flops(FlopsOfConvolution)
                   .Samples(R"(
convolution(f32[2, 3, 8, 7], f32[4, 3, 3, 3], f32[4], stride=[1, 1], padding=[1, 1], dilation=[1, 1])
convolution(f32[1, 3, 9], f32[4, 3, 3], none, stride=[2], padding=[0], dilation=[2])
convolution(f32[1, 2, 6, 5], f32[3, 2, 2, 3], none, stride=[2, 1], padding=[0, 1, 1, 2], dilation=[1, 1])
convolution(f32[1, 2, 4, 5, 6], f32[3, 2, 2, 3, 1], f32[3], stride=[1, 2, 1], padding=[0, 1, 0], dilation=[2, 1, 1])
convolution(f32[1, 4, 5, 5], f32[6, 2, 3, 3], f32[6], stride=[1, 1], padding=[1, 1], dilation=[1, 1], groups=2)
convolution(f32[1, 4, 5, 5], f32[4, 1, 3, 3], none, stride=[1, 1], padding=[2, 2], dilation=[2, 2], groups=4)
convolution(f32[1, 70, 9, 9], f32[66, 70, 2, 2], none, stride=[1, 1], padding=[0, 0], dilation=[1, 1])
convolution(f32[1, 2, 6], f32[3, 2, 2], none, stride=[1], padding=[-1, 0], dilation=[1])
convolution(f32[2, 3, 4, 5], f32[3, 4, 3, 3], f32[4], stride=[2, 2], padding=[1, 1], dilation=[1, 1], transposed=true, output_padding=[1, 1])
convolution(f32[1, 4, 3, 3], f32[4, 2, 2, 3], none, stride=[3, 1], padding=[0, 1, 1, 0], dilation=[1, 2], transposed=true, output_padding=[0, 0], groups=2)
convolution(f32[1, 2, 5], f32[2, 3, 3], none, stride=[1], padding=[0], dilation=[1], transposed=true)
convolution(f16[1, 2, 5], f16[3, 2, 3], f16[3], stride=[1], padding=[1], dilation=[1])
convolution(bf16[1, 2, 5], bf16[3, 2, 3], none, stride=[1], padding=[1], dilation=[1])
convolution(f64[1, 2, 5], f64[3, 2, 3], none, stride=[1], padding=[1], dilation=[1])
convolution(i32[1, 2, 5]{-9..9}, i32[3, 2, 3]{-9..9}, i32[3]{-9..9}, stride=[1], padding=[1], dilation=[1])
convolution(f32[0, 2, 5], f32[3, 2, 3], none, stride=[1], padding=[1], dilation=[1])
convolution(f32[1, 2, 5], f32[3, 4, 3], none, stride=[1], padding=[1], dilation=[1]) ! "the input channels: 2 and 4 differ"
convolution(f32[1, 4, 5], f32[3, 2, 3], none, stride=[1], padding=[1], dilation=[1], groups=2) ! "modulo groups"
convolution(f32[1, 2, 5], f32[3, 2, 3], f32[2], stride=[1], padding=[1], dilation=[1]) ! "bias and channels"
convolution(f32[1, 2, 5], f32[3, 2, 3], none, stride=[1, 1], padding=[1], dilation=[1]) ! "stride must have 1 entries, got 2"
convolution(f32[1, 2, 5], f32[3, 2, 3], none, stride=[0], padding=[1], dilation=[1]) ! "stride must be at least 1"
convolution(f32[1, 2, 5], f32[3, 2, 3], none, stride=[1], padding=[1, 1, 1], dilation=[1]) ! "padding must have 1 or 2 entries"
convolution(f32[1, 2, 5], f32[3, 2, 3], none, stride=[1], padding=[1], dilation=[1], output_padding=[1]) ! "for transposed only"
convolution(f32[1, 2, 2], f32[3, 2, 3], none, stride=[1], padding=[0], dilation=[1]) ! "covers 3 of the 2 elements"
convolution(f32[1, 2, 5], f32[3, 2], none, stride=[1], padding=[1], dilation=[1]) ! "weight must have rank 3"
convolution(f32[2, 5], f32[3, 2], none, stride=[], padding=[], dilation=[]) ! "at least rank 3"
)"));

WEFT_SHARED_VIEW(BiasedProduct, convolution);

}  // namespace weft::ops
