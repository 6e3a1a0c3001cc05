// From inputs to the assignment of their sizes, compiled.
#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "backends/cpu/interpreter/copy.h"
#include "backends/cpu/plan_runner.h"
#include "base/annotate.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "profiler/record.h"

namespace weft::cpu {
namespace {

// No machine has memory for more; sums of the bytes of many buffers stay inside of 64
// bits.
constexpr int64_t kMaxElements = int64_t{1} << 44;

constexpr int64_t kNoValue = std::numeric_limits<int64_t>::min();

void AddSymbols(SymInt s, absl::flat_hash_set<SymInt>* seen, std::vector<SymInt>* symbols) {
  ForEachSymbol(s, [&](SymInt symbol) {
    if (seen->insert(symbol).second) symbols->push_back(symbol);
  });
}

// Symbols of the module: which of them an outer plan knows is seen at run time.
std::vector<SymInt> SymbolsOf(const Plan& plan) {
  std::vector<SymInt> symbols;
  absl::flat_hash_set<SymInt> seen;
  for (const SymbolInfo& info : plan.module->symbols().symbols()) {
    AddSymbols(info.symbol, &seen, &symbols);
  }
  for (const Buffer& buffer : plan.buffers) AddSymbols(buffer.numel, &seen, &symbols);
  return symbols;
}

// The output is a buffer of its own, dense.
bool IsDirectOutput(const Plan& plan, int output) {
  const View& view = plan.output_views[output];
  if (!view.present() || !view.type.is_tensor()) return false;
  const Buffer& buffer = plan.buffers[view.buffer];
  if (buffer.kind != BufferKind::kOutput || buffer.index != output || !view.offset.Is(0) ||
      buffer.dtype != view.type.dtype()) {
    return false;
  }
  SymInt stride = 1;
  for (int d = view.type.rank() - 1; d >= 0; --d) {
    if (!view.type.dim(d).Is(1) && view.strides[d] != stride) return false;
    stride = stride * view.type.dim(d);
  }
  return buffer.numel == stride;
}

// The model's own tensors have names.
profiler::MemoryCategory CategoryOf(const ConstantStore& constants, int id) {
  const bool own = !constants.derived(id) && !constants.name(id).empty();
  return own ? profiler::MemoryCategory::kParameter : profiler::MemoryCategory::kConstant;
}

}  // namespace

PlanRunner::PlanRunner(const Plan& plan, const Graph* graph, Runtime& runtime)
    : plan_(plan), graph_(graph), runtime_(runtime), planner_(plan) {
  constants_.resize(plan.buffers.size());
  base_.resize(plan.buffers.size());
  tensors_.resize(plan.buffers.size());
  dense_.resize(plan.inputs.size());
  for (size_t b = 0; b < plan.buffers.size(); ++b) {
    if (plan.buffers[b].kind != BufferKind::kConstant) continue;
    HostTensor tensor = plan.module->constants().tensor(plan.buffers[b].index).Contiguous();
    HostTensor copy = runtime.guard != nullptr ? MemoryGuard::Copy(tensor) : HostTensor();
    const bool guarded = copy.valid();
    if (guarded) {
      tensor = std::move(copy);
      guarded_.push_back(static_cast<int>(b));
    }
    static char nothing[64] = {};
    const bool empty = tensor.numel() == 0 && !guarded;
    constants_[b] = empty ? nothing : reinterpret_cast<char*>(tensor.raw());
    runtime.constants.Add(tensor.raw(), tensor.bytes(),
                          CategoryOf(plan.module->constants(), plan.buffers[b].index));
    held_.push_back(std::move(tensor));
  }
  std::vector<bool> used(plan.buffers.size());
  const auto use = [&](const View& view) {
    if (view.present()) used[view.buffer] = true;
  };
  for (const Step& step : plan.steps) {
    for (const View& view : step.args) use(view);
    regions_.emplace_back();
    for (const auto& region : step.regions) {
      regions_.back().push_back(std::make_unique<PlanRunner>(*region, nullptr, runtime));
    }
  }
  for (size_t i = 0; i < plan.output_views.size(); ++i) {
    use(plan.output_views[i]);
    direct_.push_back(IsDirectOutput(plan, static_cast<int>(i)));
    const int buffer = plan.output_views[i].buffer;
    const int donor = direct_.back() ? plan.buffers[buffer].donor : -1;
    donors_.push_back(donor < 0 ? -1 : plan.buffers[donor].index);
  }
  in_place_.resize(plan.outputs.size());
  for (const View& view : plan.input_views) {
    read_.push_back(!view.present() || used[view.buffer]);
  }
  if (graph == nullptr) free_symbols_ = SymbolsOf(plan);
}

std::string PlanRunner::InputName(int i) const {
  if (graph_ == nullptr) return absl::StrCat("input ", i);
  return absl::StrCat("input ", i, " (", graph_->input_info(i).name, ")");
}

bool PlanRunner::IsRead(int i) const {
  if (graph_ == nullptr) return read_[i];
  return graph_->input(i)->has_uses() || graph_->input_info(i).value >= 0;
}

absl::Status PlanRunner::CheckInputs(absl::Span<const HostTensor> inputs) {
  if (inputs.size() != plan_.inputs.size()) {
    return absl::InvalidArgumentError(absl::StrCat("@", plan_.name, " takes ", plan_.inputs.size(),
                                                   " inputs, got ", inputs.size()));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const int n = static_cast<int>(i);
    if (!inputs[i].valid()) {
      return absl::InvalidArgumentError(absl::StrCat(InputName(n), " is missing"));
    }
    const int value = graph_ == nullptr ? -1 : graph_->input_info(n).value;
    if (value < 0) continue;
    const HostTensor& want = plan_.module->constants().tensor(value);
    const bool same = inputs[i].valid() && inputs[i].raw() == want.raw() &&
                      inputs[i].dtype() == want.dtype() && inputs[i].dims() == want.dims();
    if (same || inputs[i].Contiguous().BitEqual(want)) continue;
    // A shape that does not fit is said first.
    SymbolEnv env(plan_.module->symbols(), graph_);
    WEFT_RETURN_IF_ERROR(BindInputs(inputs.first(i + 1), &env));
    return absl::InvalidArgumentError(
        absl::StrCat(InputName(n), " differs from the value that the program was made for"));
  }
  return absl::OkStatus();
}

absl::Status PlanRunner::MakeKey(absl::Span<const HostTensor> inputs, const SymbolEnv* outer) {
  key_.clear();
  for (size_t i = 0; i < inputs.size(); ++i) {
    key_.push_back(static_cast<int64_t>(inputs[i].dtype()) * 64 + inputs[i].rank());
    for (int64_t d : inputs[i].dims()) key_.push_back(d);
    if (plan_.inputs[i].is_symint()) {
      if (inputs[i].numel() != 1) {
        return absl::InvalidArgumentError(
            absl::StrCat(InputName(static_cast<int>(i)), ": expected one integer"));
      }
      key_.push_back(inputs[i].IntAt(0));
    }
  }
  if (outer == nullptr) return absl::OkStatus();
  for (SymInt s : free_symbols_) key_.push_back(outer->Find(s).value_or(kNoValue));
  return absl::OkStatus();
}

// Symbols that are inputs come first, where sizes may need them, then what is read: other inputs
// may have any shape.
absl::Status PlanRunner::BindInputs(absl::Span<const HostTensor> inputs, SymbolEnv* env) {
  const auto turn_of = [this](int i) {
    return plan_.inputs[i].is_symint() ? 0 : IsRead(i) ? 1 : 2;
  };
  for (int turn = 0; turn < 3; ++turn) {
    for (int i = 0; i < static_cast<int>(inputs.size()); ++i) {
      if (turn_of(i) != turn) continue;
      const absl::Status status = env->Unify(plan_.inputs[i], inputs[i]);
      if (!status.ok() && IsRead(i)) return Annotate(status, InputName(i));
    }
  }
  return absl::OkStatus();
}

absl::Status PlanRunner::CheckConditions(Assignment* a) const {
  // An outer plan has checked the facts.
  if (graph_ != nullptr) WEFT_RETURN_IF_ERROR(a->env.CheckConditions());
  for (size_t i = 0; i < plan_.conditions.size(); ++i) {
    const PlanCondition& c = plan_.conditions[i];
    WEFT_RETURN_IF_ERROR(a->env.Check(c.condition, c.origin));
    if (!a->env.IsBound(c.condition)) a->open_conditions.push_back(static_cast<int>(i));
  }
  return absl::OkStatus();
}

absl::Status PlanRunner::CheckOpenConditions() const {
  for (int i : current_->open_conditions) {
    const PlanCondition& c = plan_.conditions[i];
    WEFT_RETURN_IF_ERROR(env().Check(c.condition, c.origin));
  }
  return absl::OkStatus();
}

absl::StatusOr<int64_t> PlanRunner::BytesOf(int b, const SymbolEnv& env) const {
  const Buffer& buffer = plan_.buffers[b];
  const std::optional<int64_t> numel = env.Eval(buffer.numel);
  if (!numel && !env.IsBound(buffer.numel)) return -1;
  if (numel && *numel >= 0 && *numel <= kMaxElements) return DTypeBytes(buffer.dtype, *numel);
  const std::string size = absl::StrCat(DTypeName(buffer.dtype), "[", buffer.numel.ToString(), "]");
  const std::string known = env.Describe(buffer.numel);
  std::string text = absl::StrCat("%", buffer.name, ": ", size);
  absl::StrAppend(&text,
                  numel && *numel < 0 ? " has a negative size"
                  : numel             ? " is larger than any memory"
                                      : " has no size: sizes do not fit together or pass 64 bits",
                  known.empty() ? "" : ", for ", known);
  for (const Step& step : plan_.steps) {
    for (const View& view : step.results) {
      if (view.buffer != b) continue;
      return absl::InvalidArgumentError(absl::StrCat(Describe(plan_, step), ": ", text));
    }
  }
  return absl::InvalidArgumentError(text);
}

absl::Status PlanRunner::CheckSizes(const Step& step, const SymbolEnv& env) const {
  const bool own = step.kind == StepKind::kReference || step.kind == StepKind::kControl;
  const auto check = [&](const View& view) {
    if (!view.type.is_tensor()) return absl::OkStatus();
    for (SymInt size : view.type.dims()) {
      const std::optional<int64_t> value = env.Eval(size);
      if (value ? *value >= 0 : !env.IsBound(size)) continue;
      return absl::InvalidArgumentError(absl::StrCat("the size ", size.ToString(),
                                                     value ? " is negative" : " has no value",
                                                     " for ", env.Describe(size)));
    }
    return absl::OkStatus();
  };
  for (const View& view : step.args) WEFT_RETURN_IF_ERROR(check(view));
  for (const View& view : step.results) {
    if (!own) WEFT_RETURN_IF_ERROR(check(view));
  }
  return absl::OkStatus();
}

absl::Status PlanRunner::FindAssignment(absl::Span<const HostTensor> inputs,
                                        const SymbolEnv* outer) {
  WEFT_RETURN_IF_ERROR(MakeKey(inputs, outer));
  const int threads = runtime_.threads;
  if (current_ != nullptr && current_->threads == threads && key_ == current_key_) {
    return absl::OkStatus();
  }
  const auto it = assignments_.find(key_);
  const bool met = it != assignments_.end();
  if (met && it->second.count(threads) != 0) {
    current_ = it->second[threads].get();
    current_key_ = key_;
    return absl::OkStatus();
  }
  auto made = std::make_unique<Assignment>(
      outer != nullptr ? *outer : SymbolEnv(plan_.module->symbols(), graph_), threads);
  WEFT_RETURN_IF_ERROR(BindInputs(inputs, &made->env));
  WEFT_RETURN_IF_ERROR(CheckConditions(made.get()));
  WEFT_RETURN_IF_ERROR(Compile(made.get()));
  if (!met) ++runtime_.stats.assignments;
  Log(LogComponent::kExecutor, absl::StrCat("@", plan_.name, ": sizes ", runtime_.stats.assignments,
                                            ", ", made->arena_bytes, " bytes of temporaries"));
  current_ = made.get();
  current_key_ = key_;
  assignments_[key_][threads] = std::move(made);
  return absl::OkStatus();
}

absl::Status PlanRunner::Compile(Assignment* a) {
  const profiler::Scope scope(profiler::Activity::kCompilerPass, "prepare sizes");
  for (size_t b = 0; b < plan_.buffers.size(); ++b) {
    WEFT_ASSIGN_OR_RETURN(const int64_t bytes, BytesOf(static_cast<int>(b), a->env));
    a->bytes.push_back(bytes);
  }
  WEFT_RETURN_IF_ERROR(PlaceTemporaries(a));
  int64_t scratch = 0;
  for (const Step& step : plan_.steps) {
    const bool own = step.kind == StepKind::kReference || step.kind == StepKind::kControl;
    a->dynamic |= own;
    const absl::Status sizes = CheckSizes(step, a->env);
    if (!sizes.ok()) return Annotate(sizes, Describe(plan_, step));
    if (!IsKnown(plan_, step, a->env)) {
      a->dynamic = true;
      a->steps.push_back(nullptr);
      continue;
    }
    auto code = CompileStep(plan_, step, a->env, planner_.memory(), constants_, runtime_);
    if (!code.ok()) return Annotate(code.status(), Describe(plan_, step));
    scratch = std::max(scratch, (*code)->scratch_bytes);
    a->steps.push_back(*std::move(code));
  }
  WEFT_RETURN_IF_ERROR(runtime_.ReserveScratch(scratch));
  for (size_t i = 0; i < plan_.outputs.size(); ++i) {
    const View& view = plan_.output_views[i];
    a->output_copies.emplace_back();
    a->output_dims.emplace_back();
    if (!view.present() || !IsKnown(view, a->env)) continue;
    const RunView from = MakeRunView(view, a->env);
    a->output_dims.back() = from.dims;
    if (IsDirect(static_cast<int>(i))) continue;
    auto program = CompileCopy(from, DenseView(from.dtype, from.dims), *runtime_.table);
    if (!program.ok()) continue;
    auto code = std::make_unique<StepCode>();
    code->args = {from};
    code->memory.resize(2);
    code->scratch_bytes = program->workspace_bytes * runtime_.threads;
    code->program = std::make_unique<TileProgram>(*std::move(program));
    WEFT_RETURN_IF_ERROR(runtime_.ReserveScratch(code->scratch_bytes));
    a->output_copies.back() = std::move(code);
  }
  return absl::OkStatus();
}

absl::Status PlanRunner::PlaceTemporaries(Assignment* a) {
  WEFT_ASSIGN_OR_RETURN(const std::shared_ptr<const MemoryLayout> layout,
                        planner_.Find([&](SymInt s) { return a->env.Eval(s); }));
  a->places = layout->offsets;
  a->arena_bytes = layout->arena_bytes;
  const int64_t zone = runtime_.guard == nullptr ? 0 : MemoryGuard::kZone;
  if (zone > 0) AddZones(a);
  for (size_t b = 0; b < plan_.buffers.size(); ++b) {
    const Buffer& buffer = plan_.buffers[b];
    const bool elsewhere = buffer.kind == BufferKind::kInput ||
                           buffer.kind == BufferKind::kConstant || a->places[b] >= 0 ||
                           (buffer.kind == BufferKind::kOutput && direct_[buffer.index]);
    if (elsewhere || a->bytes[b] < 0) continue;
    a->places[b] = a->arena_bytes + zone;
    a->arena_bytes += (a->bytes[b] + 63) / 64 * 64 + 2 * zone;
  }
  return absl::OkStatus();
}

}  // namespace weft::cpu
