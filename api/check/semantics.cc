#include "api/check/semantics.h"

#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "api/check/compare.h"
#include "api/check/narrow_error.h"
#include "api/check/planned_runs.h"
#include "api/check/seeded_inputs.h"
#include "backends/reference/executor.h"
#include "graph/ir/constant_store.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/value.h"
#include "graph/ops/quant.h"
#include "graph/tensor/tensor.h"

namespace weft {
namespace {

using Values = SeedOptions::Values;
using Sizes = SeedOptions::Sizes;
using Verdict = SemanticsResult::Verdict;

// Graphs whose inputs have at most this many elements together get more runs.
constexpr int64_t kFewElements = 512;

// Limit of runs of nested graphs in a run with edge values, where a loop may get the largest
// integer as its count. The graph before is limited by this, the graph after by twice this, because
// a pass may move a step into the loop.
constexpr int64_t kEdgeRegionRuns = 256;

bool KeepsValues(NumericContract contract) { return contract <= NumericContract::kValueSafe; }

// Next to the middle of two steps, a few units in the last place decide how a quantize_linear
// rounds.
CompareOptions RuleFor(DType dtype, NumericContract contract, bool quantized) {
  if (!KeepsValues(contract)) {
    CompareOptions tolerance = ToleranceFor(dtype);
    tolerance.integer_slack = quantized ? 1 : 0;
    return tolerance;
  }
  CompareOptions exact;
  exact.rtol = exact.atol = 0;
  exact.signed_zeros = contract == NumericContract::kBitExact;
  return exact;
}

// Runs with errors of narrow floats, for the bound on the difference that these make.
constexpr int kNarrowTrials = 4;

// The difference as text, or "". The tensors begin with the outputs of `before`.
std::string Difference(const std::vector<HostTensor>& got, const std::vector<HostTensor>& want,
                       NumericContract contract, const Graph& before) {
  if (got.size() != want.size()) {
    return std::string(CompareAll(got, want).message());
  }
  for (size_t i = 0; i < got.size(); ++i) {
    if (got[i].BitEqual(want[i])) continue;
    if (IsComplex(want[i].dtype())) {
      return absl::StrCat("output ", i, ": the bits differ");
    }
    const bool quantized = static_cast<int>(i) < before.num_own_outputs() &&
                           before.output(static_cast<int>(i))->IsResultOf(ops::quantize_linear);
    absl::Status status = Compare(got[i], want[i], RuleFor(want[i].dtype(), contract, quantized));
    if (!status.ok()) return absl::StrCat("output ", i, ": ", status.message());
  }
  return "";
}

int64_t ElementsOf(const std::vector<HostTensor>& tensors) {
  int64_t n = 0;
  for (const HostTensor& tensor : tensors) n += tensor.numel();
  return n;
}

// `inputs`, which fit `from`, in the order of `to`, without those that `to` lacks. An input that
// `from` lacks gets its initial value, or is empty.
std::vector<HostTensor> Reorder(const Graph& from, const Graph& to,
                                const std::vector<HostTensor>& inputs) {
  absl::flat_hash_map<std::string, int> index;
  for (int i = 0; i < from.num_inputs(); ++i) {
    index[from.input_info(i).name] = i;
  }
  std::vector<HostTensor> reordered(to.num_inputs());
  for (int i = 0; i < to.num_inputs(); ++i) {
    auto it = index.find(to.input_info(i).name);
    const int initial = to.input_info(i).initial;
    if (it != index.end()) {
      reordered[i] = inputs[it->second];
    } else if (initial >= 0) {
      reordered[i] = to.module().constants().tensor(initial);
    }
  }
  return reordered;
}

// Sets inputs of `from` that `to` lacks to their initial values, if they have any: if a pass made
// constants of them, the program is valid for these values alone.
void PutInitial(const Graph& from, const Graph& to, std::vector<HostTensor>* inputs) {
  absl::flat_hash_set<std::string> names;
  for (int i = 0; i < to.num_inputs(); ++i) names.insert(to.input_info(i).name);
  for (int i = 0; i < from.num_inputs(); ++i) {
    const InputInfo& info = from.input_info(i);
    if (info.initial < 0 || names.contains(info.name)) continue;
    (*inputs)[i] = from.module().constants().tensor(info.initial);
  }
}

// The outputs of a run, then the final values of the inputs in `names`, which both graphs have.
absl::StatusOr<std::vector<HostTensor>> RunAll(const Graph& graph,
                                               const std::vector<HostTensor>& inputs,
                                               absl::Span<const std::string> names,
                                               int64_t max_region_runs,
                                               reference::RunOptions options = {}) {
  std::vector<HostTensor> written;
  options.max_region_runs = max_region_runs;
  options.written = &written;
  auto outputs = reference::Run(graph, inputs, options);
  if (!outputs.ok()) return outputs;
  outputs->resize(graph.num_own_outputs());
  absl::flat_hash_map<absl::string_view, int> index;
  for (int i = 0; i < graph.num_inputs() && !names.empty(); ++i) {
    index[graph.input_info(i).name] = i;
  }
  for (const std::string& name : names) {
    const auto it = index.find(name);
    if (it == index.end()) continue;
    const int i = it->second;
    outputs->push_back(written[i].valid() ? written[i] : inputs[i]);
  }
  return outputs;
}

// Names of the inputs that one of the graphs may write.
std::vector<std::string> WrittenNames(const Graph& before, const Graph& after) {
  std::vector<std::string> names;
  if (!MayWrite(before) && !MayWrite(after)) return names;
  for (int i = 0; i < before.num_inputs(); ++i) names.push_back(before.input_info(i).name);
  return names;
}

class Comparison {
 public:
  Comparison(const Graph& before, const Graph& after, const Graph& drawn_from,
             NumericContract contract, const SemanticsOptions& options)
      : before_(before),
        after_(after),
        drawn_from_(drawn_from),
        contract_(contract),
        options_(options),
        written_(WrittenNames(before, after)) {
    if (contract == NumericContract::kApproximate) narrowed_ = NarrowedTo(before, after);
  }

  SemanticsResult Run() {
    std::vector<PlannedRun> plan = {{Values::kPlain, Sizes::kHint}};
    for (size_t i = 0; i < plan.size(); ++i) {
      SeedOptions options;
      options.seed = options_.seed + i;
      options.values = plan[i].values;
      options.sizes = plan[i].sizes;
      auto inputs = MakeSeededInputs(drawn_from_, options);
      if (inputs.ok()) PutInitial(drawn_from_, after_, &*inputs);
      if (i == 0) {
        const int64_t elements = inputs.ok() ? ElementsOf(*inputs) : kFewElements + 1;
        plan = PlanRuns(drawn_from_, KeepsValues(contract_),
                        elements > kFewElements ? 0 : options_.more_runs);
      }
      if (!inputs.ok()) {
        Refuse(inputs.status());
      } else if (!RunOnce(*inputs, options)) {
        break;
      }
    }
    if (result_.verdict == Verdict::kUnknown && result_.compared > 0) {
      result_.verdict = Verdict::kEqual;
    }
    return std::move(result_);
  }

 private:
  void Refuse(const absl::Status& status) {
    ++result_.refused;
    result_.refusal = std::string(status.message());
  }

  // Returns false if a difference was found.
  bool RunOnce(const std::vector<HostTensor>& inputs, const SeedOptions& options) {
    const bool edges = options.values >= Values::kEdge;
    int64_t region_runs = edges ? kEdgeRegionRuns : -1;
    auto want = RunAll(before_, Reorder(drawn_from_, before_, inputs), written_, region_runs);
    if (!want.ok()) {
      Refuse(want.status());
      return true;
    }
    if (edges) region_runs *= 2;
    auto got = RunAll(after_, Reorder(drawn_from_, after_, inputs), written_, region_runs);
    std::string difference = got.ok() ? Difference(*got, *want, contract_, before_)
                                      : std::string(got.status().message());
    if (got.ok() && narrowed_ && !difference.empty()) {
      difference = NarrowError(inputs, *got, *want);
    }
    ++result_.compared;
    if (difference.empty()) return true;
    result_.verdict = Verdict::kDifferent;
    result_.difference = absl::StrCat("results change (seed ", options.seed,
                                      edges ? ", edge values" : "", "): ", difference);
    return false;
  }

  // The difference that errors of the narrower dtype do not explain.
  std::string NarrowError(const std::vector<HostTensor>& inputs, const std::vector<HostTensor>& got,
                          const std::vector<HostTensor>& want) {
    std::vector<std::vector<HostTensor>> trials;
    for (int i = 0; i < kNarrowTrials; ++i) {
      NarrowTrial trial(*narrowed_, i);
      auto outputs = RunAll(before_, Reorder(drawn_from_, before_, inputs), written_,
                            /*max_region_runs=*/-1, trial.Options());
      // An index that the error moved out of range, for example.
      if (outputs.ok()) trials.push_back(*std::move(outputs));
    }
    return NarrowDifference(got, want, trials, *narrowed_);
  }

  const Graph& before_;
  const Graph& after_;
  const Graph& drawn_from_;
  NumericContract contract_;
  std::optional<DType> narrowed_;
  SemanticsOptions options_;
  std::vector<std::string> written_;
  SemanticsResult result_;
};

}  // namespace

bool MayWrite(const Graph& graph) {
  return graph.module().HasWrites() || !graph.write_backs().empty();
}

SemanticsResult CompareGraphs(const Graph& before, const Graph& after, const Graph& drawn_from,
                              NumericContract contract, const SemanticsOptions& options) {
  return Comparison(before, after, drawn_from, contract, options).Run();
}

absl::StatusOr<SemanticsResult> CompareSemantics(const Module& before, const Module& after,
                                                 NumericContract contract,
                                                 const SemanticsOptions& options) {
  SemanticsResult sum;
  for (const auto& function : before.functions()) {
    const Graph* other = after.FindFunction(function->name());
    if (other == nullptr) continue;
    SemanticsResult result = CompareGraphs(*function, *other, *function, contract, options);
    if (result.verdict == Verdict::kDifferent) {
      return absl::FailedPreconditionError(
          absl::StrCat("@", function->name(), ": ", result.difference));
    }
    sum.compared += result.compared;
    sum.refused += result.refused;
  }
  if (sum.compared > 0) sum.verdict = Verdict::kEqual;
  return sum;
}

}  // namespace weft
