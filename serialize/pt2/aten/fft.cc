// Fourier transforms, dim by dim.
#include <cmath>

#include "absl/strings/str_cat.h"
#include "graph/ir/builder.h"
#include "graph/ops/ops.h"
#include "graph/sym/sym_ops.h"
#include "graph/tensor/tensor.h"
#include "serialize/pt2/aten/complex_parts.h"
#include "serialize/pt2/aten/tables.h"
#include "serialize/pt2/build.h"

namespace weft::pt2 {
namespace {

// PyTorch's numbers of the modes.
enum Normalization { kNone = 0, kByRootN = 1, kByN = 2 };

// The numbers as pairs in a last dim, which the transform takes.
Value* Pairs(AtenCall& c, Value* x) {
  if (IsComplex(DTypeOf(x))) return c.Op(ops::view_as_real, {x});
  return Unsqueeze(c, x, RankOf(x));
}

SymInt LengthAlong(const Value* x, absl::Span<const int64_t> dims) {
  SymInt n = 1;
  for (int64_t d : dims) n = n * DimOf(x, static_cast<int>(d));
  return n;
}

Value* Scaled(AtenCall& c, Value* pairs, SymInt n, int64_t normalization, bool has_n) {
  // ONNX's inverse already divides by n.
  Value* count = SymScalar(c, n, DTypeOf(pairs));
  const double power = (normalization == kByRootN ? -0.5
                        : normalization == kByN   ? -1
                                                  : 0) +
                       (has_n ? 1 : 0);
  if (power == 0) return pairs;
  return Mul(c, pairs, c.Op(ops::pow, {count, NumberLike(c, count, power)}));
}

// Transforms one dim of pairs; `length` is the number of points.
Value* Transform(AtenCall& c, Value* pairs, int64_t dim, bool inverse, bool onesided) {
  return c.Op(ops::dft, {pairs}, {{"axis", dim}, {"inverse", inverse}, {"onesided", onesided}});
}

Ints WrappedDims(AtenCall& c, absl::string_view name, int rank) {
  Ints dims;
  for (int64_t d : c.Ints(name)) dims.push_back(c.WrapDim(d, rank));
  return dims;
}

// Complex to complex transform over `dims`.
Value* ComplexTransform(AtenCall& c, Value* x, const Ints& dims, int64_t normalization,
                        bool forward) {
  // The first transform takes real numbers directly.
  if (dims.empty() && !IsComplex(DTypeOf(x))) return JoinParts(c, PartsOf(c, x));
  Value* pairs = Pairs(c, x);
  for (int64_t d : dims) pairs = Transform(c, pairs, d, !forward, false);
  pairs = Scaled(c, pairs, LengthAlong(x, dims), normalization, !forward);
  return c.Op(ops::view_as_complex, {pairs});
}

// Real to complex: the last dim is transformed first, one-sided.
Value* RealTransform(AtenCall& c, Value* x, const Ints& dims, int64_t normalization,
                     bool onesided) {
  if (dims.empty()) return c.Fail("no dims to transform");
  Value* pairs = Transform(c, Pairs(c, x), dims.back(), false, onesided);
  for (size_t i = 0; i + 1 < dims.size(); ++i) {
    pairs = Transform(c, pairs, dims[i], false, false);
  }
  pairs = Scaled(c, pairs, LengthAlong(x, dims), normalization, false);
  return c.Op(ops::view_as_complex, {pairs});
}

}  // namespace

Value* RealInverse(AtenCall& c, Value* pairs, int64_t dim, SymInt n) {
  return c.Op(ops::dft, {pairs},
              {{"dft_length", n}, {"axis", dim}, {"inverse", true}, {"onesided", true}});
}

namespace {

// Complex to real: the last dim is transformed last.
Value* BackToReal(AtenCall& c, Value* x, const Ints& dims, int64_t normalization, SymInt n) {
  if (dims.empty()) return c.Fail("no dims to transform");
  if (!IsComplex(DTypeOf(x))) x = JoinParts(c, PartsOf(c, x));
  Value* pairs = Pairs(c, x);
  SymInt count = n;
  for (size_t i = 0; i + 1 < dims.size(); ++i) {
    count = count * DimOf(x, static_cast<int>(dims[i]));
    pairs = Transform(c, pairs, dims[i], true, false);
  }
  pairs = RealInverse(c, pairs, dims.back(), n);
  pairs = Scaled(c, pairs, count, normalization, true);
  return Select(c, pairs, RankOf(pairs) - 1, 0);
}

void FftC2C(AtenCall& c) {
  Value* x = c.T("self");
  c.Return(ComplexTransform(c, x, WrappedDims(c, "dim", RankOf(x)), c.Int("normalization"),
                            c.Bool("forward")));
}

void FftR2C(AtenCall& c) {
  Value* x = c.T("self");
  c.Return(RealTransform(c, x, WrappedDims(c, "dim", RankOf(x)), c.Int("normalization"),
                         c.Bool("onesided")));
}

void FftC2R(AtenCall& c) {
  Value* x = c.T("self");
  c.Return(BackToReal(c, x, WrappedDims(c, "dim", RankOf(x)), c.Int("normalization"),
                      c.Sym("last_dim_size")));
}

// --- torch.fft --------------------------------------------------------------------

int64_t NormOf(AtenCall& c, bool forward) {
  const std::string norm = c.Has("norm") ? c.Str("norm") : "backward";
  if (norm == "ortho") return kByRootN;
  if (norm != "backward" && norm != "forward") {
    c.Fail(absl::StrCat("unknown norm \"", norm, "\""));
  }
  return (norm == "forward") == forward ? kByN : kNone;
}

// `n` elements along `dim`: truncated, or padded with zeros.
Value* Resized(AtenCall& c, Value* x, int64_t dim, SymInt n) {
  if (x == nullptr) return nullptr;
  const SymInt have = DimOf(x, static_cast<int>(dim));
  if (have == n) return x;
  const bool complex = IsComplex(DTypeOf(x));
  Value* v = complex ? c.Op(ops::view_as_real, {x}) : x;
  const int rank = RankOf(v);
  SymInts pad(2 * rank, SymInt(0));
  pad[rank + dim] = n - have;
  v = c.Op(ops::pad, {v, NumberLike(c, v, 0)}, {{"pad", pad}});
  return complex ? c.Op(ops::view_as_complex, {v}) : v;
}

Value* InputOf(AtenCall& c) {
  Value* x = c.T("self");
  const DType d = DTypeOf(x);
  return IsFloat(d) || IsComplex(d) ? x : Convert(c, x, DType::kF32);
}

template <bool forward>
void Fft(AtenCall& c) {
  Value* x = InputOf(c);
  const int dim = c.Dim("dim", RankOf(x));
  if (RankOf(x) == 0) return c.Return(c.Fail("self has no dims"));
  if (c.Has("n")) x = Resized(c, x, dim, c.Sym("n"));
  c.Return(ComplexTransform(c, x, {dim}, NormOf(c, forward), forward));
}

void Rfft(AtenCall& c) {
  Value* x = InputOf(c);
  const int dim = c.Dim("dim", RankOf(x));
  if (RankOf(x) == 0) return c.Return(c.Fail("self has no dims"));
  if (c.Has("n")) x = Resized(c, x, dim, c.Sym("n"));
  c.Return(RealTransform(c, x, {dim}, NormOf(c, true), true));
}

void Irfft(AtenCall& c) {
  Value* x = InputOf(c);
  const int dim = c.Dim("dim", RankOf(x));
  if (RankOf(x) == 0) return c.Return(c.Fail("self has no dims"));
  const SymInt n = c.Sym("n", (DimOf(x, dim) - 1) * 2);
  x = Resized(c, x, dim, FloorDiv(n, 2) + 1);
  c.Return(BackToReal(c, x, {dim}, NormOf(c, false), n));
}

// Dims and sizes of a transform over several dims.
Ints ResizeDims(AtenCall& c, Value** x, bool half_of_last) {
  const int rank = RankOf(*x);
  Ints dims;
  if (c.Has("dim")) {
    dims = WrappedDims(c, "dim", rank);
  } else if (c.Has("s")) {
    const int n = static_cast<int>(c.Syms("s").size());
    for (int i = rank - n; i < rank; ++i) dims.push_back(std::max(i, 0));
  } else {
    dims = AllDims(rank);
  }
  if (!c.Has("s")) return dims;
  const SymInts sizes = c.Syms("s");
  for (size_t i = 0; i < sizes.size() && i < dims.size(); ++i) {
    SymInt n = sizes[i];
    if (n.Is(-1)) continue;
    if (half_of_last && i + 1 == dims.size()) n = FloorDiv(n, 2) + 1;
    *x = Resized(c, *x, dims[i], n);
  }
  return dims;
}

template <bool forward>
void FftN(AtenCall& c) {
  Value* x = InputOf(c);
  const Ints dims = ResizeDims(c, &x, false);
  c.Return(ComplexTransform(c, x, dims, NormOf(c, forward), forward));
}

void RfftN(AtenCall& c) {
  Value* x = InputOf(c);
  const Ints dims = ResizeDims(c, &x, false);
  c.Return(RealTransform(c, x, dims, NormOf(c, true), true));
}

void IrfftN(AtenCall& c) {
  Value* x = InputOf(c);
  const Ints dims = ResizeDims(c, &x, true);
  if (dims.empty()) return c.Return(c.Fail("no dims to transform"));
  SymInt n = (DimOf(x, static_cast<int>(dims.back())) - 1) * 2;
  if (c.Has("s") && !c.Syms("s").empty() && !c.Syms("s").back().Is(-1)) {
    n = c.Syms("s").back();
  }
  c.Return(BackToReal(c, x, dims, NormOf(c, false), n));
}

// Exchanges the halves of dims.
template <bool back>
void Shift(AtenCall& c) {
  Value* x = c.T("self");
  const Ints dims = c.Has("dim") ? WrappedDims(c, "dim", RankOf(x)) : AllDims(RankOf(x));
  SymInts shifts;
  for (int64_t d : dims) {
    const SymInt n = DimOf(x, static_cast<int>(d));
    shifts.push_back(FloorDiv(back ? n + 1 : n, 2));
  }
  c.Return(c.Op(ops::roll, {x}, {{"shifts", shifts}, {"dims", dims}}));
}

constexpr AtenOp kTable[] = {
    {"_fft_c2c(Tensor self, SymInt[] dim, int normalization, bool forward) -> "
     "Tensor",
     FftC2C},
    {"_fft_c2r(Tensor self, int[] dim, int normalization, SymInt "
     "last_dim_size) -> Tensor",
     FftC2R},
    {"_fft_r2c(Tensor self, int[] dim, int normalization, bool onesided) -> "
     "Tensor",
     FftR2C},
    {"fft_fft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> "
     "Tensor",
     Fft<true>},
    {"fft_fft2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? "
     "norm=None) -> Tensor",
     FftN<true>},
    {"fft_fftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? "
     "norm=None) -> Tensor",
     FftN<true>},
    {"fft_fftshift(Tensor self, int[1]? dim=None) -> Tensor", Shift<false>},
    {"fft_ifft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> "
     "Tensor",
     Fft<false>},
    {"fft_ifft2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? "
     "norm=None) -> Tensor",
     FftN<false>},
    {"fft_ifftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? "
     "norm=None) -> Tensor",
     FftN<false>},
    {"fft_ifftshift(Tensor self, int[1]? dim=None) -> Tensor", Shift<true>},
    {"fft_irfft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> "
     "Tensor",
     Irfft},
    {"fft_irfft2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? "
     "norm=None) -> Tensor",
     IrfftN},
    {"fft_irfftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? "
     "norm=None) -> Tensor",
     IrfftN},
    {"fft_rfft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> "
     "Tensor",
     Rfft},
    {"fft_rfft2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? "
     "norm=None) -> Tensor",
     RfftN},
    {"fft_rfftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? "
     "norm=None) -> Tensor",
     RfftN},
};

}  // namespace

absl::Span<const AtenOp> FftTable() { return kTable; }

}  // namespace weft::pt2
