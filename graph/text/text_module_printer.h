// The printer of modules; text.h has its interface.
//
// Values are numbered in the order of their appearance in a graph. The text does not depend on ids,
// on the order in which symbols were declared or on the order of the constant store, so that a
// module prints the same after it is read back. Nested graphs are walked with an explicit stack.
#ifndef WEFT_GRAPH_TEXT_TEXT_MODULE_PRINTER_H_
#define WEFT_GRAPH_TEXT_TEXT_MODULE_PRINTER_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "graph/ir/ids.h"
#include "graph/text/text.h"
#include "graph/text/text_content.h"

namespace weft {
class AttrList;
class Graph;
class Module;
class Node;
class OpDef;
class Value;
}  // namespace weft

namespace weft::text {

class ModulePrinter {
 public:
  ModulePrinter(const Module& module, const PrintOptions& options)
      : module_(module), options_(options) {}

  // Writes ids in place of the data of large constants, which are listed in `constants`.
  void set_by_content(std::vector<ContentText::Constant>* constants) { by_content_ = constants; }
  // The whole module.
  std::string Print();

  void PrintFunction(const Graph& graph);
  void PrintRemainingSymbols();
  void PrintConstants();
  std::string Take() { return std::move(out_); }

 private:
  static constexpr size_t kMaxIndent = 60;

  // A graph that is being printed.
  struct Frame {
    const Graph* graph;
    const Node* next;
    size_t indent;
    std::vector<uint32_t> numbers;  // Numbers of node results, by value id.
    uint32_t count = 0;
    std::vector<std::string> names;  // Names of the inputs.
    const Node* owner = nullptr;     // Node whose regions are being printed...
    int region = 0;                  // ... and the region that is printed next.
  };

  void Push(const Graph& graph, size_t indent);
  void PrintBody();
  bool PrintNextRegion(Frame* frame);
  void PrintSignature(const Graph& graph, absl::string_view head, size_t indent);
  std::string InputToString(const Graph& graph, int i);
  std::string OutputsToString(const Graph& graph);
  void PrintStatement(const Node* node, Frame* frame);
  void PrintReturn(const Node* node, const Frame& frame);
  void PrintOperands(const Node* node, const Frame& frame);
  void PrintValue(const Value* value, const Frame& frame);
  void PrintAttrs(const Node* node, bool first);
  void PrintResultTypes(const Node* node);
  void PrintLocation(ProvenanceId id);
  void PrintNotes(const Node* node);
  const std::string& TypeText(Type type);
  std::string ConstantToString(int id);
  std::string FactsText(const std::vector<SymInt>& symbols, absl::FunctionRef<bool(SymInt)> admits);
  // Writes the indent, which is limited so that deep graphs are not mostly spaces.
  void Line(size_t indent) { out_.append(2 * std::min<size_t>(indent, kMaxIndent), ' '); }

  const Module& module_;
  const PrintOptions& options_;
  std::vector<ContentText::Constant>* by_content_ = nullptr;
  std::string out_;
  std::vector<Frame> stack_;
  absl::flat_hash_map<Type, std::string> types_;
  absl::flat_hash_map<std::pair<const OpDef*, const AttrList*>, std::string> attrs_;
  absl::flat_hash_map<ProvenanceId, std::string> locations_;
  std::vector<int> large_constants_;  // In the order of their labels.
  absl::flat_hash_map<int, int> labels_;
  absl::flat_hash_set<SymInt> printed_symbols_;
  absl::flat_hash_set<SymInt> printed_conditions_;
};

}  // namespace weft::text

#endif  // WEFT_GRAPH_TEXT_TEXT_MODULE_PRINTER_H_
