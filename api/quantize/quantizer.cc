#include "api/quantize/quantizer.h"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "api/backends.h"
#include "api/compiler.h"
#include "api/quantize/bias_correction.h"
#include "api/quantize/integer_biases.h"
#include "api/quantize/migrate_scales.h"
#include "api/quantize/mixed_precision.h"
#include "api/quantize/node_report.h"
#include "api/quantize/node_values.h"
#include "api/quantize/round_weights.h"
#include "api/session.h"
#include "base/status_macros.h"
#include "graph/ir/annotations.h"
#include "graph/ir/constant_store.h"
#include "graph/ir/graph.h"
#include "graph/ir/node.h"
#include "graph/ops/nn.h"
#include "passes/engine/pass_context.h"
#include "passes/quantize/annotate.h"
#include "passes/quantize/policy.h"
#include "passes/quantize/remove_observers.h"
#include "passes/quantize/sites.h"
#include "passes/quantize_annotate.h"

namespace weft {
namespace {

// The last batches, which biases are corrected and nodes compared with. The last ones, so that a
// calibration that was taken up again ends with the same.
constexpr size_t kKeptBatches = 4;
constexpr size_t kMaxReasons = 8;

QuantizeAnnotateOptions AnnotateOptions(const QuantizeOptions& options) {
  return {options.policy, options.exclude, options.observer};
}

// What the policy says of a module without notes.
absl::StatusOr<QuantDecision> DecideFor(const Module& module, const QuantizeOptions& options) {
  WEFT_ASSIGN_OR_RETURN(QuantPolicy policy, LoadQuantPolicy(options.policy));
  WEFT_RETURN_IF_ERROR(SetActivationObserver(options.observer, &policy));
  const QuantCandidates candidates = CollectQuantCandidates(module, policy);
  return DecideQuantization(module, candidates, policy, options.exclude);
}

// Annotates by the options; the remarks are about each node that the policy speaks of.
absl::StatusOr<std::vector<Remark>> Annotate(Module& module, const QuantizeOptions& options) {
  const std::unique_ptr<Pass> pass = CreateQuantizeAnnotatePass(AnnotateOptions(options));
  PassContext::Options context_options;
  context_options.remarks = true;
  PassContext context(context_options);
  context.BeginPass(pass->name());
  WEFT_RETURN_IF_ERROR(pass->Run(module, context));
  return context.TakeRemarks();
}

absl::Status NothingQuantized(const std::vector<ReportedNode>& rows) {
  std::vector<std::string> reasons;
  for (const ReportedNode& row : rows) {
    if (reasons.size() == kMaxReasons) {
      reasons.push_back("...");
      break;
    }
    reasons.push_back(absl::StrCat(row.row.op, row.row.name.empty() ? "" : " ", row.row.name, ": ",
                                   row.row.reason));
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "nothing can be quantized: ",
      reasons.empty() ? "the policy knows none of the ops" : absl::StrJoin(reasons, "; ")));
}

// The inputs that hold the states of observers.
std::vector<int> ObserverInputs(Graph& graph) {
  std::vector<int> inputs;
  const auto names = NamesOfStates(graph);
  for (int i = 0; i < graph.num_inputs(); ++i) {
    if (names.contains(graph.input_info(i).name)) inputs.push_back(i);
  }
  return inputs;
}

// Brings the module back to what it was before it was annotated.
void RemoveObserversAndNotes(Module& module) {
  RemoveObservers(*module.main(), NamesOfStates(*module.main()));
  for (Graph* graph : module.AllGraphs()) {
    ClearNotes(graph, kQuantNoteKey);
    ClearNotes(graph, kObserverKey);
  }
}

bool IsProduct(const Node& node) {
  return node.Is(ops::convolution) || node.Is(ops::linear) || node.Is(ops::matmul);
}

// The names of inputs that a batch may be of, in its order.
using InputNames = std::vector<std::string>;

// The batch by name, where one of the lists has as many names as there are tensors; tensors of
// inputs that the graph lacks are left out.
absl::StatusOr<CalibrationBatch> NamedBatch(const Graph& graph, const InputNames& original,
                                            const InputNames& inputs,
                                            absl::Span<const HostTensor> tensors) {
  InputNames needed;
  for (int i = 0; i < graph.num_inputs(); ++i) {
    if (graph.input_info(i).initial < 0) needed.push_back(graph.input_info(i).name);
  }
  const InputNames* names = nullptr;
  for (const auto* candidate : {&original, &inputs, &std::as_const(needed)}) {
    if (names == nullptr && candidate->size() == tensors.size()) names = candidate;
  }
  if (names == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("a batch has ", needed.size(), " inputs (",
                                                   absl::StrJoin(needed, ", "), "), got ",
                                                   tensors.size()));
  }
  CalibrationBatch batch;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const bool known = std::find(inputs.begin(), inputs.end(), (*names)[i]) != inputs.end();
    if (known && tensors[i].valid()) batch[(*names)[i]] = tensors[i];
  }
  return batch;
}

InputNames NamesOfInputs(const Graph& graph) {
  InputNames names;
  for (int i = 0; i < graph.num_inputs(); ++i) names.push_back(graph.input_info(i).name);
  return names;
}

}  // namespace

int64_t QuantizedModel::num_quantized() const {
  return std::count_if(nodes.begin(), nodes.end(),
                       [](const QuantizedNode& node) { return node.quantized; });
}

struct Quantizer::State {
  QuantizeOptions options;
  const Backend* backend = nullptr;
  // With observers, and the states that it began with.
  std::unique_ptr<Module> prepared;
  std::optional<Session> session;
  std::vector<int> observers;
  // Names of the inputs of a batch, and for the original module those of all its inputs.
  InputNames inputs;
  InputNames original_inputs;
  std::vector<ReportedNode> rows;
  std::vector<std::string> decisions;
  std::deque<CalibrationBatch> kept;
  int64_t num_batches = 0;
  bool resumed = false;

  absl::Status Start();
  absl::Status Smooth(Module& module);
  absl::StatusOr<std::unique_ptr<Module>> WithStates() const;
  absl::Status KeepBudget(const Module& exact, Module& with_states);
  absl::Status Improve(const Module& exact, Module& quantized);

 private:
  void AddDecisions(absl::string_view what, const std::vector<std::string>& lines) {
    for (const std::string& line : lines) decisions.push_back(absl::StrCat(what, ": ", line));
  }
  std::vector<QuantizedProduct> Products() const;
};

absl::Status Quantizer::State::Start() {
  Graph& graph = *prepared->main();
  observers = ObserverInputs(graph);
  for (int i = 0; i < graph.num_inputs(); ++i) {
    if (!std::binary_search(observers.begin(), observers.end(), i)) {
      inputs.push_back(graph.input_info(i).name);
    }
  }
  WEFT_ASSIGN_OR_RETURN(session, SessionOf(prepared->Clone(), *backend));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Module>> Quantizer::State::WithStates() const {
  std::unique_ptr<Module> module = prepared->Clone();
  for (int input : observers) {
    InputInfo& info = module->main()->input_info(input);
    const HostTensor* state = session->state(info.name);
    if (state == nullptr) {
      return absl::InternalError(absl::StrCat("the session has no state ", info.name));
    }
    info.initial = module->constants().Add(state->Contiguous());
  }
  return module;
}

absl::Status Quantizer::State::Smooth(Module& module) {
  if (options.samples.empty()) {
    return absl::FailedPreconditionError("scales are moved by samples, but there is no batch");
  }
  const InputNames names = NamesOfInputs(*module.main());
  std::vector<CalibrationBatch> batches;
  for (const std::vector<HostTensor>& sample : options.samples) {
    WEFT_ASSIGN_OR_RETURN(batches.emplace_back(),
                          NamedBatch(*module.main(), original_inputs, names, sample));
  }
  WEFT_ASSIGN_OR_RETURN(const QuantDecision decision, DecideFor(module, options));
  WEFT_ASSIGN_OR_RETURN(const std::vector<std::string> lines,
                        MigrateScales(module, decision, batches, *backend));
  AddDecisions("scales of", lines);
  return absl::OkStatus();
}

// Layers that stay in float lose their notes.
absl::Status Quantizer::State::KeepBudget(const Module& exact, Module& with_states) {
  const std::vector<CalibrationBatch> batches(kept.begin(), kept.end());
  WEFT_ASSIGN_OR_RETURN(const QuantDecision decision, DecideFor(exact, options));
  WEFT_ASSIGN_OR_RETURN(
      const FloatLayers floats,
      KeepWithinBudget(exact, decision, with_states, options.budget_db, batches, *backend));
  AddDecisions("budget", floats.lines);
  FindNodes(exact, exact, &rows);
  for (ReportedNode& row : rows) {
    const auto& nodes = floats.nodes;
    if (std::find(nodes.begin(), nodes.end(), row.before) == nodes.end()) continue;
    row.row.quantized = false;
    row.row.reason = absl::StrFormat("the budget of %g dB", options.budget_db);
  }
  return absl::OkStatus();
}

std::vector<QuantizedProduct> Quantizer::State::Products() const {
  std::vector<QuantizedProduct> products;
  for (const ReportedNode& row : rows) {
    const bool found = row.before != nullptr && row.after != nullptr;
    if (found && row.row.quantized && IsProduct(*row.after)) {
      products.push_back({row.before, row.after});
    }
  }
  return products;
}

// Codes, then biases, which make up for what is left: what is measured is what comes out.
absl::Status Quantizer::State::Improve(const Module& exact, Module& quantized) {
  FindNodes(exact, quantized, &rows);
  const std::vector<CalibrationBatch> batches(kept.begin(), kept.end());
  const std::vector<QuantizedProduct> products = Products();
  if (options.gptq) {
    WEFT_ASSIGN_OR_RETURN(const std::vector<std::string> lines,
                          RoundWeights(exact, quantized, products, batches, *backend));
    AddDecisions("codes of", lines);
  }
  if (options.bias_correction) {
    WEFT_RETURN_IF_ERROR(CorrectBiases(exact, quantized, products, batches, *backend));
  }
  if (options.integer_biases) WEFT_RETURN_IF_ERROR(MakeBiasesInteger(quantized).status());
  return Measure(exact, quantized, batches, *backend, &rows);
}

Quantizer::Quantizer(std::unique_ptr<State> state) : state_(std::move(state)) {}
Quantizer::Quantizer(Quantizer&&) noexcept = default;
Quantizer& Quantizer::operator=(Quantizer&&) noexcept = default;
Quantizer::~Quantizer() = default;

absl::StatusOr<Quantizer> Quantizer::Create(std::unique_ptr<Module> module,
                                            const QuantizeOptions& options) {
  auto state = std::make_unique<State>();
  state->options = options;
  WEFT_ASSIGN_OR_RETURN(state->backend, BuiltinBackends().Find(options.target));
  if (module->main() == nullptr) {
    return absl::InvalidArgumentError("the module has no function @main");
  }
  state->original_inputs = NamesOfInputs(*module->main());
  WEFT_RETURN_IF_ERROR(RunPasses(*module, "quantize-float"));
  if (options.equalize) {
    WEFT_RETURN_IF_ERROR(RunPasses(*module, "equalize_channels{admit=reassociating}"));
  }
  if (options.smooth) WEFT_RETURN_IF_ERROR(state->Smooth(*module));
  state->options.samples.clear();
  WEFT_ASSIGN_OR_RETURN(const std::vector<Remark> remarks, Annotate(*module, options));
  state->rows = RowsOf(remarks);
  const bool any = std::any_of(state->rows.begin(), state->rows.end(),
                               [](const ReportedNode& row) { return row.row.quantized; });
  if (!any) return NothingQuantized(state->rows);
  WEFT_RETURN_IF_ERROR(RunPasses(*module, "quantize_prepare"));
  state->prepared = std::move(module);
  WEFT_RETURN_IF_ERROR(state->Start());
  return Quantizer(std::move(state));
}

absl::StatusOr<Quantizer> Quantizer::Resume(std::unique_ptr<Module> prepared,
                                            const QuantizeOptions& options) {
  auto state = std::make_unique<State>();
  state->options = options;
  state->resumed = true;
  WEFT_ASSIGN_OR_RETURN(state->backend, BuiltinBackends().Find(options.target));
  if (prepared->main() == nullptr) {
    return absl::InvalidArgumentError("the module has no function @main");
  }
  const std::vector<Graph*> graphs = prepared->AllGraphs();
  if (std::none_of(graphs.begin(), graphs.end(), [](Graph* graph) { return HasNotes(*graph); })) {
    return absl::FailedPreconditionError(
        "the module has no notes about values to quantize: it does not come from a quantizer");
  }
  // The reasons once more; the notes that count are those of the module.
  std::unique_ptr<Module> again = prepared->Clone();
  RemoveObserversAndNotes(*again);
  WEFT_ASSIGN_OR_RETURN(const std::vector<Remark> remarks, Annotate(*again, options));
  state->rows = RowsOf(remarks);
  state->prepared = std::move(prepared);
  WEFT_RETURN_IF_ERROR(state->Start());
  return Quantizer(std::move(state));
}

bool Quantizer::needs_calibration() const { return !state_->observers.empty(); }

int64_t Quantizer::num_batches() const { return state_->num_batches; }

absl::Status Quantizer::Calibrate(absl::Span<const HostTensor> inputs) {
  WEFT_ASSIGN_OR_RETURN(
      CalibrationBatch batch,
      NamedBatch(*state_->prepared->main(), state_->original_inputs, state_->inputs, inputs));
  const CalibrationBatch& named = batch;
  WEFT_RETURN_IF_ERROR(state_->session->Run(named).status());
  state_->kept.push_back(std::move(batch));
  if (state_->kept.size() > kKeptBatches) state_->kept.pop_front();
  ++state_->num_batches;
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Module>> Quantizer::module() const { return state_->WithStates(); }

absl::StatusOr<QuantizedModel> Quantizer::Finish() {
  if (needs_calibration() && !state_->resumed && state_->num_batches == 0) {
    return absl::FailedPreconditionError(
        "the policy chooses ranges of activations by calibration, but no batch was run");
  }
  if ((state_->options.budget_db > 0 || state_->options.gptq) && state_->kept.empty()) {
    return absl::FailedPreconditionError(
        "a budget and codes by GPTQ are about the results of batches, but none was run");
  }
  QuantizedModel model;
  WEFT_ASSIGN_OR_RETURN(model.module, state_->WithStates());
  // Weights that the session has packed would lie beside those of the sessions below.
  state_->session.reset();
  state_->prepared.reset();
  const std::unique_ptr<Module> exact = model.module->Clone();
  RemoveObserversAndNotes(*exact);
  if (state_->options.budget_db > 0) {
    WEFT_RETURN_IF_ERROR(state_->KeepBudget(*exact, *model.module));
  }
  WEFT_RETURN_IF_ERROR(RunPasses(*model.module, "quantize-finish"));
  WEFT_RETURN_IF_ERROR(state_->Improve(*exact, *model.module));
  WEFT_RETURN_IF_ERROR(RunPasses(*model.module, "dce,drop_constants"));
  for (ReportedNode& row : state_->rows) model.nodes.push_back(std::move(row.row));
  model.decisions = std::move(state_->decisions);
  return model;
}

}  // namespace weft
