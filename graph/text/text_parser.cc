// Reads modules in the text form: the top level and signatures. docs/text-form.md has the grammar;
// text_body.cc reads the bodies.
#include "absl/strings/str_cat.h"
#include "base/quote.h"
#include "graph/ir/annotations.h"
#include "graph/ir/constant_store.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/value.h"
#include "graph/sym/sym_facts.h"
#include "graph/tensor/tensor.h"
#include "graph/text/text.h"
#include "graph/text/text_module_parser.h"
#include "graph/text/text_symbols.h"
#include "graph/verify/verifier.h"

namespace weft {
namespace text {

absl::StatusOr<std::unique_ptr<Module>> ModuleParser::Run() {
  while (!reader_.At(kEnd)) {
    if (!ParseTopLevel()) return reader_.status();
  }
  if (!facts_.CheckAll(&reader_)) return reader_.status();
  const absl::Status verified = Verify(*module_);
  if (!verified.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(filename_, ":1:1: ", verified.message()));
  }
  return std::move(module_);
}

bool ModuleParser::ParseTopLevel() {
  if (reader_.AtWord("func")) return ParseFunction();
  if (reader_.AtWord("constants")) return constants_.ParseBlock();
  if (!reader_.AcceptWord("where")) {
    return reader_.Expected("func, constants or where");
  }
  return ParseWhere({});
}

// Reads facts. A symbol that only they mention may still be defined by a data-dependent node below,
// whatever they say of it.
bool ModuleParser::ParseWhere(absl::Span<const SymInt> input_symbols) {
  SymbolTable& table = module_->symbols();
  const size_t known = table.symbols().size();
  if (!facts_.Parse(&reader_, &table)) return false;
  Declare(input_symbols);
  for (SymInt symbol : reader_.TakeNewSymbols()) AddSymbol(symbol);
  for (const SymbolInfo& info : table.symbols().subspan(known)) {
    mentioned_symbols_.insert(info.symbol);
  }
  for (SymInt symbol : input_symbols) mentioned_symbols_.erase(symbol);
  // Below, symbols that are used are new again.
  reader_.ForgetSymbols();
  return true;
}

void ModuleParser::AddSymbol(SymInt symbol) {
  if (module_->symbols().Find(symbol) != nullptr) return;
  SymbolInfo info;
  info.symbol = symbol;
  module_->symbols().Declare(info);
}

// Declares symbols that the text uses.
void ModuleParser::Declare(absl::Span<const SymInt> symbols) {
  for (SymInt symbol : symbols) {
    mentioned_symbols_.erase(symbol);
    AddSymbol(symbol);
  }
}

void ModuleParser::DeclareNewSymbols() {
  if (reader_.has_new_symbols()) Declare(reader_.TakeNewSymbols());
}

bool ModuleParser::ParseFunction() {
  constants_.set_look_ahead(reader_.position());
  reader_.Advance();
  const size_t begin = reader_.position();
  std::string name;
  if (!reader_.ParseSigilName(/*value=*/false, &name)) return false;
  if (!function_names_.insert(name).second) {
    return reader_.Fail(begin, absl::StrCat("function @", name, " is defined twice"));
  }
  Scope scope(module_->AddFunction(name));
  Signature signature;
  if (!ParseSignature(&scope, &signature)) return false;
  if (reader_.AcceptWord("where") && !ParseWhere(signature.input_symbols)) return false;
  scratch_symbols_.reset();
  return ParseBody(&scope, signature, 0);
}

bool ModuleParser::ParseSignature(Scope* scope, Signature* signature) {
  if (!reader_.Expect('(')) return false;
  if (!reader_.At(')')) {
    do {
      if (!ParseInput(scope)) return false;
    } while (reader_.Accept(','));
  }
  if (!reader_.Expect(')')) return false;
  signature->input_symbols = reader_.TakeNewSymbols();
  if (!reader_.Accept(kArrow)) return true;
  signature->has_outputs = true;
  if (!ParseOutputs(*scope, signature)) return false;
  signature->output_symbols = reader_.TakeNewSymbols();
  // The nodes that follow define these symbols, so they count as new again there.
  if (!signature->output_symbols.empty()) reader_.ForgetSymbols();
  return true;
}

bool ModuleParser::ParseInput(Scope* scope) {
  const Token token = reader_.token();
  std::string name;
  Type type;
  if (!reader_.ParseSigilName(/*value=*/true, &name)) return false;
  if (name.empty() || IsNumber(token)) {
    return reader_.Fail(token.begin, "an input's name is no number, nor empty");
  }
  if (!reader_.Expect(':') || !reader_.ParseType(&type)) return false;
  Graph* graph = scope->graph();
  Value* input = graph->AddInput(type, name);
  if (!scope->Define(token, input)) {
    return reader_.Fail(token.begin,
                        absl::StrCat("input %", NameToString(name), " is defined twice"));
  }
  if (!reader_.Accept('{')) return true;
  do {
    if (!ParseInputAttribute(graph, input->index())) return false;
  } while (reader_.Accept(','));
  return reader_.Expect('}');
}

bool ModuleParser::ParseInputAttribute(Graph* graph, int input) {
  if (reader_.AcceptWord("param")) {
    return reader_.Expect('=') && reader_.ParseString(&graph->input_info(input).param);
  }
  if (reader_.AtWord("note")) return ParseInputNotes(graph->input(input));
  const bool initial = reader_.AcceptWord("initial");
  if (!initial && !reader_.AcceptWord("value")) {
    return reader_.Expected("param, value, initial or note");
  }
  const Type type = graph->input(input)->type();
  Type literal_type = type.is_symint() ? Type::Scalar(DType::kI64) : type;
  ConstantsReader::Reference reference;
  if (!reader_.Expect('=') || !constants_.ParseReference(&reference)) {
    return false;
  }
  if (reader_.Accept(':') && !reader_.ParseType(&literal_type)) return false;
  int id;
  if (!constants_.Resolve(reference, literal_type, &id)) return false;
  const Type own = module_->constants().tensor(id).type();
  const bool fits = type.is_symint() ? own == Type::Scalar(DType::kI64)
                                     : IsLegalRefinement(own, type, module_->symbols());
  InputInfo& info = graph->input_info(input);
  (initial ? info.initial : info.value) = id;
  return fits ||
         reader_.Fail(reference.begin, absl::StrCat("a value of type ", own.ToString(),
                                                    " for an input of type ", type.ToString()));
}

bool ModuleParser::ParseInputNotes(Value* input) {
  std::vector<ParsedNote> notes;
  if (!ParseNotes(&notes)) return false;
  for (const ParsedNote& note : notes) {
    if (note.on_operand || note.index != 0) {
      return reader_.Fail(note.begin, "the notes of an input are about the input");
    }
    if (!FindNote(input, note.key).empty()) {
      return reader_.Fail(note.begin, absl::StrCat("a second note ", note.key));
    }
    SetNote(input, note.key, note.text);
  }
  return true;
}

// `{writes=%x}` after the type of an output: input %x gets its value.
bool ModuleParser::ParseWriteBack(const Scope& scope, size_t begin, std::vector<int>* write_backs) {
  if (!reader_.Accept('{')) {
    return write_backs->empty() ||
           reader_.Fail(begin, "outputs that are written to inputs come last");
  }
  Value* input = nullptr;
  if (!reader_.ExpectWord("writes") || !reader_.Expect('=')) return false;
  const size_t name = reader_.position();
  if (!ParseOperand(scope, &input)) return false;
  if (input == nullptr || (!write_backs->empty() && input->index() <= write_backs->back())) {
    return reader_.Fail(name, "written inputs stand in order, each once");
  }
  write_backs->push_back(input->index());
  return reader_.Expect('}');
}

bool ModuleParser::ParseOutputs(const Scope& scope, Signature* signature) {
  Graph* graph = scope.graph();
  if (!reader_.Accept('(')) {
    signature->outputs.emplace_back(reader_.position(), Type());
    return reader_.ParseType(&signature->outputs.back().second);
  }
  if (reader_.Accept(')')) return true;
  std::vector<std::string>& names = graph->output_names();
  std::vector<int> write_backs;
  do {
    const size_t begin = reader_.position();
    if (reader_.At(kValue) || reader_.At(kQuotedValue)) {
      names.emplace_back();
      if (!reader_.ParseSigilName(/*value=*/true, &names.back()) || !reader_.Expect(':')) {
        return false;
      }
    }
    Type type;
    if (!reader_.ParseType(&type)) return false;
    signature->outputs.emplace_back(begin, type);
    if (!names.empty() && names.size() != signature->outputs.size()) {
      return reader_.Fail(begin, "either all outputs have a name or none has");
    }
    if (!ParseWriteBack(scope, begin, &write_backs)) return false;
  } while (reader_.Accept(','));
  graph->SetWriteBacks(std::move(write_backs));
  return reader_.Expect(')');
}

}  // namespace text

absl::StatusOr<std::unique_ptr<Module>> ParseModule(absl::string_view text,
                                                    const OpRegistry& registry,
                                                    absl::string_view filename) {
  return text::ModuleParser(text, registry, filename).Run();
}

absl::StatusOr<std::unique_ptr<Module>> ParseModuleByContent(absl::string_view text,
                                                             const OpRegistry& registry,
                                                             ContentSource source,
                                                             absl::string_view filename) {
  return text::ModuleParser(text, registry, filename, &source).Run();
}

}  // namespace weft
