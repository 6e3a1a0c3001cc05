// One program being imported: names, symbols, nodes, nested graphs.
//
// A Scope is one graph of the file and the builder that takes its nodes: that of
// `main`, of a nested graph, or of the graph around one whose nodes are put in
// place. Nested graphs of the file see nothing but their inputs, as Weft's.
//
// Recursion is on graphs within graphs, which the nesting of the JSON bounds.
#ifndef WEFT_SERIALIZE_PT2_PROGRAM_IMPORTER_H_
#define WEFT_SERIALIZE_PT2_PROGRAM_IMPORTER_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/ir/module.h"
#include "serialize/pt2/aten/tables.h"
#include "serialize/pt2/exported_program.h"
#include "serialize/pt2/pt2.h"
#include "serialize/pt2/shared_storage.h"
#include "serialize/pt2/weights.h"

namespace weft {
class Graph;
class Value;
}  // namespace weft

namespace weft::pt2 {

struct Scope {
  Scope(const GraphDef* def, Builder* builder, Value** random)
      : def(def), builder(builder), random(random) {}
  // Of a nested graph.
  Scope(const GraphDef* def, Builder* builder, Value** random, const Scope& outer)
      : Scope(def, builder, random) {
    autocast = outer.autocast;
    nested = true;
    prefix = outer.prefix;
  }

  const GraphDef* def;
  Builder* builder;
  // The state of the random numbers in the builder's graph, where it has one.
  Value** random;
  absl::flat_hash_map<std::string, Arg> names;
  // Of the type that autocast computes in; nothing outside of its regions.
  std::optional<DType> autocast;
  bool nested = false;  // Its builder's graph is not `main`.
  std::string prefix;   // Of the names of its nodes.
};

// Where the state of random numbers stands among the inputs and the outputs of a
// nested graph; -1: nowhere.
struct StatePlace {
  int input = -1;
  int output = -1;
};
inline constexpr char kStateName[] = "random_state";
Type StateType();

// "node 'add_1' (torch.ops.aten.add.Tensor)".
std::string DescribeNode(const NodeDef& node);

class ProgramImporter {
 public:
  // All outlive the importer.
  ProgramImporter(const ExportedProgram* program, Weights* weights,
                  const Pt2ImportOptions& options);

  absl::StatusOr<std::unique_ptr<Module>> Run();

 private:
  using Regions = std::vector<std::unique_ptr<Graph>>;
  using Args = std::vector<Arg>;

  // --- Inputs and outputs of the program (program_signature.cc).
  // One more input or node is there.
  void Advance();
  absl::Status AddInputs(Scope* scope);
  absl::Status AddUserInput(Scope* scope, const InputSpec& spec);
  absl::Status AddFixedInput(Scope* scope, const InputSpec& spec);
  absl::Status AddTensor(Scope* scope, const InputSpec& spec);
  // The input for a parameter or buffer that is written, or for one that others
  // are views of; made when it is first asked for.
  absl::StatusOr<Value*> InputOf(Scope* scope, const std::string& name);
  absl::StatusOr<Value*> ViewOf(Scope* scope, const std::string& name);
  absl::Status FindShared();
  // What a decomposed program writes back to `spec.target`.
  absl::Status AddWriteBack(Scope* scope, const OutputSpec& spec, Value* value,
                            std::map<int, Value*>* written);
  absl::Status SetOutputs(Scope* scope);
  // Buffers and parameters that some node, or the signature, writes.
  void FindWritten();

  // --- Symbols (program_symbols.cc).
  Builder::Options BuilderOptions() const;
  absl::Status DeclareSymbols();
  absl::Status AssumeGuards(const Graph& main);
  absl::Status AssumeGuard(const Graph& main, absl::string_view guard);
  absl::StatusOr<SymInt> ParseSize(const SizeExpr& size, bool declare);
  // What the file says of a value against what was inferred.
  absl::Status CheckValue(Scope* scope, const std::string& name, Arg* arg);
  absl::Status CheckTensor(const Scope& scope, const std::string& name, const TensorMeta& meta,
                           Value** value);
  absl::Status CheckDim(const SizeExpr& want, SymInt* have);
  void BindSymbol(const std::string& name, SymInt value);
  std::optional<AtenCall::Layout> LayoutOf(const Scope& scope, const Argument& argument);

  // --- Nodes (program_importer.cc).
  absl::Status CheckTargets(const GraphDef& graph, std::vector<std::string>* unknown);
  // The nodes of `scope->def`; its inputs are named already.
  absl::Status ImportBody(Scope* scope);
  absl::Status ImportNode(Scope* scope, const NodeDef& node);
  absl::Status ImportAten(Scope* scope, const NodeDef& node, const KnownOp& op);
  absl::Status ImportWritten(Scope* scope, const NodeDef& node, const KnownOp& op);
  absl::StatusOr<Args> PlaceArguments(Scope* scope, const NodeDef& node, const AtenSchema& schema);
  void Rename(Scope* scope, const NodeDef& node, const AtenSchema& schema, const Arg& value);
  void ApplyAutocast(Scope* scope, absl::string_view target, Args* args);
  absl::Status SetResults(Scope* scope, const NodeDef& node, Args results);
  absl::Status Define(Scope* scope, const Argument& output, Arg value);
  absl::StatusOr<Arg> Resolve(Scope* scope, const Argument& argument);
  absl::StatusOr<Args> ResolveAll(Scope* scope, const std::vector<Argument>& arguments);
  // `value` written over `target`; returns what stands for it from then on.
  absl::StatusOr<Value*> Write(Scope* scope, const Arg& target, Value* value);
  // A clone of each result that would otherwise be a view of an operand.
  void CloneViews(Scope* scope, const Args& args, Args* results);

  // --- Random numbers (program_random.cc). Each draw has a number of its own, so
  // that those from one state differ; loops carry the state on from step to step
  // and `main` writes it back, so that later ones differ, too.
  AtenCall::Draw NextDraw(Scope* scope);
  // The state for a nested graph of `draws`; null where there are none.
  Value* StateFor(Scope* scope, bool draws);
  // Results without the state, which goes on in `scope`.
  static void TakeState(Scope* scope, StatePlace place, std::vector<Value*>* results);
  static Value* NextState(Builder* builder, Value* state);
  void FinishState(Scope* scope, std::map<int, Value*>* written);

  // --- Symbolic scalars (program_scalars.cc).
  absl::Status ImportScalar(Scope* scope, const NodeDef& node, bool* done);

  // --- Operators of higher order (higher_order.cc).
  absl::Status ImportHigherOrder(Scope* scope, const NodeDef& node, bool* done);
  absl::StatusOr<Args> Inline(Scope* scope, const GraphDef& graph, Args inputs,
                              std::optional<DType> autocast);
  // A nested graph of those inputs (numbers are known in it as they are). The
  // outputs are tensors.
  absl::StatusOr<std::unique_ptr<Graph>> Region(Scope* scope, const GraphDef& graph,
                                                const Args& inputs, absl::Span<const Type> types,
                                                StatePlace state);
  absl::StatusOr<std::vector<Value*>> TensorsOf(Scope* scope, const Args& args);
  absl::Status ImportCond(Scope* scope, const NodeDef& node, const Args& args);
  absl::Status ImportWhile(Scope* scope, const NodeDef& node, const Args& args);
  absl::Status ImportScan(Scope* scope, const NodeDef& node, const Args& args);
  absl::Status ImportMap(Scope* scope, const NodeDef& node, const Args& args);
  absl::Status ImportVmap(Scope* scope, const NodeDef& node, const Args& args);

  const ExportedProgram& program_;
  Weights& weights_;
  const Pt2ImportOptions& options_;
  std::unique_ptr<Module> module_;
  absl::flat_hash_map<std::string, SymInt> symbols_;  // By the file's names.
  std::map<std::string, RangeConstraint> ranges_;     // By symbol.
  // Names of graph inputs that are written.
  std::map<std::string, bool> written_;
  bool has_writes_ = false;  // Some node writes.
  // Parameters and buffers over memory that is written, by qualified name.
  std::map<std::string, SharedView> shared_;
  std::map<std::string, Value*> state_;  // Inputs made, by qualified name.
  Value* random_ = nullptr;              // The state in `main`; null before the first draw.
  int64_t draws_ = 0;
  int64_t nodes_ = 0;
  int64_t done_ = 0;  // Of inputs and nodes, for Pt2ImportOptions::progress.
};

// Whether some node of the graph, or of one nested in it, draws random numbers.
bool DrawsNumbers(const GraphDef& graph);

// Brackets of vmap around nodes become one node with a graph, whose target is
// kVmapTarget and whose arguments are the graph, then mapped tensors, then
// tensors from outside; results are stacked along dim 0.
inline constexpr char kVmapTarget[] = "weft.vmap";
absl::Status FoldVmaps(GraphDef* graph);

}  // namespace weft::pt2

#endif  // WEFT_SERIALIZE_PT2_PROGRAM_IMPORTER_H_
