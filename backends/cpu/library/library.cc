#include "backends/cpu/library/library.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "backends/cpu/interpreter/copy.h"
#include "backends/cpu/interpreter/interpreter.h"
#include "backends/cpu/library/library_internal.h"
#include "base/align.h"
#include "base/status_macros.h"
#include "graph/ir/attrs.h"
#include "graph/ir/op_def.h"
#include "graph/ops/elementwise.h"
#include "graph/ops/ops.h"
#include "graph/ops/quant.h"

namespace weft::cpu {
namespace {

// Copies operands to scratch, runs a call on the copies, and copies the result back.
class ConvertedCall : public LibraryCall {
 public:
  explicit ConvertedCall(int threads) : threads_(threads) {}

  // Makes the call use a copy of operand `arg` (-1: the result) in scratch.
  absl::Status Convert(int arg, const RunView& outside, const RunView& inside,
                       const TileTable& table) {
    Copy copy;
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

LibraryCallOr MakeDirectCall(const LibraryStep& step, const LibraryContext& context) {
  if (step.op == &ops::matmul_integer || step.op == &ops::convolution_integer) {
    return MakeQuantizedCall(step, context);
  }
  if (step.result.dtype == DType::kI32) return MakeIntegerCall(step, context);
  if (step.op == &ops::matmul || step.op == &ops::linear) return MakeProductCall(step, context);
  if (step.op == &ops::convolution) return MakeConvolutionCall(step, context);
  if (step.op == &ops::scaled_dot_product_attention) return MakeAttentionCall(step, context);
  if (step.op == &ops::max_pool || step.op == &ops::avg_pool) return MakePoolingCall(step, context);
  return absl::UnimplementedError(absl::StrCat("no routine for ", step.op->name()));
}

bool IsNarrow(DType dtype) { return dtype == DType::kF16 || dtype == DType::kBF16; }

bool IsProduct(const LibraryStep& step) {
  return step.op == &ops::matmul || step.op == &ops::linear || step.op == &ops::convolution;
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

}  // namespace

DnnPostOp PostOpOf(const OpDef& op, const AttrList* list) {
  const Attrs attrs(&op.schema(), list);
  DnnPostOp post;
  const auto make = [&](DnnFunction function, float alpha = 0, float beta = 0) {
    post.function = function;
    post.alpha = alpha;
    post.beta = beta;
    return post;
  };
  if (&op == &ops::relu) return make(DnnFunction::kRelu);
  if (&op == &ops::leaky_relu) {
    return make(DnnFunction::kRelu,
                static_cast<float>(ops::LeakyReluAttrView(attrs).negative_slope()));
  }
  if (&op == &ops::tanh) return make(DnnFunction::kTanh);
  if (&op == &ops::sigmoid) return make(DnnFunction::kSigmoid);
  if (&op == &ops::silu) return make(DnnFunction::kSwish, 1);
  if (&op == &ops::hardswish) return make(DnnFunction::kHardSwish);
  if (&op == &ops::hardtanh) {
    const ops::HardtanhAttrView hardtanh(attrs);
    return make(DnnFunction::kClip, static_cast<float>(hardtanh.min_val()),
                static_cast<float>(hardtanh.max_val()));
  }
  if (&op == &ops::abs) return make(DnnFunction::kAbs);
  if (&op == &ops::exp) return make(DnnFunction::kExp);
  if (&op == &ops::sqrt) return make(DnnFunction::kSqrt);
  if (&op == &ops::gelu) {
    const bool by_tanh = ops::GeluAttrView(attrs).approximate() == "tanh";
    return make(by_tanh ? DnnFunction::kGeluTanh : DnnFunction::kGeluErf);
  }
  if (&op == &ops::add) return make(DnnFunction::kAdd);
  if (&op == &ops::sub) return make(DnnFunction::kSub);
  if (&op == &ops::mul) return make(DnnFunction::kMul);
  if (&op == &ops::div) return make(DnnFunction::kDiv);
  if (&op == &ops::maximum) return make(DnnFunction::kMaximum);
  if (&op == &ops::minimum) return make(DnnFunction::kMinimum);
  return post;
}

LibraryCallOr MakeConvertedCall(const LibraryStep& step, const LibraryContext& context) {
  LibraryStep inner = step;
  auto call = std::make_unique<ConvertedCall>(context.threads);
  for (size_t i = 0; i < step.args.size(); ++i) {
    const RunView& arg = step.args[i];
    if (!arg.present() || (arg.dense() && !IsNarrow(arg.dtype))) continue;
    inner.args[i] = DenseView(IsNarrow(arg.dtype) ? DType::kF32 : arg.dtype, arg.dims);
    inner.args[i].buffer = arg.buffer;
    inner.constants[i] = nullptr;
    if (i == 1 && IsProduct(step) && step.constants[1] != nullptr) {
      WEFT_ASSIGN_OR_RETURN(inner.load, LoadAs(arg, inner.args[1], step.constants[1], context));
      continue;
    }
    WEFT_RETURN_IF_ERROR(call->Convert(static_cast<int>(i), arg, inner.args[i], *context.table));
  }
  const bool narrow = IsNarrow(step.result.dtype);
  if (narrow || !step.result.dense()) {
    inner.replaced = -1;
    inner.result = DenseView(narrow ? DType::kF32 : step.result.dtype, step.result.dims);
    WEFT_RETURN_IF_ERROR(call->Convert(-1, step.result, inner.result, *context.table));
  }
  // Operands of a narrow dtype already have all their bits.
  LibraryContext given = context;
  if (narrow) given.reading = DnnReading();
  WEFT_ASSIGN_OR_RETURN(auto direct, MakeDirectCall(inner, given));
  call->Finish(std::move(direct), step.args.size());
  return call;
}

LibraryCallOr MakePlainCall(const LibraryStep& step, const LibraryContext& context) {
  return MakePart(step, 0, context, MakeDirectCall);
}

LibraryCallOr MakeLibraryCall(const LibraryStep& step, const LibraryContext& context) {
  LibraryCallOr slow = absl::UnimplementedError("no routine takes these sizes and strides");
  for (auto* make : {MakeDirectCall, MakeConvertedCall}) {
    for (size_t left = 0; left <= step.epilogue.size(); ++left) {
      auto call = MakePart(step, step.epilogue.size() - left, context, make);
      if (call.ok() && !IsReference(**call)) return call;
      if (call.ok() && !slow.ok()) slow = std::move(call);
    }
  }
  return slow;
}

}  // namespace weft::cpu
