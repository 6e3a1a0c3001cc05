// Convolutions, forward and backward.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "graph/ir/builder.h"
#include "graph/ops/ops.h"
#include "graph/sym/sym_ops.h"
#include "serialize/pt2/aten/tables.h"
#include "serialize/pt2/build.h"

namespace weft::pt2 {
namespace {

struct Window {
  SymInts stride, padding, dilation, output_padding;
  SymInt groups = 1;
  bool transposed = false;
};

// An input without a batch dim gets one for the convolution.
Value* Convolve(AtenCall& c, Value* input, Value* weight, Value* bias, const Window& w,
                int spatial) {
  const bool batched = RankOf(input) == spatial + 2;
  if (!batched) input = Unsqueeze(c, input, 0);
  std::vector<NamedAttr> attrs = {{"stride", w.stride},
                                  {"padding", w.padding},
                                  {"dilation", w.dilation},
                                  {"transposed", w.transposed},
                                  {"groups", w.groups}};
  if (w.transposed) attrs.push_back({"output_padding", w.output_padding});
  const std::vector<Value*> operands = {input, weight, bias};
  Value* y = c.b().Op(ops::convolution, operands, attrs);
  return batched ? y : Squeeze(c, y, 0);
}

void Convolution(AtenCall& c) {
  Value* input = c.T("input");
  Value* weight = c.T("weight");
  const int spatial = RankOf(weight) - 2;
  if (spatial < 1) return c.Return(c.Fail("weight has too few dims"));
  Window w;
  w.stride = c.SymsFor("stride", spatial);
  w.padding = c.SymsFor("padding", spatial);
  w.dilation = c.SymsFor("dilation", spatial);
  w.transposed = c.Bool("transposed");
  w.output_padding = c.SymsFor("output_padding", spatial);
  w.groups = c.Sym("groups");
  c.Return(Convolve(c, input, weight, c.OptT("bias"), w, spatial));
}

// "same" padding keeps the size for stride 1; an odd one is larger at the end.
SymInts SamePadding(AtenCall& c, const Value* weight, const SymInts& dilation) {
  SymInts padding(2 * dilation.size(), SymInt(0));
  for (size_t i = 0; i < dilation.size(); ++i) {
    const SymInt total = dilation[i] * (DimOf(weight, static_cast<int>(i) + 2) - 1);
    padding[i] = FloorDiv(total, 2);
    padding[dilation.size() + i] = total - padding[i];
  }
  return padding;
}

template <int spatial>
void Conv(AtenCall& c) {
  Value* input = c.T("input");
  Value* weight = c.T("weight");
  if (RankOf(weight) != spatial + 2) {
    return c.Return(c.Fail("weight has a wrong number of dims"));
  }
  Window w;
  w.stride = c.SymsFor("stride", spatial);
  w.dilation = c.SymsFor("dilation", spatial);
  w.groups = c.Sym("groups");
  if (c.arg("padding").is(Arg::Kind::kString)) {
    const bool same = c.Str("padding") == "same";
    w.padding = same ? SamePadding(c, weight, w.dilation) : SymInts(spatial, SymInt(0));
  } else {
    w.padding = c.SymsFor("padding", spatial);
  }
  c.Return(Convolve(c, input, weight, c.OptT("bias"), w, spatial));
}

template <int spatial>
void ConvTranspose(AtenCall& c) {
  Window w;
  w.stride = c.SymsFor("stride", spatial);
  w.padding = c.SymsFor("padding", spatial);
  w.output_padding = c.SymsFor("output_padding", spatial);
  w.dilation = c.SymsFor("dilation", spatial);
  w.groups = c.Sym("groups");
  w.transposed = true;
  c.Return(Convolve(c, c.T("input"), c.T("weight"), c.OptT("bias"), w, spatial));
}

// --- Backward ---------------------------------------------------------------------

Value* Crop(AtenCall& c, Value* v, const SymInts& size) {
  const SymInts have = DimsOf(v);
  for (size_t d = 0; d < size.size() && d < have.size(); ++d) {
    if (have[d] != size[d]) {
      v = Slice(c, v, static_cast<int64_t>(d), 0, size[d]);
    }
  }
  return v;
}

// The gradient of the input: a convolution of the other direction with the same weight.
Value* InputGradient(AtenCall& c, Value* grad, Value* input, Value* weight, Window w, int spatial) {
  if (w.transposed) {
    w.transposed = false;
    return Convolve(c, grad, weight, nullptr, w, spatial);
  }
  w.transposed = true;
  w.output_padding.clear();
  for (int i = 0; i < spatial; ++i) {
    const SymInt covered = (DimOf(grad, i + 2) - 1) * w.stride[i] - w.padding[i] * 2 +
                           w.dilation[i] * (DimOf(weight, i + 2) - 1) + 1;
    w.output_padding.push_back(DimOf(input, i + 2) - covered);
  }
  return Convolve(c, grad, weight, nullptr, w, spatial);
}

// [n, g*k, ...] to [k, g*n, ...]: swaps batch and channels.
Value* SwapBatch(AtenCall& c, Value* v, SymInt groups) {
  const SymInts size = DimsOf(v);
  SymInts split = size;
  split[1] = FloorDiv(size[1], groups);
  split.insert(split.begin() + 1, groups);
  Ints perm = AllDims(static_cast<int>(split.size()));
  perm[0] = 2;
  perm[1] = 1;
  perm[2] = 0;
  SymInts result = size;
  result[0] = split[2];
  result[1] = groups * size[0];
  return Reshape(c, Permute(c, Reshape(c, v, split), perm), result);
}

// The gradient of the weight: convolves the input with the gradient, with the batch as channels,
// and stride and dilation exchanged.
Value* WeightGradient(AtenCall& c, Value* grad, Value* input, Value* weight, const Window& w,
                      int spatial) {
  if (w.transposed) std::swap(grad, input);
  // [i, g*n, ..] with [g*o, n, ..] gives [i, g*o, ..].
  Value* x = SwapBatch(c, input, w.groups);
  SymInts size = DimsOf(grad);
  Value* k = Permute(c, grad, MoveDim(RankOf(grad), 1, 0));
  Window v;
  v.stride = w.dilation;
  v.dilation = w.stride;
  v.padding = w.padding;
  v.groups = w.groups;
  Value* y = Convolve(c, x, k, nullptr, v, spatial);
  Ints perm = AllDims(spatial + 2);
  std::swap(perm[0], perm[1]);
  return Crop(c, Permute(c, y, perm), DimsOf(weight));
}

void ConvolutionBackward(AtenCall& c) {
  Value* grad = c.T("grad_output");
  Value* input = c.T("input");
  Value* weight = c.T("weight");
  const int spatial = RankOf(weight) - 2;
  if (spatial < 1 || RankOf(grad) != spatial + 2 || RankOf(input) != spatial + 2) {
    return c.Return(c.Fail("the operands differ in rank"));
  }
  Window w;
  w.stride = c.SymsFor("stride", spatial);
  w.padding = c.SymsFor("padding", spatial);
  w.dilation = c.SymsFor("dilation", spatial);
  w.output_padding = c.SymsFor("output_padding", spatial);
  w.transposed = c.Bool("transposed");
  w.groups = c.Sym("groups");
  const std::vector<bool> wanted = c.Bools("output_mask");
  if (wanted.size() != 3) return c.Return(c.Fail("output_mask has no 3 values"));
  if (wanted[0]) {
    c.Return(InputGradient(c, grad, input, weight, w, spatial));
  } else {
    c.ReturnNone();
  }
  if (wanted[1]) {
    c.Return(WeightGradient(c, grad, input, weight, w, spatial));
  } else {
    c.ReturnNone();
  }
  if (wanted[2]) {
    c.Return(Reduce(c, ops::sum, grad, OtherDims(RankOf(grad), {1}), false));
  } else {
    c.ReturnNone();
  }
}

// --- Columns ----------------------------------------------------------------------

void Col2Im(AtenCall& c) {
  Ints padding = c.IntsFor("padding", 2);
  padding.insert(padding.end(), padding.begin(), padding.begin() + 2);
  Value* self = c.T("self");
  const bool batched = RankOf(self) == 3;
  if (!batched) self = Unsqueeze(c, self, 0);
  Value* y = c.Op(ops::col2im, {self},
                  {{"output_size", c.SymsFor("output_size", 2)},
                   {"kernel_size", c.IntsFor("kernel_size", 2)},
                   {"dilation", c.IntsFor("dilation", 2)},
                   {"padding", padding},
                   {"stride", c.IntsFor("stride", 2)}});
  c.Return(batched ? y : Squeeze(c, y, 0));
}

// Windows along one dim: [.., n, ..] to [.., k, out, ..].
Value* Windows(AtenCall& c, Value* x, int dim, int64_t kernel, int64_t dilation, int64_t stride) {
  const SymInt n = DimOf(x, dim);
  const SymInt out = FloorDiv(n - dilation * (kernel - 1) - 1, stride) + 1;
  Value* at = Add(c, AlongDim(c, Mul(c, Iota(c, kernel), static_cast<double>(dilation)), 0, 2),
                  AlongDim(c, Mul(c, Iota(c, out), static_cast<double>(stride)), 1, 2));
  return c.Op(ops::index_select, {x, at}, {{"dim", dim}});
}

void Im2Col(AtenCall& c) {
  Value* self = c.T("self");
  const bool batched = RankOf(self) == 4;
  if (!batched) self = Unsqueeze(c, self, 0);
  if (RankOf(self) != 4) return c.Return(c.Fail("self has neither 3 nor 4 dims"));
  const Ints kernel = c.IntsFor("kernel_size", 2);
  const Ints dilation = c.IntsFor("dilation", 2);
  const Ints padding = c.IntsFor("padding", 2);
  const Ints stride = c.IntsFor("stride", 2);
  const Ints pad = {0, 0, padding[0], padding[1], 0, 0, padding[0], padding[1]};
  Value* x = c.Op(ops::pad, {self, NumberLike(c, self, 0)}, {{"pad", pad}});
  // [n, c, h, w] -> [n, c, kh, oh, w] -> [n, c, kh, oh, kw, ow]
  x = Windows(c, x, 2, kernel[0], dilation[0], stride[0]);
  x = Windows(c, x, 4, kernel[1], dilation[1], stride[1]);
  if (!c.ok()) return;
  x = Permute(c, x, {0, 1, 2, 4, 3, 5});
  const SymInts have = DimsOf(x);
  x = Reshape(c, x, {have[0], have[1] * have[2] * have[3], have[4] * have[5]});
  c.Return(batched ? x : Squeeze(c, x, 0));
}

constexpr AtenOp kTable[] = {
    {"_convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, "
     "SymInt[] padding, SymInt[] dilation, bool transposed, SymInt[] "
     "output_padding, SymInt groups, bool benchmark, bool deterministic, bool "
     "cudnn_enabled, bool allow_tf32) -> Tensor",
     Convolution},
    {"col2im(Tensor self, SymInt[2] output_size, int[2] kernel_size, int[2] "
     "dilation, int[2] padding, int[2] stride) -> Tensor",
     Col2Im},
    {"conv1d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] "
     "stride=[1], SymInt[1] padding=[0], SymInt[1] dilation=[1], SymInt "
     "groups=1) -> Tensor",
     Conv<1>},
    {"conv1d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] "
     "stride=[1], str padding=\"valid\", SymInt[1] dilation=[1], SymInt "
     "groups=1) -> Tensor",
     Conv<1>},
    {"conv2d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] "
     "stride=[1, 1], SymInt[2] padding=[0, 0], SymInt[2] dilation=[1, 1], "
     "SymInt groups=1) -> Tensor",
     Conv<2>},
    {"conv2d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] "
     "stride=[1, 1], str padding=\"valid\", SymInt[2] dilation=[1, 1], SymInt "
     "groups=1) -> Tensor",
     Conv<2>},
    {"conv3d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] "
     "stride=[1, 1, 1], SymInt[3] padding=[0, 0, 0], SymInt[3] dilation=[1, 1, "
     "1], SymInt groups=1) -> Tensor",
     Conv<3>},
    {"conv3d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] "
     "stride=[1, 1, 1], str padding=\"valid\", SymInt[3] dilation=[1, 1, 1], "
     "SymInt groups=1) -> Tensor",
     Conv<3>},
    {"conv_transpose1d(Tensor input, Tensor weight, Tensor? bias=None, "
     "SymInt[1] stride=[1], SymInt[1] padding=[0], SymInt[1] "
     "output_padding=[0], SymInt groups=1, SymInt[1] dilation=[1]) -> Tensor",
     ConvTranspose<1>},
    {"conv_transpose2d.input(Tensor input, Tensor weight, Tensor? bias=None, "
     "SymInt[2] stride=[1, 1], SymInt[2] padding=[0, 0], SymInt[2] "
     "output_padding=[0, 0], SymInt groups=1, SymInt[2] dilation=[1, 1]) -> "
     "Tensor",
     ConvTranspose<2>},
    {"conv_transpose3d.input(Tensor input, Tensor weight, Tensor? bias=None, "
     "SymInt[3] stride=[1, 1, 1], SymInt[3] padding=[0, 0, 0], SymInt[3] "
     "output_padding=[0, 0, 0], SymInt groups=1, SymInt[3] dilation=[1, 1, 1]) "
     "-> Tensor",
     ConvTranspose<3>},
    {"convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, "
     "SymInt[] padding, SymInt[] dilation, bool transposed, SymInt[] "
     "output_padding, SymInt groups) -> Tensor",
     Convolution},
    {"convolution_backward(Tensor grad_output, Tensor input, Tensor weight, "
     "SymInt[]? bias_sizes, SymInt[] stride, SymInt[] padding, SymInt[] "
     "dilation, bool transposed, SymInt[] output_padding, SymInt groups, "
     "bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
     ConvolutionBackward},
    {"im2col(Tensor self, int[2] kernel_size, int[2] dilation, int[2] padding, "
     "int[2] stride) -> Tensor",
     Im2Col},
};

}  // namespace

absl::Span<const AtenOp> ConvTable() { return kTable; }

}  // namespace weft::pt2
