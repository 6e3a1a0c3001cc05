// Reads the bodies of graphs: statements, regions and the return. text_node.cc
// checks a statement and makes its node.
#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "graph/ir/builtin_ops.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/op_def.h"
#include "graph/ir/op_registry.h"
#include "graph/ir/op_schema.h"
#include "graph/ir/provenance.h"
#include "graph/ir/value.h"
#include "graph/sym/sym_expr.h"
#include "graph/sym/sym_facts.h"
#include "graph/text/text_module_parser.h"

namespace weft::text {
namespace {

// The Levenshtein distance.
size_t EditDistance(absl::string_view a, absl::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t replaced = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

Value* Scope::Find(const Token& token) const {
  if (IsNumber(token)) {
    const auto number = DigitsToUint64(token.text);
    if (!number) return nullptr;
    if (*number < numbered_.size() && numbered_[*number] != nullptr) {
      return numbered_[*number];
    }
    auto it = sparse_.find(*number);
    return it == sparse_.end() ? nullptr : it->second;
  }
  if (token.kind == kQuotedValue) {
    const auto name = Unescape(token.text);
    auto it = name ? named_.find(*name) : named_.end();
    return it == named_.end() ? nullptr : it->second;
  }
  auto it = named_.find(token.text);
  return it == named_.end() ? nullptr : it->second;
}

bool Scope::Define(const Token& token, Value* value) {
  if (IsNumber(token)) {
    const auto number = DigitsToUint64(token.text);
    if (!number || Find(token) != nullptr) return false;
    // Numbers are usually dense; sparse ones go into a map, so that they take no memory in between.
    if (*number == numbered_.size()) {
      numbered_.push_back(value);
    } else {
      sparse_.emplace(*number, value);
    }
    return true;
  }
  if (token.kind == kValue) {
    return named_.emplace(std::string(token.text), value).second;
  }
  const auto name = Unescape(token.text);
  return name && named_.emplace(*name, value).second;
}

bool Scope::DefinesSymbol(SymInt symbol) const {
  if (graph_->SymbolDefinition(symbol) != nullptr) return true;
  const auto found = [symbol](SymInt s) { return ContainsSymbol(s, symbol); };
  for (const Value* input : graph_->inputs()) {
    const Type type = input->type();
    if (type.is_symint() && found(type.symint())) return true;
    if (!type.is_tensor() || type.is_static()) continue;
    if (absl::c_any_of(type.dims(), found)) return true;
  }
  return false;
}

void Statement::Clear() {
  op = nullptr;
  results.clear();
  operands.clear();
  operand_begins.clear();
  any_attr = false;
  attrs = nullptr;
  types.clear();
  has_types = false;
  provenance = 0;
  notes.clear();
  regions.clear();
  constant = {};
}

// --- Graphs ----------------------------------------------------------------

bool ModuleParser::ParseBody(Scope* scope, const Signature& signature, size_t depth) {
  Declare(signature.input_symbols);
  if (depth > kMaxNesting) {
    return reader_.Fail(reader_.position(),
                        absl::StrCat("more than ", kMaxNesting, " nested graphs"));
  }
  if (statements_.size() <= depth) {
    statements_.push_back(std::make_unique<Statement>());
  }
  if (!reader_.Expect('{')) return false;
  while (!reader_.AtWord("return")) {
    if (!ParseStatement(scope, depth)) return false;
  }
  if (!ParseReturn(scope, signature) || !reader_.Expect('}')) return false;
  // Declared after the nodes, because a node may define an output's symbol.
  Declare(signature.output_symbols);
  return true;
}

bool ModuleParser::ParseReturn(Scope* scope, const Signature& signature) {
  const size_t begin = reader_.position();
  reader_.Advance();
  std::vector<Value*> values;
  if (reader_.At(kValue) || reader_.At(kQuotedValue)) {
    do {
      values.emplace_back();
      if (!ParseOperand(*scope, &values.back())) return false;
      if (values.back() == nullptr) {
        return reader_.Fail(begin, "an output cannot be none");
      }
    } while (reader_.Accept(','));
  }
  scope->graph()->SetOutputs(values);
  std::vector<ParsedNote> notes;
  if (!ParseNotes(&notes) || !SetNotes(notes, scope->graph()->return_node())) return false;
  if (!signature.has_outputs) return true;
  if (signature.outputs.size() != values.size()) {
    return reader_.Fail(begin, absl::StrCat(Plural(values.size(), "output"),
                                            " where the signature has ", signature.outputs.size()));
  }
  for (size_t i = 0; i < values.size(); ++i) {
    const auto& [type_begin, type] = signature.outputs[i];
    if (type == values[i]->type()) continue;
    return reader_.Fail(
        type_begin, absl::StrCat("output ", i, " has type ", values[i]->type().ToString(), ", not ",
                                 type.ToString()));
  }
  return true;
}

// --- Statements ------------------------------------------------------------

bool ModuleParser::ParseStatement(Scope* scope, size_t depth) {
  Statement* s = statements_[depth].get();
  s->Clear();
  if (!ParseResults(s) || !ParseOpName(s) || !reader_.Expect('(') || !ParseArguments(*scope, s) ||
      !reader_.Expect(')')) {
    return false;
  }
  DeclareNewSymbols();
  return ParseResultTypes(s) && ParseLocation(s) && ParseNotes(&s->notes) &&
         ParseRegions(scope, s, depth) && MakeNode(scope, s);
}

bool ModuleParser::ParseResults(Statement* s) {
  if (reader_.At(kIdentifier)) return true;
  do {
    if (!reader_.At(kValue) && !reader_.At(kQuotedValue)) {
      return reader_.Expected("a statement such as %0 = op(%x), or return");
    }
    s->results.push_back(reader_.token());
    reader_.Advance();
  } while (reader_.Accept(','));
  return reader_.Expect('=');
}

bool ModuleParser::ParseOpName(Statement* s) {
  if (!reader_.At(kIdentifier)) return reader_.Expected("the name of an op");
  const absl::string_view name = reader_.token().text;
  s->begin = reader_.position();
  s->op = name == ops::constant.name() ? &ops::constant : registry_.Find(name);
  if (s->op == nullptr || s->op == &ops::return_) return UnknownOp(name);
  reader_.Advance();
  return true;
}

bool ModuleParser::UnknownOp(absl::string_view name) {
  constexpr size_t kMaxName = 64;
  constexpr size_t kMaxEdits = 3;
  absl::string_view closest;
  size_t best = kMaxEdits + 1;
  if (name.size() <= kMaxName) {
    for (const OpDef* op : registry_.All()) {
      const size_t distance = EditDistance(name, op->name());
      if (distance >= best || distance >= name.size()) continue;
      best = distance;
      closest = op->name();
    }
  }
  return reader_.Fail(reader_.position(), absl::StrCat("unknown op \"", name.substr(0, kMaxName),
                                                       "\"", closest.empty() ? "" : "; is it ",
                                                       closest, closest.empty() ? "" : "?"));
}

bool ModuleParser::ParseArguments(const Scope& scope, Statement* s) {
  if (s->op == &ops::constant) return constants_.ParseReference(&s->constant);
  if (reader_.At(')')) return true;
  const OpSchema& schema = s->op->schema();
  do {
    const bool value = reader_.At(kValue) || reader_.At(kQuotedValue) ||
                       (reader_.AtWord("none") && schema.FindAttr("none") < 0);
    if (value && s->any_attr) {
      return reader_.Fail(reader_.position(), "operands stand before attributes");
    }
    if (value) {
      s->operand_begins.push_back(reader_.position());
      s->operands.push_back(nullptr);
      if (!ParseOperand(scope, &s->operands.back())) return false;
      continue;
    }
    if (!s->any_attr) {
      s->any_attr = true;
      s->attr_values.assign(schema.attrs.size(), AttrValue());
      s->attrs_given.assign(schema.attrs.size(), false);
    }
    if (!reader_.ParseAttribute(schema, &s->attr_values, &s->attrs_given)) {
      return false;
    }
  } while (reader_.Accept(','));
  return true;
}

bool ModuleParser::ParseOperand(const Scope& scope, Value** value) {
  if (reader_.AcceptWord("none")) return true;
  if (!reader_.At(kValue) && !reader_.At(kQuotedValue)) {
    return reader_.Expected("a value such as %x");
  }
  *value = scope.Find(reader_.token());
  if (*value == nullptr) {
    const Token& token = reader_.token();
    return reader_.Fail(
        token.begin,
        absl::StrCat(
            "undefined value ", reader_.text().substr(token.begin, token.end - token.begin),
            scope.outer() != nullptr ? " (nested graphs see nothing but their inputs)" : ""));
  }
  reader_.Advance();
  return true;
}

bool ModuleParser::ParseResultTypes(Statement* s) {
  if (!reader_.Accept(':')) return true;
  s->has_types = true;
  s->types_begin = reader_.position();
  do {
    Type type;
    if (!reader_.ParseType(&type)) return false;
    s->types.push_back(type);
    if (s->op->has(kDataDependent)) DefineSymbols(type);
  } while (reader_.Accept(','));
  DeclareNewSymbols();
  return true;
}

// A symbol that first appears in the result of a data-dependent op is defined by that op. Clauses
// of facts above do not count.
void ModuleParser::DefineSymbols(Type type) {
  const auto define = [this, type](SymInt symbol) {
    const bool known = module_->symbols().Find(symbol) != nullptr;
    if (known && !mentioned_symbols_.contains(symbol)) return;
    SymbolInfo info;
    info.symbol = symbol;
    info.unbacked = true;
    if (type.is_symint()) info.range = SymRange();
    module_->symbols().Declare(info);
  };
  if (type.is_symint()) return ForEachSymbol(type.symint(), define);
  for (SymInt d : type.dims()) ForEachSymbol(d, define);
}

bool ModuleParser::ParseLocation(Statement* s) {
  if (!reader_.AcceptWord("loc")) return true;
  if (!reader_.Expect('(')) return false;
  ProvenanceTable& table = module_->provenance();
  do {
    std::string name;
    if (!reader_.ParseString(&name)) return false;
    s->provenance = table.Merge(s->provenance, table.Leaf(name));
  } while (reader_.Accept(','));
  return reader_.Expect(')');
}

bool ModuleParser::ParseNotes(std::vector<ParsedNote>* notes) {
  if (!reader_.AcceptWord("note")) return true;
  if (!reader_.Expect('(')) return false;
  do {
    notes->emplace_back();
    if (!ParseNote(&notes->back())) return false;
  } while (reader_.Accept(','));
  return reader_.Expect(')');
}

// `quant="..."`, `result 1 quant="..."` or `operand 0 quant="..."`.
bool ModuleParser::ParseNote(ParsedNote* note) {
  note->begin = reader_.position();
  note->on_operand = reader_.AcceptWord("operand");
  if (note->on_operand || reader_.AcceptWord("result")) {
    if (!reader_.ParseInt(&note->index)) return false;
  }
  if (!reader_.At(kIdentifier)) return reader_.Expected("the key of a note");
  note->key = std::string(reader_.token().text);
  if (note->key == "operand" || note->key == "result") {
    return reader_.Expected("the key of a note");
  }
  reader_.Advance();
  if (!reader_.Expect('=')) return false;
  const size_t text = reader_.position();
  if (!reader_.ParseString(&note->text)) return false;
  return !note->text.empty() || reader_.Fail(text, "a note has a text");
}

bool ModuleParser::ParseRegions(const Scope* outer, Statement* s, size_t depth) {
  const std::vector<std::string>& names = s->op->schema().regions;
  if (names.empty()) return true;
  if (!reader_.Expect('{')) return false;
  for (const std::string& name : names) {
    if (!ParseRegion(outer, name, s, depth)) return false;
  }
  return reader_.Expect('}');
}

bool ModuleParser::ParseRegion(const Scope* outer, const std::string& name, Statement* s,
                               size_t depth) {
  if (!reader_.ExpectWord(name)) return false;
  std::string own_name = name;
  if (reader_.At(kGlobal) || reader_.At(kQuotedGlobal)) {
    if (!reader_.ParseSigilName(/*value=*/false, &own_name)) return false;
  }
  s->regions.push_back(std::make_unique<Graph>(module_.get(), own_name));
  Scope scope(s->regions.back().get(), outer);
  Signature signature;
  return ParseSignature(&scope, &signature) && ParseBody(&scope, signature, depth + 1);
}

}  // namespace weft::text
