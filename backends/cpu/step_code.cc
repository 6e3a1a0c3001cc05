#include "backends/cpu/step_code.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "backends/cpu/interpreter/copy.h"
#include "backends/cpu/runtime/thread_scope.h"
#include "base/status_macros.h"
#include "lowering/step_cost.h"

namespace weft::cpu {
namespace {

// A call of fewer operations than these takes less time than threads take to meet.
constexpr int64_t kParallelFlops = 1 << 18;

bool KnownAll(const std::vector<SymInt>& values, const SymbolEnv& env) {
  return std::all_of(values.begin(), values.end(),
                     [&](SymInt s) { return env.Eval(s).has_value(); });
}

bool KnownAccess(const Access& access, const SymbolEnv& env) {
  bool known = env.Eval(access.offset).has_value() && KnownAll(access.strides, env);
  for (const IndexTerm& term : access.terms)
    known = known && KnownAll({term.stride, term.bound}, env);
  for (const Access::Guard& guard : access.guards) {
    known = known && KnownAll({guard.offset, guard.bound}, env) && KnownAll(guard.strides, env);
  }
  return known;
}

bool KnownKernel(const Kernel& kernel, const SymbolEnv& env) {
  for (const Nest& nest : kernel.nests) {
    if (!KnownAll(nest.outer, env) || !KnownAll(nest.inner, env)) return false;
    for (const Stage& stage : nest.stages) {
      for (const Instr& instr : stage.body) {
        if (instr.op == ScalarOp::kLoad && !KnownAccess(instr.access, env)) return false;
        if (instr.op == ScalarOp::kSize && !env.Eval(instr.size)) return false;
      }
      for (const Store& store : stage.stores) {
        if (!KnownAccess(store.access, env)) return false;
      }
    }
  }
  return true;
}

const AttrList* Evaluated(const AttrList* attrs, const SymbolEnv& env) {
  return attrs->Substitute([&](SymInt s) { return env.Replacement(s); });
}

absl::Status CompileKernel(const Kernel& kernel, const SymbolEnv& env, Runtime& runtime,
                           StepCode* code) {
  WEFT_ASSIGN_OR_RETURN(
      auto program, CompileTiles(kernel, *runtime.table, [&](SymInt s) { return env.Eval(s); }));
  code->program = std::make_unique<TileProgram>(std::move(program));
  code->scratch_bytes = code->program->workspace_bytes * runtime.threads;
  return absl::OkStatus();
}

// Without a routine that takes it, the step is evaluated as the reference does.
void CompileLibrary(const Plan& plan, const Step& step, const SymbolEnv& env,
                    const MemoryPlan& memory, const std::vector<char*>& constants, Runtime& runtime,
                    StepCode* code) {
  const std::optional<int64_t> flops = env.Eval(CostOf(plan, step).flops);
  code->threads = flops && *flops < kParallelFlops ? 1 : runtime.threads;
  LibraryStep library;
  library.op = step.op;
  library.attrs = code->attrs;
  library.args = code->args;
  library.result = code->results[0];
  library.epilogue = step.epilogue;
  for (const Epilogue& e : step.epilogue) {
    if (e.arg >= 0 && memory.Replaces(step.args[e.arg].buffer, step.results[0].buffer)) {
      library.replaced = e.arg;
    }
  }
  for (const RunView& arg : code->args) {
    const char* base = arg.present() ? constants[arg.buffer] : nullptr;
    const int64_t bytes = arg.offset * DTypeBits(arg.dtype) / 8;
    library.constants.push_back(base == nullptr ? nullptr : base + bytes);
    library.constant_keys.push_back(
        base == nullptr ? 0 : plan.buffers[arg.buffer].index + (arg.offset << 32));
  }
  const ThreadScope threads(runtime.DnnThreads(*code));
  auto call = MakeLibraryCall(library, {runtime.isa, runtime.table, code->threads, &runtime.weights,
                                        &runtime.panels, runtime.reading});
  if (!call.ok()) {
    ++runtime.stats.fallbacks;
    return;
  }
  code->call = *std::move(call);
  if (absl::StartsWith(code->call->name(), "ref")) ++runtime.stats.slow_primitives;
  if (code->call->rounds_operands()) ++runtime.stats.rounded_products;
  if (code->call->narrows_integers()) ++runtime.stats.integer_products;
  code->scratch_bytes = code->call->scratch_bytes();
  code->bounds.resize(code->args.size());
  const RunView& result = code->results[0];
  const std::optional<int64_t> elements = env.Eval(plan.buffers[result.buffer].numel);
  code->fills_buffer = elements && *elements == result.numel();
}

}  // namespace

absl::Status Runtime::ReserveScratch(int64_t bytes) {
  if (guard != nullptr) bytes += 2 * MemoryGuard::kZone;
  if (bytes <= scratch.size()) return absl::OkStatus();
  if (guard != nullptr) guard->Forget(ScratchData());
  ++stats.allocations;
  WEFT_RETURN_IF_ERROR(scratch.Reserve(bytes));
  stats.scratch_bytes = scratch.size();
  return absl::OkStatus();
}

int Runtime::DnnThreads(const StepCode& code) const { return std::min(dnn_threads, code.threads); }

char* Runtime::ScratchData() const {
  const bool apart = guard != nullptr && scratch.size() > 0;
  return scratch.data() + (apart ? MemoryGuard::kZone : 0);
}

std::shared_ptr<HostBuffer> Runtime::NewBuffer(int64_t bytes) {
  return guard != nullptr ? MemoryGuard::Allocate(bytes) : pool.Get(bytes);
}

bool IsKnown(const Plan& plan, const Step& step, const SymbolEnv& env) {
  for (const View& view : step.args) {
    if (!IsKnown(view, env)) return false;
  }
  const bool own = step.kind == StepKind::kReference || step.kind == StepKind::kControl;
  for (const View& view : step.results) {
    if (!own && !IsKnown(view, env)) return false;
  }
  if (step.kind == StepKind::kKernel) return KnownKernel(plan.kernels[step.kernel], env);
  return step.attrs == nullptr || !Evaluated(step.attrs, env)->is_symbolic();
}

absl::StatusOr<std::unique_ptr<StepCode>> CompileStep(const Plan& plan, const Step& step,
                                                      const SymbolEnv& env,
                                                      const MemoryPlan& memory,
                                                      const std::vector<char*>& constants,
                                                      Runtime& runtime) {
  ++runtime.stats.compiled_steps;
  auto code = std::make_unique<StepCode>();
  code->kind = step.kind;
  for (const View& view : step.args) code->args.push_back(MakeRunView(view, env));
  const bool own = step.kind == StepKind::kReference || step.kind == StepKind::kControl;
  for (const View& view : step.results) {
    if (!own) code->results.push_back(MakeRunView(view, env));
  }
  if (step.attrs != nullptr) code->attrs = Evaluated(step.attrs, env);
  code->memory.resize(step.args.size() + step.results.size());
  if (step.kind == StepKind::kKernel) {
    const Kernel& kernel = plan.kernels[step.kernel];
    // With its code there, nothing is made for the interpreter.
    WEFT_RETURN_IF_ERROR(UseGenerated(kernel, env, runtime, code.get()));
    if (code->generated != nullptr) return code;
    WEFT_RETURN_IF_ERROR(CompileKernel(kernel, env, runtime, code.get()));
  } else if (step.kind == StepKind::kLibrary) {
    CompileLibrary(plan, step, env, memory, constants, runtime, code.get());
  } else if (step.kind == StepKind::kCopy) {
    auto program = CompileCopy(code->args[0], code->results[0], *runtime.table);
    // Elements of four bits go through host tensors.
    if (program.ok()) {
      code->program = std::make_unique<TileProgram>(*std::move(program));
      code->scratch_bytes = code->program->workspace_bytes * runtime.threads;
    }
  }
  return code;
}

absl::Status UseGenerated(const Kernel& kernel, const SymbolEnv& env, Runtime& runtime,
                          StepCode* code) {
  if (code->asked || runtime.generated == nullptr || !runtime.generated->ready()) {
    return absl::OkStatus();
  }
  code->asked = true;
  const GeneratedKernel* found = runtime.generated->Find(&kernel);
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
  WEFT_RETURN_IF_ERROR(runtime.ReserveScratch(call->scratch_bytes * runtime.threads));
  code->generated = std::move(call);
  ++runtime.stats.generated_steps;
  return absl::OkStatus();
}

std::string Describe(const Plan& plan, const Step& step) {
  const auto names = plan.module->provenance().Names(step.provenance, /*limit=*/3);
  const std::string what = step.op != nullptr ? std::string(step.op->name())
                           : step.kind == StepKind::kKernel
                               ? absl::StrCat("kernel @", plan.kernels[step.kernel].name)
                               : "copy";
  return absl::StrCat(
      "node ", step.node, " (", what,
      names.empty() ? "" : absl::StrCat(" from \"", absl::StrJoin(names, "\", \""), "\""), ")");
}

}  // namespace weft::cpu
