// Prints single nodes, for messages: values by id, graphs that may be broken.
#include <string>

#include "absl/strings/str_cat.h"
#include "base/quote.h"
#include "graph/ir/builtin_ops.h"
#include "graph/ir/constant_store.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ir/op_def.h"
#include "graph/ir/op_schema.h"
#include "graph/tensor/tensor.h"
#include "graph/text/parts/text_lexer.h"
#include "graph/text/parts/text_parts.h"

namespace weft {
namespace {

// Names a value by its id, an input by its name. The graph may be broken.
std::string ValueById(const Node& node, const Value* value) {
  if (value == nullptr) return "none";
  const Graph& graph = *node.graph();
  if (!value->is_input()) return absl::StrCat("%", value->id());
  const int i = value->index();
  const bool own = i >= 0 && i < graph.num_inputs() && graph.input(i) == value;
  return own ? absl::StrCat("%", NameToString(graph.input_info(i).name))
             : absl::StrCat("%<foreign input ", i, ">");
}

std::string NodeConstant(const Node& node) {
  const ConstantStore& store = node.graph()->module().constants();
  const AttrList* attrs = node.attr_list();
  const bool valid = attrs != nullptr && attrs->size() == 1 && (*attrs)[0].Matches(AttrKind::kInt);
  const int64_t id = valid ? (*attrs)[0].symints()[0].value() : -1;
  if (id < 0 || id >= store.size()) return absl::StrCat("invalid_", id);
  const HostTensor& tensor = store.tensor(static_cast<int>(id));
  if (tensor.numel() <= kMaxInlineElements) {
    return text::LiteralToString(tensor, store.name(static_cast<int>(id)));
  }
  return absl::StrCat("@c", id);
}

}  // namespace

std::string PrintNode(const Node& node) {
  std::string out;
  for (int i = 0; i < node.num_results(); ++i) {
    absl::StrAppend(&out, i == 0 ? "" : ", ", ValueById(node, node.result(i)));
  }
  absl::StrAppend(&out, out.empty() ? "" : " = ", node.op().name(), "(");
  for (int i = 0; i < node.num_operands(); ++i) {
    absl::StrAppend(&out, i == 0 ? "" : ", ", ValueById(node, node.operand(i)));
  }
  const std::string attrs = node.Is(ops::constant)
                                ? NodeConstant(node)
                                : text::AttrsToString(node.op().schema(), node.attr_list());
  const bool comma = node.num_operands() > 0 && !attrs.empty();
  absl::StrAppend(&out, comma ? ", " : "", attrs, ")");
  for (int i = 0; i < node.num_results(); ++i) {
    absl::StrAppend(&out, i == 0 ? " : " : ", ", node.result(i)->type().ToString());
  }
  for (int i = 0; i < node.num_regions(); ++i) {
    absl::StrAppend(&out, i == 0 ? " { " : ", ",
                    i < static_cast<int>(node.op().schema().regions.size())
                        ? node.op().schema().regions[i]
                        : "region",
                    i + 1 == node.num_regions() ? " }" : "");
  }
  return out;
}

}  // namespace weft
