// Pooling over windows.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "graph/ir/builder.h"
#include "graph/ops/nn.h"
#include "graph/ops/ops.h"
#include "graph/ops/shape.h"
#include "graph/sym/sym_int.h"
#include "graph/tensor/tensor.h"
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

// Adds a batch dim of size 1 if there is none.
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

// The sizes of the last dims if all are constant.
std::optional<Ints> LastDims(const Value* x, int n) {
  const SymInts size = DimsOf(x);
  if (static_cast<int>(size.size()) < n) return std::nullopt;
  return AllConstant(absl::MakeConstSpan(size).last(n));
}

// How far the last window of ceil_mode, which must start inside of the image or its left padding,
// extends past the right padding.
int64_t CeilReach(int64_t in, int64_t kernel, int64_t stride, int64_t padding) {
  int64_t out = (in + 2 * padding - kernel + stride - 1) / stride + 1;
  if ((out - 1) * stride >= in + padding) --out;
  return std::max<int64_t>((out - 1) * stride + kernel - (in + 2 * padding), 0);
}

// If a divisor is given, the mean is computed from the sum.
template <int spatial>
void AvgPool(AtenCall& c) {
  bool batched;
  const DType dtype = DTypeOf(c.T("self"));
  Value* x = Batched(c, c.T("self"), spatial, &batched);
  // Means of integers are truncated.
  if (IsInt(dtype)) x = Convert(c, x, DType::kF64);
  const Window w = WindowOf(c, spatial);
  std::vector<NamedAttr> attrs = AttrsOf(w);
  const bool divided = HasArg(c, "divisor_override") && c.Has("divisor_override");
  Value* y = nullptr;
  if (divided) {
    // Sums over the windows of the padded image.
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
    x = ops::BuildPad(c, x, NumberLike(c, x, 0), ToSymInts(pad));
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

// --- Backward ---------------------------------------------------------------------

// Scatters each gradient to the position of its maximum.
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

// The number of elements that each window counts, along one dim.
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

// Distributes each gradient, divided, over its window: adds up columns.
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
  // The image covers all windows; then its padding is cropped.
  SymInts reach, pad(8, SymInt(0));
  for (int i = 0; i < 2; ++i) {
    reach.push_back(((*out)[i] - 1) * w.stride[i] + w.kernel[i]);
  }
  const SymInts have = DimsOf(grad);
  const SymInt block = w.kernel[0] * w.kernel[1];
  Value* columns = Unsqueeze(c, grad, 2);
  columns = Expand(c, columns, {have[0], have[1], block, have[2], have[3]});
  columns = Reshape(c, columns, {have[0], have[1] * block, have[2] * have[3]});
  Value* y = ops::BuildCol2im(c, columns, reach, w.kernel, {1, 1}, Ints(4, 0), w.stride);
  for (int i = 0; i < 2; ++i) {
    pad[2 + i] = -w.padding[i];
    pad[6 + i] = SymInt((*in)[i] + w.padding[i]) - reach[i];
  }
  y = ops::BuildPad(c, y, NumberLike(c, y, 0), pad);
  c.Return(batched ? y : Squeeze(c, y, 0));
}

// Puts the values at their positions in the flattened spatial dims; other elements are zero.
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
