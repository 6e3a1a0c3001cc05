#include "api/dynamic/variant.h"

#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/annotate.h"
#include "base/quote.h"
#include "base/status_macros.h"
#include "graph/ir/attr.h"
#include "graph/ir/constant_store.h"
#include "graph/ir/graph.h"
#include "graph/ir/node.h"
#include "graph/ops/ops.h"
#include "graph/sym/sym_expr.h"
#include "graph/sym/sym_ops.h"
#include "graph/verify/verifier.h"
#include "passes/sizes/specialize.h"

namespace weft {
namespace {

constexpr int kMaxAttempts = 4;

// Specialises the program to that value of the input, which users of the input then see.
void FixInput(Graph& main, int input, const HostTensor& value) {
  const int id = main.module().constants().Add(value.Contiguous());
  main.input_info(input).value = id;
  Value* old = main.input(input);
  if (!old->has_uses()) return;
  Node* constant =
      main.CreateNode(ops::constant, {}, AttrList::Get({AttrValue(static_cast<int64_t>(id))}),
                      {value.type()}, main.first_node());
  old->ReplaceAllUsesWith(constant->result());
}

// Hints are example values; the best ones are those of the call.
void SetHints(Module& module, const SizeProgram& size_program, absl::Span<const int64_t> sizes) {
  const SymbolTable& known = module.symbols();
  SymbolTable facts;
  for (SymbolInfo info : known.symbols()) {
    const int number = info.unbacked ? -1 : size_program.NumberOf(info.symbol);
    if (number >= 0) info.hint = sizes[number];
    facts.Declare(info);
  }
  for (const SymCondition& c : known.conditions()) facts.Assume(c.condition, c.origin);
  module.symbols() = std::move(facts);
}

// Collects guards that neither the constraints of the program nor other guards imply. Conditions on
// data are left to executors.
class GuardCollector {
 public:
  GuardCollector(const SymbolTable& constraints, const SizeProgram& size_program,
                 std::vector<VariantGuard>* guards)
      : known_(constraints), size_program_(size_program), guards_(guards) {}

  void Add(SymInt condition, const std::string& origin) {
    if (!size_program_.Knows(condition)) return;
    if (known_.Assume(condition, origin) == Proof::kYes) return;
    guards_->push_back({condition, origin, -1, HostTensor()});
  }
  void AddFactsOf(const SymbolInfo& info, const std::string& origin) {
    const SymInt s = info.symbol;
    if (info.range.min != SymRange::kMin) Add(GreaterEqual(s, info.range.min), origin);
    if (info.range.max != SymRange::kMax) Add(LessEqual(s, info.range.max), origin);
    if (info.divisor != 1) Add(Equal(Mod(s, info.divisor), 0), origin);
  }

 private:
  SymbolTable known_;
  const SizeProgram& size_program_;
  std::vector<VariantGuard>* guards_;
};

// True if the condition mentions a symbol of the program that the variant defines from data.
bool DependsOnData(SymInt s, const SymbolTable& facts) {
  bool depends = false;
  ForEachSymbol(s, [&](SymInt symbol) { depends |= facts.IsUnbacked(symbol); });
  return depends;
}

std::string TensorText(const HostTensor& tensor) {
  constexpr int64_t kMaxShown = 8;
  if (tensor.numel() > kMaxShown) {
    return absl::StrCat("the ", tensor.numel(), " elements that it was made for");
  }
  const std::string elements = absl::StrJoin(tensor.ReadInts(), ", ");
  return tensor.rank() == 0 ? elements : absl::StrCat("[", elements, "]");
}

std::string InputsText(const Graph& main, absl::Span<const RunInput> inputs) {
  std::vector<std::string> texts;
  for (int i = 0; i < main.num_inputs(); ++i) {
    const InputInfo& info = main.input_info(i);
    if (info.initial >= 0 || info.value >= 0) continue;
    texts.push_back(absl::StrCat(
        info.name, ": ",
        main.input(i)->type().is_symint()
            ? absl::StrCat(inputs[i].host()->IntAt(0))
            : Type::Tensor(inputs[i].dtype(), ToSymInts(inputs[i].dims())).ToString()));
  }
  return absl::StrJoin(texts, ", ");
}

}  // namespace

std::string GuardText(const VariantGuard& guard, const Graph& main) {
  if (guard.input < 0) return guard.condition.ToString();
  if (guard.is_frozen) {
    return absl::StrCat(Quote(main.input_info(guard.input).name), " as the model has it");
  }
  return absl::StrCat(Quote(main.input_info(guard.input).name), " == ", TensorText(guard.value));
}

absl::StatusOr<std::shared_ptr<Variant>> Variant::Make(const Module& source,
                                                       const SizeProgram& size_program,
                                                       Request request,
                                                       const ProgramOptions& options,
                                                       int64_t* compiles) {
  const std::string inputs = InputsText(*source.main(), request.inputs);
  std::string refuted;
  for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
    std::shared_ptr<Variant> variant(new Variant);
    variant->request_ = request;
    variant->inputs_text_ = inputs;
    ++*compiles;
    WEFT_RETURN_IF_ERROR(variant->Compile(source, size_program, options));
    const std::vector<SymCondition> more = variant->Refuted();
    if (more.empty()) {
      variant->request_.inputs.clear();
      return variant;
    }
    refuted = more[0].origin;
    for (const SymCondition& c : more) request.choice.assumptions.push_back(c);
  }
  return absl::FailedPreconditionError(
      absl::StrCat("the pipeline takes for granted what ", inputs, " does not meet; ", refuted));
}

absl::Status Variant::Compile(const Module& source, const SizeProgram& size_program,
                              const ProgramOptions& options) {
  std::unique_ptr<Module> module = source.Clone();
  absl::Status status = Specialize(*module, size_program);
  const Baseline before = BaselineOf(*module);
  if (status.ok()) {
    for (const SymCondition& c : request_.choice.assumptions) {
      module->symbols().Assume(c.condition, c.origin);
    }
    CompileResult result;
    status = weft::Compile(*module, options.compile, &result);
  }
  if (!status.ok()) return Annotate(status, absl::StrCat("compiling for ", inputs_text_));
  CollectGuards(source.symbols(), size_program, before, *module);
  WEFT_ASSIGN_OR_RETURN(const Backend* backend, FindBackend(options));
  WEFT_ASSIGN_OR_RETURN(Session session,
                        Session::Create(std::move(module), *backend, options.backend));
  session_ = std::make_unique<Session>(std::move(session));
  MapInputs(*source.main());
  return absl::OkStatus();
}

absl::Status Variant::Specialize(Module& module, const SizeProgram& size_program) {
  std::vector<SymbolValue> values;
  for (size_t i = 0; i < request_.choice.sizes.size(); ++i) {
    const SymInt symbol = size_program.symbols()[i];
    const SymInt value = request_.choice.sizes[i].value;
    if (value == symbol) continue;
    values.push_back({symbol, value});
    // The table has no entry for a symbol without facts.
    SymbolInfo info;
    info.symbol = symbol;
    module.symbols().Declare(info);
  }
  WEFT_RETURN_IF_ERROR(SpecializeSymbols(module, values));
  for (const ValueChoice& choice : request_.choice.values) {
    if (!choice.fixed) continue;
    FixInput(*module.main(), choice.input, *request_.inputs[choice.input].host());
  }
  for (size_t i = 0; i < request_.exchanged.size(); ++i) {
    // An input like any other.
    if (request_.exchanged[i]) module.main()->input_info(static_cast<int>(i)).initial = -1;
  }
  SetHints(module, size_program, request_.sizes);
  return Verify(module);
}

Variant::Baseline Variant::BaselineOf(const Module& module) {
  Baseline baseline;
  for (const SymCondition& c : module.symbols().conditions()) {
    baseline.conditions.insert(c.condition);
  }
  const Graph& main = *module.main();
  for (Value* input : main.inputs()) {
    baseline.types[main.input_info(input->index()).name] = input->type();
  }
  return baseline;
}

void Variant::CollectGuards(const SymbolTable& constraints, const SizeProgram& size_program,
                            const Baseline& before, const Module& after) {
  GuardCollector guards(constraints, size_program, &guards_);
  for (size_t i = 0; i < request_.choice.sizes.size(); ++i) {
    const SizeChoice& choice = request_.choice.sizes[i];
    guards.Add(Equal(size_program.symbols()[i], choice.value), choice.why);
  }
  const SymbolTable& facts = after.symbols();
  for (const SymCondition& c : facts.conditions()) {
    if (before.conditions.contains(c.condition) || DependsOnData(c.condition, facts)) continue;
    guards.Add(c.condition, c.origin);
  }
  for (const SymbolInfo& info : facts.symbols()) {
    if (!info.unbacked) guards.AddFactsOf(info, "the pipeline");
  }
  const Graph& main = *after.main();
  for (Value* input : main.inputs()) {
    const auto known = before.types.find(main.input_info(input->index()).name);
    if (known == before.types.end()) continue;
    const Type type = known->second;
    const Type refined = input->type();
    if (!type.is_tensor() || !refined.is_tensor() || type.rank() != refined.rank()) continue;
    for (int d = 0; d < type.rank(); ++d) {
      guards.Add(Equal(type.dim(d), refined.dim(d)), "the pipeline, of an input's type");
    }
  }
  for (const VariantGuard& guard : guards_) {
    code_.emplace_back(guard.condition,
                       [&](SymInt symbol) { return size_program.NumberOf(symbol); });
  }
  for (const ValueChoice& choice : request_.choice.values) {
    if (!choice.fixed) continue;
    guards_.push_back(
        {SymInt(), choice.why, choice.input, request_.inputs[choice.input].host()->Contiguous()});
  }
}

void Variant::MapInputs(const Graph& source) {
  absl::flat_hash_map<absl::string_view, int> places;
  const Graph& main = session_->main();
  for (int i = 0; i < main.num_inputs(); ++i) places[main.input_info(i).name] = i;
  for (int i = 0; i < source.num_inputs(); ++i) {
    const auto it = places.find(source.input_info(i).name);
    places_.push_back(it == places.end() ? -1 : it->second);
    // An exchanged input that is not there is one that nothing reads.
    const int initial = source.input_info(i).initial;
    if (places_.back() >= 0 || initial < 0 || request_.exchanged[i]) continue;
    frozen_.emplace_back(i, source.module().constants().tensor(initial));
  }
}

// The negations of the conditions that the pipeline assumed and the call does not satisfy.
std::vector<SymCondition> Variant::Refuted() const {
  std::vector<SymCondition> refuted;
  for (size_t i = 0; i < code_.size(); ++i) {
    if (code_[i].Holds(request_.sizes)) continue;
    const VariantGuard& guard = guards_[i];
    refuted.push_back(
        {Not(guard.condition),
         absl::StrCat("not ", guard.condition.ToString(), ", which ",
                      guard.origin.empty() ? "the pipeline" : guard.origin, " assumes")});
  }
  return refuted;
}

// By memory: a comparison of elements would read all parameters at every call.
bool HasSameMemory(const RunInput& input, const HostTensor& b) {
  if (input.host() == nullptr) return false;
  const HostTensor& a = *input.host();
  return a.buffer() == b.buffer() && a.offset() == b.offset() && a.dtype() == b.dtype() &&
         a.dims() == b.dims() && a.strides() == b.strides();
}

bool Variant::Accepts(absl::Span<const int64_t> sizes, absl::Span<const RunInput> inputs) const {
  return FirstFailingGuard(sizes, inputs) < 0 && FirstExchanged(inputs) < 0;
}

VariantGuard Variant::FirstFailing(absl::Span<const int64_t> sizes,
                                   absl::Span<const RunInput> inputs) const {
  const int failing = FirstFailingGuard(sizes, inputs);
  if (failing >= 0) return guards_[failing];
  const auto& [input, initial] = frozen_[FirstExchanged(inputs)];
  return {SymInt(), "the pipeline, which made a constant of it", input, initial,
          /*is_frozen=*/true};
}

int Variant::FirstExchanged(absl::Span<const RunInput> inputs) const {
  for (size_t i = 0; i < frozen_.size(); ++i) {
    if (!HasSameMemory(inputs[frozen_[i].first], frozen_[i].second)) return static_cast<int>(i);
  }
  return -1;
}

int Variant::FirstFailingGuard(absl::Span<const int64_t> sizes,
                               absl::Span<const RunInput> inputs) const {
  for (size_t i = 0; i < code_.size(); ++i) {
    if (!code_[i].Holds(sizes)) return static_cast<int>(i);
  }
  for (size_t i = code_.size(); i < guards_.size(); ++i) {
    const HostTensor& value = *inputs[guards_[i].input].host();
    if (!value.Contiguous().BitEqual(guards_[i].value)) return static_cast<int>(i);
  }
  return -1;
}

absl::StatusOr<std::vector<HostTensor>> Variant::Run(absl::Span<const HostTensor> inputs,
                                                     std::vector<HostTensor>* written) const {
  std::vector<HostTensor> ordered(session_->main().num_inputs());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (places_[i] >= 0) ordered[places_[i]] = inputs[i];
  }
  std::vector<HostTensor> by_place;
  WEFT_ASSIGN_OR_RETURN(std::vector<HostTensor> outputs,
                        session_->RunStateless(ordered, &by_place));
  written->assign(inputs.size(), HostTensor());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (places_[i] >= 0) (*written)[i] = std::move(by_place[places_[i]]);
  }
  return outputs;
}

absl::StatusOr<std::vector<DeviceTensor>> Variant::RunOnDevice(
    std::vector<DeviceTensor>* inputs, const std::vector<bool>& donated,
    const DeviceRunOptions& options, std::vector<DeviceTensor>* written) const {
  std::vector<bool> writes(session_->main().num_inputs(), false);
  for (int input : session_->main().write_backs()) writes[input] = true;
  // Moved, because a tensor that is overwritten has no other user.
  std::vector<DeviceTensor> ordered(writes.size());
  for (size_t i = 0; i < inputs->size(); ++i) {
    if (places_[i] < 0) continue;
    ordered[places_[i]] = std::move((*inputs)[i]);
    if (!donated[i]) writes[places_[i]] = false;
  }
  std::vector<DeviceTensor> by_place;
  auto outputs = session_->RunStatelessOnDevice(ordered, writes, options, &by_place);
  written->assign(inputs->size(), DeviceTensor());
  for (size_t i = 0; i < inputs->size(); ++i) {
    if (places_[i] < 0) continue;
    (*inputs)[i] = std::move(ordered[places_[i]]);
    if (outputs.ok()) (*written)[i] = std::move(by_place[places_[i]]);
  }
  return outputs;
}

}  // namespace weft
