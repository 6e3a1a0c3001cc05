// A module as data for pictures, at several points in time.
//
// Every node, graph input and return has a key, the same in all snapshots, and a row for each of
// its versions. A snapshot is stored as the changes since the one before it, so a pipeline of N
// passes costs the graph once plus the changes of N passes. All text is stored as numbers in one
// table of strings.
//
// This file does not depend on passes: their data is passed in as plain values.
#ifndef WEFT_SERIALIZE_HTML_MODULE_VIEW_H_
#define WEFT_SERIALIZE_HTML_MODULE_VIEW_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "serialize/html/run_view.h"
#include "serialize/html/scopes.h"
#include "serialize/html/string_table.h"

namespace weft {

class Module;
class ViewCollector;

struct ModuleView {
  // All int fields are indices in `strings` unless another table is named; -1: none.
  struct GraphRow {
    int name = -1;
    int owner = -1;   // Key of the node that owns it; -1: a function.
    int region = -1;  // Name of the region in the owner, such as "body".
  };
  struct Key {
    int graph = -1;  // In `graphs`.
    // The node's id; for graph inputs, -1 - the value's id.
    int64_t local = 0;
  };
  struct Edge {
    int key = -1;  // Key of the node or input that defines the value; -1: an absent operand.
    int result = 0;
    bool is_symbol = false;  // An edge that only orders: to the definition of a symbol.
    bool operator==(const Edge& o) const {
      return key == o.key && result == o.result && is_symbol == o.is_symbol;
    }
  };
  struct Row {
    int key = -1;
    int op = -1;       // "input" for graph inputs.
    int name = -1;     // Name of an input or constant.
    int types = -1;    // Types of the results, separated by ", ".
    int attrs = -1;    // Lines "name=value".
    int sources = -1;  // In `source_lists`.
    int scope = 0;     // In `scopes`.
    int story = -1;    // In `stories`.
    std::vector<Edge> edges;
    bool operator==(const Row& o) const;
  };
  struct Placement {
    int row = -1;  // In `rows`.
    // The key after which it is placed; kFirst: first in its graph; kStays: unchanged.
    int after = kStays;
  };
  static constexpr int kFirst = -1;
  static constexpr int kStays = -2;
  struct Snapshot {
    std::string path;               // "fixpoint.2.cse"; "import" for the first.
    std::string text;               // The pass with its options.
    double microseconds = 0;        // Time of the pass; 0: unknown.
    std::vector<int> removed;       // Keys.
    std::vector<Placement> placed;  // In the order of graphs and nodes.
  };
  // One change in the history of a node, as OriginTable::Step.
  struct Change {
    int pass = -1;
    int rule = -1;
    int64_t rewrite = 0;
    int op = -1;
    int64_t node = 0;
  };
  struct Remark {
    int snapshot = 0;
    int path = -1;  // Path of the pass.
    int kind = -1;
    int rule = -1;
    int text = -1;
    int sources = -1;
    std::vector<int> keys;
  };
  struct Kernel {
    KernelTime time;
    int sources = -1;
  };
  struct Step {
    PlanStep step;
    int sources = -1;
    int key = -1;  // Key of its node.
  };

  std::string title;
  StringTable strings;
  ScopeTree scopes{&strings};
  std::vector<int> view_ops;  // Names of ops whose results are views of their operands.
  std::vector<GraphRow> graphs;
  std::vector<Key> keys;
  std::vector<Row> rows;
  std::vector<Snapshot> snapshots;
  std::vector<std::vector<int>> source_lists;  // The last element is -1 if there are more.
  std::vector<Change> changes;
  std::vector<std::vector<int>> stories;  // Lists of changes, the latest first.
  std::vector<Remark> remarks;
  int64_t remarks_left_out = 0;
  // The contents of a trace and a plan (run_view.h).
  std::vector<Kernel> kernels;
  int64_t runs = 1;
  Timeline timeline;
  std::vector<Step> steps;
  std::vector<PlanKernel> plan_kernels;
  std::string plan_sizes;
  // Whether the times of kernels are shares of noise in the signal, of layers: AddError().
  bool shows_errors = false;

  // The rows of snapshot `i`: for each graph, by number, the rows of its nodes in order; empty for
  // graphs that it does not have.
  std::vector<std::vector<int>> RowsAt(int i) const;
};

// Takes snapshots of one module while passes change it.
class ModuleViewBuilder {
 public:
  explicit ModuleViewBuilder(std::string title);
  ~ModuleViewBuilder();

  // Adds the first snapshot, and one after each pass, which took `microseconds`, or 0 if that is
  // unknown. ResourceExhausted for more than kMaxRows versions of nodes.
  absl::Status AddSnapshot(const Module& module, absl::string_view path, absl::string_view text,
                           double microseconds = 0);
  static constexpr size_t kMaxRows = 2'000'000;

  // A remark of the last pass, which made the last snapshot or changed nothing. Remarks past
  // kMaxRemarks are only counted.
  struct RemarkText {
    absl::string_view path, kind, rule, text;
    absl::string_view function;  // The function whose node ids the remark has.
    std::vector<int64_t> nodes;
    std::vector<std::string> sources;
  };
  void AddRemark(const RemarkText& remark);
  static constexpr size_t kMaxRemarks = 200'000;

  // Adds the kernels of a trace and its timeline.
  void AddTrace(const TraceView& trace);

  // Adds the plan of the module in the last snapshot. Steps for graphs that the snapshot does not
  // have stand for no nodes.
  void AddPlan(const PlanView& plan);

  // What a comparison says of one layer: noise over signal, both squared and summed. Takes the
  // place of kernels, whose times the picture shows otherwise.
  void AddError(absl::string_view name, double noise, const std::vector<std::string>& sources);

  const ModuleView& view() const { return view_; }

 private:
  ModuleView view_;
  std::unique_ptr<ViewCollector> collector_;
};

}  // namespace weft

#endif  // WEFT_SERIALIZE_HTML_MODULE_VIEW_H_
