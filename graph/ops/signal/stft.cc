// Short-time Fourier transform.
#include "graph/ops/signal/fourier.h"
#include "graph/ops/support/op.h"

namespace weft::ops {
namespace {

absl::Status Verify(const OpArgs& args) {
  WEFT_RETURN_IF_ERROR(CheckFloat(args, 0));
  WEFT_RETURN_IF_ERROR(CheckRank(args, 0, 3));
  const SymInt parts = args.type(0).dim(2);
  if (parts.is_constant() && parts.value() != 1 && parts.value() != 2) {
    return Invalid("the last dim of signal must be 1 (real) or 2 (complex), "
                   "not ", parts.ToString());
  }
  for (const char* name : {"frame_step", "frame_length"}) {
    const SymInt s = args.attrs().Sym(name);
    if (s.is_constant() && s.value() < 1) {
      return Invalid(name, " must be positive, not ", s.ToString());
    }
  }
  if (!args.has(1)) return absl::OkStatus();
  WEFT_RETURN_IF_ERROR(CheckSameDType(args, 0, 1));
  WEFT_RETURN_IF_ERROR(CheckRank(args, 1, 1));
  return CheckEqualSizes(args, args.type(1).dim(0),
                         args.attrs().Sym("frame_length"),
                         "the window and frame_length");
}

absl::StatusOr<Types> Infer(const OpArgs& args) {
  const SymInt step = args.attrs().Sym("frame_step");
  const SymInt length = args.attrs().Sym("frame_length");
  const SymInt frames = FloorDiv(args.type(0).dim(1) - length, step) + 1;
  const SymInt bins =
      args.attrs().Bool("onesided") ? FloorDiv(length, 2) + 1 : length;
  if (frames.is_constant() && frames.value() < 0) {
    return Invalid("a frame of ", length.ToString(),
                   " is longer than the signal");
  }
  return Types{Type::Tensor(args.type(0).dtype(),
                            {args.type(0).dim(0), frames, bins, SymInt(2)})};
}

absl::Status Eval(EvalContext& c) {
  const HostTensor& signal = c.in(0);
  const int64_t size = signal.dim(1), parts = signal.dim(2);
  const int64_t step = c.attrs().Int("frame_step");
  const int64_t length = c.attrs().Int("frame_length");
  const int64_t frames = c.out(0).dim(1), bins = c.out(0).dim(2);
  const std::vector<double> x = Read<double>(signal);
  std::vector<double> window(length, 1.0);
  if (c.has(1)) window = Read<double>(c.in(1));
  std::vector<double> y(c.out(0).numel());
  ParallelFor(signal.dim(0) * frames, [&](int64_t line) {
    const int64_t begin = line / frames * size + line % frames * step;
    std::vector<std::complex<double>> values(length);
    for (int64_t k = 0; k < length; ++k) {
      const double* at = &x[(begin + k) * parts];
      values[k] = {at[0] * window[k], parts == 2 ? at[1] * window[k] : 0.0};
    }
    const auto result = FourierTransform(values, length, bins, false);
    for (int64_t k = 0; k < bins; ++k) {
      y[(line * bins + k) * 2] = result[k].real();
      y[(line * bins + k) * 2 + 1] = result[k].imag();
    }
  });
  Write(y, &c.out(0));
  return absl::OkStatus();
}

}  // namespace

WEFT_DEFINE_OP(stft,
    OpSpec("stft(Tensor signal, Tensor? window, SymInt frame_step, "
           "SymInt frame_length, bool onesided=True) -> Tensor",
           "Fourier transforms of overlapping frames of a signal of "
           "[batch, length, 1 or 2], weighted by `window`: [batch, frames, "
           "bins, 2]. ONNX: STFT-17.")
        .Verify(Verify)
        .Infer(Infer)
        .Eval(Eval)
        .Samples(R"(
stft(f32[2, 16, 1], f32[8], frame_step=4, frame_length=8)
stft(f32[1, 10, 2], none, frame_step=3, frame_length=4, onesided=false)
stft(f64[1, 7, 1], none, frame_step=2, frame_length=7)
stft(f32[2, 16, 1], f32[7], frame_step=4, frame_length=8) ! "the window and frame_length"
stft(f32[2, 16, 1], none, frame_step=0, frame_length=8) ! "frame_step must be positive"
stft(f32[2, 4, 1], none, frame_step=1, frame_length=8) ! "longer than the signal"
stft(f32[2, 16], none, frame_step=4, frame_length=8) ! "signal must have rank 3"
stft(f32[2, 16, 3], none, frame_step=4, frame_length=8) ! "1 (real) or 2"
)"));

}  // namespace weft::ops
