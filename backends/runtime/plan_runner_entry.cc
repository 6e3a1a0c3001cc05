// Parts of a runner that all runs share, and the way from inputs to the assignment of their sizes.
#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "backends/runtime/logs.h"
#include "backends/runtime/plan_runner.h"
#include "base/annotate.h"
#include "base/status_macros.h"
#include "graph/sym/sym_expr.h"
#include "graph/sym/sym_facts.h"
#include "graph/sym/sym_sources.h"
#include "lowering/plan_constants.h"
#include "lowering/plan_facts.h"

namespace weft {
namespace {

constexpr int64_t kNoValue = std::numeric_limits<int64_t>::min();

void AddSymbols(SymInt s, absl::flat_hash_set<SymInt>* seen, std::vector<SymInt>* symbols) {
  ForEachSymbol(s, [&](SymInt symbol) {
    if (seen->insert(symbol).second) symbols->push_back(symbol);
  });
}

// Symbols of the plan: which of them an outer plan knows is seen at run time.
std::vector<SymInt> SymbolsOf(const Plan& plan) {
  std::vector<SymInt> symbols;
  absl::flat_hash_set<SymInt> seen;
  for (const SymbolInfo& info : FactsOf(plan).symbols()) {
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

profiler::MemoryCategory CategoryOf(const PlanConstant& constant) {
  return constant.name.empty() ? profiler::MemoryCategory::kConstant
                               : profiler::MemoryCategory::kParameter;
}

absl::Status NoConstant(int number) {
  return absl::InvalidArgumentError(absl::StrCat("the plan has no constant ", number));
}

// The places where the symbols of a plan get their values, for messages.
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
    if (!RunsOnHost(step)) continue;
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
  for (size_t i = 0; i < plan_.output_views.size(); ++i) {
    direct_.push_back(IsDirectOutput(plan_, static_cast<int>(i)));
    const int buffer = plan_.output_views[i].buffer;
    const int donor = direct_.back() ? plan_.buffers[buffer].donor : -1;
    donors_.push_back(donor < 0 ? -1 : plan_.buffers[donor].index);
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
    const int value = plan_.inputs[i].value;
    if (value < 0) continue;
    const PlanConstant* constant = FindConstant(plan_, value);
    if (constant == nullptr) return NoConstant(value);
    const HostTensor& want = constant->tensor;
    const bool same = inputs[i].raw() == want.raw() && inputs[i].dtype() == want.dtype() &&
                      inputs[i].dims() == want.dims();
    if (same || inputs[i].Contiguous().BitEqual(want)) continue;
    // A shape that does not fit is said first.
    SymbolEnv env = NewEnv();
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
    if (plan_.inputs[i].type.is_symint()) {
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
absl::Status PlanRunner::BindInputs(absl::Span<const HostTensor> inputs, SymbolEnv* env) const {
  const auto turn_of = [this](int i) {
    const PlanInput& input = plan_.inputs[i];
    return input.type.is_symint() ? 0 : input.read ? 1 : 2;
  };
  for (int turn = 0; turn < 3; ++turn) {
    for (int i = 0; i < static_cast<int>(inputs.size()); ++i) {
      if (turn_of(i) != turn) continue;
      const absl::Status status = env->Unify(plan_.inputs[i].type, inputs[i]);
      if (!status.ok() && plan_.inputs[i].read) return Annotate(status, InputName(i));
    }
  }
  return absl::OkStatus();
}

absl::Status PlanRunner::CheckConditions(Assignment* a) const {
  // An outer plan has checked the facts.
  if (!nested_) WEFT_RETURN_IF_ERROR(a->env.CheckConditions());
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

absl::Status PlanRunner::FindAssignment(absl::Span<const HostTensor> inputs,
                                        const SymbolEnv* outer) {
  WEFT_RETURN_IF_ERROR(MakeKey(inputs, outer));
  const int variant = runtime_.launcher.variant();
  if (current_ != nullptr && current_->variant == variant && key_ == current_key_) {
    return absl::OkStatus();
  }
  const auto it = assignments_.find(key_);
  const bool met = it != assignments_.end();
  if (met && it->second.count(variant) != 0) {
    current_ = it->second[variant].get();
    current_key_ = key_;
    return absl::OkStatus();
  }
  auto made = std::make_unique<Assignment>(outer != nullptr ? *outer : NewEnv(), variant);
  WEFT_RETURN_IF_ERROR(BindInputs(inputs, &made->env));
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

void TakeWriteBacks(absl::Span<const int> write_backs, size_t num_inputs,
                    std::vector<HostTensor>* outputs, std::vector<HostTensor>* written) {
  const size_t own = outputs->size() - write_backs.size();
  written->assign(num_inputs, HostTensor());
  for (size_t k = 0; k < write_backs.size(); ++k) {
    (*written)[write_backs[k]] = std::move((*outputs)[own + k]);
  }
  outputs->resize(own);
}

}  // namespace weft
