// Prints the bodies of functions, node by node.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/quote.h"
#include "graph/ir/annotations.h"
#include "graph/ir/builtin_ops.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ir/op_def.h"
#include "graph/ir/op_schema.h"
#include "graph/ir/provenance.h"
#include "graph/text/parts/text_lexer.h"
#include "graph/text/parts/text_parts.h"
#include "graph/text/text.h"
#include "graph/text/text_content.h"
#include "graph/text/text_module_printer.h"

namespace weft {
namespace text {

void ModulePrinter::Push(const Graph& graph, size_t indent) {
  Frame frame;
  frame.graph = &graph;
  frame.next = graph.first_node();
  frame.indent = indent;
  frame.numbers.resize(graph.value_id_limit());
  for (int i = 0; i < graph.num_inputs(); ++i) {
    frame.names.push_back(absl::StrCat("%", NameToString(graph.input_info(i).name)));
  }
  stack_.push_back(std::move(frame));
}

void ModulePrinter::PrintBody() {
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

// Begins the next nested graph of the frame's node; false if there is none left.
bool ModulePrinter::PrintNextRegion(Frame* frame) {
  const Node* node = frame->owner;
  if (frame->region == node->num_regions()) return false;
  const Graph& region = *node->region(frame->region);
  const std::vector<std::string>& names = node->op().schema().regions;
  std::string head =
      frame->region < static_cast<int>(names.size()) ? names[frame->region] : "region";
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

void ModulePrinter::PrintStatement(const Node* node, Frame* frame) {
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
    out_ += ConstantToString(static_cast<int>((*node->attr_list())[0].symints()[0].value()));
  } else {
    PrintOperands(node, *frame);
    PrintAttrs(node, node->num_operands() == 0);
  }
  out_ += ')';
  PrintResultTypes(node);
  if (options_.locations) PrintLocation(node->provenance());
  PrintNotes(node);
  out_ += node->num_regions() > 0 ? " {\n" : "\n";
}

void ModulePrinter::PrintReturn(const Node* node, const Frame& frame) {
  out_ += node->num_operands() > 0 ? "return " : "return";
  PrintOperands(node, frame);
  PrintNotes(node);
  out_ += '\n';
}

void ModulePrinter::PrintOperands(const Node* node, const Frame& frame) {
  for (int i = 0; i < node->num_operands(); ++i) {
    if (i != 0) out_ += ", ";
    PrintValue(node->operand(i), frame);
  }
}

void ModulePrinter::PrintValue(const Value* value, const Frame& frame) {
  if (value == nullptr) {
    out_ += "none";
  } else if (value->is_input()) {
    out_ += frame.names[value->index()];
  } else {
    out_ += '%';
    absl::StrAppend(&out_, frame.numbers[value->id()]);
  }
}

void ModulePrinter::PrintAttrs(const Node* node, bool first) {
  const AttrList* attrs = node->attr_list();
  if (attrs->size() == 0) return;
  auto [it, inserted] = attrs_.try_emplace({&node->op(), attrs});
  if (inserted) it->second = AttrsToString(node->op().schema(), attrs);
  if (it->second.empty()) return;
  if (!first) out_ += ", ";
  out_ += it->second;
}

void ModulePrinter::PrintResultTypes(const Node* node) {
  for (int i = 0; i < node->num_results(); ++i) {
    out_ += i == 0 ? " : " : ", ";
    out_ += TypeText(node->result(i)->type());
  }
}

void ModulePrinter::PrintLocation(ProvenanceId id) {
  if (id == 0) return;
  auto [it, inserted] = locations_.try_emplace(id);
  if (inserted) {
    // Sorted by text, which is the order that reading the text back keeps.
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

// The first result goes without saying.
void ModulePrinter::PrintNotes(const Node* node) {
  if (!HasNotes(*node->graph())) return;
  const char* separator = "  note(";
  const auto append = [&](const std::vector<Note>& notes, absl::string_view place) {
    for (const Note& note : notes) {
      absl::StrAppend(&out_, separator, place, note.key, "=", Quote(note.text));
      separator = ", ";
    }
  };
  for (int i = 0; i < node->num_results(); ++i) {
    append(NotesOf(node->result(i)), i == 0 ? "" : absl::StrCat("result ", i, " "));
  }
  for (int i = 0; i < node->num_operands(); ++i) {
    append(NotesOf(node, i), absl::StrCat("operand ", i, " "));
  }
  if (separator[0] == ',') out_ += ')';
}

std::string ModulePrinter::Print() {
  std::string out;
  for (const auto& function : module_.functions()) {
    if (function != module_.functions().front()) out += "\n";
    PrintFunction(*function);
    out += Take();
  }
  PrintRemainingSymbols();
  PrintConstants();
  return out + Take();
}

}  // namespace text

std::string PrintModule(const Module& module, const PrintOptions& options) {
  return text::ModulePrinter(module, options).Print();
}

ContentText PrintModuleByContent(const Module& module, const PrintOptions& options) {
  text::ModulePrinter printer(module, options);
  ContentText result;
  printer.set_by_content(&result.constants);
  result.text = printer.Print();
  return result;
}

std::string PrintGraph(const Graph& graph, const PrintOptions& options) {
  text::ModulePrinter printer(graph.module(), options);
  printer.PrintFunction(graph);
  printer.PrintConstants();
  return printer.Take();
}

}  // namespace weft
