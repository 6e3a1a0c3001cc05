#include "backends/cpu/launcher.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "backends/cpu/interpreter/copy.h"
#include "backends/cpu/interpreter/interpreter.h"
#include "backends/cpu/threads/thread_scope.h"
#include "base/status_macros.h"
#include "lowering/step_cost.h"

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
  bool known = value(found->kernel->points, &points) &&
               value(found->kernel->scratch_bytes, &call->scratch_bytes) &&
               value(found->kernel->work_per_point, &work);
  for (SymInt s : found->kernel->sizes) {
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

absl::StatusOr<std::unique_ptr<StepCode>> CompileKernel(const Kernel& kernel, const SymbolEnv& env,
                                                        CpuLauncher& launcher) {
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

// --- Library calls -----------------------------------------------------------------------

class LibraryCode : public StepCode {
 public:
  LibraryCode(std::unique_ptr<LibraryCall> call, int made_for, const CpuLauncher& launcher)
      : call_(std::move(call)), made_for_(made_for), launcher_(launcher) {}

  absl::Status Launch(const LaunchMemory& memory) override {
    const ThreadScope scope(threads());
    return call_->Run({memory.args, memory.results[0], memory.scratch, memory.bounds});
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

LibraryStep StepOf(const StepRequest& request) {
  const Step& step = request.step;
  LibraryStep library;
  library.op = step.op;
  library.attrs = request.attrs;
  library.args.assign(request.args.begin(), request.args.end());
  library.result = request.results[0];
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

// Null if no routine accepts the step.
std::unique_ptr<StepCode> CompileLibrary(const StepRequest& request, CpuLauncher& launcher) {
  const std::optional<int64_t> flops = request.env.Eval(CostOf(request.plan, request.step).flops);
  const int threads = flops && *flops < kParallelFlops ? 1 : launcher.threads;
  const ThreadScope scope(std::min(launcher.dnn_threads, threads));
  auto call =
      MakeLibraryCall(StepOf(request), {launcher.isa, launcher.table, threads, &launcher.weights,
                                        &launcher.panels, &launcher.integers, launcher.reading});
  if (!call.ok()) return nullptr;
  LauncherStats& stats = launcher.stats;
  if (absl::StartsWith((*call)->name(), "ref")) ++stats.slow_primitives;
  if ((*call)->rounds_operands()) ++stats.rounded_products;
  if ((*call)->narrows_integers()) ++stats.integer_products;
  return std::make_unique<LibraryCode>(*std::move(call), threads, launcher);
}

}  // namespace

absl::StatusOr<std::unique_ptr<StepCode>> CpuLauncher::Compile(const StepRequest& request) {
  switch (request.step.kind) {
    case StepKind::kKernel:
      return CompileKernel(request.plan.kernels[request.step.kernel], request.env, *this);
    case StepKind::kLibrary:
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
  auto program = cpu::CompileCopy(from, to, *table);
  // 4-bit elements are copied through host tensors.
  if (!program.ok()) return nullptr;
  return std::make_unique<CopyCode>(*std::move(program), *this);
}

absl::StatusOr<std::unique_ptr<StepLauncher>> MakeInterpreter() {
  auto launcher = std::make_unique<CpuLauncher>();
  WEFT_ASSIGN_OR_RETURN(launcher->isa, ChooseIsa("native"));
  launcher->table = launcher->isa == Isa::kAvx512 ? Avx512TileTable() : Avx2TileTable();
  return launcher;
}

}  // namespace weft::cpu
