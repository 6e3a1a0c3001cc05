// Pooling to given sizes: window `o` of `out` along a dim of `in` elements goes from floor(o * in /
// out) to ceil((o + 1) * in / out). Sizes may be symbolic.
#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "graph/ir/builder.h"
#include "graph/ir/module.h"
#include "graph/ops/ops.h"
#include "graph/sym/sym_facts.h"
#include "graph/sym/sym_ops.h"
#include "serialize/pt2/aten/tables.h"
#include "serialize/pt2/build.h"

namespace weft::pt2 {
namespace {

int64_t Start(int64_t o, int64_t in, int64_t out) { return o * in / out; }
int64_t End(int64_t o, int64_t in, int64_t out) { return ((o + 1) * in + out - 1) / out; }

// An upper bound of the number of elements of a window.
SymInt WidestWindow(SymInt in, SymInt out) {
  const auto n = in.constant();
  const auto count = out.constant();
  if (!n || !count) return CeilDiv(in, out) + 1;
  int64_t widest = 0;
  for (int64_t o = 0; o < *count; ++o) {
    widest = std::max(widest, End(o, *n, *count) - Start(o, *n, *count));
  }
  return widest;
}

// The windows along one dim.
struct Windows {
  Value* index = nullptr;   // i64[out, widest]: positions; a short window repeats the last one.
  Value* inside = nullptr;  // bool[out, widest]: true if the position belongs to the window.
  Value* size = nullptr;    // i64[out]
};

Windows WindowsOf(AtenCall& c, SymInt in, SymInt out) {
  const auto divided = [&](Value* v) {
    return c.Op(ops::div, {v, SymScalar(c, out, DType::kI64)}, {{"rounding_mode", "floor"}});
  };
  Value* n = SymScalar(c, in, DType::kI64);
  Value* o = Iota(c, out);
  Value* start = divided(Mul(c, o, n));
  Value* end = divided(Add(c, Mul(c, Add(c, o, 1), n), SymScalar(c, out - 1, DType::kI64)));
  Windows windows;
  windows.size = Sub(c, end, start);
  Value* k = Iota(c, WidestWindow(in, out));
  windows.inside = c.Op(ops::lt, {k, Unsqueeze(c, windows.size, 1)});
  windows.index = c.Op(ops::minimum, {Add(c, Unsqueeze(c, start, 1), k), Sub(c, n, 1)});
  return windows;
}

// [.., in, ..] to [.., out, widest, ..], with `fill` outside of the windows.
Value* Gathered(AtenCall& c, Value* x, int dim, const Windows& windows, double fill) {
  Value* values = c.Op(ops::index_select, {x, windows.index}, {{"dim", dim}});
  SymInts size = DimsOf(windows.inside);
  size.resize(RankOf(values) - dim, SymInt(1));
  return Where(c, Reshape(c, windows.inside, size), values, NumberLike(c, values, fill));
}

bool AllOnes(const SymInts& size) {
  return std::all_of(size.begin(), size.end(), [](SymInt s) { return s.Is(1); });
}

// The kernel of ordinary pooling, if all windows have equal size.
std::optional<Ints> EvenKernel(const SymInts& in, const SymInts& out) {
  Ints kernel;
  for (size_t i = 0; i < in.size(); ++i) {
    const auto n = in[i].constant();
    const auto count = out[i].constant();
    if (!n || !count || *count < 1 || *n % *count != 0) return std::nullopt;
    kernel.push_back(*n / *count);
  }
  return kernel;
}

// The requested sizes of the last `n` dims, checked.
SymInts SpatialDims(AtenCall& c, const Value* x, int n, const SymInts& out) {
  constexpr int64_t kMaxAdaptive = 1 << 16;
  if (RankOf(x) < n + 1) c.Fail("self has too few dims");
  SymInts in = DimsOf(x);
  in.erase(in.begin(), in.end() - n);
  for (int i = 0; i < n; ++i) {
    const SymbolTable& symbols = c.b().module().symbols();
    const SymRange range = symbols.RangeOf(out[i]);
    if (symbols.RangeOf(in[i]).max < 1 || range.max < 0 ||
        (out[i].is_constant() && range.max > kMaxAdaptive)) {
      c.Fail("the sizes of an adaptive pooling are empty or too large");
    }
  }
  return in;
}

Value* EvenMean(AtenCall& c, Value* x, int n, const Ints& kernel) {
  const bool batched = RankOf(x) == n + 2;
  if (!batched) x = Unsqueeze(c, x, 0);
  Value* y = c.Op(ops::avg_pool, {x},
                  {{"kernel_size", kernel},
                   {"stride", kernel},
                   {"padding", Ints(2 * n, 0)},
                   {"dilation", Ints(n, 1)}});
  return batched ? y : Squeeze(c, y, 0);
}

template <int n>
void AdaptiveAvg(AtenCall& c) {
  Value* x = c.T("self");
  const SymInts out = c.SymsFor("output_size", n);
  const SymInts in = SpatialDims(c, x, n, out);
  const int rank = RankOf(x);
  if (AllOnes(out)) {
    Ints dims;
    for (int i = 0; i < n; ++i) dims.push_back(rank - n + i);
    return c.Return(Reduce(c, ops::mean, x, dims, true));
  }
  if (const auto kernel = EvenKernel(in, out)) return c.Return(EvenMean(c, x, n, *kernel));
  const DType dtype = DTypeOf(x);
  x = Convert(c, x, Wide(dtype));
  Value* divisor = nullptr;
  for (int i = 0; i < n; ++i) {
    const int dim = rank - n + i;
    const Windows windows = WindowsOf(c, in[i], out[i]);
    x = Reduce(c, ops::sum, Gathered(c, x, dim, windows, 0), {dim + 1}, false);
    SymInts size(rank - dim, SymInt(1));
    size[0] = out[i];
    Value* width = Reshape(c, Convert(c, windows.size, Wide(dtype)), size);
    divisor = divisor == nullptr ? width : Mul(c, divisor, width);
  }
  c.Return(Convert(c, Div(c, x, divisor), dtype));
}

// Returns values and their positions in the flattened spatial dims.
template <int n>
void AdaptiveMax(AtenCall& c) {
  Value* x = c.T("self");
  const SymInts out = c.SymsFor("output_size", n);
  const SymInts in = SpatialDims(c, x, n, out);
  if (!IsFloat(DTypeOf(x))) return c.Return(c.Unsupported("integers are not supported"));
  const int rank = RankOf(x);
  // Positions, gathered in the same way.
  SymInts plane(rank, SymInt(1));
  SymInt numel = 1;
  for (int i = 0; i < n; ++i) {
    plane[rank - n + i] = in[i];
    numel = numel * in[i];
  }
  Value* at = Expand(c, Reshape(c, Iota(c, numel), plane), DimsOf(x));
  constexpr double kLowest = -std::numeric_limits<double>::infinity();
  // Moves the windows of all dims to the end.
  for (int i = 0; i < n; ++i) {
    const int dim = rank - n + i;
    const Windows windows = WindowsOf(c, in[i], out[i]);
    const auto gathered = [&](Value* v, double fill) {
      v = Gathered(c, v, dim, windows, fill);
      return Permute(c, v, MoveDim(RankOf(v), dim + 1, RankOf(v) - 1));
    };
    x = gathered(x, kLowest);
    at = gathered(at, 0);
  }
  x = Flatten(c, x, rank, RankOf(x) - 1);
  at = Flatten(c, at, rank, RankOf(at) - 1);
  Value* best = c.Op(ops::argmax, {x}, {{"dim", rank}, {"keepdim", true}});
  c.Return(Reduce(c, ops::amax, x, {rank}, false));
  c.Return(Squeeze(c, c.Op(ops::gather, {at, best}, {{"dim", rank}}), rank));
}

// [in, out] averages along both dims, transposed.
void AdaptiveAvgBackward(AtenCall& c) {
  Value* grad = c.T("grad_output");
  Value* self = c.T("self");
  if (RankOf(self) < 3 || RankOf(grad) != RankOf(self)) {
    return c.Return(c.Fail("self has too few dims"));
  }
  // [out, in]: 1 / size inside of the windows.
  const auto matrix = [&](int dim) {
    const SymInt in = DimOf(self, dim);
    const Windows windows = WindowsOf(c, in, DimOf(grad, dim));
    Value* first = Select(c, windows.index, 1, 0);
    Value* end = Add(c, first, windows.size);
    Value* k = Iota(c, in);
    Value* inside = c.Op(ops::logical_and, {c.Op(ops::ge, {k, Unsqueeze(c, first, 1)}),
                                            c.Op(ops::lt, {k, Unsqueeze(c, end, 1)})});
    Value* size = Unsqueeze(c, Convert(c, windows.size, DTypeOf(grad)), 1);
    Value* share = Div(c, NumberLike(c, grad, 1), size);
    return Where(c, inside, share, NumberLike(c, grad, 0));
  };
  const int rank = RankOf(self);
  Value* rows = c.Op(ops::matmul, {grad, matrix(rank - 1)});
  c.Return(c.Op(ops::matmul, {Permute(c, matrix(rank - 2), {1, 0}), rows}));
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
};

}  // namespace

absl::Span<const AtenOp> AdaptivePoolTable() { return kTable; }

}  // namespace weft::pt2
