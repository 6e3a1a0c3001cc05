// Fourier transforms of overlapping frames.
#include <algorithm>

#include "graph/ir/numeric_contract.h"
#include "graph/ops/ops.h"
#include "graph/ops/signal/fourier.h"
#include "graph/ops/support/build.h"
#include "graph/ops/support/op.h"
#include "graph/sym/sym_ops.h"

namespace weft::ops {
namespace {

absl::Status Verify(const OpArgs& args) {
  const Type signal = args.type(0);
  const SymInt step = args.attrs().Sym("frame_step");
  const SymInt length = args.attrs().Sym("frame_length");
  WEFT_RETURN_IF_ERROR(CheckFloat(args, 0));
  WEFT_RETURN_IF_ERROR(CheckSameDType(args));
  WEFT_RETURN_IF_ERROR(CheckRank(args, 0, 3));
  WEFT_RETURN_IF_ERROR(CheckRank(args, 1, 1));
  const SymInt parts = signal.dim(2);
  if (!args.MayHold(Or(Equal(parts, 1), Equal(parts, 2)))) {
    return Invalid("the last size must be 1 or 2, got ", parts.ToString());
  }
  if (args.attrs().Bool("onesided") && !args.MayHold(Equal(parts, 1))) {
    return Invalid("a onesided transform is of real numbers");
  }
  for (SymInt v : {step, length}) {
    if (!args.MayHold(GreaterEqual(v, 1))) {
      return Invalid("frame_step and frame_length must be positive, got ", v.ToString());
    }
  }
  if (!args.MayHold(LessEqual(length, signal.dim(1)))) {
    return Invalid("a frame of ", length.ToString(), " is longer than the ",
                   signal.dim(1).ToString(), " elements of the signal");
  }
  if (!args.has(1)) return absl::OkStatus();
  return CheckEqualSizes(args, args.type(1).dim(0), length, "window and frame_length");
}

SymInt Frames(const OpArgs& args) {
  return FloorDiv(args.type(0).dim(1) - args.attrs().Sym("frame_length"),
                  args.attrs().Sym("frame_step")) +
         1;
}

absl::StatusOr<Types> Infer(const OpArgs& args) {
  const SymInt length = args.attrs().Sym("frame_length");
  const SymInt bins = args.attrs().Bool("onesided") ? FloorDiv(length, 2) + 1 : length;
  return Types{args.type(0).WithDims({args.type(0).dim(0), Frames(args), bins, SymInt(2)})};
}

// The frames as a dim of their own, times the window, transformed.
std::vector<Value*> Decompose(Builder& b, const OpArgs& args) {
  const DType dtype = args.type(0).dtype();
  const DType wide = ComputeDType(dtype);
  const SymInt length = args.attrs().Sym("frame_length");
  const SymInt step = args.attrs().Sym("frame_step");
  const SymInt frames = Frames(args);
  Value* start = b.Op(arange, {}, {{"start", 0}, {"end", frames * step}, {"step", step}});
  Value* offset = b.Op(arange, {}, {{"start", 0}, {"end", length}});
  Value* index = b.Op(add, {Reshape(b, start, {frames, SymInt(1)}), offset});
  Value* x = b.Op(index_select, {Convert(b, args.operand(0), wide), index}, {{"dim", 1}});
  if (args.has(1)) {
    Value* window = Convert(b, args.operand(1), wide);
    x = b.Op(mul, {x, Reshape(b, window, {length, SymInt(1)})});
  }
  x = b.Op(dft, {x}, {{"axis", 2}, {"onesided", args.attrs().Bool("onesided")}});
  return {Convert(b, x, dtype)};
}

absl::Status Eval(EvalContext& c) {
  const HostTensor& signal = c.in(0);
  const std::vector<double> x = Read<double>(signal);
  const int64_t length = c.attrs().Sym("frame_length").value();
  const int64_t step = c.attrs().Sym("frame_step").value();
  const int64_t parts = signal.dim(2);
  const int64_t frames = c.out(0).dim(1);
  const int64_t bins = c.out(0).dim(2);
  std::vector<double> window(length, 1);
  if (c.has(1)) window = Read<double>(c.in(1));
  std::vector<double> y(c.out(0).numel());
  ParallelFor(signal.dim(0) * frames, [&](int64_t at) {
    const int64_t begin = at / frames * signal.dim(1) + at % frames * step;
    std::vector<std::complex<double>> line(length);
    for (int64_t i = 0; i < length; ++i) {
      const double* v = &x[(begin + i) * parts];
      line[i] = {v[0] * window[i], parts == 2 ? v[1] * window[i] : 0};
    }
    line = FourierTransform(line, length, bins, false);
    for (int64_t i = 0; i < bins; ++i) {
      y[(at * bins + i) * 2] = line[i].real();
      y[(at * bins + i) * 2 + 1] = line[i].imag();
    }
  });
  Write(y, &c.out(0));
  return absl::OkStatus();
}

}  // namespace

WEFT_DEFINE_OP(stft, OpSpec("stft(Tensor signal, Tensor? window, SymInt frame_step, "
                            "SymInt frame_length, bool onesided=True) -> Tensor",
                            "The transforms [N, frames, bins, 2] of the frames of signal [N, "
                            "length, 1 or 2], which start every frame_step elements and lie "
                            "inside of it, times the window [frame_length]; of real signals the "
                            "first frame_length / 2 + 1 bins with onesided. ONNX: STFT-17.")
                         .Verify(Verify)
                         .Infer(Infer)
                         .Decompose(Decompose)
                         .DecomposeContract(NumericContract::kReassociating)
                         .Eval(Eval)
                         .Flops(Absent{"the number depends on the algorithm"})
                         .Samples(R"(
stft(f32[2, 16, 1], f32[6], frame_step=4, frame_length=6)
stft(f32[1, 16, 2], f32[5], frame_step=3, frame_length=5, onesided=false)
stft(f32[1, 9, 1], none, frame_step=2, frame_length=9)
stft(f64[1, 9, 1], f64[4], frame_step=1, frame_length=4, onesided=false)
stft(f16[1, 9, 1], f16[4], frame_step=5, frame_length=4)
stft(f32[0, 9, 1], none, frame_step=2, frame_length=4)
stft(f32[1, 9, 1], f32[5], frame_step=2, frame_length=4) ! "window and frame_length: 5 and 4 differ"
stft(f32[1, 9, 1], none, frame_step=2, frame_length=10) ! "a frame of 10 is longer than the 9 elements"
stft(f32[1, 9, 1], none, frame_step=0, frame_length=4) ! "must be positive, got 0"
stft(f32[1, 9, 2], none, frame_step=1, frame_length=4) ! "is of real numbers"
stft(f32[1, 9, 3], none, frame_step=1, frame_length=4) ! "the last size must be 1 or 2, got 3"
stft(f32[9, 1], none, frame_step=1, frame_length=4) ! "signal must have rank 3"
stft(i32[1, 9, 1], none, frame_step=1, frame_length=4) ! "a float dtype"
)"));

}  // namespace weft::ops
