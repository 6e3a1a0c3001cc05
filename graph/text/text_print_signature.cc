// Prints everything around the bodies: signatures, facts, constants.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/quote.h"
#include "graph/ir/annotations.h"
#include "graph/ir/constant_store.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/value.h"
#include "graph/sym/sym_expr.h"
#include "graph/sym/sym_facts.h"
#include "graph/tensor/tensor.h"
#include "graph/text/parts/text_facts.h"
#include "graph/text/parts/text_lexer.h"
#include "graph/text/parts/text_parts.h"
#include "graph/text/parts/text_reader.h"
#include "graph/text/text_module_printer.h"
#include "graph/text/text_symbols.h"

namespace weft::text {
namespace {

constexpr size_t kMaxLine = 96;

}  // namespace

const std::string& ModulePrinter::TypeText(Type type) {
  auto [it, inserted] = types_.try_emplace(type);
  if (inserted) it->second = type.ToString();
  return it->second;
}

std::string ModulePrinter::ConstantToString(int id) {
  const ConstantStore& store = module_.constants();
  if (id < 0 || id >= store.size()) return absl::StrCat("invalid_", id);
  if (store.tensor(id).numel() <= options_.max_inline_elements) {
    return LiteralToString(store.tensor(id), store.name(id));
  }
  auto [it, inserted] = labels_.emplace(id, static_cast<int>(large_constants_.size()));
  if (inserted) large_constants_.push_back(id);
  return absl::StrCat("@c", it->second);
}

std::string ModulePrinter::InputToString(const Graph& graph, int i) {
  const InputInfo& info = graph.input_info(i);
  const Type type = graph.input(i)->type();
  std::string out = absl::StrCat("%", NameToString(info.name), ": ", TypeText(type));
  std::string attrs;
  if (!info.param.empty()) {
    absl::StrAppend(&attrs, "param=", Quote(info.param));
  }
  const auto append = [&](absl::string_view name, int id) {
    if (id == -1) return;
    absl::StrAppend(&attrs, attrs.empty() ? "" : ", ", name, "=", ConstantToString(id));
    const bool known = id >= 0 && id < module_.constants().size();
    const Type own = known ? module_.constants().tensor(id).type() : Type();
    if (own != type) absl::StrAppend(&attrs, " : ", TypeText(own));
  };
  append("value", info.value);
  append("initial", info.initial);
  const std::vector<Note> notes = NotesOf(graph.input(i));
  for (const Note& note : notes) {
    const bool first = &note == &notes.front();
    absl::StrAppend(&attrs, attrs.empty() ? "" : ", ", first ? "note(" : "", note.key, "=",
                    Quote(note.text));
  }
  if (!notes.empty()) attrs += ")";
  return attrs.empty() ? out : absl::StrCat(out, " {", attrs, "}");
}

std::string ModulePrinter::OutputsToString(const Graph& graph) {
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

// Prints the head, inputs and outputs, on one line if they fit.
void ModulePrinter::PrintSignature(const Graph& graph, absl::string_view head, size_t indent) {
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

void ModulePrinter::PrintFunction(const Graph& graph) {
  PrintSignature(graph, absl::StrCat("func @", NameToString(graph.name())), 0);
  const std::vector<SymInt> symbols = SymbolsOf(graph);
  printed_symbols_.insert(symbols.begin(), symbols.end());
  const absl::flat_hash_set<SymInt> own(symbols.begin(), symbols.end());
  const std::string facts = FactsText(symbols, [&own](SymInt s) { return own.contains(s); });
  if (!facts.empty()) absl::StrAppend(&out_, "\n    where ", facts);
  out_ += " {\n";
  Push(graph, 1);
  PrintBody();
  out_ += "}\n";
}

// The facts about the symbols, and the conditions whose symbols are admitted.
std::string ModulePrinter::FactsText(const std::vector<SymInt>& symbols,
                                     absl::FunctionRef<bool(SymInt)> admits) {
  const SymbolTable& table = module_.symbols();
  const std::string facts = FactsToString(table, symbols);
  const std::string conditions = ConditionsToString(table, admits, &printed_conditions_);
  const bool both = !facts.empty() && !conditions.empty();
  return absl::StrCat(facts, both ? ", " : "", conditions);
}

void ModulePrinter::PrintRemainingSymbols() {
  std::vector<SymInt> symbols;
  for (const SymbolInfo& info : module_.symbols().symbols()) {
    if (!printed_symbols_.contains(info.symbol)) symbols.push_back(info.symbol);
  }
  std::sort(symbols.begin(), symbols.end(), [](SymInt a, SymInt b) { return Compare(a, b) < 0; });
  const std::string facts = FactsText(symbols, [](SymInt) { return true; });
  if (facts.empty()) return;
  absl::StrAppend(&out_, module_.functions().empty() ? "" : "\n", "where ", facts, "\n");
}

void ModulePrinter::PrintConstants() {
  if (large_constants_.empty()) return;
  absl::StrAppend(&out_, "\nconstants {\n");
  for (size_t i = 0; i < large_constants_.size(); ++i) {
    const HostTensor& tensor = module_.constants().tensor(large_constants_[i]);
    const std::string& name = module_.constants().name(large_constants_[i]);
    absl::StrAppend(&out_, "  @c", i, name.empty() ? "" : " ", name.empty() ? "" : Quote(name),
                    " : ", TypeText(tensor.type()), " = ");
    if (by_content_ != nullptr) {
      const uint64_t id = tensor.Fingerprint();
      by_content_->push_back({id, large_constants_[i]});
      absl::StrAppend(&out_, "content 0x", absl::Hex(id, absl::kZeroPad16), "\n");
    } else if (options_.constants) {
      absl::StrAppend(&out_, "base64\"", EncodeTensor(tensor), "\"\n");
    } else {
      out_ += "omitted\n";
    }
  }
  out_ += "}\n";
}

}  // namespace weft::text
