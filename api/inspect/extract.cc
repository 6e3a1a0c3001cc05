#include "api/inspect/extract.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "api/check/region.h"
#include "base/printable.h"
#include "base/status_macros.h"
#include "graph/ir/constant_store.h"
#include "graph/ir/graph.h"
#include "graph/ir/node.h"
#include "graph/ir/op_def.h"
#include "graph/ir/provenance.h"
#include "passes/engine/registry.h"

namespace weft {
namespace {

using Item = ExtractSpec::Item;

std::string Shown(absl::string_view name) { return absl::StrCat("\"", PrintableName(name), "\""); }

// What the names of a program stand for.
class Names {
 public:
  explicit Names(const Graph& graph) : graph_(graph), by_number_(graph.value_id_limit(), -1) {
    int64_t position = 0, number = 0;
    for (const Node* node : graph.nodes()) {
      positions_[node] = position++;
      order_.push_back(node);
      for (const std::string& name : SourcesOf(*node)) by_name_[name].push_back(node);
      for (int r = 0; r < node->num_results(); ++r) {
        by_number_[node->result(r)->id()] = number++;
        numbered_.push_back(node->result(r));
      }
    }
  }

  const std::vector<const Node*>& order() const { return order_; }

  // The values that the name stands for: never empty.
  absl::StatusOr<std::vector<const Value*>> ValuesOf(const std::string& name) const {
    if (const Value* value = Numbered(name)) return std::vector<const Value*>{value};
    const absl::string_view bare = absl::StartsWith(name, "%") ? name.substr(1) : name;
    for (int i = 0; i < graph_.num_inputs(); ++i) {
      if (graph_.input_info(i).name == bare) return std::vector<const Value*>{graph_.input(i)};
    }
    for (size_t i = 0; i < graph_.output_names().size(); ++i) {
      if (graph_.output_names()[i] != bare) continue;
      return std::vector<const Value*>{graph_.output(static_cast<int>(i))};
    }
    WEFT_ASSIGN_OR_RETURN(const std::vector<const Node*> nodes, NodesOf(name));
    std::vector<const Value*> values = Leaving(nodes);
    if (values.empty()) {
      for (int r = 0; r < nodes.back()->num_results(); ++r) {
        values.push_back(nodes.back()->result(r));
      }
    }
    if (!values.empty()) return values;
    return absl::InvalidArgumentError(absl::StrCat(Shown(name), " has no result"));
  }

  // The nodes that the name stands for, in order: never empty.
  absl::StatusOr<std::vector<const Node*>> NodesOf(const std::string& name) const {
    if (const Value* value = Numbered(name)) return std::vector<const Node*>{value->node()};
    const auto found = by_name_.find(name);
    if (found != by_name_.end()) return found->second;
    return Unknown(name);
  }

  // The nodes with names that match, in order.
  absl::StatusOr<std::vector<const Node*>> Matching(const std::string& pattern) const {
    absl::flat_hash_set<const Node*> found;
    for (const auto& [name, nodes] : by_name_) {
      if (MatchesStars(pattern, name)) found.insert(nodes.begin(), nodes.end());
    }
    if (found.empty()) {
      return absl::InvalidArgumentError(absl::StrCat("no node matches ", Shown(pattern)));
    }
    return InOrder(found);
  }

  absl::StatusOr<std::vector<const Node*>> Between(const Item& range) const {
    WEFT_ASSIGN_OR_RETURN(const auto first, NodesOf(range.name));
    WEFT_ASSIGN_OR_RETURN(const auto last, NodesOf(range.last));
    const int64_t begin = positions_.at(first.front()), end = positions_.at(last.back());
    if (begin > end) {
      return absl::InvalidArgumentError(
          absl::StrCat(Shown(range.name), " comes after ", Shown(range.last)));
    }
    return std::vector<const Node*>(order_.begin() + begin, order_.begin() + end + 1);
  }

  std::vector<const Node*> InOrder(const absl::flat_hash_set<const Node*>& nodes) const {
    std::vector<const Node*> sorted(nodes.begin(), nodes.end());
    std::sort(sorted.begin(), sorted.end(),
              [&](const Node* a, const Node* b) { return positions_.at(a) < positions_.at(b); });
    return sorted;
  }

  // The results of the nodes that other nodes, or outputs, use.
  static std::vector<const Value*> Leaving(const std::vector<const Node*>& nodes) {
    const absl::flat_hash_set<const Node*> group(nodes.begin(), nodes.end());
    std::vector<const Value*> values;
    for (const Node* node : nodes) {
      for (int r = 0; r < node->num_results(); ++r) {
        const Value* value = node->result(r);
        bool leaves = false;
        for (const Use* use = value->first_use(); use != nullptr && !leaves; use = use->next()) {
          leaves = !group.contains(use->user());
        }
        if (leaves) values.push_back(value);
      }
    }
    return values;
  }

  // A name for the value as an input or output of another program.
  std::string NameOf(const Value* value) const {
    if (value->is_input()) return graph_.input_info(value->index()).name;
    for (size_t i = 0; i < graph_.output_names().size(); ++i) {
      if (graph_.output(static_cast<int>(i)) == value) return graph_.output_names()[i];
    }
    const std::vector<std::string> sources = SourcesOf(*value->node(), 1);
    if (sources.empty()) return absl::StrCat("v", by_number_[value->id()]);
    if (value->node()->num_results() == 1) return sources[0];
    return absl::StrCat(sources[0], ".", value->index());
  }

  // A place for each value: inputs, then results in order.
  int64_t PlaceOf(const Value* value) const {
    return value->is_input() ? value->index() : graph_.num_inputs() + by_number_[value->id()];
  }

 private:
  static std::vector<std::string> SourcesOf(const Node& node, size_t limit = 64) {
    return node.graph()->module().provenance().Names(node.provenance(), limit);
  }

  // The value of "%3"; null for other names.
  const Value* Numbered(absl::string_view name) const {
    int64_t number = 0;
    if (!absl::StartsWith(name, "%") || !absl::SimpleAtoi(name.substr(1), &number)) return nullptr;
    if (number < 0 || number >= static_cast<int64_t>(numbered_.size())) return nullptr;
    return numbered_[number];
  }

  absl::Status Unknown(const std::string& name) const {
    if (absl::StartsWith(name, "%")) {
      return absl::InvalidArgumentError(absl::StrCat("the program has no value ",
                                                     PrintableName(name), " and has ",
                                                     numbered_.size(), " results, from %0 on"));
    }
    for (const Graph* graph : graph_.module().AllGraphs()) {
      if (graph == &graph_) continue;
      for (const Node* node : graph->nodes()) {
        const std::vector<std::string> names = SourcesOf(*node);
        if (std::find(names.begin(), names.end(), name) == names.end()) continue;
        return absl::InvalidArgumentError(
            absl::StrCat(Shown(name), " is a node of @", graph->name(), ", not of @", graph_.name(),
                         "; only nodes of that graph can be cut out"));
      }
    }
    std::vector<std::string> known;
    for (const auto& [other, nodes] : by_name_) known.push_back(PrintableName(other));
    for (int i = 0; i < graph_.num_inputs(); ++i) {
      known.push_back(PrintableName(graph_.input_info(i).name));
    }
    for (const std::string& other : graph_.output_names()) known.push_back(PrintableName(other));
    return absl::InvalidArgumentError(absl::StrCat("no node, input or output is called ",
                                                   Shown(name),
                                                   DidYouMean(PrintableName(name), known)));
  }

  const Graph& graph_;
  std::map<std::string, std::vector<const Node*>> by_name_;
  std::vector<const Node*> order_;
  absl::flat_hash_map<const Node*, int64_t> positions_;
  std::vector<int64_t> by_number_;  // By value id.
  std::vector<const Value*> numbered_;
};

// Which values of a graph depend on others.
class Dependence {
 public:
  explicit Dependence(const Graph& graph) : on_(graph.value_id_limit(), false) {}

  void Add(const Value* value) { on_[value->id()] = true; }
  bool Has(const Value* value) const { return on_[value->id()]; }

  // Spreads from operands, and definitions of symbols, to results.
  void Spread(const std::vector<const Node*>& nodes) {
    for (const Node* node : nodes) {
      bool depends = false;
      for (int i = 0; i < node->num_operands() && !depends; ++i) {
        depends = node->operand(i) != nullptr && Has(node->operand(i));
      }
      for (int i = 0; i < node->num_symbol_operands() && !depends; ++i) {
        depends = Has(node->symbol_operand(i));
      }
      if (!depends) continue;
      for (int r = 0; r < node->num_results(); ++r) Add(node->result(r));
    }
  }

 private:
  std::vector<bool> on_;  // By value id.
};

class Cutter {
 public:
  explicit Cutter(const Graph& graph) : graph_(graph), names_(graph), varies_(graph) {
    for (const Value* input : graph.inputs()) varies_.Add(input);
    for (const Node* node : names_.order()) {
      if (node->op().is_pure()) continue;
      for (int r = 0; r < node->num_results(); ++r) varies_.Add(node->result(r));
    }
    varies_.Spread(names_.order());
  }

  absl::StatusOr<std::unique_ptr<Module>> Between(const ExtractSpec& spec) {
    std::vector<const Value*> from, to;
    WEFT_RETURN_IF_ERROR(AddValues(spec.from, &from));
    WEFT_RETURN_IF_ERROR(AddValues(spec.to, &to));
    if (from.empty()) return Cut(RegionUpTo(graph_, to, {}), {});
    Dependence behind(graph_);
    for (const Value* value : from) behind.Add(value);
    behind.Spread(names_.order());
    if (to.empty()) {
      for (const Value* output : graph_.outputs()) {
        if (behind.Has(output)) to.push_back(output);
      }
      if (to.empty()) return absl::InvalidArgumentError("no output depends on FROM");
    }
    const absl::flat_hash_set<const Value*> starts(from.begin(), from.end());
    for (const Value* value : to) {
      if (!behind.Has(value) || starts.contains(value)) {
        return absl::InvalidArgumentError(
            absl::StrCat(Shown(Called(value)), " is not computed from what stands before the ':'"));
      }
    }
    absl::flat_hash_set<const Value*> boundary = starts;
    AddBoundary([&](const Value* value) { return !behind.Has(value); }, &boundary);
    RegionSpec region = RegionUpTo(graph_, to, boundary);
    WEFT_RETURN_IF_ERROR(CheckStarts(spec.from, region));
    return Cut(std::move(region), from);
  }

  absl::StatusOr<std::unique_ptr<Module>> Nodes(const ExtractSpec& spec) {
    absl::flat_hash_set<const Node*> chosen;
    for (const Item& item : spec.nodes) {
      auto nodes = item.pattern        ? names_.Matching(item.name)
                   : item.last.empty() ? names_.NodesOf(item.name)
                                       : names_.Between(item);
      if (!nodes.ok()) return nodes.status();
      chosen.insert(nodes->begin(), nodes->end());
    }
    const std::vector<const Value*> outputs = Names::Leaving(names_.InOrder(chosen));
    if (outputs.empty()) {
      return absl::InvalidArgumentError("nothing uses a result of these nodes");
    }
    absl::flat_hash_set<const Value*> boundary;
    AddBoundary([&](const Value* value) { return !chosen.contains(value->node()); }, &boundary);
    return Cut(RegionUpTo(graph_, outputs, boundary), {});
  }

 private:
  absl::Status AddValues(const std::vector<Item>& items, std::vector<const Value*>* values) {
    absl::flat_hash_set<const Value*> added;
    for (const Item& item : items) {
      WEFT_ASSIGN_OR_RETURN(const auto found, names_.ValuesOf(item.name));
      for (const Value* value : found) {
        if (!added.insert(value).second) continue;
        called_.emplace(value, item.name);
        values->push_back(value);
      }
    }
    return absl::OkStatus();
  }

  // Adds the results that `outside` holds for and that are not computed from constants alone.
  template <typename Outside>
  void AddBoundary(Outside outside, absl::flat_hash_set<const Value*>* boundary) const {
    for (const Node* node : names_.order()) {
      for (int r = 0; r < node->num_results(); ++r) {
        const Value* value = node->result(r);
        if (varies_.Has(value) && outside(value)) boundary->insert(value);
      }
    }
  }

  // Each name of FROM must be of use.
  absl::Status CheckStarts(const std::vector<Item>& items, const RegionSpec& region) const {
    for (const Item& item : items) {
      WEFT_ASSIGN_OR_RETURN(const auto values, names_.ValuesOf(item.name));
      const bool read = std::any_of(values.begin(), values.end(), [&](const Value* value) {
        return region.inputs.contains(value);
      });
      if (read) continue;
      return absl::InvalidArgumentError(absl::StrCat("nothing between reads ", Shown(item.name)));
    }
    return absl::OkStatus();
  }

  // The name that the user gave the value, or its own.
  std::string Called(const Value* value) const {
    const auto called = called_.find(value);
    if (value->is_input() || called == called_.end() || absl::StartsWith(called->second, "%")) {
      return names_.NameOf(value);
    }
    return called->second;
  }

  // Inputs in the order of `first`, then of the graph.
  void OrderInputs(const std::vector<const Value*>& first, RegionSpec* region) const {
    absl::flat_hash_map<const Value*, int64_t> rank;
    for (size_t i = 0; i < first.size(); ++i) rank.emplace(first[i], static_cast<int64_t>(i));
    std::vector<std::pair<int64_t, const Value*>> order;
    for (const auto& [value, index] : region->inputs) {
      const auto it = rank.find(value);
      const int64_t size = static_cast<int64_t>(first.size());
      order.emplace_back(it != rank.end() ? it->second : size + names_.PlaceOf(value), value);
    }
    std::sort(order.begin(), order.end());
    const std::vector<int> values = region->input_values;
    region->input_types.clear();
    region->input_names.clear();
    region->input_values.clear();
    for (const auto& [place, value] : order) {
      int& index = region->inputs.at(value);
      region->input_values.push_back(values[index]);
      index = static_cast<int>(region->input_types.size());
      region->input_types.push_back(value->type());
      region->input_names.push_back(Called(value));
    }
  }

  absl::StatusOr<std::unique_ptr<Module>> Cut(RegionSpec region,
                                              const std::vector<const Value*>& first) const {
    OrderInputs(first, &region);
    region.conditions = true;
    const std::vector<SymInt> symbols = Unbound(FreeSymbols(graph_, region), region.input_types);
    WEFT_ASSIGN_OR_RETURN(auto module, CutRegion(graph_, region, symbols));
    Graph* main = module->main();
    KeepParameters(region, static_cast<int>(symbols.size()), main);
    std::set<std::string> taken;
    for (const Value* output : region.outputs) {
      const std::string name = Called(output);
      std::string own = name;
      for (int n = 2; !taken.insert(own).second; ++n) own = absl::StrCat(name, ".", n);
      main->output_names().push_back(own);
    }
    return module;
  }

  // Parameters and states keep their names and the values that they begin with.
  void KeepParameters(const RegionSpec& region, int num_symbols, Graph* main) const {
    std::map<int, const Value*> inputs;
    for (const auto& [value, index] : region.inputs) inputs[index] = value;
    const ConstantStore& constants = graph_.module().constants();
    for (const auto& [index, value] : inputs) {
      if (!value->is_input()) continue;
      const InputInfo& was = graph_.input_info(value->index());
      InputInfo& info = main->input_info(num_symbols + index);
      info.param = was.param;
      if (was.initial < 0) continue;
      info.initial = main->module().constants().Add(constants.tensor(was.initial),
                                                    constants.name(was.initial));
    }
  }

  const Graph& graph_;
  const Names names_;
  Dependence varies_;  // On an input, or on a node that is not pure.
  absl::flat_hash_map<const Value*, std::string> called_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Module>> Extract(const Module& module, const ExtractSpec& spec) {
  WEFT_RETURN_IF_ERROR(CheckHasMain(module));
  if (module.HasWrites()) {
    return absl::InvalidArgumentError(
        "the program has nodes that write; functionalize comes first");
  }
  Cutter cutter(*module.main());
  return spec.between ? cutter.Between(spec) : cutter.Nodes(spec);
}

absl::StatusOr<std::unique_ptr<Module>> Extract(const Module& module, absl::string_view spec) {
  WEFT_ASSIGN_OR_RETURN(const ExtractSpec parsed, ParseExtractSpec(spec));
  return Extract(module, parsed);
}

}  // namespace weft
