// Three steps: express the values in symbols that stay; move the facts to the values, on a copy of
// the table; change the module if the facts allow it.
#include "passes/sizes/specialize.h"

#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/ir/attr.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ir/op_args.h"
#include "graph/ir/op_def.h"
#include "graph/ir/provenance.h"
#include "graph/sym/sym_expr.h"
#include "graph/sym/sym_facts.h"
#include "graph/sym/sym_ops.h"
#include "graph/text/text.h"
#include "passes/sizes/substitute.h"

namespace weft {
namespace {

class Specialization {
 public:
  explicit Specialization(const SymbolTable& facts) : before_(facts), facts_(facts) {}

  absl::Status Add(const SymbolValue& value);
  // Carries the facts over.
  absl::Status Finish();

  std::optional<SymInt> Replacement(SymInt symbol) const {
    auto it = values_.find(symbol);
    if (it == values_.end()) return std::nullopt;
    return it->second;
  }
  const SymbolTable& facts() const { return facts_; }
  const std::vector<SymInt>& replaced() const { return order_; }

 private:
  SymInt Written(SymInt s) const {
    return Substitute(s, [this](SymInt symbol) { return Replacement(symbol); });
  }
  absl::Status CheckBacked(SymInt symbol) const;
  void Replace(SymInt symbol, SymInt value);
  void DeclareNewSymbols(SymInt symbol, SymInt value);
  absl::Status CarryOver();
  absl::Status Assume(SymInt condition, const std::string& origin);
  absl::Status AssumeFactsOf(const SymbolInfo& info);
  bool ReplaceSettled();

  const SymbolTable& before_;
  SymbolTable facts_;
  absl::flat_hash_map<SymInt, SymInt> values_;
  std::vector<SymInt> order_;
};

absl::Status Specialization::CheckBacked(SymInt symbol) const {
  if (!before_.IsUnbacked(symbol)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(symbol.ToString(), " depends on data; no value can be chosen for it"));
}

// Values that were added before do without the symbol from now on.
void Specialization::Replace(SymInt symbol, SymInt value) {
  for (auto& [replaced, old] : values_) {
    old = Substitute(old, [&](SymInt s) -> std::optional<SymInt> {
      if (s == symbol) return value;
      return std::nullopt;
    });
  }
  values_.emplace(symbol, value);
  order_.push_back(symbol);
}

absl::Status Specialization::Add(const SymbolValue& value) {
  const auto fail = [&](absl::string_view why) {
    return absl::InvalidArgumentError(
        absl::StrCat(value.symbol.ToString(), " = ", value.value.ToString(), ": ", why));
  };
  if (!value.symbol.is_symbol()) return fail("it is no symbol that would get a value");
  if (before_.Find(value.symbol) == nullptr) return fail("there is no such symbol");
  WEFT_RETURN_IF_ERROR(CheckBacked(value.symbol));
  absl::Status status;
  ForEachSymbol(value.value, [&](SymInt s) { status.Update(CheckBacked(s)); });
  WEFT_RETURN_IF_ERROR(status);
  const SymInt written = Written(value.value);
  if (!written.is_valid()) return fail("it passes 64 bits");
  if (const auto known = Replacement(value.symbol)) {
    if (*known == written) return absl::OkStatus();
    return fail(absl::StrCat("it is ", known->ToString(), " as well"));
  }
  if (written == value.symbol) return absl::OkStatus();
  if (ContainsSymbol(written, value.symbol)) return fail("it is defined by itself");
  Replace(value.symbol, written);
  return absl::OkStatus();
}

// A new symbol that replaces a known one is the same size under another name.
void Specialization::DeclareNewSymbols(SymInt symbol, SymInt value) {
  ForEachSymbol(value, [&](SymInt s) {
    if (facts_.Find(s) != nullptr) return;
    SymbolInfo info;
    if (value == s) info = *before_.Find(symbol);
    info.symbol = s;
    facts_.Declare(info);
  });
}

absl::Status Specialization::Assume(SymInt condition, const std::string& origin) {
  const SymInt written = Written(condition);
  if (facts_.Assume(written, origin) != Proof::kNo) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(condition.ToString(), " would not hold",
                   origin.empty() ? "" : absl::StrCat("; it comes from ", origin)));
}

absl::Status Specialization::AssumeFactsOf(const SymbolInfo& info) {
  const SymRange range = info.range;
  if (range.min != SymRange::kMin) {
    WEFT_RETURN_IF_ERROR(Assume(GreaterEqual(info.symbol, range.min), ""));
  }
  if (range.max != SymRange::kMax) {
    WEFT_RETURN_IF_ERROR(Assume(LessEqual(info.symbol, range.max), ""));
  }
  return Assume(Equal(Mod(info.symbol, info.divisor), 0), "");
}

absl::Status Specialization::CarryOver() {
  facts_ = before_;
  facts_.Remove(order_);
  for (SymInt symbol : order_) DeclareNewSymbols(symbol, values_.at(symbol));
  for (const SymCondition& c : before_.conditions()) {
    if (Written(c.condition) == c.condition) continue;
    WEFT_RETURN_IF_ERROR(Assume(c.condition, c.origin));
  }
  for (SymInt symbol : order_) {
    const SymbolInfo& info = *before_.Find(symbol);
    WEFT_RETURN_IF_ERROR(AssumeFactsOf(info));
    if (info.hint && values_.at(symbol).is_symbol()) {
      SymbolInfo hint = *facts_.Find(values_.at(symbol));
      hint.hint = info.hint;
      facts_.Declare(hint);
    }
  }
  return absl::OkStatus();
}

// Replaces symbols that have only one possible value.
bool Specialization::ReplaceSettled() {
  const size_t count = order_.size();
  for (const SymbolInfo& info : facts_.symbols()) {
    if (info.unbacked || before_.Find(info.symbol) == nullptr) continue;
    const SymInt value = facts_.Simplify(info.symbol);
    if (value.is_constant()) Replace(info.symbol, value);
  }
  return order_.size() > count;
}

absl::Status Specialization::Finish() {
  do {
    WEFT_RETURN_IF_ERROR(CarryOver());
  } while (ReplaceSettled());
  return absl::OkStatus();
}

// True for nodes whose types InferTypes can compute again and that have symbols.
bool HasSymbols(const Node& node) {
  if (node.op().has(kDataDependent) || node.num_regions() > 0) return false;
  bool symbolic = node.attr_list()->is_symbolic();
  for (int i = 0; i < node.num_operands(); ++i) {
    symbolic |= node.has_operand(i) && IsSymbolic(node.operand(i)->type());
  }
  return symbolic;
}

// For each node, in the order of a walk over the module, whether it has symbols. The order does not
// change when nodes are replaced.
std::vector<bool> NodesWithSymbols(const Module& module) {
  std::vector<bool> flags;
  for (const Graph* graph : module.AllGraphs()) {
    for (const Node* node : graph->nodes()) flags.push_back(HasSymbols(*node));
  }
  return flags;
}

// Checks that nodes whose sizes changed still have valid types.
absl::Status CheckNodes(Module& module, const std::vector<bool>& checked) {
  Node::ArgStorage storage;
  size_t i = 0;
  for (Graph* graph : module.AllGraphs()) {
    for (Node* node : graph->nodes()) {
      if (!checked[i++]) continue;
      const absl::Status status = InferTypes(node->Args(&storage)).status();
      if (status.ok()) continue;
      const auto names = module.provenance().Names(node->provenance(), 1);
      return absl::InvalidArgumentError(absl::StrCat(
          "the new sizes do not fit ", names.empty() ? "" : absl::StrCat("\"", names[0], "\", "),
          status.message()));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status SpecializeSymbols(Module& module, absl::Span<const SymbolValue> values) {
  Specialization specialization(module.symbols());
  for (const SymbolValue& value : values) WEFT_RETURN_IF_ERROR(specialization.Add(value));
  if (specialization.replaced().empty()) return absl::OkStatus();
  WEFT_RETURN_IF_ERROR(specialization.Finish());
  const std::vector<bool> checked = NodesWithSymbols(module);
  SubstituteSymbols(module, [&](SymInt s) { return specialization.Replacement(s); });
  SymbolTable facts = specialization.facts();
  module.symbols() = std::move(facts);
  return CheckNodes(module, checked);
}

}  // namespace weft
