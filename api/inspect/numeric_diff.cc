#include "api/inspect/numeric_diff.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "backends/reference/executor.h"
#include "base/annotate.h"
#include "base/status_macros.h"
#include "graph/ir/constant_store.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ir/op_def.h"
#include "graph/ir/provenance.h"
#include "graph/tensor/tensor.h"

namespace weft {
namespace {

// A node that stands for more has no layer of its own.
constexpr size_t kMaxNames = 64;

// Sums over the elements of all batches.
struct Sums {
  double signal = 0;
  double noise = 0;
  double other = 0;  // The squares of the second tensor.
  double dot = 0;
  double max_error = 0;
  int64_t elements = 0;

  void Add(const HostTensor& want, const HostTensor& got) {
    const std::vector<double> x = want.ReadDoubles();
    const std::vector<double> y = got.ReadDoubles();
    for (size_t i = 0; i < x.size(); ++i) {
      // Equal infinities differ by 0.
      const double error = x[i] == y[i] ? 0 : std::abs(x[i] - y[i]);
      signal += x[i] * x[i];
      other += y[i] * y[i];
      dot += x[i] * y[i];
      noise += error * error;
      max_error = std::isnan(error) ? error : std::max(max_error, error);
    }
    elements += static_cast<int64_t>(x.size());
  }

  void Fill(LayerRow* row) const {
    if (elements == 0) return;
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    row->sqnr_db = noise == 0 ? kInfinity : 10 * std::log10(signal / noise);
    const double lengths = std::sqrt(signal) * std::sqrt(other);
    row->cosine = lengths > 0 ? dot / lengths : noise == 0 ? 1 : 0;
    row->max_error = max_error;
  }
};

bool IsFloatTensor(Type type) { return type.is_tensor() && IsFloat(type.dtype()); }

// Where the values of a model stand.
struct Side {
  explicit Side(const Module& m) : module(&m), graph(m.main()) {
    for (const Node* node = graph->first_node(); node != nullptr; node = node->next()) {
      nodes.push_back(node);
      if (node->num_results() != 1 || !IsFloatTensor(node->result(0)->type())) continue;
      for (const std::string& name : Names(*node)) last[name] = static_cast<int>(nodes.size()) - 1;
    }
  }

  std::vector<std::string> Names(const Node& node) const {
    std::vector<std::string> names = module->provenance().Names(node.provenance(), kMaxNames + 1);
    if (names.size() > kMaxNames) names.clear();
    return names;
  }

  // The last place of a value that stands for one of these; -1 without any.
  int Last(const std::vector<std::string>& names) const {
    int place = -1;
    for (const std::string& name : names) {
      const auto it = last.find(name);
      if (it != last.end()) place = std::max(place, it->second);
    }
    return place;
  }

  const Module* module;
  const Graph* graph;
  std::vector<const Node*> nodes;
  absl::flat_hash_map<std::string, int> last;  // Places in `nodes`.
};

struct Layer {
  int before = -1;  // Places.
  int after = -1;
  LayerRow row;
  Sums sums;
};

std::vector<Layer> MatchLayers(const Side& before, const Side& after) {
  std::vector<Layer> layers;
  absl::flat_hash_set<std::pair<int, int>> known;
  for (const Node* node : after.nodes) {
    std::vector<std::string> names = after.Names(*node);
    Layer layer;
    layer.before = before.Last(names);
    if (layer.before < 0) continue;
    // Where one node of the first model stands for several of the second, the last of these counts.
    const Node& match = *before.nodes[layer.before];
    for (std::string& name : before.Names(match)) names.push_back(std::move(name));
    layer.after = after.Last(names);
    if (layer.after < 0 || !known.insert({layer.before, layer.after}).second) continue;
    layer.row.name = absl::StrJoin(before.Names(match), ",");
    layer.row.op = std::string(match.op().name());
    layers.push_back(std::move(layer));
  }
  std::stable_sort(layers.begin(), layers.end(),
                   [](const Layer& a, const Layer& b) { return a.after < b.after; });
  return layers;
}

std::string OutputName(const Graph& graph, int i) {
  return graph.output_names().empty() ? absl::StrCat("output_", i) : graph.output_names()[i];
}

absl::StatusOr<HostTensor> InitialValue(const Side& side, int i) {
  const InputInfo& info = side.graph->input_info(i);
  if (info.initial >= 0) return side.module->constants().tensor(info.initial);
  return absl::InvalidArgumentError(absl::StrCat("input \"", info.name, "\" has no value"));
}

using Inputs = absl::flat_hash_map<std::string, HostTensor>;

absl::StatusOr<std::vector<HostTensor>> InputsOf(const Side& side, const Inputs& given) {
  std::vector<HostTensor> inputs;
  for (int i = 0; i < side.graph->num_inputs(); ++i) {
    const auto it = given.find(side.graph->input_info(i).name);
    if (it != given.end() && it->second.valid()) {
      inputs.push_back(it->second);
    } else {
      WEFT_ASSIGN_OR_RETURN(inputs.emplace_back(), InitialValue(side, i));
    }
  }
  return inputs;
}

// Adds what a layer gave in both models, or notes that it cannot be compared.
void Compare(const HostTensor& want, const HostTensor& got, LayerRow* row, Sums* sums) {
  if (want.dims() == got.dims()) {
    sums->Add(want, got);
  } else {
    row->reason = absl::StrCat("shapes differ: [", absl::StrJoin(want.dims(), ", "), "] and [",
                               absl::StrJoin(got.dims(), ", "), "]");
  }
}

}  // namespace

struct NumericDiff::State {
  State(const Module& b, const Module& a)
      : before(b), after(a), layers(MatchLayers(before, after)) {
    const int outputs = std::min(before.graph->num_outputs(), after.graph->num_outputs());
    for (int i = 0; i < outputs; ++i) {
      Layer layer;
      layer.row.name = OutputName(*before.graph, i);
      layer.row.op = "output";
      layer.row.state = "output";
      this->outputs.push_back(std::move(layer));
    }
  }

  // Runs a model; `take` gets the value of each layer at its node, which is at `place`.
  absl::StatusOr<std::vector<HostTensor>> Run(
      const Side& side, int Layer::*place, const Inputs& given,
      const std::function<void(Layer*, const HostTensor&)>& take) {
    absl::flat_hash_map<uint32_t, std::vector<Layer*>> by_node;
    for (Layer& layer : layers) by_node[side.nodes[layer.*place]->id()].push_back(&layer);
    reference::RunOptions options;
    options.on_node = [&](const Node& node, absl::Span<const HostTensor> results) {
      const auto it = by_node.find(node.id());
      if (it == by_node.end()) return;
      for (Layer* layer : it->second) take(layer, results[0]);
    };
    const absl::string_view which = &side == &before ? "the first model" : "the second model";
    const auto inputs = InputsOf(side, given);
    if (!inputs.ok()) return Annotate(inputs.status(), which);
    auto outputs = reference::Run(*side.graph, *inputs, options);
    if (!outputs.ok()) return Annotate(outputs.status(), which);
    return outputs;
  }

  Side before;
  Side after;
  std::vector<Layer> layers;
  std::vector<Layer> outputs;
};

NumericDiff::NumericDiff(const Module& before, const Module& after)
    : state_(std::make_unique<State>(before, after)) {}

NumericDiff::~NumericDiff() = default;

absl::Status NumericDiff::AddBatch(absl::Span<const HostTensor> inputs) {
  State& s = *state_;
  Inputs given;
  for (size_t i = 0; i < inputs.size(); ++i) {
    given[s.before.graph->input_info(static_cast<int>(i)).name] = inputs[i];
  }
  absl::flat_hash_map<const Layer*, HostTensor> wanted;
  WEFT_ASSIGN_OR_RETURN(const auto want,
                        s.Run(s.before, &Layer::before, given,
                              [&](Layer* layer, const HostTensor& t) { wanted[layer] = t; }));
  WEFT_ASSIGN_OR_RETURN(
      const auto got, s.Run(s.after, &Layer::after, given, [&](Layer* layer, const HostTensor& t) {
        Compare(wanted[layer], t, &layer->row, &layer->sums);
        wanted.erase(layer);
      }));
  for (size_t i = 0; i < s.outputs.size(); ++i) {
    const bool floats = IsFloat(want[i].dtype()) && IsFloat(got[i].dtype());
    if (floats) Compare(want[i], got[i], &s.outputs[i].row, &s.outputs[i].sums);
    if (!floats) s.outputs[i].row.reason = "not of floats";
  }
  return absl::OkStatus();
}

std::vector<LayerRow> NumericDiff::Rows() const {
  std::vector<LayerRow> rows;
  for (const std::vector<Layer>* layers : {&state_->layers, &state_->outputs}) {
    for (const Layer& layer : *layers) {
      rows.push_back(layer.row);
      layer.sums.Fill(&rows.back());
    }
  }
  return rows;
}

}  // namespace weft
