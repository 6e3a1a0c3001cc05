// Setup of a runner, and the path from inputs to the assignment of their sizes.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "backends/runtime/logs.h"
#include "backends/runtime/plan_runner.h"
#include "backends/runtime/size_program.h"
#include "base/status_macros.h"
#include "graph/sym/sym_expr.h"
#include "graph/sym/sym_facts.h"
#include "graph/sym/sym_sources.h"
#include "lowering/failing_steps.h"
#include "lowering/plan_constants.h"
#include "lowering/plan_facts.h"

namespace weft {
namespace {

void AddSymbols(SymInt s, absl::flat_hash_set<SymInt>* seen, std::vector<SymInt>* symbols) {
  ForEachSymbol(s, [&](SymInt symbol) {
    if (seen->insert(symbol).second) symbols->push_back(symbol);
  });
}

// Symbols of the plan. Which of them an outer plan defines is known only at run time.
std::vector<SymInt> SymbolsOf(const Plan& plan) {
  std::vector<SymInt> symbols;
  absl::flat_hash_set<SymInt> seen;
  for (const SymbolInfo& info : FactsOf(plan).symbols()) {
    AddSymbols(info.symbol, &seen, &symbols);
  }
  for (const Buffer& buffer : plan.buffers) AddSymbols(buffer.numel, &seen, &symbols);
  for (const PlanInput& input : plan.inputs) {
    if (input.type.is_symint()) AddSymbols(input.type.symint(), &seen, &symbols);
    if (!input.type.is_tensor()) continue;
    for (SymInt dim : input.type.dims()) AddSymbols(dim, &seen, &symbols);
  }
  return symbols;
}

// True if the output has a dense buffer of its own.
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

profiler::MemoryCategory CategoryOf(const PlanConstant& constant) {
  return constant.name.empty() ? profiler::MemoryCategory::kConstant
                               : profiler::MemoryCategory::kParameter;
}

absl::Status NoConstant(int number) {
  return absl::InvalidArgumentError(absl::StrCat("the plan has no constant ", number));
}

// The inputs that define the symbols of a plan, for messages.
SymbolSources SourcesOf(const Plan& plan) {
  SymbolSources sources;
  for (const PlanInput& input : plan.inputs) {
    if (input.type.is_symint()) sources.AddInput(input.name, -1, input.type.symint());
    for (int d = 0; input.type.is_tensor() && d < input.type.rank(); ++d) {
      sources.AddInput(input.name, d, input.type.dim(d));
    }
  }
  const SymbolTable& facts = FactsOf(plan);
  for (const Step& step : plan.steps) {
    if (!MayFindSizes(step)) continue;
    const auto names = step.source == nullptr ? std::vector<std::string>() : step.source->nodes;
    const auto add = [&](SymInt size) {
      if (!size.is_symbol() || !facts.IsUnbacked(size)) return;
      sources.AddOrigin(size, OriginText(step.op_name, names));
    };
    for (const View& view : step.results) {
      if (view.type.is_symint()) add(view.type.symint());
      for (int d = 0; view.type.is_tensor() && d < view.type.rank(); ++d) add(view.type.dim(d));
    }
  }
  return sources;
}

}  // namespace

PlanRunner::PlanRunner(const Plan& plan, PlanRuntime& runtime, bool nested)
    : plan_(plan),
      runtime_(runtime),
      nested_(nested),
      host_visible_(runtime.device.host_visible()),
      planner_(plan),
      constants_(plan.buffers.size()),
      base_(plan.buffers.size()),
      tensors_(plan.buffers.size()),
      apart_(plan.buffers.size()),
      dense_(plan.inputs.size()),
      in_place_(plan.outputs.size()),
      arena_(runtime.device) {}

absl::StatusOr<std::unique_ptr<PlanRunner>> PlanRunner::Create(const Plan& plan,
                                                               PlanRuntime& runtime, bool nested) {
  if (runtime.guard != nullptr && !runtime.device.host_visible()) {
    return absl::InvalidArgumentError("memory that the host does not see has no red zones");
  }
  std::unique_ptr<PlanRunner> runner(new PlanRunner(plan, runtime, nested));
  WEFT_RETURN_IF_ERROR(runner->HoldConstants());
  runner->IndexOutputs();
  for (const Step& step : plan.steps) {
    runner->regions_.emplace_back();
    for (const auto& region : step.regions) {
      WEFT_ASSIGN_OR_RETURN(auto inner, Create(*region, runtime, /*nested=*/true));
      runner->regions_.back().push_back(std::move(inner));
    }
  }
  if (nested) runner->free_symbols_ = SymbolsOf(plan);
  return runner;
}

absl::Status PlanRunner::HoldConstants() {
  static char nothing[64] = {};
  for (size_t b = 0; b < plan_.buffers.size(); ++b) {
    if (plan_.buffers[b].kind != BufferKind::kConstant) continue;
    const int number = plan_.buffers[b].index;
    const PlanConstant* constant = FindConstant(plan_, number);
    if (constant == nullptr) return NoConstant(number);
    HostTensor tensor = constant->tensor.Contiguous();
    const profiler::MemoryCategory category = CategoryOf(*constant);
    if (!host_visible_) {
      WEFT_ASSIGN_OR_RETURN(constants_[b], runtime_.OnDevice(number, tensor, category));
      continue;
    }
    HostTensor copy = runtime_.guard != nullptr ? MemoryGuard::Copy(tensor) : HostTensor();
    const bool guarded = copy.valid();
    if (guarded) {
      tensor = std::move(copy);
      guarded_.push_back(static_cast<int>(b));
    }
    const bool empty = tensor.numel() == 0 && !guarded;
    constants_[b] = empty ? nothing : reinterpret_cast<char*>(tensor.raw());
    runtime_.Hold(tensor, category);
    held_.push_back(std::move(tensor));
  }
  return absl::OkStatus();
}

void PlanRunner::IndexOutputs() {
  runtime_.ExpectOutputs(plan_.outputs.size());
  for (size_t i = 0; i < plan_.output_views.size(); ++i) {
    direct_.push_back(IsDirectOutput(plan_, static_cast<int>(i)));
    const int buffer = plan_.output_views[i].buffer;
    const int donor = direct_.back() ? plan_.buffers[buffer].donor : -1;
    donors_.push_back(donor < 0 ? -1 : plan_.buffers[donor].index);
  }
  const auto writes_back = [&](const Step& step) {
    return std::any_of(step.results.begin(), step.results.end(), [&](const View& view) {
      return view.present() && plan_.buffers[view.buffer].donor >= 0;
    });
  };
  FailingSteps failing(plan_);
  bool unchecked = false;
  for (const Step& step : plan_.steps) {
    checks_before_.push_back(unchecked && writes_back(step));
    if (checks_before_.back()) unchecked = false;
    const bool may_fail = failing.MayFail(step);
    unchecked |= may_fail;
    may_fail_ |= may_fail;
  }
}

std::string PlanRunner::InputName(int i) const {
  const std::string& name = plan_.inputs[i].name;
  if (nested_ || name.empty()) return absl::StrCat("input ", i);
  return absl::StrCat("input ", i, " (", name, ")");
}

SymbolEnv PlanRunner::NewEnv() const {
  const Plan* plan = &plan_;
  return SymbolEnv(FactsOf(*plan), [plan] { return SourcesOf(*plan); });
}

void PlanRunner::CompileSizes(const SymbolEnv* outer) {
  SizeProgram::Options options;
  options.complete = false;
  for (SymInt symbol : free_symbols_) {
    if (outer != nullptr && outer->Find(symbol)) options.known.push_back(symbol);
  }
  if (sizes_ && sizes_->known() == absl::MakeConstSpan(options.known)) return;
  const auto constant = [this](int number) -> const HostTensor* {
    const PlanConstant* found = FindConstant(plan_, number);
    return found == nullptr ? nullptr : &found->tensor;
  };
  sizes_.emplace(plan_.inputs, FactsOf(plan_), constant, std::move(options));
}

// The key has the value of a symint if its tensor is an integer; other tensors are refused by Bind,
// or unused.
absl::Status PlanRunner::MakeKey(absl::Span<const RunInput> inputs, const SymbolEnv* outer) {
  if (!sizes_) CompileSizes(outer);
  WEFT_RETURN_IF_ERROR(sizes_->CheckPresent(inputs));
  key_.assign(1, kept_ != nullptr);
  for (size_t i = 0; i < bound_.size(); ++i) key_.push_back(bound_[i].valid() ? -2 : -1);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const RunInput& input = inputs[i];
    const int64_t kind = static_cast<int64_t>(input.dtype()) * 64 + input.rank();
    key_.push_back(kind * 2 + (input.device() != nullptr));
    for (int64_t d : input.dims()) key_.push_back(d);
    const bool integer = IsInt(input.dtype()) && input.numel() == 1 && input.host() != nullptr;
    if (plan_.inputs[i].type.is_symint() && integer) key_.push_back(input.host()->IntAt(0));
  }
  if (outer == nullptr) return absl::OkStatus();
  for (SymInt s : free_symbols_) {
    key_.push_back(outer->Find(s).value_or(SizeProgram::kNoValue));
  }
  return absl::OkStatus();
}

absl::StatusOr<SymbolEnv> PlanRunner::BindInputs(absl::Span<const RunInput> inputs,
                                                 const SymbolEnv* outer) {
  CompileSizes(outer);
  std::vector<int64_t> known;
  for (SymInt symbol : sizes_->known()) known.push_back(*outer->Find(symbol));
  std::vector<int64_t> values;
  WEFT_RETURN_IF_ERROR(sizes_->Bind(inputs, known, &values));
  SymbolEnv env = outer != nullptr ? *outer : NewEnv();
  env.Define(sizes_->symbols(), values);
  return env;
}

absl::Status PlanRunner::CheckConditions(Assignment* a) const {
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

absl::Status PlanRunner::FindAssignment(absl::Span<const RunInput> inputs, const SymbolEnv* outer) {
  WEFT_RETURN_IF_ERROR(MakeKey(inputs, outer));
  const int variant = runtime_.launcher.variant();
  if (current_ != nullptr && current_->variant == variant && key_ == current_key_) {
    return sizes_->CheckValues(inputs);
  }
  const auto it = assignments_.find(key_);
  const bool met = it != assignments_.end();
  if (met && it->second.count(variant) != 0) {
    current_ = it->second[variant].get();
    current_key_ = key_;
    return sizes_->CheckValues(inputs);
  }
  WEFT_ASSIGN_OR_RETURN(SymbolEnv env, BindInputs(inputs, outer));
  auto made = std::make_unique<Assignment>(std::move(env), variant);
  for (const RunInput& input : inputs) made->on_device.push_back(input.device() != nullptr);
  made->keeps_outputs = kept_ != nullptr;
  for (const DeviceTensor& output : bound_) made->bound.push_back(output.valid());
  made->addresses.resize(plan_.buffers.size());
  made->moved.resize(plan_.buffers.size());
  WEFT_RETURN_IF_ERROR(CheckConditions(made.get()));
  WEFT_RETURN_IF_ERROR(Prepare(made.get()));
  if (!met) ++runtime_.stats.assignments;
  Log(executor_log, absl::StrCat("@", plan_.name, ": sizes ", runtime_.stats.assignments, ", ",
                                 made->arena_bytes, " bytes of temporaries"));
  current_ = made.get();
  current_key_ = key_;
  assignments_[key_][variant] = std::move(made);
  return absl::OkStatus();
}

}  // namespace weft
