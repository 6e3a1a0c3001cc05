// Short-time Fourier transforms and their inverse.
#include <cmath>

#include "graph/ir/builder.h"
#include "graph/ops/ops.h"
#include "graph/sym/sym_ops.h"
#include "serialize/pt2/aten/complex_parts.h"
#include "serialize/pt2/aten/tables.h"
#include "serialize/pt2/build.h"

namespace weft::pt2 {
namespace {

struct Frames {
  int64_t length;
  int64_t step;
  Value* window = nullptr;  // [length]; null: ones.
};

// The window is centred in the frame.
Frames FramesOf(AtenCall& c, DType dtype) {
  Frames f;
  f.length = c.Int("n_fft");
  f.step = c.Int("hop_length", f.length / 4);
  const int64_t width = c.Int("win_length", f.length);
  if (f.length < 1 || f.step < 1 || width < 1 || width > f.length) {
    c.Fail("n_fft, hop_length and win_length do not fit");
  }
  if (!c.Has("window") && width == f.length) return f;
  Value* window = c.Has("window") ? Convert(c, c.T("window"), dtype)
                                  : Full(c, {SymInt(width)}, Number(c, dtype, 1));
  const int64_t before = (f.length - width) / 2;
  if (width < f.length) {
    window = c.Op(ops::pad, {window, Number(c, dtype, 0)},
                  {{"pad", Ints{before, f.length - width - before}}});
  }
  f.window = window;
  return f;
}

void Stft(AtenCall& c) {
  Value* x = c.T("self");
  const bool complex = IsComplex(DTypeOf(x));
  const DType dtype = RealDType(DTypeOf(x));
  const Frames f = FramesOf(c, dtype);
  const bool batched = RankOf(x) == 2;
  Value* pairs = complex ? c.Op(ops::view_as_real, {x}) : Unsqueeze(c, x, RankOf(x));
  if (!batched) pairs = Unsqueeze(c, pairs, 0);
  if (f.window != nullptr && IsComplex(DTypeOf(f.window))) {
    return c.Return(c.Unsupported("complex windows are not supported"));
  }
  if (c.schema().Find("center") >= 0 && c.Bool("center")) {
    const int64_t side = f.length / 2;
    const std::string mode = c.Str("pad_mode");
    if (mode != "reflect" && mode != "constant") {
      return c.Return(c.Unsupported("pad_mode must be reflect or constant"));
    }
    Value* zero = mode == "constant" ? Number(c, dtype, 0) : nullptr;
    pairs = c.Op(ops::pad, {pairs, zero}, {{"pad", Ints{0, side, 0, 0, side, 0}}, {"mode", mode}});
  }
  Value* y = c.Op(ops::stft, {pairs, f.window},
                  {{"frame_step", f.step},
                   {"frame_length", f.length},
                   {"onesided", c.Bool("onesided", !complex)}});
  y = Permute(c, y, {0, 2, 1, 3});  // [N, bins, frames, 2]
  if (c.Bool("normalized")) y = Div(c, y, std::sqrt(static_cast<double>(f.length)));
  if (!batched) y = Squeeze(c, y, 0);
  c.Return(c.Bool("return_complex", false) ? c.Op(ops::view_as_complex, {y}) : y);
}

// Adds overlapping frames: [N, frames, length] to [N, samples].
Value* OverlapAdd(AtenCall& c, Value* frames, int64_t length, int64_t step) {
  const SymInt samples = (DimOf(frames, 1) - 1) * step + length;
  Value* y = c.Op(ops::col2im, {Permute(c, frames, {0, 2, 1})},
                  {{"output_size", SymInts{samples}},
                   {"kernel_size", Ints{length}},
                   {"dilation", Ints{1}},
                   {"padding", Ints{0, 0}},
                   {"stride", Ints{step}}});
  return Squeeze(c, y, 1);  // [N, 1, samples]
}

// Overlap-adds frames times the window, and divides by the sum of squared windows.
void Istft(AtenCall& c) {
  Value* x = c.T("self");
  if (!IsComplex(DTypeOf(x)) || c.Bool("return_complex")) {
    return c.Return(c.Unsupported("only real signals are made, from complex numbers"));
  }
  const DType dtype = RealDType(DTypeOf(x));
  const Frames f = FramesOf(c, dtype);
  const bool batched = RankOf(x) == 3;
  Value* pairs = c.Op(ops::view_as_real, {x});
  if (!batched) pairs = Unsqueeze(c, pairs, 0);
  pairs = Permute(c, pairs, {0, 2, 1, 3});  // [N, frames, bins, 2]
  const bool onesided = c.Bool("onesided", !DimOf(pairs, 2).Is(f.length));
  Value* y = onesided ? RealInverse(c, pairs, 2, f.length)
                      : c.Op(ops::dft, {pairs}, {{"axis", 2}, {"inverse", true}});
  y = Select(c, y, 3, 0);
  if (c.Bool("normalized")) y = Mul(c, y, std::sqrt(static_cast<double>(f.length)));
  Value* window = f.window != nullptr ? f.window : Full(c, {SymInt(f.length)}, Number(c, dtype, 1));
  Value* squares = Expand(c, Mul(c, window, window), {SymInt(1), DimOf(y, 1), SymInt(f.length)});
  y = OverlapAdd(c, Mul(c, y, window), f.length, f.step);
  Value* weight = OverlapAdd(c, squares, f.length, f.step);
  const SymInt samples = DimOf(y, 1);
  const int64_t start = c.Bool("center") ? f.length / 2 : 0;
  SymInt end = c.Bool("center") ? samples - f.length / 2 : samples;
  const SymInt wanted = c.Sym("length", end - start);
  if (c.Has("length")) end = Min(samples, wanted + start);
  y = Div(c, Slice(c, y, 1, start, end), Slice(c, weight, 1, start, end));
  const SymInt missing = wanted - (end - start);
  if (!missing.Is(0)) {
    y = c.Op(ops::pad, {y, Number(c, dtype, 0)}, {{"pad", SymInts{0, 0, 0, missing}}});
  }
  c.Return(batched ? y : Squeeze(c, y, 0));
}

constexpr AtenOp kTable[] = {
    {"istft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, "
     "Tensor? window=None, bool center=True, bool normalized=False, bool? "
     "onesided=None, int? length=None, bool return_complex=False) -> Tensor",
     Istft},
    {"stft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, "
     "Tensor? window=None, bool normalized=False, bool? onesided=None, bool? "
     "return_complex=None, bool? align_to_window=None) -> Tensor",
     Stft},
    {"stft.center(Tensor self, int n_fft, int? hop_length=None, int? "
     "win_length=None, Tensor? window=None, bool center=True, str "
     "pad_mode=\"reflect\", bool normalized=False, bool? onesided=None, bool? "
     "return_complex=None, bool? align_to_window=None) -> Tensor",
     Stft},
};

}  // namespace

absl::Span<const AtenOp> SpectrogramTable() { return kTable; }

}  // namespace weft::pt2
