// Discrete Fourier transform along one dim.
#include "graph/ops/signal/fourier.h"
#include "graph/ops/support/op.h"

namespace weft::ops {
namespace {

absl::Status Verify(const OpArgs& args) {
  WEFT_RETURN_IF_ERROR(CheckFloat(args, 0));
  WEFT_RETURN_IF_ERROR(CheckRankAtLeast(args, 0, 2));
  const int rank = args.type(0).rank();
  const SymInt parts = args.type(0).dim(rank - 1);
  if (parts.is_constant() && parts.value() != 1 && parts.value() != 2) {
    return Invalid("the last dim of self must be 1 (real) or 2 (complex), not ",
                   parts.ToString());
  }
  WEFT_ASSIGN_OR_RETURN(const int axis,
                        NormalizeDim(args.attrs().Int("axis"), rank));
  if (axis == rank - 1) return Invalid("axis is the dim of the two parts");
  if (args.attrs().Bool("onesided") && args.attrs().Bool("inverse")) {
    return Invalid("an inverse transform cannot be one-sided");
  }
  return absl::OkStatus();
}

absl::StatusOr<Types> Infer(const OpArgs& args) {
  const int rank = args.type(0).rank();
  const int axis = *NormalizeDim(args.attrs().Int("axis"), rank);
  std::vector<SymInt> dims(args.type(0).dims().begin(),
                           args.type(0).dims().end());
  if (args.attrs().Has("dft_length")) dims[axis] = args.attrs().Sym("dft_length");
  if (dims[axis].is_constant() && dims[axis].value() < 1) {
    return Invalid("dft_length must be positive, not ", dims[axis].ToString());
  }
  if (args.attrs().Bool("onesided")) dims[axis] = FloorDiv(dims[axis], 2) + 1;
  dims[rank - 1] = 2;
  return Types{args.type(0).WithDims(dims)};
}

absl::Status Eval(EvalContext& c) {
  const HostTensor& self = c.in(0);
  const int axis = *NormalizeDim(c.attrs().Int("axis"), self.rank());
  const int64_t parts = self.dims().back();
  const int64_t size = self.dim(axis);
  const int64_t length =
      c.attrs().Has("dft_length") ? c.attrs().Int("dft_length") : size;
  if (parts < 1 || parts > 2 || length < 1) {
    return Invalid("nothing to transform");
  }
  const int64_t bins = c.out(0).dim(axis);
  const bool inverse = c.attrs().Bool("inverse");
  const std::vector<double> x = Read<double>(self);
  std::vector<double> y(c.out(0).numel());
  // Lines lie `inner` apart; an element has `parts` numbers before it, 2 after.
  const int64_t inner =
      Numel(self.dims().subspan(axis + 1, self.rank() - axis - 2));
  const int64_t outer = Numel(self.dims().subspan(0, axis));
  ParallelFor(outer * inner, [&](int64_t line) {
    const int64_t o = line / inner, i = line % inner;
    std::vector<std::complex<double>> values(size);
    for (int64_t k = 0; k < size; ++k) {
      const double* at = &x[((o * size + k) * inner + i) * parts];
      values[k] = {at[0], parts == 2 ? at[1] : 0.0};
    }
    const auto result = FourierTransform(values, length, bins, inverse);
    for (int64_t k = 0; k < bins; ++k) {
      double* at = &y[((o * bins + k) * inner + i) * 2];
      at[0] = result[k].real();
      at[1] = result[k].imag();
    }
  });
  Write(y, &c.out(0));
  return absl::OkStatus();
}

}  // namespace

WEFT_DEFINE_OP(dft,
    OpSpec("dft(Tensor self, SymInt? dft_length=None, int axis=1, "
           "bool inverse=False, bool onesided=False) -> Tensor",
           "Fourier transform along `axis` of numbers whose real (and "
           "imaginary) part lies in the last dim, cut or padded with zeros to "
           "`dft_length`; one-sided results keep the first "
           "floor(dft_length/2)+1 bins. ONNX: DFT-17, DFT-20.")
        .Verify(Verify)
        .Infer(Infer)
        .Eval(Eval)
        .Samples(R"(
dft(f32[2, 5, 1])
dft(f32[2, 5, 2], inverse=true)
dft(f64[2, 6, 3, 1], axis=-2, onesided=true)
dft(f32[1, 6, 1], dft_length=4)
dft(f32[1, 3, 2], dft_length=8)
dft(f32[4, 1], axis=0)
dft(f32[0, 4, 1])
dft(f32[2, 5, 3]) ! "must be 1 (real) or 2"
dft(f32[2, 5, 1], axis=2) ! "axis is the dim of the two parts"
dft(f32[2, 5, 1], inverse=true, onesided=true) ! "cannot be one-sided"
dft(f32[2, 5, 1], dft_length=0) ! "must be positive"
dft(i32[2, 5, 1]) ! "a float dtype"
)"));

}  // namespace weft::ops
