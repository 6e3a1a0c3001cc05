// One graph on its way to a plan; lower.h says what comes out.
#ifndef WEFT_LOWERING_GRAPH_LOWERING_H_
#define WEFT_LOWERING_GRAPH_LOWERING_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/sym/sym_facts.h"
#include "graph/target/target.h"
#include "lowering/index_map.h"
#include "lowering/lower.h"
#include "lowering/plan.h"
#include "lowering/step_sources.h"

namespace weft {

class Builder;
class Node;
class Value;

class GraphLowering {
 public:
  // A nested graph, and the plan that it is to become.
  using Nested = std::pair<const Graph*, Plan*>;

  GraphLowering(const Graph& graph, const Target& target, const LoweringOptions& options,
                StepSources& sources, Plan* plan)
      : graph_(graph),
        target_(target),
        options_(options),
        sources_(sources),
        plan_(*plan),
        sizes_(&graph.module().symbols()) {}

  absl::Status Run();
  // Nested graphs are lowered by whoever called Run.
  std::vector<Nested> TakeNested() { return std::move(nested_); }

 private:
  using Nodes = std::vector<const Node*>;
  using NodeSet = absl::flat_hash_set<const Node*>;
  using Epilogues = absl::flat_hash_map<const Node*, Nodes>;

  // --- Values (lower_values.cc) ---
  void DefineInputs();
  void DefineOutputs();
  // Plan::values, from what is known at the end.
  void RecordValues();
  void DropUnusedBuffers();
  // An absent View where the value has no place, as constants of
  // decompositions.
  View ViewOf(const Value* value);
  // The same; constants of decompositions are made by a kernel.
  absl::StatusOr<View> PlaceOf(const Value* value);
  // Where a step is to write the value; `dense`: in row-major order.
  View DefineResult(const Value* value, bool dense);
  static Nodes PermutesBehind(const Value* value);
  View NewBuffer(Type type, std::string name);
  // A buffer for a value that is computed, in the order that was chosen for it.
  View NewPlace(const Value* value, std::string name);
  // The same elements in row-major order, in memory of their own if they were
  // not. `reader` is who wants them so.
  View Dense(const View& view, absl::string_view reader);
  bool IsLate(SymInt size) const;
  void Alias(const Value* value, View view) { views_[value] = std::move(view); }

  // --- Steps (lower_nodes.cc) ---
  absl::Status LowerNode(const Node& node);
  absl::StatusOr<bool> LowerView(const Node& node);
  absl::Status LowerControl(const Node& node);
  absl::Status LowerReference(const Node& node, std::string remark);
  absl::Status LowerLibrary(const Node& node, Nodes epilogue);
  void AddCopy(const View& from, const View& to, std::string remark = "");
  Step& AddStep(StepKind kind);

  // --- Conditions (conditions.cc) ---
  // What the nodes of `graph` assume about sizes, on behalf of `origin_` if there is
  // one, and nothing proves.
  absl::Status AddConditions(const Graph& graph);

  // --- Groups (lower_groups.cc) ---
  // Why the nodes are no kernel; OK when they have become one. What `outputs`
  // of the nodes are is the values `results`, which they may be themselves.
  absl::Status LowerKernel(const Nodes& nodes, const std::vector<const Value*>& results,
                           const std::vector<const Value*>& outputs);
  absl::Status AddKernel(const Nodes& nodes, std::vector<const Value*> outputs,
                         std::vector<View> output_views);
  absl::Status LowerComposite(const Node& node);
  absl::Status LowerBody(const Graph& body, const Epilogues& epilogues);
  absl::Status LowerPending(Nodes* pending);
  // Ops behind library nodes that the routines do on the way out.
  Epilogues FindEpilogues(const Graph& body);
  Nodes FindEpilogue(const Node& library, const absl::flat_hash_map<const Node*, int>& order);
  bool IsLibrary(const Node& node) const { return FindRoutine(target_, node) != nullptr; }
  // The node's decomposition as a graph of its own; null after an error.
  absl::StatusOr<Graph*> Expand(const Node& node);
  Module& Scratch();
  absl::StatusOr<std::vector<Value*>> ScratchOperands(const Node& node, Builder& b, Graph* to);

  // --- Concatenations (lower_concat.cc) ---
  void PlaceConcats(const Graph& graph);
  void PlaceOperands(const Node& concat);
  absl::StatusOr<bool> LowerConcat(const Node& node);
  // Where operand `k` lies in the concatenation's result.
  View PieceOf(const Node& concat, int k, const View& result);
  // The memory of a value that is computed in a concatenation.
  View PlacedView(const Value* value);

  const Graph& graph_;
  const Target& target_;
  const LoweringOptions& options_;
  StepSources& sources_;
  Plan& plan_;
  const Sizes sizes_;
  const Node* origin_ = nullptr;  // The node of graph_ that is being lowered.
  absl::flat_hash_map<const Value*, View> views_;
  absl::flat_hash_map<int, View> constants_;
  absl::flat_hash_map<std::string, int> names_;
  absl::flat_hash_set<SymInt> early_;  // Symbols of the inputs.
  // The facts of the module and the conditions of the plan; made for the first one.
  std::optional<SymbolTable> known_;
  absl::flat_hash_set<const Node*> channels_last_;
  std::vector<Nested> nested_;

  // A value that is operand `piece` of `concat`, behind views.
  struct Placement {
    const Node* concat = nullptr;
    int piece = 0;
    Nodes views;  // From the value on.
  };
  absl::flat_hash_map<const Value*, Placement> placements_;
  absl::flat_hash_map<const Value*, View> reserved_;  // Of concatenations.

  std::unique_ptr<Module> scratch_;
  // Constants of the scratch module that are constants of the module as well.
  absl::flat_hash_map<int, int> scratch_constants_;
  int num_scratch_ = 0;
};

}  // namespace weft

#endif  // WEFT_LOWERING_GRAPH_LOWERING_H_
