// Prints modules, graphs and nodes in the text form.
//
// Values are numbered in the order of their appearance in a graph; nothing that
// is printed depends on ids, on the order in which symbols were declared or on
// the order of the constant store, so that a module that was read back prints
// the same. Nested graphs are walked with a stack of our own.
#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "graph/core/text.h"
#include "graph/core/text_lexer.h"
#include "graph/core/text_reader.h"
#include "graph/core/text_symbols.h"

namespace weft {
namespace {

using text::NameToString;

constexpr size_t kMaxLine = 96;
constexpr size_t kMaxIndent = 60;

std::string LiteralToString(const HostTensor& tensor, absl::string_view name) {
  std::string out = name.empty() ? "" : absl::StrCat(Quote(name), " ");
  text::AppendDense(tensor, &out);
  return out;
}

// AttrValue::ToString, but a NaN with a payload as its bits.
std::string AttrToString(const AttrValue& value) {
  const auto float_to_string = [](double v) {
    uint64_t bits;
    std::memcpy(&bits, &v, sizeof(bits));
    constexpr uint64_t kPlainNan = 0x7ff8000000000000;
    if (v == v || bits == kPlainNan) return FloatToString(v);
    return absl::StrCat("0x", absl::Hex(bits));
  };
  if (const double* v = value.get_if<double>()) return float_to_string(*v);
  const auto* list = value.get_if<std::vector<double>>();
  if (list == nullptr) return value.ToString();
  std::string out = "[";
  for (double v : *list) {
    absl::StrAppend(&out, out.size() == 1 ? "" : ", ", float_to_string(v));
  }
  return out + "]";
}

// "dim=1, keepdim=true": the attributes that differ from their defaults.
std::string AttrsToString(const OpSchema& schema, const AttrList* attrs) {
  std::string out;
  for (int i = 0; attrs != nullptr && i < attrs->size(); ++i) {
    const AttrValue& value = (*attrs)[i];
    // A broken node may have more than its schema; the verifier shows it.
    const bool known = i < static_cast<int>(schema.attrs.size());
    const auto* spec = known ? &schema.attrs[i] : nullptr;
    if (known && spec->default_value && *spec->default_value == value) continue;
    absl::StrAppend(&out, out.empty() ? "" : ", ", known ? spec->name : "?",
                    "=", AttrToString(value));
  }
  return out;
}

class Printer {
 public:
  Printer(const Module& module, const PrintOptions& options)
      : module_(module), options_(options) {}

  void PrintFunction(const Graph& graph);
  void PrintRemainingSymbols();
  void PrintConstants();
  std::string Take() { return std::move(out_); }

 private:
  // A graph that is being printed.
  struct Frame {
    const Graph* graph;
    const Node* next;
    size_t indent;
    std::vector<uint32_t> numbers;  // Of node results, by value id.
    uint32_t count = 0;
    std::vector<std::string> names;  // Of inputs.
    const Node* owner = nullptr;     // Node whose regions are being printed...
    int region = 0;                  // ... and which is next.
  };

  void Push(const Graph& graph, size_t indent);
  void PrintBody();
  bool PrintNextRegion(Frame* frame);
  void PrintSignature(const Graph& graph, absl::string_view head,
                      size_t indent);
  std::string InputToString(const Graph& graph, int i);
  std::string OutputsToString(const Graph& graph);
  void PrintStatement(const Node* node, Frame* frame);
  void PrintReturn(const Node* node, const Frame& frame);
  void PrintOperands(const Node* node, const Frame& frame);
  void PrintValue(const Value* value, const Frame& frame);
  void PrintAttrs(const Node* node, bool first);
  void PrintResultTypes(const Node* node);
  void PrintLocation(ProvenanceId id);
  const std::string& TypeText(Type type);
  std::string ConstantToString(int id);
  std::string FactsText(const std::vector<SymInt>& symbols,
                        absl::FunctionRef<bool(SymInt)> admits);
  // Indents; deep graphs must not print as mostly spaces.
  void Line(size_t indent) {
    out_.append(2 * std::min<size_t>(indent, kMaxIndent), ' ');
  }

  const Module& module_;
  const PrintOptions& options_;
  std::string out_;
  std::vector<Frame> stack_;
  absl::flat_hash_map<Type, std::string> types_;
  absl::flat_hash_map<std::pair<const OpDef*, const AttrList*>, std::string>
      attrs_;
  absl::flat_hash_map<ProvenanceId, std::string> locations_;
  std::vector<int> large_constants_;  // In the order of their labels.
  absl::flat_hash_map<int, int> labels_;
  absl::flat_hash_set<SymInt> printed_symbols_;
  absl::flat_hash_set<SymInt> printed_conditions_;
};

const std::string& Printer::TypeText(Type type) {
  auto [it, inserted] = types_.try_emplace(type);
  if (inserted) it->second = type.ToString();
  return it->second;
}

std::string Printer::ConstantToString(int id) {
  const ConstantStore& store = module_.constants();
  if (id < 0 || id >= store.size()) return absl::StrCat("invalid_", id);
  if (store.tensor(id).numel() <= options_.max_inline_elements) {
    return LiteralToString(store.tensor(id), store.name(id));
  }
  auto [it, inserted] =
      labels_.emplace(id, static_cast<int>(large_constants_.size()));
  if (inserted) large_constants_.push_back(id);
  return absl::StrCat("@c", it->second);
}

// --- Signatures ------------------------------------------------------------

std::string Printer::InputToString(const Graph& graph, int i) {
  const InputInfo& info = graph.input_info(i);
  const Type type = graph.input(i)->type();
  std::string out =
      absl::StrCat("%", NameToString(info.name), ": ", TypeText(type));
  std::string attrs;
  if (!info.param.empty()) {
    absl::StrAppend(&attrs, "param=", Quote(info.param));
  }
  const auto append = [&](absl::string_view name, int id) {
    if (id == -1) return;
    absl::StrAppend(&attrs, attrs.empty() ? "" : ", ", name, "=",
                    ConstantToString(id));
    const bool known = id >= 0 && id < module_.constants().size();
    const Type own = known ? module_.constants().tensor(id).type() : Type();
    if (own != type) absl::StrAppend(&attrs, " : ", TypeText(own));
  };
  append("value", info.value);
  append("initial", info.initial);
  return attrs.empty() ? out : absl::StrCat(out, " {", attrs, "}");
}

std::string Printer::OutputsToString(const Graph& graph) {
  const std::vector<std::string>& names = graph.output_names();
  const int n = graph.num_outputs();
  std::string out;
  for (int i = 0; i < n; ++i) {
    if (i != 0) absl::StrAppend(&out, ", ");
    if (!names.empty()) absl::StrAppend(&out, "%", NameToString(names[i]), ": ");
    absl::StrAppend(&out, TypeText(graph.output(i)->type()));
    const int write_back = i - graph.num_own_outputs();
    if (write_back < 0) continue;
    const InputInfo& input = graph.input_info(graph.write_backs()[write_back]);
    absl::StrAppend(&out, " {writes=%", NameToString(input.name), "}");
  }
  return n == 1 && names.empty() && graph.write_backs().empty() ? out : absl::StrCat("(", out, ")");
}

// The head, inputs and outputs: on a line if they fit.
void Printer::PrintSignature(const Graph& graph, absl::string_view head,
                             size_t indent) {
  std::vector<std::string> inputs;
  size_t width = 2 * indent + head.size();
  for (int i = 0; i < graph.num_inputs(); ++i) {
    inputs.push_back(InputToString(graph, i));
    width += inputs.back().size() + 2;
  }
  const std::string outputs = OutputsToString(graph);
  const bool wrap = width + outputs.size() + 8 > kMaxLine && !inputs.empty();
  Line(indent);
  absl::StrAppend(&out_, head, "(");
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (i != 0) out_ += wrap ? "," : ", ";
    if (wrap) {
      out_ += "\n";
      Line(indent + 3);
    }
    out_ += inputs[i];
  }
  out_ += ")";
  if (wrap) {
    out_ += "\n";
    Line(indent + 2);
    absl::StrAppend(&out_, "-> ", outputs);
  } else {
    absl::StrAppend(&out_, " -> ", outputs);
  }
}

void Printer::PrintFunction(const Graph& graph) {
  PrintSignature(graph, absl::StrCat("func @", NameToString(graph.name())), 0);
  const std::vector<SymInt> symbols = text::SymbolsOf(graph);
  printed_symbols_.insert(symbols.begin(), symbols.end());
  const absl::flat_hash_set<SymInt> own(symbols.begin(), symbols.end());
  const std::string facts =
      FactsText(symbols, [&own](SymInt s) { return own.contains(s); });
  if (!facts.empty()) absl::StrAppend(&out_, "\n    where ", facts);
  out_ += " {\n";
  Push(graph, 1);
  PrintBody();
  out_ += "}\n";
}

// What is known of the symbols, and the conditions about admitted ones.
std::string Printer::FactsText(const std::vector<SymInt>& symbols,
                               absl::FunctionRef<bool(SymInt)> admits) {
  const SymbolTable& table = module_.symbols();
  const std::string facts = text::FactsToString(table, symbols);
  const std::string conditions =
      text::ConditionsToString(table, admits, &printed_conditions_);
  const bool both = !facts.empty() && !conditions.empty();
  return absl::StrCat(facts, both ? ", " : "", conditions);
}

void Printer::PrintRemainingSymbols() {
  std::vector<SymInt> symbols;
  for (const SymbolInfo& info : module_.symbols().symbols()) {
    if (!printed_symbols_.contains(info.symbol)) symbols.push_back(info.symbol);
  }
  std::sort(symbols.begin(), symbols.end(),
            [](SymInt a, SymInt b) { return Compare(a, b) < 0; });
  const std::string facts = FactsText(symbols, [](SymInt) { return true; });
  if (facts.empty()) return;
  absl::StrAppend(&out_, module_.functions().empty() ? "" : "\n", "where ",
                  facts, "\n");
}

void Printer::PrintConstants() {
  if (large_constants_.empty()) return;
  absl::StrAppend(&out_, "\nconstants {\n");
  for (size_t i = 0; i < large_constants_.size(); ++i) {
    const HostTensor& tensor = module_.constants().tensor(large_constants_[i]);
    const std::string& name = module_.constants().name(large_constants_[i]);
    absl::StrAppend(&out_, "  @c", i, name.empty() ? "" : " ",
                    name.empty() ? "" : Quote(name), " : ",
                    TypeText(tensor.type()), " = ");
    if (options_.constants) {
      absl::StrAppend(&out_, "base64\"", text::EncodeTensor(tensor), "\"\n");
    } else {
      out_ += "omitted\n";
    }
  }
  out_ += "}\n";
}

// --- Bodies ----------------------------------------------------------------

void Printer::Push(const Graph& graph, size_t indent) {
  Frame frame;
  frame.graph = &graph;
  frame.next = graph.first_node();
  frame.indent = indent;
  frame.numbers.resize(graph.value_id_limit());
  for (int i = 0; i < graph.num_inputs(); ++i) {
    frame.names.push_back(
        absl::StrCat("%", NameToString(graph.input_info(i).name)));
  }
  stack_.push_back(std::move(frame));
}

void Printer::PrintBody() {
  const size_t bottom = stack_.size() - 1;
  while (stack_.size() > bottom) {
    Frame& frame = stack_.back();
    if (frame.owner != nullptr) {
      if (!PrintNextRegion(&frame)) {
        frame.owner = nullptr;
        Line(frame.indent);
        out_ += "}\n";
      }
      continue;
    }
    const Node* node = frame.next;
    if (node == nullptr) {
      const size_t indent = frame.indent;
      stack_.pop_back();
      if (stack_.size() > bottom) {
        Line(indent - 1);
        out_ += "}\n";
      }
      continue;
    }
    frame.next = node->next();
    PrintStatement(node, &frame);
    if (node->num_regions() > 0) {
      frame.owner = node;
      frame.region = 0;
    }
  }
}

// Begins the next nested graph of the frame's node; false when there is none.
bool Printer::PrintNextRegion(Frame* frame) {
  const Node* node = frame->owner;
  if (frame->region == node->num_regions()) return false;
  const Graph& region = *node->region(frame->region);
  const std::vector<std::string>& names = node->op().schema().regions;
  std::string head = frame->region < static_cast<int>(names.size())
                         ? names[frame->region]
                         : "region";
  if (region.name() != head) {
    absl::StrAppend(&head, " @", NameToString(region.name()));
  }
  const size_t indent = frame->indent + 1;
  ++frame->region;
  PrintSignature(region, head, indent);
  out_ += " {\n";
  Push(region, indent + 1);  // Invalidates `frame`.
  return true;
}

void Printer::PrintStatement(const Node* node, Frame* frame) {
  Line(frame->indent);
  if (node->Is(ops::return_)) return PrintReturn(node, *frame);
  for (int i = 0; i < node->num_results(); ++i) {
    frame->numbers[node->result(i)->id()] = frame->count++;
    if (i != 0) out_ += ", ";
    PrintValue(node->result(i), *frame);
  }
  if (node->num_results() > 0) out_ += " = ";
  out_.append(node->op().name().data(), node->op().name().size());
  out_ += '(';
  if (node->Is(ops::constant)) {
    out_ += ConstantToString(
        static_cast<int>((*node->attr_list())[0].symints()[0].value()));
  } else {
    PrintOperands(node, *frame);
    PrintAttrs(node, node->num_operands() == 0);
  }
  out_ += ')';
  PrintResultTypes(node);
  if (options_.locations) PrintLocation(node->provenance());
  out_ += node->num_regions() > 0 ? " {\n" : "\n";
}

void Printer::PrintReturn(const Node* node, const Frame& frame) {
  out_ += node->num_operands() > 0 ? "return " : "return";
  PrintOperands(node, frame);
  out_ += '\n';
}

void Printer::PrintOperands(const Node* node, const Frame& frame) {
  for (int i = 0; i < node->num_operands(); ++i) {
    if (i != 0) out_ += ", ";
    PrintValue(node->operand(i), frame);
  }
}

void Printer::PrintValue(const Value* value, const Frame& frame) {
  if (value == nullptr) {
    out_ += "none";
  } else if (value->is_input()) {
    out_ += frame.names[value->index()];
  } else {
    out_ += '%';
    absl::StrAppend(&out_, frame.numbers[value->id()]);
  }
}

void Printer::PrintAttrs(const Node* node, bool first) {
  const AttrList* attrs = node->attr_list();
  if (attrs->size() == 0) return;
  auto [it, inserted] = attrs_.try_emplace({&node->op(), attrs});
  if (inserted) it->second = AttrsToString(node->op().schema(), attrs);
  if (it->second.empty()) return;
  if (!first) out_ += ", ";
  out_ += it->second;
}

void Printer::PrintResultTypes(const Node* node) {
  for (int i = 0; i < node->num_results(); ++i) {
    out_ += i == 0 ? " : " : ", ";
    out_ += TypeText(node->result(i)->type());
  }
}

void Printer::PrintLocation(ProvenanceId id) {
  if (id == 0) return;
  auto [it, inserted] = locations_.try_emplace(id);
  if (inserted) {
    // In order of the text, which reading it back keeps.
    std::vector<std::string> names = module_.provenance().Names(id);
    std::sort(names.begin(), names.end());
    std::string& out = it->second;
    for (const std::string& name : names) {
      absl::StrAppend(&out, out.empty() ? "  loc(" : ", ", Quote(name));
    }
    out += ")";
  }
  out_ += it->second;
}

// --- Single nodes ----------------------------------------------------------

// By id; inputs by name. The graph may be broken.
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
  const bool valid = attrs != nullptr && attrs->size() == 1 &&
                     (*attrs)[0].Matches(AttrKind::kInt);
  const int64_t id = valid ? (*attrs)[0].symints()[0].value() : -1;
  if (id < 0 || id >= store.size()) return absl::StrCat("invalid_", id);
  const HostTensor& tensor = store.tensor(static_cast<int>(id));
  if (tensor.numel() <= PrintOptions().max_inline_elements) {
    return LiteralToString(tensor, store.name(static_cast<int>(id)));
  }
  return absl::StrCat("@c", id);
}

}  // namespace

std::string PrintModule(const Module& module, const PrintOptions& options) {
  Printer printer(module, options);
  std::string out;
  for (const auto& function : module.functions()) {
    if (function != module.functions().front()) out += "\n";
    printer.PrintFunction(*function);
    out += printer.Take();
  }
  printer.PrintRemainingSymbols();
  printer.PrintConstants();
  return out + printer.Take();
}

std::string PrintGraph(const Graph& graph, const PrintOptions& options) {
  Printer printer(graph.module(), options);
  printer.PrintFunction(graph);
  printer.PrintConstants();
  return printer.Take();
}

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
                                : AttrsToString(node.op().schema(),
                                                node.attr_list());
  const bool comma = node.num_operands() > 0 && !attrs.empty();
  absl::StrAppend(&out, comma ? ", " : "", attrs, ")");
  for (int i = 0; i < node.num_results(); ++i) {
    absl::StrAppend(&out, i == 0 ? " : " : ", ",
                    node.result(i)->type().ToString());
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
