// The lowering of one graph to a plan; lower.h describes the result.
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
  // A nested graph, and the plan to fill in for it.
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
  // Nested graphs that the caller of Run must lower.
  std::vector<Nested> TakeNested() { return std::move(nested_); }

 private:
  using Nodes = std::vector<const Node*>;
  using NodeSet = absl::flat_hash_set<const Node*>;
  using Epilogues = absl::flat_hash_map<const Node*, Nodes>;

  // --- Values (lower_values.cc) ---
  void DefineInputs();
  void DefineOutputs();
  // Fills in Plan::values, at the end of lowering.
  void RecordValues();
  void DropUnusedBuffers();
  // The view of a value; absent if the value has no memory, such as a constant of a decomposition.
  View ViewOf(const Value* value);
  // The same, but constants of decompositions get memory, which a kernel fills in.
  absl::StatusOr<View> PlaceOf(const Value* value);
  // The view that a step is to write for the value; `dense`: in row-major order.
  View DefineResult(const Value* value, bool dense);
  Nodes PermutesBehind(const Value* value) const;
  View NewBuffer(Type type, std::string name);
  // A new buffer for a computed value, in the order chosen for it.
  View NewPlace(const Value* value, std::string name);
  // The same elements in row-major order, copied if necessary. `reader` is the op that requires it.
  View Dense(const View& view, absl::string_view reader);
  bool IsLate(SymInt size) const;
  void Alias(const Value* value, View view) { views_[value] = std::move(view); }

  // --- Steps (lower_nodes.cc) ---
  absl::Status LowerNode(const Node& node);
  absl::StatusOr<bool> LowerView(const Node& node);
  absl::Status LowerControl(const Node& node);
  absl::Status LowerReference(const Node& node, std::string remark);
  absl::Status LowerLibrary(const Node& node, Nodes epilogue);
  // The views of the operands as the node's routine takes them.
  absl::StatusOr<std::vector<View>> LibraryArgs(const Node& node);
  static void SetOp(const Node& node, Step* step);
  void AddCopy(const View& from, const View& to, std::string remark = "");
  Step& AddStep(StepKind kind);

  // --- Conditions (conditions.cc) ---
  // Adds the unproven assumptions of `graph`'s nodes on sizes, with `origin_`, if it is set, as
  // their origin.
  absl::Status AddConditions(const Graph& graph);

  // --- Groups (lower_groups.cc) ---
  // Makes one kernel of the nodes; otherwise returns the reason. The values `outputs` of the nodes
  // are stored as `results`, which may be the same values.
  absl::Status LowerKernel(const Nodes& nodes, const std::vector<const Value*>& results,
                           const std::vector<const Value*>& outputs);
  absl::Status AddKernel(const Nodes& nodes, std::vector<const Value*> outputs,
                         std::vector<View> output_views);
  absl::Status LowerComposite(const Node& node);
  absl::Status LowerBody(const Graph& body, const Epilogues& epilogues);
  absl::Status LowerPending(Nodes* pending);
  // Removes and returns the nodes from which `reader` computes nothing.
  static Nodes TakeUnread(const Node& reader, Nodes* nodes);
  // The results of the nodes that others use.
  static std::vector<const Value*> OutputsOf(const Nodes& nodes);
  // Finds the ops after library nodes that the routines apply as epilogues.
  Epilogues FindEpilogues(const Graph& body);
  Nodes FindEpilogue(const Node& library, const absl::flat_hash_map<const Node*, int>& order);
  bool IsLibrary(const Node& node) const { return FindRoutine(target_, node) != nullptr; }
  // The node's decomposition as a separate graph; null after an error.
  absl::StatusOr<Graph*> Expand(const Node& node);
  Module& Scratch();
  absl::StatusOr<std::vector<Value*>> ScratchOperands(const Node& node, Builder& b, Graph* to);

  // --- Kernels that routines run on their results (lower_finish.cc) ---
  // One step for the node of a library and all nodes behind it. Unimplemented, with the reason, if
  // they need further steps.
  absl::Status LowerFinished(const Node& library, const Nodes& nodes);
  absl::StatusOr<Kernel> FinishKernel(const Node& library, const Nodes& nodes, const Value* output,
                                      const View& result, std::vector<View>* reads);

  // --- Concatenations (lower_concat.cc) ---
  void PlaceConcats(const Graph& graph);
  void PlaceOperands(const Node& concat);
  absl::StatusOr<bool> LowerConcat(const Node& node);
  // The view of operand `k` in the concatenation's result.
  View PieceOf(const Node& concat, int k, const View& result);
  // The view of a value that is computed in a concatenation.
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
  // The facts of the module and the conditions of the plan; made on first use.
  std::optional<SymbolTable> known_;
  absl::flat_hash_set<const Node*> channels_last_;
  std::vector<Nested> nested_;

  // A value that reaches operand `piece` of `concat` through views.
  struct Placement {
    const Node* concat = nullptr;
    int piece = 0;
    Nodes views;  // From the value to the operand.
  };
  absl::flat_hash_map<const Value*, Placement> placements_;
  absl::flat_hash_map<const Value*, View> reserved_;  // For concatenations.

  std::unique_ptr<Module> scratch_;
  // Constants of the scratch module that are also constants of the module.
  absl::flat_hash_map<int, int> scratch_constants_;
  int num_scratch_ = 0;
};

}  // namespace weft

#endif  // WEFT_LOWERING_GRAPH_LOWERING_H_
