// State of the import of one program: names, symbols, nodes, nested graphs.
//
// A Scope is one graph of the file and the builder of its nodes: that of `main`, of a nested graph,
// or of the graph into which it is inlined. Nested graphs in the file are isolated, as Weft's.
//
// Recursion is on nested graphs, whose depth the nesting of the JSON bounds.
#ifndef WEFT_SERIALIZE_PT2_PROGRAM_IMPORTER_H_
#define WEFT_SERIALIZE_PT2_PROGRAM_IMPORTER_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
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
  // Scope of a nested graph.
  Scope(const GraphDef* def, Builder* builder, Value** random, const Scope& outer)
      : Scope(def, builder, random) {
    autocast = outer.autocast;
    nested = true;
    prefix = outer.prefix;
  }

  const GraphDef* def;
  Builder* builder;
  // State of the random numbers in the builder's graph, if it has one.
  Value** random;
  absl::flat_hash_map<std::string, Arg> names;
  // The dtype of the enclosing autocast region; nullopt outside of them.
  std::optional<DType> autocast;
  bool nested = false;  // Its builder's graph is not `main`.
  std::string prefix;   // Prefix of the names of its nodes.
};

// Index of the state of random numbers among the inputs and outputs of a nested graph; -1: absent.
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
  // The arguments outlive the importer.
  ProgramImporter(const ExportedProgram* program, Weights* weights,
                  const Pt2ImportOptions& options);

  absl::StatusOr<std::unique_ptr<Module>> Run();

 private:
  using Regions = std::vector<std::unique_ptr<Graph>>;
  using Args = std::vector<Arg>;

  // --- Inputs and outputs of the program (program_signature.cc).
  // Counts one more input or node for the progress.
  void Advance();
  absl::Status AddInputs(Scope* scope);
  absl::Status AddUserInput(Scope* scope, const InputSpec& spec);
  absl::Status AddFixedInput(Scope* scope, const InputSpec& spec);
  absl::Status AddTensor(Scope* scope, const InputSpec& spec);
  // The input for a parameter or buffer that is written, or that is viewed by such a one; made on
  // first use.
  absl::StatusOr<Value*> InputOf(Scope* scope, const std::string& name);
  absl::StatusOr<Value*> ViewOf(Scope* scope, const std::string& name);
  absl::Status FindShared();
  // Adds the value that a decomposed program writes back to `spec.target`.
  absl::Status AddWriteBack(Scope* scope, const OutputSpec& spec, Value* value,
                            std::map<int, Value*>* written);
  absl::Status SetOutputs(Scope* scope);
  // Finds the buffers and parameters that a node, or the signature, writes.
  void FindWritten();
  // Finds the names that some node or result reads.
  void FindRead();

  // --- Symbols (program_symbols.cc).
  Builder::Options BuilderOptions() const;
  absl::Status DeclareSymbols();
  absl::Status AssumeGuards(const Graph& main);
  absl::Status AssumeGuard(const Graph& main, absl::string_view guard);
  absl::StatusOr<SymInt> ParseSize(const SizeExpr& size, bool declare);
  // Compares a value in the file with the inferred one.
  absl::Status CheckValue(Scope* scope, const std::string& name, Arg* arg);
  absl::Status CheckTensor(const Scope& scope, const std::string& name, const TensorMeta& meta,
                           Value** value);
  absl::Status CheckDim(const SizeExpr& want, SymInt* have);
  void BindSymbol(const std::string& name, SymInt value);
  std::optional<AtenCall::Layout> LayoutOf(const Scope& scope, const Argument& argument);

  // --- Nodes (program_importer.cc).
  absl::Status CheckTargets(const GraphDef& graph, std::vector<std::string>* unknown);
  // Imports the nodes of `scope->def`, whose inputs are named already.
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
  // Writes `value` to `target`; returns the value of the name after that.
  absl::StatusOr<Value*> Write(Scope* scope, const Arg& target, Value* value);
  // Clones each result that would otherwise be a view of an operand.
  void CloneViews(Scope* scope, const Args& args, Args* results);

  // --- Random numbers (program_random.cc). Each draw has a number, so that draws from one state
  // differ; loops carry the state from iteration to iteration, and `main` writes it back, so that
  // later runs differ too.
  AtenCall::Draw NextDraw(Scope* scope);
  // The state for a nested graph with `draws`; null if it has none.
  Value* StateFor(Scope* scope, bool draws);
  // Removes the state from the results and stores it in `scope`.
  static void TakeState(Scope* scope, StatePlace place, std::vector<Value*>* results);
  static Value* NextState(Builder* builder, Value* state);
  void FinishState(Scope* scope, std::map<int, Value*>* written);

  // --- Symbolic scalars (program_scalars.cc).
  absl::Status ImportScalar(Scope* scope, const NodeDef& node, bool* done);

  // --- Higher-order operators (higher_order.cc).
  absl::Status ImportHigherOrder(Scope* scope, const NodeDef& node, bool* done);
  absl::StatusOr<Args> Inline(Scope* scope, const GraphDef& graph, Args inputs,
                              std::optional<DType> autocast);
  // A nested graph with those inputs (numbers are known inside of it). Its outputs are tensors.
  absl::StatusOr<std::unique_ptr<Graph>> Region(Scope* scope, const GraphDef& graph,
                                                const Args& inputs, absl::Span<const Type> types,
                                                StatePlace state);
  absl::StatusOr<std::vector<Value*>> TensorsOf(Scope* scope, const Args& args);
  absl::Status ImportCond(Scope* scope, const NodeDef& node, const Args& args);
  absl::Status ImportWhile(Scope* scope, const NodeDef& node, const Args& args);
  absl::Status ImportScan(Scope* scope, const NodeDef& node, const Args& args);
  absl::Status ImportMap(Scope* scope, const NodeDef& node, const Args& args);
  absl::Status ImportOutDtype(Scope* scope, const NodeDef& node);
  absl::Status ImportVmap(Scope* scope, const NodeDef& node, const Args& args);

  const ExportedProgram& program_;
  Weights& weights_;
  const Pt2ImportOptions& options_;
  std::unique_ptr<Module> module_;
  absl::flat_hash_map<std::string, SymInt> symbols_;  // By the names in the file.
  std::map<std::string, RangeConstraint> ranges_;     // By symbol.
  // Names of graph inputs that are written.
  std::map<std::string, bool> written_;
  bool has_writes_ = false;                // A node writes.
  absl::flat_hash_set<std::string> read_;  // Names of values.
  // Parameters and buffers in memory that is written, by qualified name.
  std::map<std::string, SharedView> shared_;
  std::map<std::string, Value*> state_;  // Inputs made so far, by qualified name.
  Value* random_ = nullptr;              // State in `main`; null before the first draw.
  int64_t draws_ = 0;
  int64_t nodes_ = 0;
  int64_t done_ = 0;  // Inputs and nodes, for Pt2ImportOptions::progress.
};

// True if a node of the graph or of its nested graphs draws random numbers.
bool DrawsNumbers(const GraphDef& graph);

// Replaces vmap brackets around nodes by one node with a graph. Its target is kVmapTarget; its
// arguments are the graph, mapped tensors and outer tensors; results are stacked along dim 0.
inline constexpr char kVmapTarget[] = "weft.vmap";
absl::Status FoldVmaps(GraphDef* graph);

}  // namespace weft::pt2

#endif  // WEFT_SERIALIZE_PT2_PROGRAM_IMPORTER_H_
