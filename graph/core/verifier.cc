// The verifier checks these invariants, in this order, graph by graph:
//
//   1 list        The nodes form one doubly linked list of num_nodes() nodes
//                 and, last, the only `return`; all belong to the graph.
//   2 ids         Ids of nodes and of values are distinct and below the graph's
//                 limits; results know their node and index.
//   3 order       Every operand and symbol operand is an input of this graph or
//                 a result of an earlier node of this graph. Nested graphs are
//                 isolated by the same rule.
//   4 uses        The use list of a value holds exactly the operand slots that
//                 hold the value.
//   5 operands    Count, absence and kind (tensor or symint) as in the schema.
//   6 attributes  One value per attribute of the schema, of its kind; absent
//                 only where that is optional.
//   7 regions     One graph per region of the schema, in the same module.
//   8 results     Count and kind as in the schema.
//   9 sizes       No invalid size in a type or attribute, no negative constant
//                 size in a type.
//  10 types       The op accepts its operands, and each result type is the
//                 inferred one or a legal refinement. The results of
//                 data-dependent ops are held to 8 and 9 alone: their Infer
//                 defines fresh symbols.
//  11 constants   The id is in the constant store; the type is the tensor's.
//  12 symbols     An unbacked symbol is defined by one node of a graph. An
//                 attribute (also of a nested graph) that mentions one has an
//                 edge to that node, unless an input's type brings the symbol.
//  13 signature   Input names are unique and not empty; required values lie in
//                 the constant store and fit the input's type; there are as many
//                 output names as outputs, or none.
#include "graph/core/verifier.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "graph/core/text.h"

namespace weft {
namespace {

enum Invariant {
  kList = 1,
  kIds,
  kOrder,
  kUses,
  kOperands,
  kAttributes,
  kRegions,
  kResults,
  kSizes,
  kTypes,
  kConstants,
  kSymbols,
  kSignature,
};

constexpr const char* kInvariantNames[] = {
    "",           "list",    "ids",     "order", "uses",  "operands",
    "attributes", "regions", "results", "sizes", "types", "constants",
    "symbols",    "signature"};

using SymbolSet = absl::flat_hash_set<SymInt>;

bool IsSizeType(Type type) {
  if (type.is_symint()) return type.symint().is_valid();
  for (SymInt d : type.dims()) {
    if (!d.is_valid() || (d.is_constant() && d.value() < 0)) return false;
  }
  return type.numel().is_valid();
}

// Calls `fn` for the unbacked symbols of a type or attribute list.
template <typename Fn>
void ForEachUnbacked(const SymbolTable& table, absl::Span<const SymInt> sizes,
                     Fn fn) {
  for (SymInt s : sizes) {
    if (s.is_constant()) continue;
    ForEachSymbol(s, [&](SymInt symbol) {
      if (table.IsUnbacked(symbol)) fn(symbol);
    });
  }
}
template <typename Fn>
void ForEachUnbacked(const SymbolTable& table, Type type, Fn fn) {
  if (type.is_symint()) {
    const SymInt value = type.symint();
    ForEachUnbacked(table, {&value, 1}, fn);
  } else if (type.is_tensor() && !type.is_static()) {
    ForEachUnbacked(table, type.dims(), fn);
  }
}
template <typename Fn>
void ForEachUnbacked(const SymbolTable& table, const AttrList& attrs, Fn fn) {
  if (!attrs.is_symbolic()) return;
  for (const AttrValue& value : attrs.values()) {
    ForEachUnbacked(table, value.symints(), fn);
  }
}

const OperandSpec& OperandSpecAt(const OpSchema& schema, int i) {
  return schema.operands[std::min<size_t>(i, schema.operands.size() - 1)];
}

class GraphVerifier {
 public:
  explicit GraphVerifier(const Graph& graph)
      : graph_(graph),
        module_(graph.module()),
        nodes_(graph.node_id_limit()),
        values_(graph.value_id_limit()) {}

  absl::Status Run() {
    if (CheckInputs() && CheckNodes() && CheckUses()) CheckSignature();
    return std::move(status_);
  }

  // Unbacked symbols that nested graphs take from the graph around them, by
  // nested graph; filled by the runs on inner graphs.
  using OuterSymbols = absl::flat_hash_map<const Graph*, SymbolSet>;
  absl::Status CheckSymbols(bool nested, OuterSymbols* outer);

 private:
  bool Fail(Invariant invariant, const Node* node, absl::string_view message);

  bool CheckInputs();
  bool CheckNodes();
  bool CheckNode(const Node* node);
  bool CheckLinks(const Node* node, const Node* prev, int64_t position);
  bool CheckOrder(const Node* node);
  bool DefineResults(const Node* node);
  bool DefineValue(const Value* value, const Node* node);
  bool CheckOperands(const Node* node);
  bool CheckAttributes(const Node* node);
  bool CheckRegions(const Node* node);
  bool CheckResults(const Node* node);
  bool CheckTypes(const Node* node);
  bool CheckConstant(const Node* node);
  bool CheckUses();
  bool CheckUsesOf(const Value* value);
  bool CheckSignature();
  bool CheckRequiredValue(int input);
  bool CheckNodeSymbols(const Node* node, const SymbolSet& from_inputs,
                        OuterSymbols* outer, SymbolSet* unknown);
  bool CheckDefinitions(const Node* node);

  const Graph& graph_;
  const Module& module_;
  std::vector<const Node*> nodes_;    // By id, the nodes met so far.
  std::vector<const Value*> values_;  // By id, the values defined so far.
  int64_t num_slots_ = 0;             // Operand slots that hold a value.
  int64_t num_uses_ = 0;              // Entries of use lists.
  Node::ArgStorage storage_;
  absl::Status status_;
};

bool GraphVerifier::Fail(Invariant invariant, const Node* node,
                         absl::string_view message) {
  if (!status_.ok()) return false;
  std::string text = absl::StrCat(
      "verifier: invariant ", invariant, " (", kInvariantNames[invariant],
      ") is broken: ", message, "\n  in graph \"",
      (node != nullptr ? *node->graph() : graph_).name(), "\"");
  if (node != nullptr) {
    absl::StrAppend(&text, ", node ", node->id(), " (", node->op().name(), "):");
    constexpr int kMaxShown = 8;
    for (int i = 0; i < std::min(node->num_operands(), kMaxShown); ++i) {
      const Value* v = node->operand(i);
      if (v == nullptr) continue;
      absl::StrAppend(&text, "\n      ",
                      v->node() != nullptr
                          ? PrintNode(*v->node())
                          : absl::StrCat("input ", v->index(), ": ",
                                         v->type().ToString()));
    }
    absl::StrAppend(&text, "\n    > ", PrintNode(*node));
  }
  status_ = absl::InternalError(text);
  return false;
}

bool GraphVerifier::CheckInputs() {
  for (int i = 0; i < graph_.num_inputs(); ++i) {
    const Value* input = graph_.input(i);
    if (input->node() != nullptr || input->index() != i) {
      return Fail(kIds, nullptr,
                  absl::StrCat("input ", i, " does not know its place"));
    }
    if (!DefineValue(input, nullptr)) return false;
    if (input->type().kind() == Type::Kind::kNone ||
        !IsSizeType(input->type())) {
      return Fail(kSizes, nullptr,
                  absl::StrCat("input ", i, " has type ",
                               input->type().ToString()));
    }
  }
  return true;
}

bool GraphVerifier::CheckNodes() {
  const Node* prev = nullptr;
  int64_t position = 0;
  for (const Node* node = graph_.first_node(); node != nullptr;
       prev = node, node = node->next()) {
    if (!CheckLinks(node, prev, position++) || !CheckNode(node)) return false;
  }
  if (prev != graph_.return_node() || position != graph_.num_nodes() + 1) {
    return Fail(kList, prev,
                absl::StrCat("the list has ", position,
                             " nodes, the last is not the return node or ",
                             "num_nodes() is not ", position - 1));
  }
  return true;
}

bool GraphVerifier::CheckNode(const Node* node) {
  return CheckOrder(node) && CheckOperands(node) && CheckAttributes(node) &&
         CheckRegions(node) && CheckResults(node) && CheckTypes(node) &&
         DefineResults(node);
}

bool GraphVerifier::CheckLinks(const Node* node, const Node* prev,
                               int64_t position) {
  if (position > graph_.num_nodes()) {
    return Fail(kList, node, "more nodes than num_nodes() and a return");
  }
  if (node->prev() != prev) return Fail(kList, node, "wrong link to the left");
  if (node->graph() != &graph_) {
    return Fail(kList, node, "the node belongs to another graph");
  }
  if (node->Is(ops::return_) != (node == graph_.return_node())) {
    return Fail(kList, node, "a return that is not the graph's");
  }
  if (node->id() >= nodes_.size() || nodes_[node->id()] != nullptr) {
    return Fail(kIds, node, "the node's id is taken or out of range");
  }
  nodes_[node->id()] = node;
  return true;
}

bool GraphVerifier::CheckOrder(const Node* node) {
  const int n = node->num_operands();
  const int all = n + node->num_symbol_operands();
  for (int i = 0; i < all; ++i) {
    const Value* v = i < n ? node->operand(i) : node->symbol_operand(i - n);
    if (v == nullptr) continue;
    ++num_slots_;
    if (v->id() < values_.size() && values_[v->id()] == v) continue;
    return Fail(kOrder, node,
                absl::StrCat(i < n ? "operand " : "symbol operand ",
                             i < n ? i : i - n,
                             " is not defined before the node in its graph"));
  }
  return true;
}

bool GraphVerifier::DefineResults(const Node* node) {
  for (int i = 0; i < node->num_results(); ++i) {
    const Value* v = node->result(i);
    if (v->node() != node || v->index() != i) {
      return Fail(kIds, node, absl::StrCat("result ", i, " is not its own"));
    }
    if (!DefineValue(v, node)) return false;
  }
  return true;
}

bool GraphVerifier::DefineValue(const Value* value, const Node* node) {
  if (value->id() >= values_.size() || values_[value->id()] != nullptr) {
    return Fail(kIds, node,
                absl::StrCat("value id ", value->id(),
                             " is taken or out of range"));
  }
  values_[value->id()] = value;
  return true;
}

bool GraphVerifier::CheckOperands(const Node* node) {
  const OpSchema& schema = node->op().schema();
  const int n = node->num_operands();
  const int fixed = schema.num_fixed_operands();
  if (n < fixed || (n > fixed && !schema.has_variadic_operand())) {
    return Fail(kOperands, node,
                absl::StrCat(n, " operands where the schema has ", fixed));
  }
  for (int i = 0; i < n; ++i) {
    const OperandSpec& spec = OperandSpecAt(schema, i);
    const Value* v = node->operand(i);
    if (v == nullptr) {
      if (spec.optional) continue;
      return Fail(kOperands, node,
                  absl::StrCat("operand ", spec.name, " is absent"));
    }
    if (v->type().is_symint() != spec.symint && !node->Is(ops::return_)) {
      return Fail(kOperands, node,
                  absl::StrCat("operand ", spec.name, " has type ",
                               v->type().ToString()));
    }
  }
  return true;
}

bool GraphVerifier::CheckAttributes(const Node* node) {
  const std::vector<AttrSpec>& specs = node->op().schema().attrs;
  const AttrList* list = node->attr_list();
  if (list == nullptr || list->size() != static_cast<int>(specs.size())) {
    return Fail(kAttributes, node,
                absl::StrCat(list == nullptr ? 0 : list->size(),
                             " attributes where the schema has ",
                             specs.size()));
  }
  for (size_t i = 0; i < specs.size(); ++i) {
    const AttrValue& value = (*list)[i];
    const AttrSpec& spec = specs[i];
    if (!value.present()) {
      const bool none = spec.default_value && !spec.default_value->present();
      if (spec.optional || none) continue;
    }
    if (!value.Matches(spec.kind)) {
      return Fail(kAttributes, node,
                  absl::StrCat("attribute ", spec.name, " cannot be ",
                               value.ToString()));
    }
    for (SymInt s : value.symints()) {
      if (!s.is_valid()) {
        return Fail(kSizes, node,
                    absl::StrCat("attribute ", spec.name, " is invalid"));
      }
    }
  }
  return true;
}

bool GraphVerifier::CheckRegions(const Node* node) {
  const size_t expected = node->op().schema().regions.size();
  if (static_cast<size_t>(node->num_regions()) != expected) {
    return Fail(kRegions, node,
                absl::StrCat(node->num_regions(),
                             " nested graphs where the schema has ", expected));
  }
  for (int i = 0; i < node->num_regions(); ++i) {
    const Graph* region = node->region(i);
    if (region == nullptr || &region->module() != &module_) {
      return Fail(kRegions, node,
                  absl::StrCat("nested graph ", i, " is of another module"));
    }
  }
  return true;
}

bool GraphVerifier::CheckResults(const Node* node) {
  const std::vector<ResultSpec>& specs = node->op().schema().results;
  const bool variadic = node->op().schema().has_variadic_result();
  const int fixed = static_cast<int>(specs.size()) - variadic;
  const int n = node->num_results();
  if (n < fixed || (n > fixed && !variadic)) {
    return Fail(kResults, node,
                absl::StrCat(n, " results where the schema has ", fixed));
  }
  for (int i = 0; i < n; ++i) {
    const ResultSpec& spec = specs[std::min<size_t>(i, specs.size() - 1)];
    const Type type = node->result(i)->type();
    if (spec.symint ? !type.is_symint() : !type.is_tensor()) {
      return Fail(kResults, node,
                  absl::StrCat("result ", i, " has type ", type.ToString()));
    }
    if (!IsSizeType(type)) {
      return Fail(kSizes, node,
                  absl::StrCat("result ", i, " has type ", type.ToString()));
    }
  }
  return true;
}

bool GraphVerifier::CheckTypes(const Node* node) {
  if (node->Is(ops::constant)) return CheckConstant(node);
  if (node->Is(ops::return_)) return true;
  const OpArgs args = node->Args(&storage_);
  if (node->op().has(kDataDependent)) {
    if (node->op().verify() == nullptr) return true;
    const absl::Status verified = node->op().verify()(args);
    return verified.ok() || Fail(kTypes, node, verified.message());
  }
  const absl::StatusOr<Types> inferred = InferTypes(args);
  if (!inferred.ok()) return Fail(kTypes, node, inferred.status().message());
  if (inferred->size() != static_cast<size_t>(node->num_results())) {
    return Fail(kTypes, node,
                absl::StrCat(inferred->size(), " types are inferred for ",
                             node->num_results(), " results"));
  }
  for (int i = 0; i < node->num_results(); ++i) {
    const Type type = node->result(i)->type();
    if (IsLegalRefinement(type, (*inferred)[i], module_.symbols())) continue;
    return Fail(kTypes, node,
                absl::StrCat("result ", i, " has type ", type.ToString(),
                             ", inferred is ", (*inferred)[i].ToString()));
  }
  return true;
}

bool GraphVerifier::CheckConstant(const Node* node) {
  const int64_t id = (*node->attr_list())[0].symints()[0].value();
  if (id < 0 || id >= module_.constants().size()) {
    return Fail(kConstants, node,
                absl::StrCat("no constant has the id ", id));
  }
  const Type type =
      module_.constants().tensor(static_cast<int>(id)).type();
  if (type != node->result()->type()) {
    return Fail(kConstants, node,
                absl::StrCat("the constant's type is ", type.ToString()));
  }
  return true;
}

bool GraphVerifier::CheckUses() {
  for (const Value* value : values_) {
    if (value != nullptr && !CheckUsesOf(value)) return false;
  }
  if (num_uses_ != num_slots_) {
    return Fail(kUses, nullptr,
                absl::StrCat("the use lists have ", num_uses_,
                             " entries for ", num_slots_, " operands"));
  }
  return true;
}

bool GraphVerifier::CheckUsesOf(const Value* value) {
  for (const Use* use = value->first_use(); use != nullptr;
       use = use->next()) {
    if (++num_uses_ > num_slots_) {
      return Fail(kUses, value->node(),
                  absl::StrCat("the use lists have more than ", num_slots_,
                               " entries"));
    }
    const Node* user = use->user();
    if (user != nullptr && user->graph() != &graph_) {
      return Fail(kOrder, user,
                  absl::StrCat("it uses a value of graph \"", graph_.name(),
                               "\""));
    }
    if (user == nullptr || use->value() != value || user->id() >= nodes_.size() ||
        nodes_[user->id()] != user) {
      return Fail(kUses, value->node(),
                  absl::StrCat("value ", value->id(),
                               " lists a use that is not in the graph"));
    }
    const int slot = use->operand_index();
    if (slot < 0 ||
        slot >= user->num_operands() + user->num_symbol_operands()) {
      return Fail(kUses, user, "a use lies outside of its user's operands");
    }
  }
  return true;
}

bool GraphVerifier::CheckSignature() {
  absl::flat_hash_set<absl::string_view> names;
  for (int i = 0; i < graph_.num_inputs(); ++i) {
    const InputInfo& info = graph_.input_info(i);
    if (info.name.empty() || !names.insert(info.name).second) {
      return Fail(kSignature, nullptr,
                  absl::StrCat("the name \"", info.name, "\" of input ", i,
                               " is empty or taken"));
    }
    if (info.value != -1 && !CheckRequiredValue(i)) return false;
  }
  const Node* ret = graph_.return_node();
  const size_t num_names = graph_.output_names().size();
  if (num_names != 0 && num_names != static_cast<size_t>(ret->num_operands())) {
    return Fail(kSignature, ret,
                absl::StrCat(num_names, " output names for ",
                             ret->num_operands(), " outputs"));
  }
  return true;
}

bool GraphVerifier::CheckRequiredValue(int input) {
  const int id = graph_.input_info(input).value;
  if (id < 0 || id >= module_.constants().size()) {
    return Fail(kSignature, nullptr,
                absl::StrCat("input ", input, " requires the value of constant ",
                             id, ", which does not exist"));
  }
  const Type type = graph_.input(input)->type();
  const Type constant = module_.constants().tensor(id).type();
  const bool fits =
      type.is_symint()
          ? constant == Type::Scalar(DType::kI64)
          : IsLegalRefinement(constant, type, module_.symbols());
  if (fits) return true;
  return Fail(kSignature, nullptr,
              absl::StrCat("input ", input, " of type ", type.ToString(),
                           " requires a value of type ", constant.ToString()));
}

absl::Status GraphVerifier::CheckSymbols(bool nested, OuterSymbols* outer) {
  const SymbolTable& table = module_.symbols();
  SymbolSet from_inputs, unknown;
  for (const Value* input : graph_.inputs()) {
    ForEachUnbacked(table, input->type(),
                    [&](SymInt s) { from_inputs.insert(s); });
  }
  for (const Node* node : graph_.nodes()) {
    if (!CheckDefinitions(node) ||
        !CheckNodeSymbols(node, from_inputs, outer, &unknown)) {
      return std::move(status_);
    }
  }
  if (!nested && !unknown.empty()) {
    const SymInt first = *std::min_element(
        unknown.begin(), unknown.end(),
        [](SymInt a, SymInt b) { return Compare(a, b) < 0; });
    Fail(kSymbols, nullptr,
         absl::StrCat("no node or input defines the unbacked symbol ",
                      first.ToString()));
  }
  if (nested && !unknown.empty()) (*outer)[&graph_] = std::move(unknown);
  return std::move(status_);
}

// Each unbacked symbol of the attributes and of nested graphs is known from an
// input, or defined by a node that this one has an edge to.
bool GraphVerifier::CheckNodeSymbols(const Node* node,
                                     const SymbolSet& from_inputs,
                                     OuterSymbols* outer, SymbolSet* unknown) {
  SymInt missing = SymInt::Invalid();
  const auto check = [&](SymInt symbol, bool must_be_known) {
    const Value* definition = graph_.SymbolDefinition(symbol);
    if (definition == nullptr) {
      if (must_be_known && !from_inputs.contains(symbol)) {
        unknown->insert(symbol);
      }
      return;
    }
    for (int i = 0; i < node->num_symbol_operands(); ++i) {
      if (node->symbol_operand(i) == definition) return;
    }
    for (int i = 0; i < node->num_operands(); ++i) {
      if (node->operand(i) == definition) return;
    }
    if (!missing.is_valid() || Compare(symbol, missing) < 0) missing = symbol;
  };
  const SymbolTable& table = module_.symbols();
  ForEachUnbacked(table, *node->attr_list(),
                  [&](SymInt s) { check(s, true); });
  for (int i = 0; i < node->num_regions(); ++i) {
    for (const Value* input : node->region(i)->inputs()) {
      ForEachUnbacked(table, input->type(),
                      [&](SymInt s) { check(s, false); });
    }
    auto it = outer->find(node->region(i));
    if (it == outer->end()) continue;
    for (SymInt s : it->second) check(s, true);
  }
  if (!missing.is_valid()) return true;
  return Fail(kSymbols, node,
              absl::StrCat("no edge to the definition of ",
                           missing.ToString()));
}

// The symbols in the results of a data-dependent node are its own or come from
// its operands.
bool GraphVerifier::CheckDefinitions(const Node* node) {
  if (!node->op().has(kDataDependent)) return true;
  const SymbolTable& table = module_.symbols();
  for (int i = 0; i < node->num_results(); ++i) {
    SymInt foreign = SymInt::Invalid();
    ForEachUnbacked(table, node->result(i)->type(), [&](SymInt symbol) {
      const Value* definition = graph_.SymbolDefinition(symbol);
      if (definition != nullptr && definition->node() == node) return;
      bool inherited = false;
      for (int j = 0; j < node->num_operands(); ++j) {
        if (node->operand(j) == nullptr) continue;
        ForEachUnbacked(table, node->operand(j)->type(),
                        [&](SymInt s) { inherited |= s == symbol; });
      }
      if (!inherited) foreign = symbol;
    });
    if (foreign.is_valid()) {
      return Fail(kSymbols, node,
                  absl::StrCat("another node defines ", foreign.ToString()));
    }
  }
  return true;
}

absl::Status VerifyGraphs(const Module& module,
                          absl::Span<const Graph* const> graphs,
                          const absl::flat_hash_set<const Graph*>& roots) {
  for (const Graph* graph : graphs) {
    absl::Status status = GraphVerifier(*graph).Run();
    if (!status.ok()) return status;
  }
  const auto symbols = module.symbols().symbols();
  const bool any_unbacked =
      std::any_of(symbols.begin(), symbols.end(),
                  [](const SymbolInfo& info) { return info.unbacked; });
  if (!any_unbacked) return absl::OkStatus();
  // Inner before outer.
  GraphVerifier::OuterSymbols outer;
  for (size_t i = graphs.size(); i-- > 0;) {
    absl::Status status = GraphVerifier(*graphs[i])
                              .CheckSymbols(!roots.contains(graphs[i]), &outer);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace

bool IsLegalRefinement(Type type, Type inferred, const SymbolTable& symbols) {
  if (type == inferred) return true;
  if (type.kind() != inferred.kind()) return false;
  if (type.is_symint()) {
    return symbols.ProveEq(type.symint(), inferred.symint()) != Proof::kNo;
  }
  if (type.dtype() != inferred.dtype() || type.rank() != inferred.rank()) {
    return false;
  }
  for (int i = 0; i < type.rank(); ++i) {
    if (symbols.ProveEq(type.dim(i), inferred.dim(i)) == Proof::kNo) {
      return false;
    }
  }
  return true;
}

absl::Status Verify(const Module& module) {
  absl::flat_hash_set<absl::string_view> names;
  absl::flat_hash_set<const Graph*> roots;
  std::vector<const Graph*> graphs;
  for (const auto& function : module.functions()) {
    if (!names.insert(function->name()).second) {
      return absl::InternalError(absl::StrCat(
          "verifier: two functions are called \"", function->name(), "\""));
    }
    roots.insert(function.get());
  }
  for (Graph* graph : module.AllGraphs()) graphs.push_back(graph);
  return VerifyGraphs(module, graphs, roots);
}

absl::Status Verify(const Graph& graph) {
  std::vector<const Graph*> graphs = {&graph};
  for (size_t i = 0; i < graphs.size(); ++i) {
    for (const Node* node : graphs[i]->nodes()) {
      for (int r = 0; r < node->num_regions(); ++r) {
        graphs.push_back(node->region(r));
      }
    }
  }
  return VerifyGraphs(graph.module(), graphs, {&graph});
}

}  // namespace weft
