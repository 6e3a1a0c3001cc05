// What the makers of library calls share.
#ifndef WEFT_BACKENDS_CPU_LIBRARY_LIBRARY_INTERNAL_H_
#define WEFT_BACKENDS_CPU_LIBRARY_LIBRARY_INTERNAL_H_

#include <memory>
#include <utility>
#include <vector>

#include "backends/cpu/library/library.h"

namespace weft {
class AttrList;
class OpDef;
}  // namespace weft

namespace weft::cpu {

using LibraryCallOr = absl::StatusOr<std::unique_ptr<LibraryCall>>;

LibraryCallOr MakeProductCall(const LibraryStep& step, const LibraryContext& context);
LibraryCallOr MakeConvolutionCall(const LibraryStep& step, const LibraryContext& context);
LibraryCallOr MakePoolingCall(const LibraryStep& step, const LibraryContext& context);
// Matmuls and convolutions of 8-bit integers, with a result of i32.
LibraryCallOr MakeQuantizedCall(const LibraryStep& step, const LibraryContext& context);
// Matmuls and convolutions of i32.
LibraryCallOr MakeIntegerCall(const LibraryStep& step, const LibraryContext& context);
LibraryCallOr MakeAttentionCall(const LibraryStep& step, const LibraryContext& context);

// The step with dense f32 operands in scratch, for those that the routine does not
// take as they are; `make` is one of the above.
LibraryCallOr MakeConvertedCall(const LibraryStep& step, const LibraryContext& context);

// The step by `make` with the first `taken` ops of the epilogue, then a kernel of the others.
LibraryCallOr ApplyEpilogue(const LibraryStep& step, size_t taken, const LibraryContext& context,
                            LibraryCallOr (*make)(const LibraryStep&, const LibraryContext&));
// The step by a routine that takes none of its epilogue, which a kernel applies.
LibraryCallOr MakePlainCall(const LibraryStep& step, const LibraryContext& context);

// A routine of a product or a convolution: its slots as in DnnCall, the products that it sums
// for each element, and what follows.
struct SumOfProducts {
  std::vector<int> slots;
  double length = 0;
  std::vector<DnnPostOp> post_ops;
  // The routine's functions keep NaN, whatever KeepsNan says of oneDNN's.
  bool keeps_nan = false;
};

// Unimplemented where oneDNN is not shown to do the post-ops: operands that it takes wrongly
// or slowly (epilogue_claims.h), functions whose bounds are not known where NaN has to be
// kept, narrow results among those.
absl::Status CheckTaken(const LibraryStep& step, const SumOfProducts& sum, const DnnTensor& y,
                        int channel);

// The call with bounds of the magnitudes of its results, from those of its operands. Where
// post-ops would give numbers for NaN, a run whose operands do not rule it out takes
// MakePlainCall instead.
LibraryCallOr GuardMagnitudes(std::unique_ptr<LibraryCall> call, SumOfProducts sum,
                              const LibraryStep& step, const LibraryContext& context);

// An image, or weights, for oneDNN. Strides of single elements say nothing: they become those
// of a layout that the others fit, so that primitives recognise it (channels-last, row-major,
// or one of its own).
DnnTensor ImagesOf(const RunView& view);
bool HasPositiveStrides(const DnnTensor& t);

// oneDNN's descriptions of a step, and which operand of the step each slot is.
absl::StatusOr<DnnMatmul> DescribeProduct(const LibraryStep& step, std::vector<int>* slots,
                                          int64_t* rows);
absl::StatusOr<DnnConvolution> DescribeConvolution(const LibraryStep& step,
                                                   std::vector<int>* slots);

// What the product may read: as given unless all is f32 and it is large enough to be
// faster otherwise. `length` elements are summed for each of `sums` results of each of
// `rows` rows of the first operand.
struct ProductSize {
  int64_t rows = 0;
  int64_t sums = 0;
  int64_t length = 0;
  bool constant = false;  // The second operand.
};
DnnReading ChooseReading(const LibraryStep& step, const ProductSize& size,
                         const LibraryContext& context);

// By the panels of gemm_tile.h; Unimplemented for what those do not do. `slots` is as in
// DnnCall.
LibraryCallOr MakeGemmCall(const DnnMatmul& matmul, const std::vector<int>& slots,
                           const DnnConstant& constant, const LibraryContext& context);
LibraryCallOr MakeGemmCall(const DnnConvolution& convolution, const std::vector<int>& slots,
                           const DnnConstant& constant, const LibraryContext& context);

// What a function of an epilogue is to oneDNN; `none` when it has none.
DnnPostOp PostOpOf(const OpDef& op, const AttrList* attrs);

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

// Makes the op so that it reads operands in that way, else as they are given.
template <typename Op, typename Fn>
LibraryCallOr MakeDnnCall(Op& op, std::vector<int> slots, DnnReading reading, Fn make) {
  const bool rounds = reading.dtype == DType::kBF16;
  op.reading = std::move(reading);
  auto made = make(op);
  if (made.ok()) return std::make_unique<DnnCall>(*std::move(made), std::move(slots), rounds);
  if (!rounds) return made.status();
  return MakeDnnCall(op, std::move(slots), DnnReading(), make);
}

// Of the weights of a product or a convolution.
inline DnnConstant ConstantOf(const LibraryStep& step, int arg, const LibraryContext& context) {
  if (step.load) return {nullptr, ~step.constant_keys[arg], context.weights, step.load};
  return {step.constants[arg], step.constant_keys[arg], context.weights, {}};
}

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_LIBRARY_LIBRARY_INTERNAL_H_
