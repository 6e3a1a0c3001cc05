// Checks a statement against its op's schema, infers its types, and makes the
// node.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "graph/ir/annotations.h"
#include "graph/ir/builtin_ops.h"
#include "graph/ir/constant_store.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ir/op_def.h"
#include "graph/ir/op_schema.h"
#include "graph/sym/sym_expr.h"
#include "graph/sym/sym_facts.h"
#include "graph/tensor/tensor.h"
#include "graph/text/text_module_parser.h"
#include "graph/verify/verifier.h"

namespace weft::text {

std::string Plural(size_t n, absl::string_view noun) {
  return absl::StrCat(n, " ", noun, n == 1 ? "" : "s");
}

bool ModuleParser::FinishOperands(Statement* s) {
  const OpSchema& schema = s->op->schema();
  const size_t fixed = schema.num_fixed_operands();
  const size_t given = s->operands.size();
  // Optional operands at the end may be left out.
  while (s->operands.size() < fixed && schema.operands[s->operands.size()].optional) {
    s->operands.push_back(nullptr);
    s->operand_begins.push_back(s->begin);
  }
  const bool variadic = schema.has_variadic_operand();
  if (s->operands.size() < fixed || (given > fixed && !variadic)) {
    return reader_.Fail(s->begin,
                        absl::StrCat(s->op->name(), " takes ", variadic ? "at least " : "",
                                     Plural(fixed, "operand"), ", not ", given));
  }
  s->operand_types.clear();
  for (size_t i = 0; i < s->operands.size(); ++i) {
    const OperandSpec& spec = schema.operands[std::min(i, schema.operands.size() - 1)];
    const Value* v = s->operands[i];
    s->operand_types.push_back(v != nullptr ? v->type() : Type());
    if (v == nullptr ? spec.optional : v->type().is_symint() == spec.symint) {
      continue;
    }
    return reader_.Fail(s->operand_begins[i],
                        absl::StrCat("operand ", spec.name, " of ", s->op->name(), " is a ",
                                     spec.symint ? "symint" : "tensor", ", found ",
                                     s->operand_types.back().ToString()));
  }
  return true;
}

bool ModuleParser::FinishAttrs(Statement* s) {
  const OpSchema& schema = s->op->schema();
  if (schema.attrs.empty()) {
    s->attrs = AttrList::Empty();
    return true;
  }
  if (s->op == &ops::constant) return true;
  if (s->any_attr) {
    if (!reader_.FinishAttributes(schema, s->begin, &s->attr_values, s->attrs_given)) {
      return false;
    }
    s->attrs = AttrList::Get(std::move(s->attr_values));
    return true;
  }
  const AttrList*& defaults = default_attrs_[s->op];
  if (defaults == nullptr) {
    std::vector<AttrValue> values(schema.attrs.size());
    if (!reader_.FinishAttributes(schema, s->begin, &values, std::vector<bool>(values.size()))) {
      return false;
    }
    defaults = AttrList::Get(std::move(values));
  }
  s->attrs = defaults;
  return true;
}

// Checks that every unbacked symbol of the attributes is defined above the node.
bool ModuleParser::CheckAttrSymbols(const Scope& scope, const Statement& s) {
  if (s.attrs == nullptr || !s.attrs->is_symbolic()) return true;
  SymInt unknown = SymInt::Invalid();
  const auto check = [&](SymInt symbol) {
    if (!module_->symbols().IsUnbacked(symbol)) return;
    for (const Scope* at = &scope; at != nullptr; at = at->outer()) {
      if (at->DefinesSymbol(symbol)) return;
    }
    unknown = symbol;
  };
  for (const AttrValue& value : s.attrs->values()) {
    for (SymInt size : value.symints()) ForEachSymbol(size, check);
  }
  return !unknown.is_valid() ||
         reader_.Fail(s.begin, absl::StrCat("the unbacked symbol ", unknown.ToString(),
                                            " is used before its definition"));
}

bool ModuleParser::FinishTypes(const Scope& scope, Statement* s) {
  if (s->op == &ops::constant) return FinishConstant(s);
  s->region_ptrs.clear();
  for (const auto& region : s->regions) s->region_ptrs.push_back(region.get());
  OpArgs args;
  args.op = s->op;
  args.operands = s->operands;
  args.types = s->operand_types;
  args.attr_list = s->attrs;
  args.regions = s->region_ptrs;
  args.symbols = &module_->symbols();
  if (s->has_types && s->op->has(kDataDependent)) {
    return CheckDataDependent(scope, *s, args);
  }
  const bool admitted = InferCache::Admits(args);
  const Types* known = admitted ? inferred_.Find(args) : nullptr;
  if (known != nullptr) return TakeTypes(*known, s);
  const absl::StatusOr<Types> inferred = InferTypes(args);
  if (!inferred.ok()) return reader_.Fail(s->begin, inferred.status().message());
  if (admitted) inferred_.Insert(args, *inferred);
  return TakeTypes(*inferred, s);
}

bool ModuleParser::TakeTypes(const Types& inferred, Statement* s) {
  if (s->has_types) return CheckWrittenTypes(*s, inferred);
  s->types = inferred;
  return true;
}

bool ModuleParser::FinishConstant(Statement* s) {
  if (s->types.size() > 1) {
    return reader_.Fail(s->types_begin, "a constant has one type");
  }
  int id;
  const Type written = s->has_types ? s->types[0] : Type();
  if (!constants_.Resolve(s->constant, written, &id)) return false;
  s->types.assign(1, module_->constants().tensor(id).type());
  s->attrs = AttrList::Get({AttrValue(id)});
  return true;
}

// Keeps the written types, because Infer would define fresh symbols, and checks that they agree
// with Infer in kinds, dtypes and ranks.
bool ModuleParser::CheckDataDependent(const Scope& scope, const Statement& s, OpArgs args) {
  if (!scratch_symbols_) scratch_symbols_ = module_->symbols();
  args.symbols = &*scratch_symbols_;
  const absl::StatusOr<Types> inferred = InferTypes(args);
  if (!inferred.ok()) return reader_.Fail(s.begin, inferred.status().message());
  if (!CheckResultCount(s, inferred->size())) return false;
  for (size_t i = 0; i < s.types.size(); ++i) {
    const Type type = s.types[i];
    const Type expected = (*inferred)[i];
    const bool fits =
        type.kind() == expected.kind() &&
        (type.is_symint() || (type.dtype() == expected.dtype() && type.rank() == expected.rank()));
    if (!fits) {
      return reader_.Fail(s.types_begin,
                          absl::StrCat("type ", type.ToString(), " of result ", i, " of ",
                                       s.op->name(), " is not of the form ", expected.ToString()));
    }
    if (!CheckNewSymbols(scope, s, type)) return false;
  }
  return true;
}

// Each unbacked symbol in the result of a data-dependent node must be in the type of an operand, or
// be defined by this node.
bool ModuleParser::CheckNewSymbols(const Scope& scope, const Statement& s, Type type) {
  SymInt taken = SymInt::Invalid();
  const auto check = [&](SymInt symbol) {
    if (!module_->symbols().IsUnbacked(symbol) ||
        scope.graph()->SymbolDefinition(symbol) == nullptr) {
      return;
    }
    for (Type operand : s.operand_types) {
      if (operand.is_symint() && ContainsSymbol(operand.symint(), symbol)) {
        return;
      }
      if (!operand.is_tensor()) continue;
      for (SymInt d : operand.dims()) {
        if (ContainsSymbol(d, symbol)) return;
      }
    }
    taken = symbol;
  };
  if (type.is_symint()) {
    ForEachSymbol(type.symint(), check);
  } else {
    for (SymInt d : type.dims()) ForEachSymbol(d, check);
  }
  return !taken.is_valid() ||
         reader_.Fail(s.types_begin,
                      absl::StrCat("the unbacked symbol ", taken.ToString(), " is defined twice"));
}

bool ModuleParser::CheckResultCount(const Statement& s, size_t count) {
  return s.types.size() == count ||
         reader_.Fail(s.types_begin, absl::StrCat(s.op->name(), " has ", Plural(count, "result"),
                                                  ", not ", s.types.size()));
}

bool ModuleParser::CheckWrittenTypes(const Statement& s, const Types& inferred) {
  if (!CheckResultCount(s, inferred.size())) return false;
  for (size_t i = 0; i < inferred.size(); ++i) {
    if (IsLegalRefinement(s.types[i], inferred[i], module_->symbols())) continue;
    return reader_.Fail(
        s.types_begin,
        absl::StrCat("type ", s.types[i].ToString(), " of result ", i, " of ", s.op->name(),
                     " does not match the inferred ", inferred[i].ToString()));
  }
  return true;
}

bool ModuleParser::SetNotes(const std::vector<ParsedNote>& notes, Node* node) {
  for (const ParsedNote& note : notes) {
    const int count = note.on_operand ? node->num_operands() : node->num_results();
    if (note.index < 0 || note.index >= count) {
      return reader_.Fail(note.begin,
                          absl::StrCat("a note about ", note.on_operand ? "operand " : "result ",
                                       note.index, " of ", count));
    }
    const int i = static_cast<int>(note.index);
    const absl::string_view known =
        note.on_operand ? FindNote(node, i, note.key) : FindNote(node->result(i), note.key);
    if (!known.empty()) return reader_.Fail(note.begin, absl::StrCat("a second note ", note.key));
    if (note.on_operand) {
      SetNote(node, i, note.key, note.text);
    } else {
      SetNote(node->result(i), note.key, note.text);
    }
  }
  return true;
}

bool ModuleParser::MakeNode(Scope* scope, Statement* s) {
  if (!FinishOperands(s) || !FinishAttrs(s) || !CheckAttrSymbols(*scope, *s) ||
      !FinishTypes(*scope, s)) {
    return false;
  }
  if (s->results.size() != s->types.size()) {
    return reader_.Fail(
        s->begin, absl::StrCat(s->op->name(), " has ", Plural(s->types.size(), "result"), ", ",
                               s->results.size(), " are named"));
  }
  Node* node = scope->graph()->CreateNode(*s->op, s->operands, s->attrs, s->types, nullptr,
                                          std::move(s->regions));
  node->set_provenance(s->provenance);
  if (!s->notes.empty() && !SetNotes(s->notes, node)) return false;
  for (size_t i = 0; i < s->results.size(); ++i) {
    const Token& token = s->results[i];
    if (scope->Define(token, node->result(static_cast<int>(i)))) continue;
    return reader_.Fail(
        token.begin,
        absl::StrCat("value ", reader_.text().substr(token.begin, token.end - token.begin),
                     " is defined twice"));
  }
  return true;
}

}  // namespace weft::text
