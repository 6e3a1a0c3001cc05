// Handles each graph, nested ones first. Collect finds the storages that are written; others are
// not changed. Apply visits the nodes in order and gives each the newest values of its operands
// (functionalize/storages.h). Nodes that are unused then are erased last, in reverse order.
//
// The edits do not use the Rewriter: there is no root whose results are replaced by other values,
// because the value of a result changes from use to use.
#include "passes/functionalize.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "base/annotate.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "graph/ir/builder.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ir/op_def.h"
#include "graph/ops/ops.h"
#include "graph/ops/support/region.h"
#include "passes/functionalize/regions.h"
#include "passes/functionalize/storages.h"

namespace weft {
namespace {

struct Counts {
  int64_t writes = 0;
  int64_t replayed = 0;
  int64_t inverted = 0;
  int64_t write_backs = 0;
  int64_t returned = 0;
};

class GraphFunctionalizer {
 public:
  GraphFunctionalizer(Graph* graph, RegionWrites* regions, Counts* counts)
      : graph_(*graph),
        regions_(*regions),
        counts_(*counts),
        builder_(graph),
        storages_(&builder_),
        first_new_id_(graph->node_id_limit()) {}

  // Writes to the inputs of a nested graph are left in `regions`.
  absl::Status Run(bool is_root) {
    WEFT_ASSIGN_OR_RETURN(const bool writes, Collect());
    if (!writes) return absl::OkStatus();
    for (Value* input : graph_.inputs()) AddIfWritten(input);
    for (Node* node : graph_.nodes()) {
      builder_.set_insertion_point(node);
      WEFT_RETURN_IF_ERROR(Apply(node));
    }
    builder_.set_insertion_point(nullptr);
    WEFT_RETURN_IF_ERROR(ApplyReturn(is_root));
    EraseUnneeded();
    counts_.replayed += storages_.num_replayed();
    counts_.inverted += storages_.num_inverted();
    return absl::OkStatus();
  }

 private:
  struct WriteBack {
    int input;
    Value* value;
    std::string name;  // As an output.
  };

  absl::StatusOr<bool> Collect();
  Value* ReadOr(Value* value) { return storages_.Has(value) ? storages_.Read(value) : value; }
  void AddIfWritten(Value* value) {
    if (is_written_[value->id()]) storages_.AddBase(value);
  }
  absl::Status Apply(Node* node);
  absl::Status ApplyWrite(Node* node);
  absl::Status ApplyRegions(Node* node);
  std::vector<WriteBack> CollectWriteBacks();
  absl::Status ApplyReturn(bool is_root);
  void ReadOperands(Node* node, int but);
  void EraseUnneeded();
  absl::Status AtNode(const Node& node) const;

  Graph& graph_;
  RegionWrites& regions_;
  Counts& counts_;
  Builder builder_;
  Storages storages_;
  const uint32_t first_new_id_;
  // By the id of a base.
  std::vector<bool> is_written_;
};

// Finds the bases that are written; false if there are none.
absl::StatusOr<bool> GraphFunctionalizer::Collect() {
  is_written_.resize(graph_.value_id_limit());
  std::vector<uint32_t> base(graph_.value_id_limit());
  for (Value* input : graph_.inputs()) base[input->id()] = input->id();
  bool any = false;
  const auto write = [&](const Value* value) {
    is_written_[base[value->id()]] = true;
    any = true;
  };
  for (const Node* node : graph_.nodes()) {
    for (int i = 0; i < node->num_results(); ++i) {
      const Value* result = node->result(i);
      const Value* same = ViewedBy(result);
      if (same == nullptr) same = WrittenAs(result);
      base[result->id()] = same != nullptr ? base[same->id()] : result->id();
      if (WrittenAs(result) != nullptr) write(same);
    }
    WEFT_RETURN_IF_ERROR(regions_.Check(*node));
    for (int operand : regions_.WrittenOperands(*node)) {
      write(node->operand(operand));
    }
  }
  return any;
}

absl::Status GraphFunctionalizer::AtNode(const Node& node) const {
  const absl::Status& status = builder_.status();
  if (status.ok()) return status;
  const Node& at = storages_.guilty() ? *storages_.guilty() : node;
  return Annotate(status,
                  absl::StrCat("@", graph_.name(), ", node ", at.id(), " (", at.op().name(), ")"));
}

void GraphFunctionalizer::ReadOperands(Node* node, int but) {
  for (int i = 0; i < node->num_operands(); ++i) {
    Value* operand = node->operand(i);
    if (operand == nullptr || i == but || !storages_.Has(operand)) continue;
    Value* now = storages_.Read(operand);
    if (now != nullptr && now != operand) node->set_operand(i, now);
  }
}

absl::Status GraphFunctionalizer::Apply(Node* node) {
  if (node->op().writes()) return ApplyWrite(node);
  if (!regions_.WrittenOperands(*node).empty()) return ApplyRegions(node);
  const Value* viewed = nullptr;
  for (int i = 0; i < node->num_results() && viewed == nullptr; ++i) {
    viewed = ViewedBy(node->result(i));
  }
  if (viewed == nullptr || !storages_.Has(viewed)) {
    ReadOperands(node, -1);
    for (int i = 0; i < node->num_results(); ++i) {
      AddIfWritten(node->result(i));
    }
    return AtNode(*node);
  }
  if (node->num_operands() != 1) {
    return absl::UnimplementedError(
        absl::StrCat("@", graph_.name(), ", node ", node->id(), " (", node->op().name(),
                     "): a view by several operands of memory that is written"));
  }
  for (int i = 0; i < node->num_results(); ++i) {
    storages_.AddView(node, i, viewed);
  }
  return AtNode(*node);
}

absl::Status GraphFunctionalizer::ApplyWrite(Node* node) {
  ++counts_.writes;
  std::vector<Value*> written(node->num_results());
  for (int i = 0; i < node->num_results(); ++i) {
    written[i] = WrittenAs(node->result(i));
  }
  // copy_ overwrites its whole operand and does not read it.
  ReadOperands(node, node->Is(ops::copy_) ? 0 : -1);
  WEFT_RETURN_IF_ERROR(AtNode(*node));
  WEFT_CHECK(node->op().functional() != nullptr) << node->op().name();
  builder_.set_provenance(node->provenance());
  Node::ArgStorage storage;
  const std::vector<Value*> values = node->op().functional()(builder_, node->Args(&storage));
  WEFT_RETURN_IF_ERROR(AtNode(*node));
  for (int i = 0; i < node->num_results(); ++i) {
    if (written[i] == nullptr) {
      node->result(i)->ReplaceAllUsesWith(values[i]);
      continue;
    }
    storages_.Write(written[i], values[i], node);
    storages_.AddAlias(node->result(i), written[i]);
  }
  return AtNode(*node);
}

// The values that nested graphs write become results.
absl::Status GraphFunctionalizer::ApplyRegions(Node* node) {
  const std::vector<int> operands = regions_.WrittenOperands(*node);
  std::vector<const Value*> written;
  for (int i : operands) {
    written.push_back(node->operand(i));
    for (int j = ops::FirstOperandSeen(*node); j < node->num_operands(); ++j) {
      if (i == j || !storages_.Share(node->operand(i), node->operand(j))) {
        continue;
      }
      return absl::UnimplementedError(
          absl::StrCat("@", graph_.name(), ", node ", node->id(), " (", node->op().name(),
                       "): operand ", i, " is written, and operand ", j, " shares its memory"));
    }
  }
  ReadOperands(node, -1);
  WEFT_RETURN_IF_ERROR(AtNode(*node));
  const int num_results = node->num_results();
  std::vector<bool> is_base(num_results);
  for (int i = 0; i < num_results; ++i) {
    is_base[i] = is_written_[node->result(i)->id()];
  }
  const RegionWrites::Returned made = regions_.ReturnWrites(node);
  for (int i = 0; i < num_results; ++i) {
    if (is_base[i]) storages_.AddBase(made.results[i]);
  }
  for (size_t k = 0; k < written.size(); ++k) {
    storages_.Write(written[k], made.written[k], made.node);
  }
  counts_.returned += static_cast<int64_t>(written.size());
  return AtNode(*made.node);
}

// Final values of inputs, by input. Write-backs that are already listed count as later than all
// writes.
std::vector<GraphFunctionalizer::WriteBack> GraphFunctionalizer::CollectWriteBacks() {
  std::vector<WriteBack> written;
  const std::vector<int>& listed = graph_.write_backs();
  const std::vector<std::string>& names = graph_.output_names();
  const int own = graph_.num_own_outputs();
  for (size_t k = 0; k < listed.size(); ++k) {
    written.push_back(
        {listed[k], ReadOr(graph_.output(own + k)), names.empty() ? "" : names[own + k]});
  }
  for (Value* input : graph_.inputs()) {
    const int i = input->index();
    if (std::binary_search(listed.begin(), listed.end(), i)) continue;
    Value* now = ReadOr(input);
    if (now == input) continue;
    written.push_back({i, now, graph_.input_info(i).name});
  }
  std::sort(written.begin(), written.end(),
            [](const WriteBack& a, const WriteBack& b) { return a.input < b.input; });
  return written;
}

// Outputs first, then the written inputs.
absl::Status GraphFunctionalizer::ApplyReturn(bool is_root) {
  std::vector<Value*> outputs;
  for (Value* output : graph_.outputs()) outputs.push_back(ReadOr(output));
  outputs.resize(graph_.num_own_outputs());
  const std::vector<WriteBack> written = CollectWriteBacks();
  storages_.Settle();
  WEFT_RETURN_IF_ERROR(AtNode(*graph_.return_node()));
  std::vector<std::string> names = graph_.output_names();
  const bool named = !names.empty();
  if (named) names.resize(outputs.size());
  std::vector<int> inputs;
  for (const WriteBack& w : written) {
    inputs.push_back(w.input);
    outputs.push_back(w.value);
    if (named) names.push_back(w.name);
  }
  graph_.SetOutputs(outputs);
  graph_.output_names() = std::move(names);
  if (!is_root) {
    if (!inputs.empty()) regions_.Add(&graph_, std::move(inputs));
    return absl::OkStatus();
  }
  counts_.write_backs += static_cast<int64_t>(inputs.size());
  graph_.SetWriteBacks(std::move(inputs));
  return absl::OkStatus();
}

// Erases writes, views of written memory that were made again elsewhere or are unused, and new
// nodes that turned out to be unused.
void GraphFunctionalizer::EraseUnneeded() {
  Node* prev = nullptr;
  for (Node* node = graph_.return_node()->prev(); node != nullptr; node = prev) {
    prev = node->prev();
    if (node->has_uses() || node->num_regions() > 0) continue;
    const bool ours = node->id() >= first_new_id_;
    const bool known = node->num_results() > 0 && ViewedBy(node->result()) != nullptr &&
                       storages_.Has(node->result());
    if (ours || known || node->op().writes()) graph_.EraseNode(node);
  }
}

class FunctionalizePass : public Pass {
 public:
  absl::string_view name() const override { return "functionalize"; }
  absl::string_view doc() const override {
    return "Replaces writes by the values they write; lists written inputs.";
  }
  bool HandlesWrites() const override { return true; }
  absl::Status Run(Module& module, PassContext& context) override {
    if (!module.HasWrites() || !context.StartRewrite({NumericContract::kBitExact})) {
      return absl::OkStatus();
    }
    absl::flat_hash_set<const Graph*> roots;
    for (const auto& function : module.functions()) {
      roots.insert(function.get());
    }
    RegionWrites regions;
    Counts counts;
    const std::vector<Graph*> graphs = module.AllGraphs();
    for (auto it = graphs.rbegin(); it != graphs.rend(); ++it) {
      GraphFunctionalizer functionalizer(*it, &regions, &counts);
      WEFT_RETURN_IF_ERROR(functionalizer.Run(roots.contains(*it)));
    }
    context.Count("writes", counts.writes);
    context.Count("replayed", counts.replayed);
    context.Count("inverted", counts.inverted);
    context.Count("write_backs", counts.write_backs);
    context.Count("returned", counts.returned);
    return absl::OkStatus();
  }
};

}  // namespace

std::unique_ptr<Pass> CreateFunctionalizePass() { return std::make_unique<FunctionalizePass>(); }

}  // namespace weft
