#include "api/quantize/mixed_precision.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "api/quantize/node_pairs.h"
#include "api/quantize/node_values.h"
#include "base/status_macros.h"
#include "graph/ir/annotations.h"
#include "graph/ir/graph.h"
#include "graph/ir/node.h"
#include "graph/ir/op_def.h"
#include "passes/quantize/note.h"

namespace weft {
namespace {

// Times that the allowed noise is made smaller.
constexpr int kMaxRounds = 8;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

double Decibels(double noise) { return noise == 0 ? kInfinity : -10 * std::log10(noise); }

// Sums of squares by output.
struct OutputNoise {
  std::vector<double> signal, noise;

  void Add(const std::vector<HostTensor>& exact, const std::vector<HostTensor>& other) {
    signal.resize(exact.size());
    noise.resize(exact.size());
    for (size_t i = 0; i < exact.size(); ++i) {
      if (!IsFloat(exact[i].dtype()) || !IsFloat(other[i].dtype())) continue;
      const std::vector<double> x = exact[i].ReadDoubles(), y = other[i].ReadDoubles();
      for (size_t k = 0; k < std::min(x.size(), y.size()); ++k) {
        signal[i] += x[k] * x[k];
        noise[i] += (x[k] - y[k]) * (x[k] - y[k]);
      }
    }
  }
  // The largest ratio of an output.
  double worst() const {
    double worst = 0;
    for (size_t i = 0; i < noise.size(); ++i) {
      if (noise[i] == 0) continue;
      const double ratio = noise[i] / signal[i];
      worst = std::isfinite(ratio) ? std::max(worst, ratio) : kInfinity;
    }
    return worst;
  }
};

// The quantized module with some layers in float, and how far its outputs are off.
class Trials {
 public:
  Trials(const Module& exact, const QuantDecision& decision, Module& prepared,
         absl::Span<const CalibrationBatch> batches, const Backend& backend)
      : exact_(exact), prepared_(prepared), batches_(batches), backend_(backend) {
    FindCopies(decision);
    for (const std::vector<Node*>& pattern : decision.patterns) {
      if (pattern.front()->graph() != exact.main()) continue;
      layers_.push_back(pattern);
    }
    for (const QuantVerdict& verdict : decision.verdicts) {
      const bool alone = verdict.quantized && verdict.node->graph() == exact.main() &&
                         !in_pattern_.contains(verdict.node);
      if (alone) propagating_.push_back(verdict.node);
    }
  }

  const std::vector<std::vector<Node*>>& layers() const { return layers_; }

  absl::Status RunExact() {
    WEFT_ASSIGN_OR_RETURN(NodeRuns runs, NodeRuns::Of(exact_.Clone(), backend_));
    for (const CalibrationBatch& batch : batches_) {
      WEFT_ASSIGN_OR_RETURN(wanted_.emplace_back(), runs.Run(batch));
    }
    return absl::OkStatus();
  }

  // Noise over signal with these layers in float; ascending.
  absl::StatusOr<double> NoiseWithout(absl::Span<const int> floats) {
    std::unique_ptr<Module> module = prepared_.Clone();
    TakeNotesOff(floats, *module);
    WEFT_RETURN_IF_ERROR(RunPasses(*module, "quantize-finish"));
    WEFT_ASSIGN_OR_RETURN(NodeRuns runs, NodeRuns::Of(std::move(module), backend_));
    OutputNoise sum;
    for (size_t i = 0; i < batches_.size(); ++i) {
      WEFT_ASSIGN_OR_RETURN(const std::vector<HostTensor> got, runs.Run(batches_[i]));
      sum.Add(wanted_[i], got);
    }
    return sum.worst();
  }

  // Returns the nodes of `exact` that pass values on and stay float now, too.
  std::vector<const Node*> Apply(absl::Span<const int> floats) {
    return TakeNotesOff(floats, prepared_);
  }

 private:
  // A session that takes the inputs that it has.
  class NodeRuns {
   public:
    static absl::StatusOr<NodeRuns> Of(std::unique_ptr<Module> module, const Backend& backend) {
      WEFT_ASSIGN_OR_RETURN(Session session, SessionOf(std::move(module), backend));
      return NodeRuns(std::move(session));
    }
    absl::StatusOr<std::vector<HostTensor>> Run(const CalibrationBatch& batch) {
      CalibrationBatch known;
      for (const auto& [name, tensor] : batch) {
        if (tensor.valid() && names_.contains(name)) known[name] = tensor;
      }
      const CalibrationBatch& named = known;
      return session_.Run(named);
    }

   private:
    explicit NodeRuns(Session session) : session_(std::move(session)) {
      const Graph& graph = session_.main();
      for (int i = 0; i < graph.num_inputs(); ++i) names_.insert(graph.input_info(i).name);
    }
    Session session_;
    absl::flat_hash_set<std::string> names_;
  };

  // The nodes of `prepared` that stand for those of patterns and of what propagates.
  void FindCopies(const QuantDecision& decision) {
    for (const std::vector<Node*>& pattern : decision.patterns) {
      in_pattern_.insert(pattern.begin(), pattern.end());
    }
    absl::flat_hash_map<const Node*, int64_t> places;
    int64_t place = 0;
    for (const Node* node : prepared_.main()->nodes()) places[node] = place++;
    NodeIndex index(*prepared_.main());
    for (const Node* node : exact_.main()->nodes()) {
      const Node* copy = index.Take(std::string(node->op().name()), SourceNames(*node));
      if (copy != nullptr) copies_[node] = places.at(copy);
    }
  }

  std::vector<const Node*> TakeNotesOff(absl::Span<const int> floats, Module& module) const {
    std::vector<Node*> nodes;
    for (Node* node : module.main()->nodes()) nodes.push_back(node);
    const auto copy = [&](const Node* node) -> Node* {
      const auto it = copies_.find(node);
      return it == copies_.end() ? nullptr : nodes[it->second];
    };
    // What passes values on, as long as something quantized reads them.
    std::vector<std::pair<const Node*, Node*>> read;
    for (const Node* node : propagating_) {
      Node* at = copy(node);
      if (at != nullptr && HasQuantizedReader(*at)) read.push_back({node, at});
    }
    for (const int i : floats) {
      for (const Node* node : layers_[i]) {
        if (Node* at = copy(node)) ClearOperands(at);
      }
      if (Node* last = copy(layers_[i].back())) SetNote(last->result(), kQuantNoteKey, "");
    }
    std::vector<const Node*> dropped;
    for (auto it = read.rbegin(); it != read.rend(); ++it) {
      Node* node = it->second;
      if (HasQuantizedReader(*node)) continue;
      ClearOperands(node);
      for (int i = 0; i < node->num_results(); ++i) SetNote(node->result(i), kQuantNoteKey, "");
      dropped.push_back(it->first);
    }
    return dropped;
  }

  static void ClearOperands(Node* node) {
    for (int i = 0; i < node->num_operands(); ++i) {
      if (node->has_operand(i)) SetNote(node, i, kQuantNoteKey, "");
    }
  }

  static bool HasQuantizedReader(const Node& node) {
    for (int i = 0; i < node.num_results(); ++i) {
      for (const Use* use = node.result(i)->first_use(); use != nullptr; use = use->next()) {
        const bool operand = use->operand_index() < use->user()->num_operands();
        if (operand && !FindNote(use->user(), use->operand_index(), kQuantNoteKey).empty()) {
          return true;
        }
      }
    }
    return false;
  }

  const Module& exact_;
  Module& prepared_;
  absl::Span<const CalibrationBatch> batches_;
  const Backend& backend_;
  std::vector<std::vector<Node*>> layers_;
  std::vector<Node*> propagating_;
  absl::flat_hash_set<const Node*> in_pattern_;
  // Nodes of `exact` with the place of their copy in the main graph of `prepared`.
  absl::flat_hash_map<const Node*, int64_t> copies_;
  // Outputs of `exact` by batch.
  std::vector<std::vector<HostTensor>> wanted_;
};

int64_t FloatBytes(const std::vector<Node*>& layer) {
  int64_t bytes = 0;
  for (int i = 0; i < layer.front()->num_operands(); ++i) {
    const Node& node = *layer.front();
    const HostTensor* literal = node.has_operand(i) ? LiteralOf(node.operand(i)) : nullptr;
    if (literal != nullptr) bytes += literal->bytes();
  }
  return std::max<int64_t>(bytes, 1);
}

// The noise of each layer by itself.
absl::StatusOr<std::vector<LayerCost>> Measured(Trials& trials) {
  const int n = static_cast<int>(trials.layers().size());
  std::vector<LayerCost> costs(n);
  for (int i = 0; i < n; ++i) {
    std::vector<int> others;
    for (int k = 0; k < n; ++k) {
      if (k != i) others.push_back(k);
    }
    WEFT_ASSIGN_OR_RETURN(costs[i].noise, trials.NoiseWithout(others));
    costs[i].bytes = FloatBytes(trials.layers()[i]);
  }
  return costs;
}

FloatLayers Outcome(const Trials& trials, absl::Span<const LayerCost> costs,
                    const std::vector<int>& floats) {
  FloatLayers outcome;
  for (size_t i = 0; i < costs.size(); ++i) {
    const std::vector<Node*>& layer = trials.layers()[i];
    const bool is_float = std::binary_search(floats.begin(), floats.end(), static_cast<int>(i));
    outcome.lines.push_back(absl::StrFormat("%s: alone %.1f dB%s", DescribeNode(*layer.front()),
                                            Decibels(costs[i].noise),
                                            is_float ? ", stays float" : ""));
    if (is_float) outcome.nodes.insert(outcome.nodes.end(), layer.begin(), layer.end());
  }
  return outcome;
}

}  // namespace

std::vector<int> DecideFloatLayers(absl::Span<const LayerCost> layers, double allowed) {
  std::vector<int> order(layers.size());
  std::iota(order.begin(), order.end(), 0);
  const auto noise = [&](int i) {
    return std::isfinite(layers[i].noise) ? layers[i].noise : kInfinity;
  };
  const auto per_byte = [&](int i) { return noise(i) / static_cast<double>(layers[i].bytes); };
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return per_byte(a) > per_byte(b); });
  // From the least noise up, so that the sum is finite as long as it can be.
  size_t kept = order.size();
  double sum = 0;
  while (kept > 0 && sum + noise(order[kept - 1]) <= allowed) sum += noise(order[--kept]);
  order.resize(kept);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return layers[a].bytes > layers[b].bytes; });
  std::vector<int> floats;
  for (const int i : order) {
    if (sum + noise(i) <= allowed) {
      sum += noise(i);
    } else {
      floats.push_back(i);
    }
  }
  std::sort(floats.begin(), floats.end());
  return floats;
}

absl::StatusOr<FloatLayers> KeepWithinBudget(const Module& exact, const QuantDecision& decision,
                                             Module& prepared, double budget_db,
                                             absl::Span<const CalibrationBatch> batches,
                                             const Backend& backend) {
  Trials trials(exact, decision, prepared, batches, backend);
  WEFT_RETURN_IF_ERROR(trials.RunExact());
  const double budget = std::pow(10, -budget_db / 10);
  WEFT_ASSIGN_OR_RETURN(double noise, trials.NoiseWithout({}));
  if (noise <= budget) {
    FloatLayers all;
    all.lines.push_back(absl::StrFormat("all layers: %.1f dB", Decibels(noise)));
    return all;
  }
  WEFT_ASSIGN_OR_RETURN(const std::vector<LayerCost> costs, Measured(trials));
  double allowed = budget;
  for (int round = 0; round < kMaxRounds; ++round) {
    const std::vector<int> floats = DecideFloatLayers(costs, allowed);
    if (floats.size() == costs.size()) break;
    WEFT_ASSIGN_OR_RETURN(noise, trials.NoiseWithout(floats));
    if (noise <= budget) {
      FloatLayers outcome = Outcome(trials, costs, floats);
      outcome.lines.push_back(absl::StrFormat("%d of %d layers stay float: %.1f dB", floats.size(),
                                              costs.size(), Decibels(noise)));
      const std::vector<const Node*> dropped = trials.Apply(floats);
      outcome.nodes.insert(outcome.nodes.end(), dropped.begin(), dropped.end());
      return outcome;
    }
    double sum = 0;
    for (size_t i = 0; i < costs.size(); ++i) {
      if (!std::binary_search(floats.begin(), floats.end(), static_cast<int>(i))) {
        sum += costs[i].noise;
      }
    }
    allowed = std::min(allowed, sum) * std::min(0.9, budget / noise);
  }
  double best = kInfinity;
  for (const LayerCost& cost : costs) best = std::min(best, cost.noise);
  return absl::FailedPreconditionError(
      absl::StrFormat("no layers can be quantized with %g dB at the outputs; the best one alone "
                      "has %.1f dB",
                      budget_db, Decibels(best)));
}

}  // namespace weft
