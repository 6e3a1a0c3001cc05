// The texts of one node in pictures, as numbers of strings.
#ifndef WEFT_SERIALIZE_HTML_NODE_TEXT_H_
#define WEFT_SERIALIZE_HTML_NODE_TEXT_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "graph/ir/graph.h"
#include "graph/ir/node.h"
#include "serialize/html/string_table.h"

namespace weft {

class AttrList;
class OpDef;

// The attributes of a node that differ from their defaults, one per line as "name=value"; for a
// small constant, its values.
std::string AttrLines(const Node& node);
// The properties of an input other than its name and type, in the same format.
std::string InputLines(const Graph& graph, int input);

// Caches the texts of ops, types and attributes, which are interned values.
class NodeText {
 public:
  // Adds texts to `strings`, and the names of ops whose results are views of their operands to
  // `view_ops`.
  NodeText(StringTable* strings, std::vector<int>* view_ops)
      : strings_(strings), view_ops_(view_ops) {}

  // Fills in op, name, types and attrs.
  template <typename Row>
  void FillNode(const Node& node, Row* row) {
    row->op = Op(node.op());
    row->name = Name(node);
    row->types = Types(node);
    row->attrs = AttrsOf(node);
  }
  template <typename Row>
  void FillInput(const Graph& graph, int input, Row* row) {
    row->op = strings_->Add("input");
    row->name = strings_->Add(graph.input_info(input).name);
    row->types = TypeOf(graph.input(input)->type());
    const std::string lines = InputLines(graph, input);
    row->attrs = lines.empty() ? -1 : strings_->Add(lines);
  }
  // True for an input that stands for a parameter of the model.
  static bool IsParameter(const Graph& graph, int input) {
    return !graph.input_info(input).param.empty();
  }

 private:
  int Op(const OpDef& op);
  int Name(const Node& node);
  int TypeOf(Type type);
  int Types(const Node& node);
  int AttrsOf(const Node& node);

  StringTable* strings_;
  std::vector<int>* view_ops_;
  absl::flat_hash_map<const OpDef*, int> ops_;
  absl::flat_hash_map<Type, int> types_;
  absl::flat_hash_map<std::pair<const OpDef*, const AttrList*>, int> attrs_;
};

}  // namespace weft

#endif  // WEFT_SERIALIZE_HTML_NODE_TEXT_H_
