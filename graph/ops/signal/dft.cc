// Discrete Fourier transform along one dim.
#include <algorithm>

#include "graph/ops/signal/fourier.h"
#include "graph/ops/support/op.h"
#include "graph/sym/sym_ops.h"

namespace weft::ops {
namespace {

// True for the transform from a one-sided spectrum to real numbers.
bool IsRealInverse(const Attrs& attrs) { return attrs.Bool("inverse") && attrs.Bool("onesided"); }

absl::Status Verify(const OpArgs& args) {
  WEFT_RETURN_IF_ERROR(CheckFloat(args, 0));
  WEFT_RETURN_IF_ERROR(CheckRankAtLeast(args, 0, 2));
  const int rank = args.type(0).rank();
  const SymInt parts = args.type(0).dim(rank - 1);
  if (!args.MayHold(Or(Equal(parts, 1), Equal(parts, 2)))) {
    return Invalid("the last dim of self must be 1 (real) or 2 (complex), not ", parts.ToString());
  }
  WEFT_ASSIGN_OR_RETURN(const int axis, NormalizeDim(args.attrs().Int("axis"), rank));
  if (axis == rank - 1) return Invalid("axis is the dim of the two parts");
  if (IsRealInverse(args.attrs()) && !args.MayHold(Equal(parts, 2))) {
    return Invalid("a one-sided inverse transform takes complex numbers");
  }
  return absl::OkStatus();
}

absl::StatusOr<Types> Infer(const OpArgs& args) {
  const int rank = args.type(0).rank();
  const int axis = *NormalizeDim(args.attrs().Int("axis"), rank);
  std::vector<SymInt> dims(args.type(0).dims().begin(), args.type(0).dims().end());
  const bool real_inverse = IsRealInverse(args.attrs());
  if (real_inverse) dims[axis] = 2 * (dims[axis] - 1);
  if (args.attrs().Has("dft_length")) dims[axis] = args.attrs().Sym("dft_length");
  if (!args.MayHold(GreaterEqual(dims[axis], 1))) {
    return Invalid("dft_length must be positive, not ", dims[axis].ToString());
  }
  if (args.attrs().Bool("onesided") && !real_inverse) {
    dims[axis] = FloorDiv(dims[axis], 2) + 1;
  }
  dims[rank - 1] = real_inverse ? 1 : 2;
  return Types{args.type(0).WithDims(dims)};
}

// The whole spectrum of `length` real numbers, from its first half: the second half is the mirror
// image, conjugated.
std::vector<std::complex<double>> Mirror(std::vector<std::complex<double>> half, int64_t length) {
  half.resize(length / 2 + 1);
  std::vector<std::complex<double>> whole(length);
  for (int64_t k = 0; k < length; ++k) {
    const int64_t mirrored = length - k;
    whole[k] = k <= length / 2 ? half[k] : std::conj(half[mirrored]);
    if (k == 0 || k == mirrored) whole[k] = whole[k].real();
  }
  return whole;
}

// The first `bins` of the spectrum of real numbers: the second half is the first one conjugated and
// reversed, and the sums of all and of alternating elements are real.
std::vector<std::complex<double>> RealSpectrum(const std::vector<std::complex<double>>& values,
                                               int64_t length, int64_t bins, bool inverse) {
  auto result = FourierTransform(values, length, std::min(bins, length / 2 + 1), inverse);
  result.resize(bins);
  for (int64_t k = 0; k < bins; ++k) {
    if (k > length / 2) result[k] = std::conj(result[length - k]);
    if (2 * k % length == 0) result[k] = result[k].real();
  }
  return result;
}

absl::Status Eval(EvalContext& c) {
  const HostTensor& self = c.in(0);
  const int axis = *NormalizeDim(c.attrs().Int("axis"), self.rank());
  const int64_t parts = self.dims().back();
  const int64_t size = self.dim(axis);
  const bool real_inverse = IsRealInverse(c.attrs());
  int64_t length = real_inverse ? 2 * (size - 1) : size;
  if (c.attrs().Has("dft_length")) length = c.attrs().Sym("dft_length").value();
  if (parts < 1 || parts > 2 || length < 1) {
    return Invalid("nothing to transform");
  }
  const int64_t bins = c.out(0).dim(axis);
  const bool inverse = c.attrs().Bool("inverse");
  const std::vector<double> x = Read<double>(self);
  std::vector<double> y(c.out(0).numel());
  // Elements of a line are `inner` apart; an element has `parts` numbers before the transform, and
  // `parts_out` after it.
  const int64_t parts_out = real_inverse ? 1 : 2;
  const int64_t inner = Numel(self.dims().subspan(axis + 1, self.rank() - axis - 2));
  const int64_t outer = Numel(self.dims().subspan(0, axis));
  ParallelFor(outer * inner, [&](int64_t line) {
    const int64_t o = line / inner, i = line % inner;
    std::vector<std::complex<double>> values(size);
    for (int64_t k = 0; k < size; ++k) {
      const double* at = &x[((o * size + k) * inner + i) * parts];
      values[k] = {at[0], parts == 2 ? at[1] : 0.0};
    }
    if (real_inverse) values = Mirror(std::move(values), length);
    const auto result = parts == 1 ? RealSpectrum(values, length, bins, inverse)
                                   : FourierTransform(values, length, bins, inverse);
    for (int64_t k = 0; k < bins; ++k) {
      double* at = &y[((o * bins + k) * inner + i) * parts_out];
      at[0] = result[k].real();
      if (parts_out == 2) at[1] = result[k].imag();
    }
  });
  Write(y, &c.out(0));
  return absl::OkStatus();
}

}  // namespace

WEFT_DEFINE_OP(dft, OpSpec("dft(Tensor self, SymInt? dft_length=None, int axis=1, "
                           "bool inverse=False, bool onesided=False) -> Tensor",
                           "Fourier transform along `axis` of numbers whose real (and "
                           "imaginary) part lies in the last dim, cut or padded with zeros to "
                           "`dft_length`. A one-sided result keeps the first "
                           "floor(dft_length/2)+1 bins; the one-sided inverse takes those "
                           "and gives dft_length real numbers (2*(bins-1) unless it is "
                           "given). ONNX: DFT-17, DFT-20.")
                        .Verify(Verify)
                        .Infer(Infer)
                        .Eval(Eval)
                        .Map(Absent{"an element depends on a whole line"})
                        .Flops(Absent{"the number depends on the algorithm"})
                        .Samples(R"(
dft(f32[2, 5, 1])
dft(f32[2, 5, 2], inverse=true)
dft(f64[2, 6, 3, 1], axis=-2, onesided=true)
dft(f32[1, 6, 1], dft_length=4)
dft(f32[1, 3, 2], dft_length=8)
dft(f32[4, 1], axis=0)
dft(f32[2, 4, 2], inverse=true, onesided=true)
dft(f64[2, 4, 3, 2], dft_length=7, axis=1, inverse=true, onesided=true)
dft(f32[1, 4, 2], dft_length=4, inverse=true, onesided=true)
dft(f32[1, 2, 2], dft_length=9, inverse=true, onesided=true)
dft(f32[0, 4, 1])
dft(f32[2, 5, 3]) ! "must be 1 (real) or 2"
dft(f32[2, 5, 1], axis=2) ! "axis is the dim of the two parts"
dft(f32[2, 5, 1], inverse=true, onesided=true) ! "takes complex numbers"
dft(f32[2, 5, 1], dft_length=0) ! "must be positive"
dft(i32[2, 5, 1]) ! "a float dtype"
)"));

}  // namespace weft::ops
