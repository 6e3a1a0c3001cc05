#include "api/dynamic/variant_cache.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "api/dynamic/graph_sizes.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "graph/ir/constant_store.h"
#include "graph/ir/graph.h"
#include "graph/sym/sym_expr.h"

namespace weft {
namespace {

LogComponent dynamic_log("dynamic", "variants of a program, sizes that became symbolic");
LogArtifact guards_log("guards", "the guards of each variant that is compiled");
LogArtifact recompiles_log("recompiles", "why a variant was compiled");

}  // namespace

VariantCache::VariantCache(const Module& model, ProgramOptions options)
    : model_(model),
      options_(std::move(options)),
      size_program_(MakeSizeProgram(*model.main())),
      policy_(*model.main(), size_program_, options_) {}

absl::StatusOr<std::vector<HostTensor>> VariantCache::Found::Run(
    absl::Span<const HostTensor> inputs, std::vector<HostTensor>* written) const {
  return variant_ != nullptr ? variant_->Run(inputs, written)
                             : model_->RunStateless(inputs, written);
}

absl::StatusOr<std::vector<DeviceTensor>> VariantCache::Found::RunOnDevice(
    std::vector<DeviceTensor>* inputs, const std::vector<bool>& donated,
    const DeviceRunOptions& options, std::vector<DeviceTensor>* written) const {
  if (variant_ != nullptr) return variant_->RunOnDevice(inputs, donated, options, written);
  return model_->RunStatelessOnDevice(*inputs, /*donated=*/{}, options, written);
}

std::vector<VariantCache::Found> VariantCache::All() const {
  absl::MutexLock lock(&mu_);
  std::vector<Found> all;
  for (const Entry& entry : entries_) all.emplace_back(entry.variant);
  if (as_imported_ != nullptr) all.emplace_back(as_imported_);
  return all;
}

absl::Status VariantCache::Synchronize() const {
  absl::Status first;
  for (const Found& found : All()) first.Update(found.session().Synchronize());
  return first;
}

absl::StatusOr<HostTensor> VariantCache::ToHost(const DeviceTensor& tensor) const {
  if (tensor.on_host()) return tensor.host();
  for (const Found& found : All()) {
    if (found.session().memory_space() == tensor.memory_space()) {
      return found.session().ToHost(tensor);
    }
  }
  return absl::InvalidArgumentError("the tensor is in the memory of another device");
}

// --- Calls ---------------------------------------------------------------------------

absl::StatusOr<VariantCache::Found> VariantCache::Get(absl::Span<const RunInput> inputs) {
  Values values;
  absl::Status status = size_program_.Bind(inputs, {}, &values);
  if (status.ok()) status = policy_.CheckOnHost(inputs);
  {
    absl::MutexLock lock(&mu_);
    ++counts_.calls;
    counts_.refused += !status.ok();
    WEFT_RETURN_IF_ERROR(status);
    if (auto variant = Find(values, inputs)) return Found(std::move(variant));
  }
  return Compile(values, inputs);
}

// Finds a variant for the call, and counts a hit.
std::shared_ptr<const Variant> VariantCache::Find(const Values& values,
                                                  absl::Span<const RunInput> inputs) {
  for (size_t i = 0; i < recent_.size(); ++i) {
    Entry& entry = entries_[recent_[i]];
    if (!entry.variant->Accepts(values, inputs)) continue;
    std::rotate(recent_.begin(), recent_.begin() + i, recent_.begin() + i + 1);
    ++entry.calls;
    ++counts_.hits;
    return entry.variant;
  }
  return nullptr;
}

absl::StatusOr<VariantCache::Found> VariantCache::Compile(const Values& values,
                                                          absl::Span<const RunInput> inputs) {
  absl::MutexLock compiling(&compile_mu_);
  std::vector<MissedVariant> misses;
  bool full;
  {
    absl::MutexLock lock(&mu_);
    // Another thread may have compiled it meanwhile.
    if (auto variant = Find(values, inputs)) return Found(std::move(variant));
    misses = Misses(values, inputs);
    full = static_cast<int>(entries_.size()) >= options_.cache_limit;
  }
  if (full) return PastLimit(std::move(misses));
  Variant::Request request;
  request.choice = policy_.Choose(values, inputs);
  request.sizes = values;
  request.inputs.assign(inputs.begin(), inputs.end());
  request.exchanged = Exchanged(inputs);
  int64_t compiles = 0;
  auto variant = Variant::Make(model_, size_program_, std::move(request), options_, &compiles);
  absl::MutexLock lock(&mu_);
  counts_.compiles += compiles;
  WEFT_RETURN_IF_ERROR(variant.status());
  LogVariant(static_cast<int>(entries_.size()), **variant, misses);
  recent_.insert(recent_.begin(), static_cast<int>(entries_.size()));
  entries_.push_back({*variant, std::move(misses), 1});
  return Found(*std::move(variant));
}

void VariantCache::LogVariant(int id, const Variant& variant,
                              const std::vector<MissedVariant>& misses) const {
  Log(dynamic_log, absl::StrCat("variant ", id, " for ", variant.inputs_text()));
  for (const MissedVariant& miss : misses) {
    Log(recompiles_log, absl::StrCat("variant ", id, ", because ", miss.text));
  }
  if (!guards_log.IsLogged()) return;
  for (const VariantGuard& guard : variant.guards()) {
    Log(guards_log, absl::StrCat("variant ", id, ": ", GuardText(guard, *model_.main()), "; from ",
                                 guard.origin));
  }
}

absl::StatusOr<VariantCache::Found> VariantCache::PastLimit(std::vector<MissedVariant> misses) {
  absl::MutexLock lock(&mu_);
  if (options_.at_limit == ProgramOptions::AtLimit::kFail) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "the program has ", entries_.size(), " variants, which is the limit, and none takes the ",
        "call; ", misses.back().text,
        "; make the sizes that change symbolic (dynamic=symbolic, or mark_dynamic)"));
  }
  if (as_imported_ == nullptr) {
    WEFT_ASSIGN_OR_RETURN(const Backend* backend, FindBackend(options_));
    WEFT_ASSIGN_OR_RETURN(Session session,
                          Session::Create(model_.Clone(), *backend, options_.backend));
    as_imported_ = std::make_shared<Session>(std::move(session));
  }
  ++counts_.as_imported;
  counts_.last_miss = std::move(misses);
  return Found(as_imported_);
}

// Inputs with state that had another than their initial value in some call.
std::vector<bool> VariantCache::Exchanged(absl::Span<const RunInput> inputs) {
  const Graph& main = *model_.main();
  exchanged_.resize(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const int initial = main.input_info(static_cast<int>(i)).initial;
    if (initial < 0 || exchanged_[i]) continue;
    exchanged_[i] = !HasSameMemory(inputs[i], model_.constants().tensor(initial));
  }
  return exchanged_;
}

// --- Explanations --------------------------------------------------------------------

std::vector<MissedVariant> VariantCache::Misses(const Values& values,
                                                absl::Span<const RunInput> inputs) const {
  std::vector<MissedVariant> misses;
  for (size_t i = 0; i < entries_.size(); ++i) {
    const VariantGuard guard = entries_[i].variant->FirstFailing(values, inputs);
    misses.push_back(Miss(static_cast<int>(i), guard, values));
  }
  return misses;
}

MissedVariant VariantCache::Miss(int id, const VariantGuard& guard, const Values& values) const {
  const Graph& main = *model_.main();
  MissedVariant miss;
  miss.variant = id;
  miss.guard = GuardText(guard, main);
  miss.origin = guard.origin;
  std::vector<std::string> changes;
  ForEachSymbol(guard.condition, [&](SymInt symbol) {
    const int number = size_program_.NumberOf(symbol);
    const int64_t before = entries_[id].variant->sizes()[number];
    const int64_t now = values[number];
    const SizeProgram::Source& source = size_program_.source(number);
    miss.changed.push_back({main.input_info(source.input).name, source.dim, before, now});
    changes.push_back(absl::StrCat(source.bare ? "" : absl::StrCat(symbol.ToString(), ", by "),
                                   size_program_.SourceText(number), " was ", before, ", is ",
                                   now));
  });
  if (guard.input >= 0) changes.push_back("the value differs");
  miss.text =
      absl::StrCat("variant ", id, " needs ", miss.guard, ": ", absl::StrJoin(changes, "; "));
  return miss;
}

ExplainedVariant VariantCache::ExplainVariant(int id) const {
  const Entry& entry = entries_[id];
  const Variant& variant = *entry.variant;
  ExplainedVariant explained;
  explained.id = id;
  explained.calls = entry.calls;
  explained.made_for = variant.inputs_text();
  explained.misses = entry.misses;
  explained.nodes = variant.module().num_nodes();
  for (size_t i = 0; i < variant.choice().sizes.size(); ++i) {
    const SizeChoice& choice = variant.choice().sizes[i];
    const SymInt symbol = size_program_.symbols()[i];
    const bool fixed = choice.value.is_constant();
    explained.sizes.push_back({symbol.ToString(), size_program_.SourceText(static_cast<int>(i)),
                               fixed, choice.value == symbol ? "symbolic" : choice.value.ToString(),
                               choice.why});
  }
  for (const ValueChoice& choice : variant.choice().values) {
    const std::string name = absl::StrCat("\"", model_.main()->input_info(choice.input).name, "\"");
    explained.sizes.push_back({"", absl::StrCat("value of ", name), choice.fixed,
                               choice.fixed ? "fixed" : "any", choice.why});
  }
  for (const VariantGuard& guard : variant.guards()) {
    explained.guards.push_back({GuardText(guard, *model_.main()), guard.origin});
  }
  return explained;
}

ProgramExplanation VariantCache::Explain() const {
  absl::MutexLock lock(&mu_);
  ProgramExplanation explanation = counts_;
  explanation.dynamic = options_.dynamic;
  explanation.cache_limit = options_.cache_limit;
  for (const Constraint& c : size_program_.constraints()) {
    explanation.constraints.push_back({c.text, c.origin});
  }
  for (size_t i = 0; i < entries_.size(); ++i) {
    explanation.variants.push_back(ExplainVariant(static_cast<int>(i)));
  }
  return explanation;
}

}  // namespace weft
