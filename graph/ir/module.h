// Modules: functions, their constants, and facts about their symbols and nodes.
#ifndef WEFT_GRAPH_IR_MODULE_H_
#define WEFT_GRAPH_IR_MODULE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace weft {

class ConstantStore;
class Graph;
class OpRegistry;
class OriginTable;
class ProvenanceTable;
class SymbolTable;

class Module {
 public:
  // `registry` outlives the module.
  explicit Module(const OpRegistry& registry);
  ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  const OpRegistry& registry() const { return *registry_; }
  // The name must be free.
  Graph* AddFunction(absl::string_view name);
  Graph* FindFunction(absl::string_view name) const;
  // The functions in the order of their creation. Executors run `main`.
  const std::vector<std::unique_ptr<Graph>>& functions() const { return functions_; }
  Graph* main() const { return FindFunction("main"); }

  ConstantStore& constants() { return *constants_; }
  const ConstantStore& constants() const { return *constants_; }
  SymbolTable& symbols() { return *symbols_; }
  const SymbolTable& symbols() const { return *symbols_; }
  ProvenanceTable& provenance() { return *provenance_; }
  const ProvenanceTable& provenance() const { return *provenance_; }
  OriginTable& origins() { return *origins_; }
  const OriginTable& origins() const { return *origins_; }

  // All graphs, nested ones included, outer before inner; iterative.
  std::vector<Graph*> AllGraphs() const;
  // Number of nodes of all graphs.
  int64_t num_nodes() const;
  // True if a node of any graph writes an operand. Passes must then not assume that an operand
  // still has the value it was made with: folding, merging and moving nodes is not allowed until
  // `functionalize` has removed the writes.
  bool HasWrites() const;
  // A deep copy that keeps the order of ids and shares the constants.
  std::unique_ptr<Module> Clone() const;

 private:
  const OpRegistry* registry_;
  std::vector<std::unique_ptr<Graph>> functions_;
  std::unique_ptr<ConstantStore> constants_;
  std::unique_ptr<SymbolTable> symbols_;
  std::unique_ptr<ProvenanceTable> provenance_;
  std::unique_ptr<OriginTable> origins_;
};

// InvalidArgument for a module without main().
absl::Status CheckHasMain(const Module& module);

}  // namespace weft

#endif  // WEFT_GRAPH_IR_MODULE_H_
