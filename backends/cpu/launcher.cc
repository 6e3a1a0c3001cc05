#include "backends/cpu/launcher.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "backends/cpu/interpreter/byte_function.h"
#include "backends/cpu/interpreter/copy.h"
#include "backends/cpu/interpreter/interpreter.h"
#include "backends/cpu/kernels/kernel_list.h"
#include "backends/cpu/onednn/onednn.h"
#include "backends/cpu/threads/parallel.h"
#include "backends/cpu/threads/thread_scope.h"
#include "base/align.h"
#include "base/status_macros.h"
#include "lowering/finish_kernel.h"

namespace weft::cpu {
namespace {

// A call with fewer operations than this takes less time than a barrier of threads.
constexpr int64_t kParallelFlops = 1 << 18;

// --- Kernels -----------------------------------------------------------------------------

// A kernel: interpreted, and run as generated code once that is ready.
class KernelCode : public StepCode {
 public:
  KernelCode(const Kernel& kernel, CpuLauncher& launcher) : kernel_(kernel), launcher_(launcher) {}

  absl::Status Interpret(const SymbolEnv& env) {
    WEFT_ASSIGN_OR_RETURN(
        program_, CompileTiles(kernel_, *launcher_.table, [&](SymInt s) { return env.Eval(s); }));
    return absl::OkStatus();
  }
  bool is_generated() const { return generated_ != nullptr; }

  absl::Status Refresh(const SymbolEnv& env) override;
  absl::Status Launch(const LaunchMemory& memory) override {
    if (generated_ == nullptr) {
      return RunTiles(program_, memory.all.data(), memory.scratch, launcher_.threads);
    }
    return RunGenerated(*generated_, memory.all.data(), memory.scratch, launcher_.threads,
                        kernel_.name);
  }
  int64_t scratch_bytes() const override {
    const int64_t each =
        generated_ != nullptr ? generated_->scratch_bytes : program_.workspace_bytes;
    return each * launcher_.threads;
  }
  const char* runner() const override { return is_generated() ? "generated" : "interpreter"; }
  int threads() const override { return launcher_.threads; }

 private:
  const Kernel& kernel_;
  CpuLauncher& launcher_;
  TileProgram program_;
  std::unique_ptr<GeneratedCall> generated_;  // Null: `program_` runs.
  bool asked_ = false;                        // Whether ready code has been looked up.
};

absl::Status KernelCode::Refresh(const SymbolEnv& env) {
  if (asked_ || launcher_.generated == nullptr || !launcher_.generated->ready()) {
    return absl::OkStatus();
  }
  asked_ = true;
  const GeneratedKernel* found = launcher_.generated->Find(&kernel_);
  if (found == nullptr) return absl::OkStatus();
  auto call = std::make_unique<GeneratedCall>();
  call->fn = found->fn;
  const auto value = [&](SymInt s, int64_t* to) {
    const std::optional<int64_t> v = env.Eval(s);
    *to = v.value_or(0);
    return v.has_value();
  };
  int64_t points = 0;
  int64_t work = 0;
  bool known = value(found->points, &points) && value(found->scratch_bytes, &call->scratch_bytes) &&
               value(found->work_per_point, &work);
  for (SymInt s : found->sizes) {
    int64_t size = 0;
    known = known && value(s, &size);
    call->sizes.push_back(size);
  }
  if (!known) return absl::InternalError("a size of generated code has no value");
  call->points = points;
  call->work = points * work;
  generated_ = std::move(call);
  ++launcher_.stats.generated_steps;
  return absl::OkStatus();
}

ByteMapFn ByteMapFor(Isa isa) { return ForIsa(isa, Avx512ByteMap, Avx2ByteMap); }

// A kernel that is a function of one byte, as a table.
class ByteTableCode : public StepCode {
 public:
  ByteTableCode(const ByteFunction& function, int64_t elements, const CpuLauncher& launcher)
      : function_(function),
        elements_(elements),
        map_(ByteMapFor(launcher.isa)),
        threads_(elements < kParallelBytes ? 1 : launcher.threads) {}

  absl::Status Launch(const LaunchMemory& memory) override {
    const auto* from = static_cast<const uint8_t*>(memory.all[function_.from]);
    auto* to = static_cast<uint8_t*>(memory.all[function_.to]);
    if (elements_ == 0) return absl::OkStatus();
    const int64_t share = AlignUp((elements_ + threads_ - 1) / threads_, kCacheLine);
    ForEach(threads_, (elements_ + share - 1) / share, [&](int64_t i, const TeamMember&) {
      const int64_t at = i * share;
      map_(function_.table.data(), from + at, std::min(share, elements_ - at), to + at);
    });
    return absl::OkStatus();
  }
  const char* runner() const override { return "table"; }
  int threads() const override { return threads_; }

 private:
  // Fewer take less time than a barrier of threads.
  static constexpr int64_t kParallelBytes = 1 << 17;

  const ByteFunction function_;
  const int64_t elements_;
  const ByteMapFn map_;
  const int threads_;
};

absl::StatusOr<std::unique_ptr<StepCode>> CompileKernel(const Kernel& kernel, const SymbolEnv& env,
                                                        CpuLauncher& launcher) {
  if (const auto function = FindByteFunction(kernel, *launcher.table)) {
    if (const std::optional<int64_t> elements = env.Eval(function->elements)) {
      ++launcher.stats.byte_tables;
      return std::make_unique<ByteTableCode>(*function, *elements, launcher);
    }
  }
  auto code = std::make_unique<KernelCode>(kernel, launcher);
  // If its code is ready, the kernel is not compiled for the interpreter.
  WEFT_RETURN_IF_ERROR(code->Refresh(env));
  if (!code->is_generated()) WEFT_RETURN_IF_ERROR(code->Interpret(env));
  return code;
}

// --- Copies ------------------------------------------------------------------------------

class CopyCode : public StepCode {
 public:
  CopyCode(TileProgram program, const CpuLauncher& launcher)
      : program_(std::move(program)), launcher_(launcher) {}

  absl::Status Launch(const LaunchMemory& memory) override {
    return RunTiles(program_, memory.all.data(), memory.scratch, launcher_.threads);
  }
  int64_t scratch_bytes() const override { return program_.workspace_bytes * launcher_.threads; }
  const char* runner() const override { return "interpreter"; }
  int threads() const override { return launcher_.threads; }

 private:
  const TileProgram program_;
  const CpuLauncher& launcher_;
};

class RunCopyCode : public StepCode {
 public:
  RunCopyCode(RunCopy copy, int threads) : copy_(std::move(copy)), threads_(threads) {}

  absl::Status Launch(const LaunchMemory& memory) override {
    CopyRuns(copy_, threads_, static_cast<const char*>(memory.all[0]),
             static_cast<char*>(memory.all[1]));
    return absl::OkStatus();
  }
  const char* runner() const override { return "runs"; }
  int threads() const override { return threads_; }

 private:
  const RunCopy copy_;
  const int threads_;
};

// --- Library calls -----------------------------------------------------------------------

class LibraryCode : public StepCode {
 public:
  LibraryCode(std::unique_ptr<LibraryCall> call, int made_for, const CpuLauncher& launcher)
      : call_(std::move(call)), made_for_(made_for), launcher_(launcher) {}

  absl::Status Launch(const LaunchMemory& memory) override {
    const ThreadScope scope(threads());
    return call_->Run(
        {memory.args, memory.results[0], memory.scratch, memory.bounds, memory.results});
  }
  float result_bound() const override { return call_->result_bound(); }
  int64_t scratch_bytes() const override { return call_->scratch_bytes(); }
  const char* runner() const override { return "library"; }
  std::string routine() const override { return call_->name(); }
  int threads() const override { return std::min(launcher_.dnn_threads, made_for_); }
  double operand_error() const override {
    if (!call_->rounds_operands()) return 0;
    // Relative error of one bf16, or of a sum of two.
    return std::ldexp(1.0, launcher_.reading.x_parts.size() > 1 ? -16 : -8);
  }

 private:
  const std::unique_ptr<LibraryCall> call_;
  const int made_for_;  // Number of threads.
  const CpuLauncher& launcher_;
};

LibraryStep StepOf(const StepRequest& request, RoutineOp op) {
  const Step& step = request.step;
  LibraryStep library;
  library.op = op;
  library.schema = step.schema;
  library.attrs = request.attrs;
  library.bodies = request.plan.ops.get();
  library.args.assign(request.args.begin(), request.args.end());
  library.result = request.results[0];
  library.more_results.assign(request.results.begin() + 1, request.results.end());
  library.epilogue = step.epilogue;
  for (const Epilogue& e : step.epilogue) {
    if (e.arg >= 0 && request.memory.Replaces(step.args[e.arg].buffer, step.results[0].buffer)) {
      library.replaced = e.arg;
    }
  }
  for (const RunView& arg : request.args) {
    const char* base = arg.present() ? request.constants[arg.buffer] : nullptr;
    const int64_t bytes = arg.offset * DTypeBits(arg.dtype) / 8;
    library.constants.push_back(base == nullptr ? nullptr : base + bytes);
    library.constant_keys.push_back(
        base == nullptr ? 0 : request.plan.buffers[arg.buffer].index + (arg.offset << 32));
  }
  return library;
}

// Transforms, orders and moves do more than their operations show, and limit their threads
// themselves.
bool LimitsItsThreads(RoutineOp op) {
  switch (op) {
    case RoutineOp::kDft:
    case RoutineOp::kStft:
    case RoutineOp::kCumsum:
    case RoutineOp::kCumprod:
    case RoutineOp::kCummax:
    case RoutineOp::kCummin:
    case RoutineOp::kSort:
    case RoutineOp::kTopk:
    case RoutineOp::kScatter:
    case RoutineOp::kScatterNd:
      return true;
    default:
      return false;
  }
}

int ThreadsFor(const StepRequest& request, RoutineOp op, const CpuLauncher& launcher) {
  if (LimitsItsThreads(op)) return launcher.threads;
  const SymInt flops = request.step.flops;
  const std::optional<int64_t> value = flops.is_valid() ? request.env.Eval(flops) : std::nullopt;
  return value && *value < kParallelFlops ? 1 : launcher.threads;
}

// Its mutex is held.
LibraryContext ContextOf(CpuLauncher& launcher, int threads) {
  PackedWeights& weights = *launcher.weights;
  weights.mutex.AssertHeld();
  return {launcher.isa,    launcher.vnni,     launcher.table,   threads,       &weights.dnn,
          &weights.panels, &weights.integers, launcher.reading, &weights.mutex};
}

void Count(const LibraryCall& call, LauncherStats* stats) {
  if (absl::StartsWith(call.name(), "ref")) ++stats->slow_primitives;
  if (call.rounds_operands()) ++stats->rounded_products;
  const std::string name = call.name();
  if (name == "bf16_gemm" || name == "bf16_depthwise") ++stats->bf16_products;
  if (name == "bf16_attention") ++stats->bf16_attentions;
  if (name == "bf16_maximum") ++stats->bf16_maxima;
  if (call.narrows_integers()) ++stats->integer_products;
}

bool UpdatesInPlace(RoutineOp op) {
  return op == RoutineOp::kScatter || op == RoutineOp::kScatterNd;
}

// Null if no routine accepts the step; a plan from a file may say that any routine works in place.
std::unique_ptr<StepCode> CompileLibrary(const StepRequest& request, CpuLauncher& launcher) {
  const Step& step = request.step;
  if (step.finds_sizes) return nullptr;
  const std::optional<RoutineOp> op = FindRoutineOp(step.op_name);
  if (!op || !CheckRoutineOp(*op, step.schema, request.attrs).ok()) return nullptr;
  if (step.updates >= 0 && !UpdatesInPlace(*op)) return nullptr;
  const int threads = ThreadsFor(request, *op, launcher);
  const ThreadScope scope(std::min(launcher.dnn_threads, threads));
  const absl::MutexLock lock(&launcher.weights->mutex);
  auto call = MakeLibraryCall(StepOf(request, *op), ContextOf(launcher, threads));
  if (!call.ok()) return nullptr;
  Count(**call, &launcher.stats);
  return std::make_unique<LibraryCode>(*std::move(call), threads, launcher);
}

// --- Finished steps ----------------------------------------------------------------------

// A routine, then a kernel on its result, which lies in scratch, before the scratch of both.
class FinishedCode : public StepCode {
 public:
  // `plain` supports all values that `call` refuses.
  FinishedCode(std::unique_ptr<LibraryCall> call, std::unique_ptr<LibraryCall> plain,
               std::unique_ptr<StepCode> finish, int own_args, int64_t unfinished_bytes)
      : call_(std::move(call)),
        plain_(std::move(plain)),
        finish_(std::move(finish)),
        own_args_(own_args),
        scratch_at_(AlignUp(unfinished_bytes, kCacheLine)) {}

  absl::Status Refresh(const SymbolEnv& env) override { return finish_->Refresh(env); }
  absl::Status Launch(const LaunchMemory& memory) override {
    char* const scratch = memory.scratch + scratch_at_;
    const CallMemory own = {memory.args.first(own_args_), memory.scratch, scratch};
    absl::Status status = call_->Run(own);
    if (absl::IsUnimplemented(status)) status = plain_->Run(own);
    WEFT_RETURN_IF_ERROR(status);
    all_.assign(1, memory.scratch);
    all_.insert(all_.end(), memory.args.begin() + own_args_, memory.args.end());
    all_.push_back(memory.results[0]);
    const absl::Span<void* const> all = absl::MakeConstSpan(all_);
    return finish_->Launch({all.first(all.size() - 1), memory.results, all, scratch, {}});
  }
  int64_t scratch_bytes() const override {
    return scratch_at_ + std::max(call_->scratch_bytes(), finish_->scratch_bytes());
  }
  const char* runner() const override { return "library"; }
  std::string routine() const override { return call_->name() + ", kernel"; }
  int threads() const override { return finish_->threads(); }

 private:
  const std::unique_ptr<LibraryCall> call_;
  const std::unique_ptr<LibraryCall> plain_;
  const std::unique_ptr<StepCode> finish_;
  const int own_args_;
  const int64_t scratch_at_;
  std::vector<void*> all_;
};

// The routine's result, in scratch.
absl::StatusOr<RunView> UnfinishedView(const StepRequest& request, const Kernel& kernel) {
  RunView view = DenseView(kernel.args[0].dtype, request.results[0].dims);
  view.buffer = request.results[0].buffer;
  int64_t reach = 1;
  const std::vector<SymInt> strides = UnfinishedStrides(kernel);
  for (int d = 0; d < view.rank(); ++d) {
    const std::optional<int64_t> stride = request.env.Eval(strides[d]);
    if (!stride || *stride < 0) return absl::InternalError("a stride has no value");
    if (view.dims[d] == 1) continue;
    view.strides[d] = *stride;
    reach += (view.dims[d] - 1) * *stride;
  }
  if (view.numel() != 0 && reach > view.numel()) {
    return absl::InvalidArgumentError("the result that a kernel finishes has gaps");
  }
  return view;
}

// The kernel in the form that routines compute, or its first part with a table for the rest.
std::optional<FoundFinish> FindWholeFinish(const FinishRequest& request, const SymbolEnv& env,
                                           const CpuLauncher& launcher) {
  const auto value_of = [&](SymInt s) { return env.Eval(s); };
  if (auto found = FindFinish(request, value_of)) return found;
  const std::optional<ByteTail> tail = FindByteTail(request.kernel, *launcher.table);
  if (!tail) return std::nullopt;
  RunView middle = request.result;
  middle.dtype = tail->middle;
  auto found =
      FindFinish({tail->head, request.args, request.own_args, middle, request.channel}, value_of);
  if (!found) return std::nullopt;
  found->table = tail->table;
  found->finish.map = ByteMapFor(launcher.isa);
  return found;
}

// The routine with the kernel as one pass, or else one after the other.
absl::StatusOr<std::unique_ptr<StepCode>> CompileFinished(const StepRequest& request,
                                                          CpuLauncher& launcher) {
  const std::optional<RoutineOp> op = FindRoutineOp(request.step.op_name);
  constexpr bool kListed =
      HasKernels("routine", "quantized_matmul") || HasKernels("routine", "quantized_convolution");
  if constexpr (!kListed) return nullptr;
  const bool integers = op == RoutineOp::kMatmulInteger || op == RoutineOp::kConvolutionInteger;
  if (!integers || !CheckRoutineOp(*op, request.step.schema, request.attrs).ok()) return nullptr;
  const Kernel& kernel = request.plan.kernels[request.step.kernel];
  const int own = NumOwnArgs(request.plan, request.step);
  const int threads = ThreadsFor(request, *op, launcher);
  const absl::MutexLock lock(&launcher.weights->mutex);
  const LibraryContext context = ContextOf(launcher, threads);
  LibraryStep step = StepOf(request, *op);
  const int channel = op == RoutineOp::kMatmulInteger ? step.result.rank() - 1 : 1;
  step.finish =
      FindWholeFinish({kernel, step.args, own, step.result, channel}, request.env, launcher);
  if (step.finish) {
    auto call = MakeFinishedCall(step, context);
    if (call.ok()) {
      Count(**call, &launcher.stats);
      ++launcher.stats.finished_products;
      return std::make_unique<LibraryCode>(*std::move(call), threads, launcher);
    }
    step.finish.reset();
  }
  WEFT_ASSIGN_OR_RETURN(step.result, UnfinishedView(request, kernel));
  step.args.resize(own);
  step.constants.resize(own);
  step.constant_keys.resize(own);
  std::unique_ptr<LibraryCall> plain = MakePlainQuantizedCall(step, threads);
  auto call = MakeLibraryCall(step, context);
  if (!call.ok()) call = MakePlainQuantizedCall(step, threads);
  Count(**call, &launcher.stats);
  WEFT_ASSIGN_OR_RETURN(std::unique_ptr<StepCode> finish,
                        CompileKernel(kernel, request.env, launcher));
  return std::make_unique<FinishedCode>(*std::move(call), std::move(plain), std::move(finish), own,
                                        step.result.numel() * DTypeBits(step.result.dtype) / 8);
}

}  // namespace

absl::StatusOr<std::unique_ptr<StepCode>> CpuLauncher::Compile(const StepRequest& request) {
  switch (request.step.kind) {
    case StepKind::kKernel:
      return CompileKernel(request.plan.kernels[request.step.kernel], request.env, *this);
    case StepKind::kLibrary:
      if (IsFinished(request.step)) return CompileFinished(request, *this);
      return CompileLibrary(request, *this);
    case StepKind::kCopy:
      return CompileCopy(request.args[0], request.results[0]);
    case StepKind::kReference:
    case StepKind::kControl:
      return nullptr;
  }
  return nullptr;
}

absl::StatusOr<std::unique_ptr<StepCode>> CpuLauncher::CompileCopy(const RunView& from,
                                                                   const RunView& to) {
  if (auto runs = FindRunCopy(from, to)) {
    return std::make_unique<RunCopyCode>(*std::move(runs), threads);
  }
  auto program = cpu::CompileCopy(from, to, *table);
  // 4-bit elements are copied through host tensors.
  if (!program.ok()) return nullptr;
  return std::make_unique<CopyCode>(*std::move(program), *this);
}

absl::Status CpuLauncher::UseIsa(absl::string_view name) {
  WEFT_ASSIGN_OR_RETURN(isa, ChooseIsa(name));
  vnni = ChooseVnni(name);
  table = ForIsa(isa, Avx512TileTable, Avx2TileTable);
  // oneDNN finds out by itself what the machine has.
  if (absl::StartsWith(name, IsaName(Isa::kAvx2))) LimitDnn(isa);
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<StepLauncher>> MakeInterpreter() {
  auto launcher = std::make_unique<CpuLauncher>();
  WEFT_RETURN_IF_ERROR(launcher->UseIsa("native"));
  return launcher;
}

}  // namespace weft::cpu
