// Declarations shared by the factories of library calls.
#ifndef WEFT_BACKENDS_CPU_LIBRARY_LIBRARY_INTERNAL_H_
#define WEFT_BACKENDS_CPU_LIBRARY_LIBRARY_INTERNAL_H_

#include <memory>
#include <utility>
#include <vector>

#include "backends/cpu/kernels/isa.h"
#include "backends/cpu/kernels/kernel_list.h"
#include "backends/cpu/library/library.h"
#include "backends/cpu/onednn/onednn.h"

namespace weft::cpu {

using LibraryCallOr = absl::StatusOr<std::unique_ptr<LibraryCall>>;

// Results of these dtypes are rounded after each op of an epilogue, as in the graph.
inline bool IsNarrow(DType dtype) { return dtype == DType::kF16 || dtype == DType::kBF16; }

LibraryCallOr MakeProductCall(const LibraryStep& step, const LibraryContext& context);
LibraryCallOr MakeConvolutionCall(const LibraryStep& step, const LibraryContext& context);
LibraryCallOr MakePoolingCall(const LibraryStep& step, const LibraryContext& context);
// Matmuls and convolutions of i32.
LibraryCallOr MakeIntegerCall(const LibraryStep& step, const LibraryContext& context);
// Matmuls and convolutions of 8-bit integers. With a finish: Unimplemented unless the weights are
// constant.
LibraryCallOr MakeQuantizedCall(const LibraryStep& step, const LibraryContext& context);
// Maxima of windows of 8-bit integers.
LibraryCallOr MakeBytePoolingCall(const LibraryStep& step, const LibraryContext& context);
// Matmuls with weights of 4 or 8 bits in groups.
LibraryCallOr MakeNbitsCall(const LibraryStep& step, const LibraryContext& context);
LibraryCallOr MakeAttentionCall(const LibraryStep& step, const LibraryContext& context);
// lstm, gru and rnn, in all of their forms.
LibraryCallOr MakeRecurrentCall(const LibraryStep& step, const LibraryContext& context);
// dft and stft.
LibraryCallOr MakeFourierTransformCall(const LibraryStep& step, const LibraryContext& context);
LibraryCallOr MakeGridSamplerCall(const LibraryStep& step, const LibraryContext& context);
LibraryCallOr MakeInterpolateCall(const LibraryStep& step, const LibraryContext& context);
LibraryCallOr MakeRollCall(const LibraryStep& step, const LibraryContext& context);
// cumsum and cumprod.
LibraryCallOr MakeScanCall(const LibraryStep& step, const LibraryContext& context);
// cummax and cummin.
LibraryCallOr MakeExtremaCall(const LibraryStep& step, const LibraryContext& context);
// sort and topk.
LibraryCallOr MakeSortCall(const LibraryStep& step, const LibraryContext& context);
// scatter and scatter_nd.
LibraryCallOr MakeScatterCall(const LibraryStep& step, const LibraryContext& context);
// convert to and from 8-bit floats.
LibraryCallOr MakeFloat8Call(const LibraryStep& step, const LibraryContext& context);
LibraryCallOr MakeObserveCall(const LibraryStep& step, const LibraryContext& context);
// col2im.
LibraryCallOr MakeFoldCall(const LibraryStep& step, const LibraryContext& context);

// Makes the step by `make` with the first `taken` ops of the epilogue, and a kernel for the others.
LibraryCallOr ApplyEpilogue(const LibraryStep& step, size_t taken, const LibraryContext& context,
                            LibraryCallOr (*make)(const LibraryStep&, const LibraryContext&));
// Makes the step by a routine without epilogue; a kernel applies it.
LibraryCallOr MakePlainCall(const LibraryStep& step, const LibraryContext& context);

// A matmul or convolution routine: its slots as in DnnCall, the number of products per element, and
// the post-ops.
struct SumOfProducts {
  std::vector<int> slots;
  double length = 0;
  std::vector<DnnPostOp> post_ops;
  // The routine's functions keep NaN, even if KeepsNan is false for oneDNN's.
  bool keeps_nan = false;
  // The routine passes over padding, whose zeros give NaN if weights are not finite.
  bool skips_padding = false;
};

// Unimplemented unless oneDNN is known to support the post-ops. It is not for operands that it
// reads wrongly or slowly (epilogue_claims.h), nor for functions without known bounds, where NaN
// must be kept, nor with narrow results, which it would round once at the end.
absl::Status CheckTaken(const LibraryStep& step, const SumOfProducts& sum, const DnnTensor& y,
                        int channel);

// Adds bounds of the magnitudes of the call's results, computed from those of its operands. If
// post-ops would turn NaN into numbers, a run whose operands may lead to NaN uses MakePlainCall
// instead. A run whose weights are not finite is Unimplemented if the routine passes over padding.
LibraryCallOr GuardMagnitudes(std::unique_ptr<LibraryCall> call, SumOfProducts sum,
                              const LibraryStep& step, const LibraryContext& context);

// An image, or weights, for oneDNN. Strides of dims of size 1 are arbitrary; they are replaced by
// those of a layout that fits the other strides (channels-last, row-major, or one of its own), so
// that primitives recognise it.
DnnTensor ImagesOf(const RunView& view);
bool HasPositiveStrides(const DnnTensor& t);

// The descriptions of a step for oneDNN, and the operand of the step for each slot.
absl::StatusOr<DnnMatmul> DescribeProduct(const LibraryStep& step, std::vector<int>* slots,
                                          int64_t* rows);
absl::StatusOr<DnnConvolution> DescribeConvolution(const LibraryStep& step,
                                                   std::vector<int>* slots);

// The precision in which operands are read: as given unless all are f32 and the step is large
// enough to be faster in a narrower dtype. Each of `rows` rows of the first operand is used for
// `sums` results, each of which adds up `length` products.
struct ProductSize {
  int64_t rows = 0;
  int64_t sums = 0;
  int64_t length = 0;
  bool constant = false;  // The second operand is constant.
};
DnnReading ChooseReading(const LibraryStep& step, const ProductSize& size,
                         const LibraryContext& context);

// True if products of bf16 are faster in kernels of ours: with AVX512_BF16, but without tiles. A
// program whose list has no bf16 has none of what follows this condition.
inline bool HasBf16Kernels(const LibraryContext& context) {
  constexpr bool kListed = HasKernels("dtype", "bf16") && HasKernels("isa", "avx512");
  return kListed && context.isa == Isa::kAvx512 && FindBf16Unit() == DnnUnit::kVectors;
}

// Uses the panels of gemm_tile.h or bf16_gemm_tile.h; Unimplemented for cases that they do not
// support. f32 operands are read as `reading` says. `slots` is as in DnnCall.
LibraryCallOr MakeGemmCall(const DnnMatmul& matmul, const DnnReading& reading,
                           const std::vector<int>& slots, const DnnConstant& constant,
                           const LibraryContext& context);
LibraryCallOr MakeGemmCall(const DnnConvolution& convolution, const DnnReading& reading,
                           const std::vector<int>& slots, const DnnConstant& constant,
                           const LibraryContext& context);
// Depthwise convolutions of bf16, by bf16_depthwise_tile.h.
LibraryCallOr MakeBf16DepthwiseCall(const DnnConvolution& convolution,
                                    const std::vector<int>& slots, const DnnConstant& constant,
                                    const LibraryContext& context);
// Maxima of windows of bf16.
LibraryCallOr MakeBf16MaximumCall(const DnnPooling& pooling, const LibraryContext& context);
// Uses the panels of gemm_tile.h for transposed convolutions without a bias and post-ops.
LibraryCallOr MakeTransposedCall(const DnnConvolution& convolution, const std::vector<int>& slots,
                                 const DnnConstant& constant, const LibraryContext& context);

// The oneDNN function of an epilogue's op; kNone if it has none.
DnnPostOp PostOpOf(const Epilogue& epilogue);

// A oneDNN op whose slots are these operands of the step (-1: absent).
class DnnCall : public LibraryCall {
 public:
  DnnCall(std::unique_ptr<DnnOp> op, std::vector<int> slots, bool rounds_operands = false)
      : op_(std::move(op)),
        slots_(std::move(slots)),
        memory_(slots_.size()),
        rounds_operands_(rounds_operands) {}

  int64_t scratch_bytes() const override { return op_->scratch_bytes(); }
  absl::Status Run(const CallMemory& memory) override {
    for (size_t i = 0; i < slots_.size(); ++i) {
      memory_[i] = i == kDnnResult ? memory.result
                   : slots_[i] < 0 ? nullptr
                                   : memory.args[slots_[i]];
    }
    return op_->Run(memory_, memory.scratch);
  }
  std::string name() const override { return op_->implementation(); }
  bool rounds_operands() const override { return rounds_operands_; }

 private:
  std::unique_ptr<DnnOp> op_;
  std::vector<int> slots_;
  std::vector<void*> memory_;
  const bool rounds_operands_;
};

// Makes the op with operands read in that way; if that fails, with operands as given.
template <typename Op, typename Fn>
LibraryCallOr MakeDnnCall(Op& op, std::vector<int> slots, DnnReading reading, Fn make) {
  const bool rounds = reading.dtype == DType::kBF16;
  op.reading = std::move(reading);
  auto made = make(op);
  if (made.ok()) return std::make_unique<DnnCall>(*std::move(made), std::move(slots), rounds);
  if (!rounds) return made.status();
  return MakeDnnCall(op, std::move(slots), DnnReading(), make);
}

// The weights of a matmul or convolution.
inline DnnConstant ConstantOf(const LibraryStep& step, int arg, const LibraryContext& context) {
  if (step.load) return {nullptr, ~step.constant_keys[arg], context.weights, step.load};
  return {step.constants[arg], step.constant_keys[arg], context.weights, {}};
}

// Dims of these sizes and strides are one loop: its points lie `*row` elements apart throughout.
bool IsOneLoop(absl::Span<const int64_t> dims, absl::Span<const int64_t> strides, int64_t* row);

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_LIBRARY_LIBRARY_INTERNAL_H_
