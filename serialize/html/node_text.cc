#include "serialize/html/node_text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/quote.h"
#include "graph/ir/builtin_ops.h"
#include "graph/ir/constant_store.h"
#include "graph/ir/module.h"
#include "graph/ir/node_view.h"
#include "graph/ir/op_def.h"
#include "graph/ir/op_schema.h"
#include "graph/tensor/tensor.h"

namespace weft {
namespace {

constexpr int64_t kMaxElements = 8;

std::string Elements(const HostTensor& tensor) {
  if (IsFloat(tensor.dtype())) {
    std::vector<std::string> texts;
    for (double v : tensor.ReadDoubles()) {
      texts.push_back(tensor.dtype() == DType::kF64 ? FloatToString(v)
                                                    : FloatToString(static_cast<float>(v)));
    }
    return absl::StrJoin(texts, ", ");
  }
  return absl::StrJoin(tensor.ReadInts(), ", ");
}

void AddLine(absl::string_view name, absl::string_view value, std::string* lines) {
  absl::StrAppend(lines, lines->empty() ? "" : "\n", name, "=", value);
}

std::string ConstantLines(const Node& node, const HostTensor& literal) {
  std::string lines;
  if (literal.numel() <= kMaxElements && !IsComplex(literal.dtype())) {
    AddLine("value", absl::StrCat("[", Elements(literal), "]"), &lines);
  } else {
    AddLine("bytes", absl::StrCat(literal.bytes()), &lines);
  }
  const int id = ops::ConstantView(node).id();
  if (node.graph()->module().constants().derived(static_cast<int>(id))) {
    AddLine("computed", "by passes from other constants", &lines);
  }
  return lines;
}

}  // namespace

std::string AttrLines(const Node& node) {
  if (node.num_results() == 1) {
    if (const HostTensor* literal = LiteralOf(node.result())) return ConstantLines(node, *literal);
  }
  std::string lines;
  const auto& specs = node.op().schema().attrs;
  for (size_t i = 0; i < specs.size(); ++i) {
    const AttrValue& value = (*node.attr_list())[static_cast<int>(i)];
    if (specs[i].default_value && *specs[i].default_value == value) continue;
    if (value.present()) AddLine(specs[i].name, value.ToString(), &lines);
  }
  return lines;
}

std::string InputLines(const Graph& graph, int input) {
  const InputInfo& info = graph.input_info(input);
  std::string lines;
  if (!info.param.empty()) AddLine("param", Quote(info.param), &lines);
  if (info.initial >= 0) AddLine("initial", "kept in the file", &lines);
  if (info.value >= 0) AddLine("value", "fixed by the program", &lines);
  return lines;
}

int NodeText::Op(const OpDef& op) {
  auto [it, inserted] = ops_.emplace(&op, -1);
  if (!inserted) return it->second;
  it->second = strings_->Add(op.name());
  if (op.schema().views && !op.schema().writes) view_ops_->push_back(it->second);
  return it->second;
}

int NodeText::Name(const Node& node) {
  if (!node.Is(ops::constant)) return -1;
  const auto& constants = node.graph()->module().constants();
  const std::string& name = constants.name(ops::ConstantView(node).id());
  return name.empty() ? -1 : strings_->Add(name);
}

int NodeText::TypeOf(Type type) {
  auto [it, inserted] = types_.emplace(type, -1);
  if (inserted) it->second = strings_->Add(type.ToString());
  return it->second;
}

int NodeText::Types(const Node& node) {
  if (node.num_results() == 0) return -1;
  if (node.num_results() == 1) return TypeOf(node.result()->type());
  std::string text;
  for (int i = 0; i < node.num_results(); ++i) {
    absl::StrAppend(&text, i == 0 ? "" : ", ", node.result(i)->type().ToString());
  }
  return strings_->Add(text);
}

int NodeText::AttrsOf(const Node& node) {
  if (node.Is(ops::constant)) {
    // The number in its attributes means another tensor once constants are renumbered.
    const std::string lines = AttrLines(node);
    return lines.empty() ? -1 : strings_->Add(lines);
  }
  auto [it, inserted] = attrs_.emplace(std::make_pair(&node.op(), node.attr_list()), -1);
  if (inserted) {
    const std::string lines = AttrLines(node);
    if (!lines.empty()) it->second = strings_->Add(lines);
  }
  return it->second;
}

}  // namespace weft
