#include "backends/cpu/library/library.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "backends/cpu/interpreter/copy.h"
#include "backends/cpu/interpreter/interpreter.h"
#include "backends/cpu/kernels/kernel_list.h"
#include "backends/cpu/library/library_internal.h"
#include "base/align.h"
#include "base/status_macros.h"
#include "lowering/plan_ops.h"

namespace weft::cpu {
namespace {

// True if the elements fill memory without gaps, in any order of the dims.
bool IsCompact(const RunView& view) {
  std::vector<std::pair<int64_t, int64_t>> loops;  // Stride and size.
  for (int d = 0; d < view.rank(); ++d) {
    if (view.dims[d] != 1) loops.push_back({view.strides[d], view.dims[d]});
  }
  std::sort(loops.begin(), loops.end());
  int64_t next = 1;
  for (const auto& [stride, size] : loops) {
    if (stride != next) return false;
    next *= size;
  }
  return true;
}

// Copies operands to scratch, runs a call on the copies, and copies the result back.
class ConvertedCall : public LibraryCall {
 public:
  explicit ConvertedCall(int threads) : threads_(threads) {}

  // Makes the call use a copy of operand `arg` (-1: the result) in scratch.
  absl::Status Convert(int arg, RunView outside, RunView inside, const TileTable& table) {
    Copy copy;
    // Of equal layouts without gaps, the elements are copied as they lie.
    if (outside.strides == inside.strides && IsCompact(inside)) {
      outside = DenseView(outside.dtype, {outside.numel()});
      inside = DenseView(inside.dtype, {inside.numel()});
    }
    copy.arg = arg;
    WEFT_ASSIGN_OR_RETURN(copy.program, arg < 0 ? CompileCopy(inside, outside, table)
                                                : CompileCopy(outside, inside, table));
    copy.offset = bytes_;
    bytes_ += AlignUp(inside.numel() * DTypeBits(inside.dtype) / 8, kCacheLine);
    copies_.push_back(std::move(copy));
    return absl::OkStatus();
  }
  void Finish(std::unique_ptr<LibraryCall> call, size_t num_args) {
    call_ = std::move(call);
    args_.resize(num_args);
    workspace_at_ = bytes_;
    for (const Copy& copy : copies_) {
      workspace_ = std::max(workspace_, copy.program.workspace_bytes * threads_);
    }
    call_at_ = bytes_ + workspace_;
  }

  int64_t scratch_bytes() const override { return call_at_ + call_->scratch_bytes(); }
  std::string name() const override { return absl::StrCat(call_->name(), " on copies"); }

  absl::Status Run(const CallMemory& memory) override {
    char* base = static_cast<char*>(memory.scratch);
    std::copy(memory.args.begin(), memory.args.end(), args_.begin());
    void* inner = memory.result;
    for (const Copy& copy : copies_) {
      void* at = base + copy.offset;
      if (copy.arg < 0) {
        inner = at;
        continue;
      }
      WEFT_RETURN_IF_ERROR(RunCopy(copy, memory.args[copy.arg], at, base));
      args_[copy.arg] = at;
    }
    // The copies have the same bounds.
    WEFT_RETURN_IF_ERROR(call_->Run({args_, inner, base + call_at_, memory.bounds}));
    for (const Copy& copy : copies_) {
      if (copy.arg < 0) WEFT_RETURN_IF_ERROR(RunCopy(copy, inner, memory.result, base));
    }
    return absl::OkStatus();
  }

 private:
  struct Copy {
    int arg = 0;
    TileProgram program;
    int64_t offset = 0;
  };

  absl::Status RunCopy(const Copy& copy, void* from, void* to, char* base) {
    void* const pointers[] = {from, to};
    return RunTiles(copy.program, pointers, base + workspace_at_, threads_);
  }

  const int threads_;
  std::vector<Copy> copies_;
  std::unique_ptr<LibraryCall> call_;
  std::vector<void*> args_;
  int64_t bytes_ = 0;
  int64_t workspace_at_ = 0;
  int64_t workspace_ = 0;
  int64_t call_at_ = 0;
};

// A routine of the target (target.cc), and what makes its calls; null if it is not linked.
struct Routine {
  const char* name;
  LibraryCallOr (*make)(const LibraryStep& step, const LibraryContext& context);
};

constexpr Routine IfListed(Routine routine) {
  return {routine.name, HasKernels("routine", routine.name) ? routine.make : nullptr};
}

constexpr Routine kMatmul = IfListed({"matmul", MakeProductCall});
constexpr Routine kConvolution = IfListed({"convolution", MakeConvolutionCall});
constexpr Routine kIntegerMatmul = IfListed({"integer_matmul", MakeIntegerCall});
constexpr Routine kIntegerConvolution = IfListed({"integer_convolution", MakeIntegerCall});
constexpr Routine kQuantizedMatmul = IfListed({"quantized_matmul", MakeQuantizedCall});
constexpr Routine kQuantizedConvolution = IfListed({"quantized_convolution", MakeQuantizedCall});
constexpr Routine kNbitsMatmul = IfListed({"nbits_matmul", MakeNbitsCall});
constexpr Routine kAttention = IfListed({"attention", MakeAttentionCall});
constexpr Routine kPooling = IfListed({"pooling", MakePoolingCall});
constexpr Routine kBytePooling = IfListed({"byte_pooling", MakeBytePoolingCall});
constexpr Routine kRecurrent = IfListed({"recurrent", MakeRecurrentCall});
constexpr Routine kFourier = IfListed({"fourier", MakeFourierTransformCall});
constexpr Routine kGridSampling = IfListed({"grid_sampling", MakeGridSamplerCall});
constexpr Routine kInterpolation = IfListed({"interpolation", MakeInterpolateCall});
constexpr Routine kFold = IfListed({"fold", MakeFoldCall});
constexpr Routine kObserve = IfListed({"observe", MakeObserveCall});
constexpr Routine kScan = IfListed({"scan", MakeScanCall});
constexpr Routine kExtrema = IfListed({"running_extrema", MakeExtremaCall});
constexpr Routine kSort = IfListed({"sort", MakeSortCall});
constexpr Routine kScatter = IfListed({"scatter", MakeScatterCall});
constexpr Routine kWidenFloat8 = IfListed({"widen_float8", MakeFloat8Call});
constexpr Routine kRoundToFloat8 = IfListed({"round_to_float8", MakeFloat8Call});
constexpr Routine kRoll = IfListed({"roll", MakeRollCall});

Routine RoutineFor(RoutineOp op, DType result) {
  switch (op) {
    case RoutineOp::kMatmul:
    case RoutineOp::kLinear:
      return result == DType::kI32 ? kIntegerMatmul : kMatmul;
    case RoutineOp::kConvolution:
      return result == DType::kI32 ? kIntegerConvolution : kConvolution;
    case RoutineOp::kMatmulInteger:
      return kQuantizedMatmul;
    case RoutineOp::kConvolutionInteger:
      return kQuantizedConvolution;
    case RoutineOp::kMatmulNbits:
      return kNbitsMatmul;
    case RoutineOp::kAttention:
      return kAttention;
    case RoutineOp::kMaxPool:
    case RoutineOp::kAvgPool:
      return result == DType::kU8 || result == DType::kI8 ? kBytePooling : kPooling;
    case RoutineOp::kLstm:
    case RoutineOp::kGru:
    case RoutineOp::kRnn:
      return kRecurrent;
    case RoutineOp::kDft:
    case RoutineOp::kStft:
      return kFourier;
    case RoutineOp::kGridSampler:
      return kGridSampling;
    case RoutineOp::kInterpolate:
      return kInterpolation;
    case RoutineOp::kCol2Im:
      return kFold;
    case RoutineOp::kRoll:
      return kRoll;
    case RoutineOp::kObserve:
      return kObserve;
    case RoutineOp::kCumsum:
    case RoutineOp::kCumprod:
      return kScan;
    case RoutineOp::kCummax:
    case RoutineOp::kCummin:
      return kExtrema;
    case RoutineOp::kSort:
    case RoutineOp::kTopk:
      return kSort;
    case RoutineOp::kScatter:
    case RoutineOp::kScatterNd:
      return kScatter;
    case RoutineOp::kConvert:
      return DTypeBits(result) == 8 ? kRoundToFloat8 : kWidenFloat8;
  }
  return {"", nullptr};
}

LibraryCallOr MakeDirectCall(const LibraryStep& step, const LibraryContext& context) {
  const Routine routine = RoutineFor(step.op, step.result.dtype);
  if (routine.make != nullptr) return routine.make(step, context);
  return absl::UnimplementedError(
      absl::StrCat("this program has no routine for ", RoutineOpName(step.op)));
}

bool IsProduct(const LibraryStep& step) {
  return step.op == RoutineOp::kMatmul || step.op == RoutineOp::kLinear ||
         step.op == RoutineOp::kConvolution;
}

// oneDNN's reference is slower than any alternative.
bool IsReference(const LibraryCall& call) { return absl::StartsWith(call.name(), "ref"); }

// Makes a step whose routine applies the first ops of the epilogue and a kernel the others.
LibraryCallOr MakePart(const LibraryStep& step, size_t taken, const LibraryContext& context,
                       LibraryCallOr (*make)(const LibraryStep&, const LibraryContext&)) {
  if (taken == step.epilogue.size()) return make(step, context);
  return ApplyEpilogue(step, taken, context, make);
}

// A function that returns the constant `from` in the layout of `inner`, made on first use.
absl::StatusOr<std::function<const void*()>> LoadAs(const RunView& from, const RunView& inner,
                                                    const void* constant,
                                                    const LibraryContext& context) {
  struct State {
    TileProgram program;
    std::vector<char> workspace;
    std::vector<char> bytes;
  };
  auto state = std::make_shared<State>();
  WEFT_ASSIGN_OR_RETURN(state->program, CompileCopy(from, inner, *context.table));
  const int64_t size = inner.numel() * DTypeBits(inner.dtype) / 8;
  return [state, size, constant, threads = context.threads]() -> const void* {
    constexpr int64_t kAlign = 64;
    const int64_t work = state->program.workspace_bytes * threads;
    state->workspace.resize(work + kAlign);
    state->bytes.resize(size);
    void* base = state->workspace.data();
    size_t space = state->workspace.size();
    std::align(kAlign, work, base, space);
    void* const pointers[] = {const_cast<void*>(constant), state->bytes.data()};
    // The only error is an index out of bounds, and a copy has no index.
    RunTiles(state->program, pointers, static_cast<char*>(base), threads).IgnoreError();
    return state->bytes.data();
  };
}

// Weights that are copied from views of one constant are equal where the views are. The rank comes
// first, so that no view's numbers begin those of another.
int64_t KeyOfCopy(int64_t key, const RunView& view, const LibraryContext& context) {
  key = context.weights->PartKey(key, view.rank());
  key = context.weights->PartKey(key, static_cast<int64_t>(view.dtype));
  for (const int64_t size : view.dims) key = context.weights->PartKey(key, size);
  for (const int64_t stride : view.strides) key = context.weights->PartKey(key, stride);
  return key;
}

// How a step is run on copies of its operands.
enum class CopyLayout {
  kKept,   // Narrow floats as f32, in their layouts, others as they are.
  kDense,  // Row-major.
};

// The view as the routine is to read it.
RunView InnerView(const RunView& view, CopyLayout layout) {
  const DType dtype = IsNarrow(view.dtype) ? DType::kF32 : view.dtype;
  RunView inner = DenseView(dtype, view.dims);
  if (layout == CopyLayout::kKept && IsCompact(view)) inner.strides = view.strides;
  inner.buffer = view.buffer;
  return inner;
}

// True if the routine reads constants of any float dtype there.
bool ReadsNarrow(const LibraryStep& step, size_t arg) {
  constexpr size_t kScale = 2, kZeroPoint = 3;
  return step.op == RoutineOp::kMatmulNbits && (arg == kScale || arg == kZeroPoint);
}

bool IsCopied(const RunView& view, CopyLayout layout) {
  if (!view.present()) return false;
  return IsNarrow(view.dtype) || (layout == CopyLayout::kDense && !view.dense());
}

LibraryCallOr MakeCopiedCall(const LibraryStep& step, CopyLayout layout,
                             const LibraryContext& context) {
  const auto present = [](const RunView& view) { return view.present(); };
  if (std::any_of(step.more_results.begin(), step.more_results.end(), present)) {
    return absl::UnimplementedError("copies of several results");
  }
  LibraryStep inner = step;
  auto call = std::make_unique<ConvertedCall>(context.threads);
  for (size_t i = 0; i < step.args.size(); ++i) {
    const RunView& arg = step.args[i];
    if (ReadsNarrow(step, i) || !IsCopied(arg, layout)) continue;
    inner.args[i] = InnerView(arg, layout);
    inner.constants[i] = nullptr;
    if (i == 1 && IsProduct(step) && step.constants[1] != nullptr) {
      WEFT_ASSIGN_OR_RETURN(inner.load, LoadAs(arg, inner.args[1], step.constants[1], context));
      inner.constant_keys[1] = KeyOfCopy(step.constant_keys[1], arg, context);
      continue;
    }
    WEFT_RETURN_IF_ERROR(call->Convert(static_cast<int>(i), arg, inner.args[i], *context.table));
  }
  if (IsNarrow(step.result.dtype) || (layout == CopyLayout::kDense && !step.result.dense())) {
    inner.replaced = -1;
    inner.result = InnerView(step.result, layout);
    WEFT_RETURN_IF_ERROR(call->Convert(-1, step.result, inner.result, *context.table));
  }
  // Operands of a narrow dtype already have all their bits.
  LibraryContext given = context;
  if (IsNarrow(step.result.dtype)) given.reading = DnnReading();
  WEFT_ASSIGN_OR_RETURN(auto direct, MakeDirectCall(inner, given));
  call->Finish(std::move(direct), step.args.size());
  return call;
}

// The ops of the epilogue that a call on copies may take: those of which narrow results need no
// rounding.
size_t NumTaken(const LibraryStep& step) {
  if (!IsNarrow(step.result.dtype)) return step.epilogue.size();
  const auto rounds = [](const Epilogue& e) {
    return !Applies(e, "relu") && !Applies(e, "hardtanh");
  };
  return std::find_if(step.epilogue.begin(), step.epilogue.end(), rounds) - step.epilogue.begin();
}

LibraryCallOr MakeWidenedCall(const LibraryStep& step, const LibraryContext& context) {
  if (!IsNarrow(step.result.dtype)) return absl::UnimplementedError("nothing to widen");
  return MakeCopiedCall(step, CopyLayout::kKept, context);
}

LibraryCallOr MakeDenseCall(const LibraryStep& step, const LibraryContext& context) {
  return MakeCopiedCall(step, CopyLayout::kDense, context);
}

}  // namespace

absl::string_view RoutineName(RoutineOp op, DType result) { return RoutineFor(op, result).name; }

LibraryCallOr MakePlainCall(const LibraryStep& step, const LibraryContext& context) {
  return MakePart(step, 0, context, MakeDirectCall);
}

LibraryCallOr MakeLibraryCall(const LibraryStep& step, const LibraryContext& context) {
  LibraryCallOr slow = absl::UnimplementedError("no routine takes these sizes and strides");
  for (auto* make : {MakeDirectCall, MakeWidenedCall, MakeDenseCall}) {
    const size_t most = make == MakeDirectCall ? step.epilogue.size() : NumTaken(step);
    for (size_t left = 0; left <= most; ++left) {
      auto call = MakePart(step, most - left, context, make);
      if (call.ok() && !IsReference(**call)) return call;
      if (call.ok() && !slow.ok()) slow = std::move(call);
    }
  }
  return slow;
}

LibraryCallOr MakeFinishedCall(const LibraryStep& step, const LibraryContext& context) {
  return MakeDirectCall(step, context);
}

}  // namespace weft::cpu
