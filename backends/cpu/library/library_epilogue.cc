// Epilogues of routines: a kernel for ops that the routine does not support, and a check that the
// ops it does support get no NaN that they would lose.
#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "backends/cpu/interpreter/interpreter.h"
#include "backends/cpu/library/epilogue_claims.h"
#include "backends/cpu/library/epilogue_kernel.h"
#include "backends/cpu/library/library_internal.h"
#include "backends/cpu/library/magnitude.h"
#include "backends/runtime/host_memory.h"
#include "base/align.h"
#include "base/mapped_memory.h"
#include "base/status_macros.h"

namespace weft::cpu {
namespace {

// A call, then a kernel on its results. Scratch holds the kernel's scratch, the intermediate
// results if they need memory, and the call's scratch.
class EpilogueCall : public LibraryCall {
 public:
  EpilogueCall(std::unique_ptr<LibraryCall> call, TileProgram program, std::vector<int> operands,
               int64_t between_bytes, int threads)
      : call_(std::move(call)),
        program_(std::move(program)),
        operands_(std::move(operands)),
        threads_(threads),
        between_at_(AlignUp(program_.workspace_bytes * threads, kCacheLine)),
        call_at_(between_at_ + AlignUp(between_bytes, kCacheLine)),
        memory_(operands_.size() + 2) {}

  int64_t scratch_bytes() const override { return call_at_ + call_->scratch_bytes(); }
  std::string name() const override { return absl::StrCat(call_->name(), ", kernel"); }
  bool rounds_operands() const override { return call_->rounds_operands(); }
  bool narrows_integers() const override { return call_->narrows_integers(); }

  absl::Status Run(const CallMemory& memory) override {
    char* const base = static_cast<char*>(memory.scratch);
    void* const between = call_at_ > between_at_ ? base + between_at_ : memory.result;
    WEFT_RETURN_IF_ERROR(call_->Run({memory.args, between, base + call_at_, memory.bounds}));
    memory_.front() = between;
    for (size_t i = 0; i < operands_.size(); ++i) memory_[i + 1] = memory.args[operands_[i]];
    memory_.back() = memory.result;
    return RunTiles(program_, memory_.data(), base, threads_);
  }

 private:
  const std::unique_ptr<LibraryCall> call_;
  const TileProgram program_;
  const std::vector<int> operands_;  // By argument of the kernel: the operand's number in the step.
  const int threads_;
  const int64_t between_at_;
  const int64_t call_at_;
  std::vector<void*> memory_;
};

}  // namespace

LibraryCallOr ApplyEpilogue(const LibraryStep& step, size_t taken, const LibraryContext& context,
                            LibraryCallOr (*make)(const LibraryStep&, const LibraryContext&)) {
  LibraryStep routine = step;
  routine.epilogue = step.epilogue.first(taken);
  const absl::Span<const Epilogue> rest = step.epilogue.subspan(taken);
  std::vector<int> operands;
  bool keeps_result = true;
  for (const Epilogue& e : rest) {
    if (e.kind == Epilogue::Kind::kUnary) continue;
    operands.push_back(e.arg);
    // The operand uses the memory that the routine stores to.
    if (e.arg == step.replaced) keeps_result = false;
  }
  int64_t between_bytes = 0;
  if (!keeps_result) {
    routine.replaced = -1;
    routine.result = DenseView(step.result.dtype, step.result.dims);
    between_bytes = routine.result.numel() * DTypeBits(step.result.dtype) / 8;
  }
  WEFT_ASSIGN_OR_RETURN(auto call, make(routine, context));
  WEFT_ASSIGN_OR_RETURN(TileProgram program,
                        CompileEpilogue(step, rest, routine.result, *context.table));
  return std::make_unique<EpilogueCall>(std::move(call), std::move(program), std::move(operands),
                                        between_bytes, context.threads);
}

// --- NaN ------------------------------------------------------------------------------

absl::Status CheckTaken(const LibraryStep& step, const SumOfProducts& sum, const DnnTensor& y,
                        int channel) {
  if (!TakesOperands(sum.post_ops, y, channel)) {
    return absl::UnimplementedError("an operand that broadcasts otherwise");
  }
  if (!TakesFunctions(sum.post_ops)) {
    return absl::UnimplementedError("a function twice, with different parameters");
  }
  if (IsNarrow(step.result.dtype) && !sum.post_ops.empty()) {
    return absl::UnimplementedError("an op behind a narrow result");
  }
  if (KeepsNan(sum.post_ops)) return absl::OkStatus();
  const bool wide = step.result.dtype == DType::kF32 && step.args[0].dtype == DType::kF32;
  if (!wide || !HasBounds(sum.post_ops)) {
    return absl::UnimplementedError("a function that may lose NaN");
  }
  return absl::OkStatus();
}

namespace {

// True if the elements are those from the first one on, without gaps, in any order.
bool CoversItsMemory(const RunView& view) {
  int64_t last = 0;
  for (size_t d = 0; d < view.dims.size(); ++d) {
    if (view.strides[d] < 0) return false;
    last += (view.dims[d] - 1) * view.strides[d];
  }
  return view.numel() == last + 1;
}

// Sums of narrow floats have no bounds.
bool IsWide(const LibraryStep& step) {
  return step.result.dtype == DType::kF32 && step.args[0].dtype == DType::kF32;
}

class GuardedCall : public LibraryCall {
 public:
  GuardedCall(std::unique_ptr<LibraryCall> call, SumOfProducts sum, const LibraryStep& step,
              const LibraryContext& context)
      : call_(std::move(call)),
        sum_(std::move(sum)),
        step_(step),
        context_(context),
        wide_(IsWide(step)),
        loses_nan_(wide_ && !sum_.keeps_nan && !KeepsNan(sum_.post_ops)),
        constants_(step.args.size(), kUnbounded),
        found_(step.args.size(), false) {
    size_t next = kDnnFirstPostOp;
    for (const DnnPostOp& op : sum_.post_ops) {
      if (op.function == DnnFunction::kAccumulate) operands_.push_back(step.replaced);
      if (op.function >= DnnFunction::kAdd) operands_.push_back(sum_.slots[next++]);
    }
    bounds_.resize(operands_.size());
    for (const RunView& arg : step.args) scans_.emplace_back(arg);
  }

  int64_t scratch_bytes() const override { return call_->scratch_bytes(); }
  std::string name() const override { return call_->name(); }
  bool rounds_operands() const override { return call_->rounds_operands(); }
  float result_bound() const override { return result_bound_; }

  absl::Status Run(const CallMemory& memory) override {
    result_bound_ = kUnbounded;
    if (sum_.skips_padding && !(MagnitudeOf(1, memory) < kUnbounded)) {
      return absl::UnimplementedError("weights that are not finite, beside padding");
    }
    if (!wide_) return call_->Run(memory);
    const MagnitudeBound bound = Bound(memory);
    if (loses_nan_ && !bound.finite) return RunPlain(memory);
    WEFT_RETURN_IF_ERROR(call_->Run(memory));
    result_bound_ = bound.results;
    return absl::OkStatus();
  }

 private:
  MagnitudeBound Bound(const CallMemory& memory) {
    // Without a NaN check, elements are not scanned just for the bound.
    if (!loses_nan_ && memory.bound(0) == kUnbounded) return {};
    const float x = MagnitudeOf(0, memory);
    const int bias_slot = sum_.slots[kDnnBias];
    const float bias = bias_slot < 0 ? 0 : MagnitudeOf(bias_slot, memory);
    for (size_t i = 0; i < operands_.size(); ++i) bounds_[i] = MagnitudeOf(operands_[i], memory);
    return BoundOf(sum_.length, sum_.post_ops, x, MagnitudeOf(1, memory), bias, bounds_);
  }

  float MagnitudeOf(int arg, const CallMemory& memory) {
    if (memory.bound(arg) < kUnbounded) return memory.bound(arg);
    if (found_[arg]) return constants_[arg];
    const void* constant = arg == 1 && step_.load ? step_.load() : step_.constants[arg];
    if (constant == nullptr) {
      const bool scanned = loses_nan_ || (arg == 1 && sum_.skips_padding);
      return scanned ? scans_[arg].Run(memory.args[arg], context_.isa, context_.threads)
                     : kUnbounded;
    }
    found_[arg] = true;
    constants_[arg] = scans_[arg].Run(constant, context_.isa, context_.threads);
    // The routine reads a copy of these weights.
    if (arg == 1 && !step_.load && IsPacked(arg) && CoversItsMemory(step_.args[arg])) {
      ReleaseMappedPages(constant, step_.args[arg].numel() * DTypeBits(step_.args[arg].dtype) / 8);
    }
    return constants_[arg];
  }

  bool IsPacked(int arg) const {
    const absl::MutexLockMaybe lock(context_.mutex);
    return context_.panels->Has(step_.constant_keys[arg]);
  }

  absl::Status RunPlain(const CallMemory& memory) {
    if (plain_ == nullptr) {
      const absl::MutexLockMaybe lock(context_.mutex);
      WEFT_ASSIGN_OR_RETURN(plain_, MakePlainCall(step_, context_));
      plain_scratch_ =
          AllocateAligned(plain_->scratch_bytes(), profiler::MemoryCategory::kTemporary);
      if (plain_scratch_ == nullptr) return absl::ResourceExhaustedError("no memory for scratch");
    }
    return plain_->Run({memory.args, memory.result, plain_scratch_->data(), memory.bounds});
  }

  const std::unique_ptr<LibraryCall> call_;
  const SumOfProducts sum_;
  const LibraryStep step_;
  const LibraryContext context_;
  const bool wide_;
  const bool loses_nan_;
  std::vector<int> operands_;         // By post-op operand: its number in the step.
  std::vector<float> bounds_;         // Bounds of those operands.
  std::vector<MagnitudeScan> scans_;  // By operand.
  // Magnitudes of constants by operand, once they are computed.
  std::vector<float> constants_;
  std::vector<bool> found_;
  float result_bound_ = kUnbounded;
  std::unique_ptr<LibraryCall> plain_;  // Made on first use.
  std::shared_ptr<HostBuffer> plain_scratch_;
};

}  // namespace

LibraryCallOr GuardMagnitudes(std::unique_ptr<LibraryCall> call, SumOfProducts sum,
                              const LibraryStep& step, const LibraryContext& context) {
  if (!IsWide(step) && !sum.skips_padding) return call;
  return std::make_unique<GuardedCall>(std::move(call), std::move(sum), step, context);
}

}  // namespace weft::cpu
