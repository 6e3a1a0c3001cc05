// Invariant 12: unbacked symbols, their definitions and the edges to them.
#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/ir/attr.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ir/op_def.h"
#include "graph/sym/sym_expr.h"
#include "graph/sym/sym_facts.h"
#include "graph/verify/verifier_internal.h"

namespace weft::internal {
namespace {

using SymbolSet = absl::flat_hash_set<SymInt>;

bool Before(SymInt a, SymInt b) { return Compare(a, b) < 0; }

// Calls `fn` for the unbacked symbols of a type or attribute list.
template <typename Fn>
void ForEachUnbacked(const SymbolTable& table, absl::Span<const SymInt> sizes, Fn fn) {
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

class SymbolVerifier {
 public:
  explicit SymbolVerifier(const SymbolTable& table) : table_(table) {}

  // Runs on inner graphs before outer ones.
  absl::Status Run(const Graph& graph, bool nested);

 private:
  absl::Status CheckNode(const Graph& graph, const Node& node);
  absl::Status CheckDefinitions(const Graph& graph, const Node& node);
  bool IsInherited(const Node& node, SymInt symbol) const;

  const SymbolTable& table_;
  SymbolSet from_inputs_;  // Symbols of the inputs of the present graph.
  SymbolSet unknown_;
  // Symbols that a nested graph uses from the graph around it.
  absl::flat_hash_map<const Graph*, SymbolSet> outer_;
};

absl::Status SymbolVerifier::Run(const Graph& graph, bool nested) {
  from_inputs_.clear();
  unknown_.clear();
  for (const Value* input : graph.inputs()) {
    ForEachUnbacked(table_, input->type(), [this](SymInt s) { from_inputs_.insert(s); });
  }
  for (const Node* node : graph.nodes()) {
    WEFT_RETURN_IF_ERROR(CheckDefinitions(graph, *node));
    WEFT_RETURN_IF_ERROR(CheckNode(graph, *node));
  }
  if (unknown_.empty()) return absl::OkStatus();
  if (nested) {
    outer_[&graph] = std::move(unknown_);
    return absl::OkStatus();
  }
  const SymInt first = *std::min_element(unknown_.begin(), unknown_.end(), Before);
  return BrokenInvariant(
      Invariant::kSymbols, graph, nullptr,
      absl::StrCat("no node or input defines the unbacked symbol ", first.ToString()));
}

// Checks that each unbacked symbol of the attributes and of nested graphs is known from an input,
// or defined by a node that this one has an edge to.
absl::Status SymbolVerifier::CheckNode(const Graph& graph, const Node& node) {
  SymInt missing = SymInt::Invalid();
  const auto check = [&](SymInt symbol, bool must_be_known) {
    const Value* definition = graph.SymbolDefinition(symbol);
    if (definition == nullptr) {
      if (must_be_known && !from_inputs_.contains(symbol)) {
        unknown_.insert(symbol);
      }
      return;
    }
    for (int i = 0; i < node.num_symbol_operands(); ++i) {
      if (node.symbol_operand(i) == definition) return;
    }
    for (int i = 0; i < node.num_operands(); ++i) {
      if (node.operand(i) == definition) return;
    }
    if (!missing.is_valid() || Before(symbol, missing)) missing = symbol;
  };
  ForEachUnbacked(table_, *node.attr_list(), [&](SymInt s) { check(s, true); });
  for (int i = 0; i < node.num_regions(); ++i) {
    for (const Value* input : node.region(i)->inputs()) {
      ForEachUnbacked(table_, input->type(), [&](SymInt s) { check(s, false); });
    }
    auto it = outer_.find(node.region(i));
    if (it == outer_.end()) continue;
    for (SymInt s : it->second) check(s, true);
  }
  if (!missing.is_valid()) return absl::OkStatus();
  return BrokenInvariant(Invariant::kSymbols, graph, &node,
                         absl::StrCat("no edge to the definition of ", missing.ToString()));
}

// Checks that each symbol in the results of a data-dependent node is defined there or is in the
// type of an operand.
absl::Status SymbolVerifier::CheckDefinitions(const Graph& graph, const Node& node) {
  if (!node.op().has(kDataDependent)) return absl::OkStatus();
  SymInt foreign = SymInt::Invalid();
  for (int i = 0; i < node.num_results(); ++i) {
    ForEachUnbacked(table_, node.result(i)->type(), [&](SymInt symbol) {
      const Value* definition = graph.SymbolDefinition(symbol);
      if (definition != nullptr && definition->node() == &node) return;
      if (!IsInherited(node, symbol)) foreign = symbol;
    });
  }
  if (!foreign.is_valid()) return absl::OkStatus();
  return BrokenInvariant(Invariant::kSymbols, graph, &node,
                         absl::StrCat("another node defines ", foreign.ToString()));
}

bool SymbolVerifier::IsInherited(const Node& node, SymInt symbol) const {
  bool inherited = false;
  for (int i = 0; i < node.num_operands(); ++i) {
    if (node.operand(i) == nullptr) continue;
    ForEachUnbacked(table_, node.operand(i)->type(), [&](SymInt s) { inherited |= s == symbol; });
  }
  return inherited;
}

}  // namespace

absl::Status VerifySymbols(absl::Span<const Graph* const> graphs,
                           const absl::flat_hash_set<const Graph*>& roots) {
  if (graphs.empty()) return absl::OkStatus();
  const SymbolTable& table = graphs[0]->module().symbols();
  const auto symbols = table.symbols();
  if (std::none_of(symbols.begin(), symbols.end(),
                   [](const SymbolInfo& info) { return info.unbacked; })) {
    return absl::OkStatus();
  }
  SymbolVerifier verifier(table);
  for (size_t i = graphs.size(); i-- > 0;) {
    WEFT_RETURN_IF_ERROR(verifier.Run(*graphs[i], !roots.contains(graphs[i])));
  }
  return absl::OkStatus();
}

}  // namespace weft::internal
