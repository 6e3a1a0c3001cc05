// Pooling over windows, and to given sizes.
#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "graph/ops/ops.h"
#include "serialize/pt2/aten/tables.h"
#include "serialize/pt2/build.h"

namespace weft::pt2 {
namespace {

struct Window {
  Ints kernel, stride, padding, dilation;
  bool ceil_mode = false;
};

bool HasArg(AtenCall& c, absl::string_view name) { return c.schema().Find(name) >= 0; }

Window WindowOf(AtenCall& c, int n) {
  Window w;
  w.kernel = c.IntsFor("kernel_size", n);
  w.stride = c.IntsFor("stride", n, w.kernel);
  w.padding = c.IntsFor("padding", n, Ints(n, 0));
  w.dilation = HasArg(c, "dilation") ? c.IntsFor("dilation", n) : Ints(n, 1);
  w.ceil_mode = c.Bool("ceil_mode");
  const Ints both = w.padding;
  w.padding.insert(w.padding.end(), both.begin(), both.end());
  return w;
}

// With a batch of one in front where there is none.
Value* Batched(AtenCall& c, Value* x, int spatial, bool* batched) {
  *batched = RankOf(x) == spatial + 2;
  return *batched ? x : Unsqueeze(c, x, 0);
}

std::vector<NamedAttr> AttrsOf(const Window& w) {
  return {{"kernel_size", w.kernel},
          {"stride", w.stride},
          {"padding", w.padding},
          {"dilation", w.dilation},
          {"ceil_mode", w.ceil_mode}};
}

template <int spatial, bool with_indices>
void MaxPool(AtenCall& c) {
  bool batched;
  Value* x = Batched(c, c.T("self"), spatial, &batched);
  const std::vector<Value*> operands = {x};
  const std::vector<Value*> y = c.b().Ops(ops::max_pool, operands, AttrsOf(WindowOf(c, spatial)));
  if (!c.ok()) return;
  c.Return(batched ? y[0] : Squeeze(c, y[0], 0));
  if (with_indices) c.Return(batched ? y[1] : Squeeze(c, y[1], 0));
}

// Constant sizes of the last dims; nothing when one is not known.
std::optional<Ints> LastDims(const Value* x, int n) {
  const SymInts size = DimsOf(x);
  if (static_cast<int>(size.size()) < n) return std::nullopt;
  return AllConstant(absl::MakeConstSpan(size).last(n));
}

// How far the last window of ceil_mode, which starts inside of the image or its
// padding on the left, reaches past the padding on the right.
int64_t CeilReach(int64_t in, int64_t kernel, int64_t stride, int64_t padding) {
  int64_t out = (in + 2 * padding - kernel + stride - 1) / stride + 1;
  if ((out - 1) * stride >= in + padding) --out;
  return std::max<int64_t>((out - 1) * stride + kernel - (in + 2 * padding), 0);
}

// With a divisor of its own the sum is what the mean is made from.
template <int spatial>
void AvgPool(AtenCall& c) {
  bool batched;
  const DType dtype = DTypeOf(c.T("self"));
  Value* x = Batched(c, c.T("self"), spatial, &batched);
  // Means of integers are cut.
  if (IsInt(dtype)) x = Convert(c, x, DType::kF64);
  const Window w = WindowOf(c, spatial);
  std::vector<NamedAttr> attrs = AttrsOf(w);
  const bool divided = HasArg(c, "divisor_override") && c.Has("divisor_override");
  Value* y = nullptr;
  if (divided) {
    // The sums of windows of the padded image.
    const int rank = spatial + 2;
    Ints pad(2 * rank, 0);
    for (int i = 0; i < spatial; ++i) {
      pad[2 + i] = pad[rank + 2 + i] = w.padding[i];
    }
    if (w.ceil_mode) {
      const auto in = LastDims(x, spatial);
      if (!in) return c.Return(c.Unsupported("ceil_mode of symbolic sizes with a divisor"));
      for (int i = 0; i < spatial; ++i) {
        pad[rank + 2 + i] += CeilReach((*in)[i], w.kernel[i], w.stride[i], w.padding[i]);
      }
      attrs[4].value = false;
    }
    x = c.Op(ops::pad, {x, NumberLike(c, x, 0)}, {{"pad", pad}});
    attrs[2].value = Ints(2 * spatial, 0);
    const std::vector<Value*> operands = {x};
    y = c.b().Op(ops::avg_pool, operands, attrs);
    double count = 1;
    for (int64_t k : w.kernel) count *= static_cast<double>(k);
    y = Mul(c, y, count / static_cast<double>(c.Int("divisor_override")));
  } else {
    attrs.push_back({"count_include_pad", c.Bool("count_include_pad")});
    const std::vector<Value*> operands = {x};
    y = c.b().Op(ops::avg_pool, operands, attrs);
  }
  y = Convert(c, y, dtype);
  c.Return(batched ? y : Squeeze(c, y, 0));
}

// --- To given sizes -----------------------------------------------------------------

int64_t Start(int64_t o, int64_t in, int64_t out) { return o * in / out; }
int64_t End(int64_t o, int64_t in, int64_t out) { return ((o + 1) * in + out - 1) / out; }

// One dim: [.., n, ..] to [.., out, widest window, ..], with the positions and
// what of them counts.
struct Bins {
  Value* values = nullptr;
  Value* index = nullptr;   // i64[out * widest]
  Value* counts = nullptr;  // bool[out, widest, 1...]
  Ints sizes;               // Of the windows.
  int64_t widest = 0;
};

Bins BinsOf(AtenCall& c, Value* x, int dim, int64_t in, int64_t out) {
  Bins bins;
  for (int64_t o = 0; o < out; ++o) {
    bins.sizes.push_back(End(o, in, out) - Start(o, in, out));
    bins.widest = std::max(bins.widest, bins.sizes.back());
  }
  Ints index, counts;
  for (int64_t o = 0; o < out; ++o) {
    for (int64_t k = 0; k < bins.widest; ++k) {
      index.push_back(std::min(Start(o, in, out) + k, in - 1));
      counts.push_back(k < bins.sizes[o]);
    }
  }
  bins.index = c.b().Constant(HostTensor::FromInts(DType::kI64, {out, bins.widest}, index));
  bins.values = c.Op(ops::index_select, {x, bins.index}, {{"dim", dim}});
  Ints dims(RankOf(bins.values) - dim, 1);
  if (dims.size() < 2) return bins;
  dims[0] = out;
  dims[1] = bins.widest;
  bins.counts = c.b().Constant(HostTensor::FromInts(DType::kBool, dims, counts));
  return bins;
}

bool AllOnes(const SymInts& size) {
  return std::all_of(size.begin(), size.end(), [](SymInt s) { return s.Is(1); });
}

// Windows of equal size: ordinary pooling.
std::optional<Ints> EvenKernel(const Ints& in, const Ints& out) {
  Ints kernel;
  for (size_t i = 0; i < in.size(); ++i) {
    if (out[i] < 1 || in[i] % out[i] != 0) return std::nullopt;
    kernel.push_back(in[i] / out[i]);
  }
  return kernel;
}

constexpr int64_t kMaxAdaptive = 1 << 16;

// Both sizes as constants, checked.
std::optional<std::pair<Ints, Ints>> AdaptiveSizes(AtenCall& c, const Value* x, int n,
                                                   const SymInts& size) {
  const auto in = LastDims(x, n);
  const auto out = AllConstant(size);
  if (!in || !out) {
    c.Unsupported("the sizes of an adaptive pooling are not constant");
    return std::nullopt;
  }
  for (int i = 0; i < n; ++i) {
    if ((*in)[i] < 1 || (*out)[i] < 0 || (*out)[i] > kMaxAdaptive) {
      c.Fail("the sizes of an adaptive pooling are empty or too large");
      return std::nullopt;
    }
  }
  return std::make_pair(*in, *out);
}

template <int n>
void AdaptiveAvg(AtenCall& c) {
  Value* x = c.T("self");
  const SymInts size = c.SymsFor("output_size", n);
  const int rank = RankOf(x);
  if (rank < n + 1) return c.Return(c.Fail("self has too few dims"));
  if (AllOnes(size)) {
    Ints dims;
    for (int i = 0; i < n; ++i) dims.push_back(rank - n + i);
    return c.Return(Reduce(c, ops::mean, x, dims, true));
  }
  const auto sizes = AdaptiveSizes(c, x, n, size);
  if (!sizes) return c.Return(nullptr);
  const auto& [in, out] = *sizes;
  if (const auto kernel = EvenKernel(in, out)) {
    bool batched;
    const std::vector<Value*> operands = {Batched(c, x, n, &batched)};
    const std::vector<NamedAttr> attrs = {{"kernel_size", *kernel},
                                          {"stride", *kernel},
                                          {"padding", Ints(2 * n, 0)},
                                          {"dilation", Ints(n, 1)}};
    Value* y = c.b().Op(ops::avg_pool, operands, attrs);
    return c.Return(batched ? y : Squeeze(c, y, 0));
  }
  const DType dtype = DTypeOf(x);
  x = Convert(c, x, Wide(dtype));
  std::vector<Value*> divisors;
  for (int i = 0; i < n; ++i) {
    const int dim = rank - n + i;
    const Bins bins = BinsOf(c, x, dim, in[i], out[i]);
    Value* counted = Where(c, bins.counts, bins.values, NumberLike(c, bins.values, 0));
    x = Reduce(c, ops::sum, counted, {dim + 1}, false);
    std::vector<double> widths(bins.sizes.begin(), bins.sizes.end());
    Ints dims(rank - dim, 1);
    dims[0] = out[i];
    divisors.push_back(c.b().Constant(HostTensor::FromDoubles(Wide(dtype), dims, widths)));
  }
  Value* divisor = divisors[0];
  for (size_t i = 1; i < divisors.size(); ++i) {
    divisor = Mul(c, divisor, divisors[i]);
  }
  c.Return(Convert(c, Div(c, x, divisor), dtype));
}

// Values, and their positions in the flattened spatial dims.
template <int n>
void AdaptiveMax(AtenCall& c) {
  Value* x = c.T("self");
  const int rank = RankOf(x);
  if (rank < n + 1) return c.Return(c.Fail("self has too few dims"));
  const auto sizes = AdaptiveSizes(c, x, n, c.SymsFor("output_size", n));
  if (!sizes) return c.Return(nullptr);
  const auto& [in, out] = *sizes;
  // Positions, gathered the same way.
  Ints plane(rank, 1);
  int64_t numel = 1;
  for (int i = 0; i < n; ++i) {
    plane[rank - n + i] = in[i];
    numel *= in[i];
  }
  Value* at = Reshape(c, Iota(c, numel), ToSymInts(plane));
  at = Expand(c, at, DimsOf(x));
  constexpr double kLowest = -std::numeric_limits<double>::infinity();
  if (!IsFloat(DTypeOf(x))) {
    return c.Return(c.Unsupported("integers are not supported"));
  }
  // The windows of all dims side by side at the end.
  for (int i = 0; i < n; ++i) {
    const int dim = rank - n + i;
    const Bins values = BinsOf(c, x, dim, in[i], out[i]);
    const Bins places = BinsOf(c, at, dim, in[i], out[i]);
    x = Where(c, values.counts, values.values, NumberLike(c, values.values, kLowest));
    const int last = RankOf(x) - 1;
    x = Permute(c, x, MoveDim(last + 1, dim + 1, last));
    at = Permute(c, places.values, MoveDim(last + 1, dim + 1, last));
  }
  if (!c.ok()) return;
  x = Flatten(c, x, rank, RankOf(x) - 1);
  at = Flatten(c, at, rank, RankOf(at) - 1);
  Value* best = c.Op(ops::argmax, {x}, {{"dim", rank}, {"keepdim", true}});
  c.Return(Reduce(c, ops::amax, x, {rank}, false));
  c.Return(Squeeze(c, c.Op(ops::gather, {at, best}, {{"dim", rank}}), rank));
}

// --- Backward ---------------------------------------------------------------------

// Each gradient goes to the position that its maximum came from.
void MaxPoolBackward(AtenCall& c) {
  Value* grad = c.T("grad_output");
  Value* self = c.T("self");
  Value* indices = c.T("indices");
  const int rank = RankOf(self);
  const int n = static_cast<int>(c.Ints("kernel_size").size()) == 3 ? 3 : 2;
  if (rank < n + 1) return c.Return(c.Fail("self has too few dims"));
  const int first = rank - n;
  const SymInts size = DimsOf(self);
  Value* zeros = Flatten(c, Zeros(c, size, DTypeOf(grad)), first, rank - 1);
  Value* y = c.Op(ops::scatter,
                  {zeros, Flatten(c, indices, first, rank - 1), Flatten(c, grad, first, rank - 1)},
                  {{"dim", first}, {"reduce", "add"}});
  c.Return(Reshape(c, y, size));
}

// How many elements each window counts, along one dim.
std::vector<double> WindowCounts(int64_t in, int64_t out, int64_t kernel, int64_t stride,
                                 int64_t padding, bool include_pad) {
  std::vector<double> counts;
  for (int64_t o = 0; o < out; ++o) {
    const int64_t start = o * stride - padding;
    const int64_t end = std::min(start + kernel, in + padding);
    const int64_t count =
        include_pad ? end - start : std::min(end, in) - std::max<int64_t>(start, 0);
    counts.push_back(static_cast<double>(std::max<int64_t>(count, 1)));
  }
  return counts;
}

// Each gradient, divided, goes to all of its window: columns added up.
void AvgPoolBackward(AtenCall& c) {
  Value* grad = c.T("grad_output");
  Value* self = c.T("self");
  const Window w = WindowOf(c, 2);
  const auto in = LastDims(self, 2);
  const auto out = LastDims(grad, 2);
  if (!in || !out) {
    return c.Return(c.Unsupported("the sizes of the image are not constant"));
  }
  bool batched;
  grad = Batched(c, grad, 2, &batched);
  const bool include = c.Bool("count_include_pad");
  if (c.Has("divisor_override")) {
    grad = Div(c, grad, static_cast<double>(c.Int("divisor_override")));
  } else {
    for (int i = 0; i < 2; ++i) {
      Ints dims = {1, 1};
      dims[i] = (*out)[i];
      grad = Div(
          c, grad,
          c.b().Constant(HostTensor::FromDoubles(
              DTypeOf(grad), dims,
              WindowCounts((*in)[i], (*out)[i], w.kernel[i], w.stride[i], w.padding[i], include))));
    }
  }
  if (!c.ok()) return;
  // Images as big as the windows reach, of which the padding is cut off.
  SymInts reach, pad(8, SymInt(0));
  for (int i = 0; i < 2; ++i) {
    reach.push_back(((*out)[i] - 1) * w.stride[i] + w.kernel[i]);
  }
  const SymInts have = DimsOf(grad);
  const SymInt block = w.kernel[0] * w.kernel[1];
  Value* columns = Unsqueeze(c, grad, 2);
  columns = Expand(c, columns, {have[0], have[1], block, have[2], have[3]});
  columns = Reshape(c, columns, {have[0], have[1] * block, have[2] * have[3]});
  Value* y = c.Op(ops::col2im, {columns},
                  {{"output_size", reach},
                   {"kernel_size", w.kernel},
                   {"dilation", Ints{1, 1}},
                   {"padding", Ints(4, 0)},
                   {"stride", w.stride}});
  for (int i = 0; i < 2; ++i) {
    pad[2 + i] = -w.padding[i];
    pad[6 + i] = SymInt((*in)[i] + w.padding[i]) - reach[i];
  }
  y = c.Op(ops::pad, {y, NumberLike(c, y, 0)}, {{"pad", pad}});
  c.Return(batched ? y : Squeeze(c, y, 0));
}

// [in, out] averages along both dims, transposed.
void AdaptiveAvgBackward(AtenCall& c) {
  Value* grad = c.T("grad_output");
  Value* self = c.T("self");
  const auto in = LastDims(self, 2);
  const auto out = LastDims(grad, 2);
  if (!in || !out) {
    return c.Return(c.Unsupported("the sizes of the image are not constant"));
  }
  const auto matrix = [&](int i) {
    std::vector<double> m((*out)[i] * (*in)[i], 0);
    for (int64_t o = 0; o < (*out)[i]; ++o) {
      const int64_t from = Start(o, (*in)[i], (*out)[i]);
      const int64_t to = End(o, (*in)[i], (*out)[i]);
      for (int64_t k = from; k < to; ++k) {
        m[o * (*in)[i] + k] = 1.0 / static_cast<double>(to - from);
      }
    }
    return c.b().Constant(HostTensor::FromDoubles(DTypeOf(grad), {(*out)[i], (*in)[i]}, m));
  };
  Value* rows = c.Op(ops::matmul, {grad, matrix(1)});
  c.Return(c.Op(ops::matmul, {Permute(c, matrix(0), {1, 0}), rows}));
}

// The values at their positions in the flattened spatial dims, zeros elsewhere.
template <int spatial>
void MaxUnpool(AtenCall& c) {
  bool batched;
  Value* x = Batched(c, c.T("self"), spatial, &batched);
  Value* at = Batched(c, c.T("indices"), spatial, &batched);
  SymInts size = {DimOf(x, 0), DimOf(x, 1)};
  for (SymInt s : c.SymsFor("output_size", spatial)) size.push_back(s);
  const int last = spatial + 1;
  Value* zeros = Flatten(c, Zeros(c, size, DTypeOf(x)), 2, last);
  Value* y =
      c.Op(ops::scatter, {zeros, Flatten(c, at, 2, last), Flatten(c, x, 2, last)}, {{"dim", 2}});
  y = Reshape(c, y, size);
  c.Return(batched ? y : Squeeze(c, y, 0));
}

constexpr AtenOp kTable[] = {
    {"_adaptive_avg_pool2d(Tensor self, SymInt[2] output_size) -> Tensor", AdaptiveAvg<2>},
    {"_adaptive_avg_pool2d_backward(Tensor grad_output, Tensor self) -> Tensor",
     AdaptiveAvgBackward},
    {"_adaptive_avg_pool3d(Tensor self, SymInt[3] output_size) -> Tensor", AdaptiveAvg<3>},
    {"adaptive_avg_pool1d(Tensor self, int[1] output_size) -> Tensor", AdaptiveAvg<1>},
    {"adaptive_avg_pool2d(Tensor self, SymInt[2] output_size) -> Tensor", AdaptiveAvg<2>},
    {"adaptive_avg_pool3d(Tensor self, SymInt[3] output_size) -> Tensor", AdaptiveAvg<3>},
    {"adaptive_max_pool1d(Tensor self, int[1] output_size) -> (Tensor, Tensor)", AdaptiveMax<1>},
    {"adaptive_max_pool2d(Tensor self, int[2] output_size) -> (Tensor, Tensor)", AdaptiveMax<2>},
    {"adaptive_max_pool3d(Tensor self, int[3] output_size) -> (Tensor, Tensor)", AdaptiveMax<3>},
    {"avg_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] "
     "padding=[0], bool ceil_mode=False, bool count_include_pad=True) -> "
     "Tensor",
     AvgPool<1>},
    {"avg_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] "
     "padding=0, bool ceil_mode=False, bool count_include_pad=True, int? "
     "divisor_override=None) -> Tensor",
     AvgPool<2>},
    {"avg_pool2d_backward(Tensor grad_output, Tensor self, int[2] kernel_size, "
     "int[2] stride, int[2] padding, bool ceil_mode, bool count_include_pad, "
     "int? divisor_override) -> Tensor",
     AvgPoolBackward},
    {"avg_pool3d(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] "
     "padding=0, bool ceil_mode=False, bool count_include_pad=True, int? "
     "divisor_override=None) -> Tensor",
     AvgPool<3>},
    {"max_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] "
     "padding=[0], int[1] dilation=[1], bool ceil_mode=False) -> Tensor",
     MaxPool<1, false>},
    {"max_pool1d_with_indices(Tensor self, int[1] kernel_size, int[1] "
     "stride=[], int[1] padding=[0], int[1] dilation=[1], bool "
     "ceil_mode=False) -> (Tensor, Tensor)",
     MaxPool<1, true>},
    {"max_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] "
     "padding=0, int[2] dilation=1, bool ceil_mode=False) -> Tensor",
     MaxPool<2, false>},
    {"max_pool2d_with_indices(Tensor self, int[2] kernel_size, int[2] "
     "stride=[], int[2] padding=0, int[2] dilation=1, bool ceil_mode=False) -> "
     "(Tensor, Tensor)",
     MaxPool<2, true>},
    {"max_pool2d_with_indices_backward(Tensor grad_output, Tensor self, int[2] "
     "kernel_size, int[2] stride, int[2] padding, int[2] dilation, bool "
     "ceil_mode, Tensor indices) -> Tensor",
     MaxPoolBackward},
    {"max_pool3d(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] "
     "padding=0, int[3] dilation=1, bool ceil_mode=False) -> Tensor",
     MaxPool<3, false>},
    {"max_pool3d_with_indices(Tensor self, int[3] kernel_size, int[3] "
     "stride=[], int[3] padding=0, int[3] dilation=1, bool ceil_mode=False) -> "
     "(Tensor, Tensor)",
     MaxPool<3, true>},
    {"max_pool3d_with_indices_backward(Tensor grad_output, Tensor self, int[3] "
     "kernel_size, int[3] stride, int[3] padding, int[3] dilation, bool "
     "ceil_mode, Tensor indices) -> Tensor",
     MaxPoolBackward},
    {"max_unpool2d(Tensor self, Tensor indices, SymInt[2] output_size) -> "
     "Tensor",
     MaxUnpool<2>},
    {"max_unpool3d(Tensor self, Tensor indices, SymInt[3] output_size, int[3] "
     "stride, int[3] padding) -> Tensor",
     MaxUnpool<3>},
};

}  // namespace

absl::Span<const AtenOp> PoolTable() { return kTable; }

}  // namespace weft::pt2
